//! What must be there for an expression to have a value, and the ways in which it has none.

use model::Timestamp;

use super::{
    domain::{Limit, Scalar},
    goal::{Splitter, Step, Way},
    term::{Term, key, plain},
    witness,
};
use crate::{
    call::Call,
    expr::{Access, Expr, Kind, Machine, Scope, Sort, Sorts, Value},
};

impl<'p> Splitter<'_, 'p> {
    /// What must be there for the expression to have a value.
    pub(super) fn reads(&self, expr: &'p Expr) -> Way<'p> {
        let expr = plain(expr);
        match &expr.kind {
            Kind::Field { .. } => {
                vec![Step::Limit(Term::of(expr, self.elements), Limit::Present)]
            }
            Kind::Index { of, key } => [self.reads(of), self.reads(key)].concat(),
            Kind::Binary { left, right, .. } => [self.reads(left), self.reads(right)].concat(),
            Kind::Negate(part) | Kind::Not(part) => self.reads(part),
            Kind::Matches { of, .. } | Kind::Glob { of, .. } | Kind::Has { of, .. } => {
                self.reads(of)
            }
            Kind::Call { args, .. } => args.iter().flat_map(|arg| self.reads(arg)).collect(),
            Kind::List(parts) => parts.iter().flat_map(|part| self.reads(part)).collect(),
            Kind::Fold { over, .. } => {
                let holders = Sorts::only(Sort::List).or(Sorts::only(Sort::Map));
                let mut way = self.reads(over);
                way.push(Step::Limit(Term::of(over, self.elements), Limit::Sorts(holders)));
                way
            }
            Kind::Choose { choice, .. } => self.reads(choice),
            Kind::Literal(_)
            | Kind::Args
            | Kind::Path { .. }
            | Kind::Fact(_)
            | Kind::HasFact(_)
            | Kind::Variable { .. }
            | Kind::OrValue { .. }
            | Kind::HasValue(_)
            | Kind::And(_)
            | Kind::Or(_) => Vec::new(),
        }
    }

    /// The ways in which the expression has no value.
    pub(super) fn unread(&self, expr: &'p Expr) -> Vec<Way<'p>> {
        let expr = plain(expr);
        if constant(expr).is_some() {
            return Vec::new();
        }
        match &expr.kind {
            // A gap in a chain is no failure; something that has no fields is.
            Kind::Field { of, .. } if expr.is_chain() => self.no_map(of),
            Kind::HasValue(chain) => self.unread(chain),
            Kind::OrValue { chain, default } => {
                let mut ways = self.unread(chain);
                for missing in self.missing(chain) {
                    let fails = self.unread(default).into_iter();
                    ways.extend(fails.map(|way| [missing.clone(), way].concat()));
                }
                ways
            }
            Kind::Field { of, name, .. } => {
                let mut ways = self.no_map(of);
                let holder = Term::of(of, self.elements);
                ways.push(vec![
                    Step::Limit(holder, Limit::Sorts(Sorts::only(Sort::Map))),
                    Step::Limit(Term::field(of, name, self.elements), Limit::Absent),
                ]);
                ways
            }
            Kind::Literal(_) | Kind::Args | Kind::Fact(_) | Kind::Variable { .. } => Vec::new(),
            _ => {
                let mut ways: Vec<Way<'p>> =
                    expr.parts().into_iter().flat_map(|part| self.unread(part)).collect();
                let term = match &expr.kind {
                    Kind::Fold { .. } => Term::opaque(key(expr, self.elements).to_string()),
                    _ => Term::of(expr, self.elements),
                };
                // A chain may be empty without failing, so nothing may be said of its end.
                let said = (!expr.is_chain()).then_some(Step::Limit(term, Limit::Absent));
                ways.push(said.into_iter().collect());
                ways
            }
        }
    }

    /// The ways in which the expression is no map.
    pub(super) fn no_map(&self, of: &'p Expr) -> Vec<Way<'p>> {
        let mut ways = self.unread(of);
        let others = Limit::Sorts(Sorts::ALL.without(Sorts::only(Sort::Map)));
        ways.push(vec![Step::Limit(Term::of(of, self.elements), others)]);
        ways
    }

    /// The ways in which a chain with a `.?` is empty without failing.
    pub(super) fn missing(&self, chain: &'p Expr) -> Vec<Way<'p>> {
        let chain = plain(chain);
        let (of, gap) = match &chain.kind {
            Kind::Field { of, name, access } => {
                let is_gap = *access == Access::May || of.is_chain();
                let gap = is_gap.then(|| Term::field(of, name, self.elements));
                (of, gap.map(|field| Step::Limit(field, Limit::Absent)))
            }
            Kind::Index { of, .. } => {
                let place = Term::of(chain, self.elements);
                (of, of.is_chain().then_some(Step::Limit(place, Limit::Absent)))
            }
            _ => return Vec::new(),
        };
        let mut ways = self.missing(of);
        ways.extend(
            gap.map(|gap| vec![Step::Limit(Term::of(of, self.elements), Limit::Present), gap]),
        );
        ways
    }
}

/// The texts that stand in the expression, and the start of each before a `/`.
pub(super) fn texts(expr: &Expr) -> Vec<String> {
    let mut texts: Vec<String> = expr.parts().into_iter().flat_map(texts).collect();
    if let Kind::Literal(value) = &expr.kind {
        let items = value.as_array().map_or(std::slice::from_ref(&**value), Vec::as_slice);
        for text in items.iter().filter_map(|item| item.as_str()) {
            texts.push(text.to_owned());
            if let Some((start, _)) = text.split_once('/') {
                // It may be a range of addresses: its first one, and one that lies in few ranges.
                texts.extend([start.to_owned(), "192.0.2.1".to_owned()]);
            }
        }
    }
    texts
}

/// The value of an expression that reads nothing of the call; nothing for lists and maps.
pub(super) fn constant(expr: &Expr) -> Option<Scalar> {
    if let Kind::Literal(value) = &expr.kind {
        return Value::of(value).to_scalar();
    }
    if !reads_nothing(expr) {
        return None;
    }
    let call = Call::new("", witness::nobody()?, Timestamp::EPOCH);
    let scope = Scope::new(&call);
    Machine::new(&scope).value(expr).ok()?.to_scalar()
}

fn reads_nothing(expr: &Expr) -> bool {
    match &expr.kind {
        Kind::Args
        | Kind::Path { .. }
        | Kind::Fact(_)
        | Kind::HasFact(_)
        | Kind::Variable { .. } => false,
        _ => expr.parts().into_iter().all(reads_nothing),
    }
}

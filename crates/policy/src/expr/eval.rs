//! Runs an expression over one call. Allocates only where a text or list is put together.

mod apply;
mod convert;
mod time;
mod url;

use super::{
    ast::{Access, Expr, Fold, Junction, Kind, Span},
    failure::{Cause, Failure},
    ops::Binary,
    scope::Scope,
    value::{List, Value},
};

/// The work that one decision may cost: one per node and loop step, and one per 64 bytes read.
pub(crate) const FUEL: usize = 200_000;
/// The most elements that one loop goes over.
const MAX_ELEMENTS: usize = 16_384;

type Result<'v, T = Value<'v>> = std::result::Result<T, Failure<'v>>;

/// Runs the expressions of one decision, which share its fuel.
pub(crate) struct Machine<'v> {
    scope: &'v Scope<'v>,
    fuel: usize,
    /// The present element of the loops around, outermost first.
    variables: [Value<'v>; 2],
}

impl<'v> Machine<'v> {
    pub(crate) fn new(scope: &'v Scope<'v>) -> Self {
        Self { scope, fuel: FUEL, variables: [Value::Null, Value::Null] }
    }

    /// What the expressions look at.
    pub(crate) fn scope(&self) -> &'v Scope<'v> {
        self.scope
    }

    /// How much work is left.
    pub(crate) fn fuel_left(&self) -> usize {
        self.fuel
    }

    /// Whether the condition holds.
    pub(crate) fn holds(&mut self, condition: &'v Expr) -> Result<'v, bool> {
        match self.value(condition)? {
            Value::Bool(holds) => Ok(holds),
            other => Err(fail(condition.span, Cause::NotBool(other.sort()))),
        }
    }

    /// The expression's value.
    pub(crate) fn value(&mut self, expr: &'v Expr) -> Result<'v> {
        self.burn(1, expr.span)?;
        let span = expr.span;
        match &expr.kind {
            Kind::Literal(value) => Ok(Value::of(value)),
            Kind::Args => Ok(self.scope.args()),
            Kind::Path { slot, path, chain } => match self.scope.slot(*slot, path) {
                Some(found) => Ok(Value::of(found)),
                // The chain tells which of its fields is not there.
                None => self.value(chain),
            },
            Kind::Fact(fact) => Ok(self.scope.fact(*fact)),
            Kind::HasFact(fact) => Ok(Value::Bool(!matches!(self.scope.fact(*fact), Value::Null))),
            Kind::Variable { depth, .. } => {
                // Every use of the variable copies what an expression put together.
                self.burn(self.variables.get(*depth).map_or(0, Value::copied), span)?;
                Ok(self.variables.get(*depth).cloned().unwrap_or(Value::Null))
            }
            Kind::List(items) => {
                let items: Result<'v, Vec<_>> = items.iter().map(|item| self.value(item)).collect();
                Ok(Value::List(List::Built(items?)))
            }
            Kind::Field { .. } | Kind::Index { .. } => self.selection(expr),
            Kind::Has { of, name } => {
                let of = self.value(of)?;
                find(&of, name, span).map(|found| Value::Bool(found.is_some()))
            }
            Kind::HasValue(chain) => Ok(Value::Bool(self.chain(chain)?.is_some())),
            Kind::OrValue { chain, default } => match self.chain(chain)? {
                Some(value) => Ok(value),
                None => self.value(default),
            },
            Kind::Not(part) => Ok(Value::Bool(!self.holds(part)?)),
            Kind::Negate(part) => {
                let value = self.value(part)?;
                apply::negate(&value).map_err(|cause| fail(span, cause))
            }
            Kind::And(parts) => self.junction(parts, Junction::All),
            Kind::Or(parts) => self.junction(parts, Junction::Any),
            Kind::Choose { choice, then, otherwise } => {
                let chosen = if self.holds(choice)? { then } else { otherwise };
                self.value(chosen)
            }
            Kind::Binary { op, left, right } => {
                if let Some(holds) = self.ints(*op, left, right) {
                    return Ok(Value::Bool(holds));
                }
                let (left, right) = (self.value(left)?, self.value(right)?);
                self.burn(left.weight() + right.weight(), span)?;
                apply::binary(*op, left, right).map_err(|cause| fail(span, cause))
            }
            Kind::Call { function, args } => self.call(*function, args, span),
            Kind::Matches { of, pattern } => {
                let of = self.value(of)?;
                self.burn(of.weight(), span)?;
                apply::text("matches", &of)
                    .map(|text| Value::Bool(pattern.is_match(text)))
                    .map_err(|cause| fail(span, cause))
            }
            Kind::Glob { of, pattern } => {
                let of = self.value(of)?;
                self.burn(of.weight(), span)?;
                apply::text("glob", &of)
                    .map(|text| Value::Bool(pattern.is_match(text)))
                    .map_err(|cause| fail(span, cause))
            }
            Kind::Fold { fold, over, body, depth } => self.fold(*fold, over, (body, *depth)),
        }
    }

    /// Compares a field with an int that is written out, when both are there: most comparisons are
    /// of this kind, and the way through values of every kind costs twice as much.
    fn ints(&mut self, op: Binary, left: &'v Expr, right: &'v Expr) -> Option<bool> {
        let (Kind::Path { slot, path, .. }, Kind::Literal(bound)) = (&left.kind, &right.kind)
        else {
            return None;
        };
        let bound = bound.as_i64()?;
        let value = self.scope.slot(*slot, path)?.as_i64()?;
        let holds = match op {
            Binary::Equal => value == bound,
            Binary::NotEqual => value != bound,
            Binary::Less => value < bound,
            Binary::LessOrEqual => value <= bound,
            Binary::Greater => value > bound,
            Binary::GreaterOrEqual => value >= bound,
            Binary::In | Binary::Add | Binary::Subtract | Binary::Multiply => return None,
        };
        // Both sides cost their step; the last ones are left to the plain way, which tells where
        // the fuel ended.
        self.fuel = self.fuel.checked_sub(2)?;
        Some(holds)
    }

    fn burn(&mut self, work: usize, span: Span) -> Result<'v, ()> {
        let rest = self.fuel.checked_sub(work);
        // Nothing may run once the fuel is spent, so that no `||` can make a value of the rest.
        self.fuel = rest.unwrap_or(0);
        rest.map(drop).ok_or(fail(span, Cause::OutOfFuel))
    }

    fn call(
        &mut self,
        function: super::functions::Function,
        args: &'v [Expr],
        span: Span,
    ) -> Result<'v> {
        let mut values = args.iter();
        let first = match values.next() {
            Some(arg) => self.value(arg)?,
            None => Value::Null,
        };
        let second = values.next().map(|arg| self.value(arg)).transpose()?;
        self.burn(first.weight() + second.as_ref().map_or(0, Value::weight), span)?;
        apply::function(function, first, second).map_err(|cause| fail(span, cause))
    }

    fn selection(&mut self, expr: &'v Expr) -> Result<'v> {
        match self.chain(expr)? {
            Some(value) => Ok(value),
            // Open chains are refused by the parser, so only a closed one can be empty.
            None => Err(fail(expr.span, Cause::NoField(""))),
        }
    }

    /// The value at the end of a selection, or nothing where a `.?` found nothing.
    fn chain(&mut self, expr: &'v Expr) -> Result<'v, Option<Value<'v>>> {
        let span = expr.span;
        match &expr.kind {
            Kind::Field { of, name, access } => {
                let Some(of_value) = self.chain(of)? else { return Ok(None) };
                match find(&of_value, name, span)? {
                    Some(value) => Ok(Some(value)),
                    None if *access == Access::May || of.is_chain() => Ok(None),
                    None => Err(fail(span, Cause::NoField(name))),
                }
            }
            Kind::Index { of, key } => {
                let Some(of_value) = self.chain(of)? else { return Ok(None) };
                let key = self.value(key)?;
                match apply::element(&of_value, &key).map_err(|cause| fail(span, cause))? {
                    Some(value) => Ok(Some(value)),
                    None if of.is_chain() => Ok(None),
                    None => Err(fail(span, Cause::NoPlace)),
                }
            }
            _ => self.value(expr).map(Some),
        }
    }

    /// One part that settles the question does so wherever it stands, even beside an error.
    fn junction(&mut self, parts: &'v [Expr], junction: Junction) -> Result<'v> {
        let settles = junction == Junction::Any;
        let mut error = None;
        for part in parts {
            match self.holds(part) {
                Ok(holds) if holds == settles => return Ok(Value::Bool(settles)),
                Ok(_) => {}
                Err(failure) => error = error.or(Some(failure)),
            }
        }
        error.map_or(Ok(Value::Bool(!settles)), Err)
    }

    fn fold(&mut self, fold: Fold, over: &'v Expr, body: (&'v Expr, usize)) -> Result<'v> {
        let list = match self.value(over)? {
            Value::List(list) => list,
            Value::Map(map) => {
                self.burn(map.len(), over.span)?;
                List::Built(map.iter().map(|(name, _)| Value::text(name)).collect())
            }
            other => return Err(fail(over.span, Cause::NoParts(other.sort()))),
        };
        if list.len() > MAX_ELEMENTS {
            return Err(fail(over.span, Cause::TooManyElements));
        }
        let (mut error, mut count) = (None, 0_usize);
        for place in 0..list.len() {
            self.burn(1, over.span)?;
            match (self.body_holds(&list, place, body), fold) {
                (Ok(true), Fold::Exists) => return Ok(Value::Bool(true)),
                (Ok(false), Fold::All) => return Ok(Value::Bool(false)),
                (Ok(holds), _) => count += usize::from(holds),
                (Err(failure), Fold::ExistsOne) => return Err(failure),
                (Err(failure), Fold::All | Fold::Exists) => error = error.or(Some(failure)),
            }
        }
        match (error, fold) {
            (Some(failure), _) => Err(failure),
            (None, Fold::All) => Ok(Value::Bool(true)),
            (None, Fold::Exists) => Ok(Value::Bool(false)),
            (None, Fold::ExistsOne) => Ok(Value::Bool(count == 1)),
        }
    }

    fn body_holds(
        &mut self,
        list: &List<'v>,
        place: usize,
        (body, depth): (&'v Expr, usize),
    ) -> Result<'v, bool> {
        if let (Some(variable), Some(element)) = (self.variables.get_mut(depth), list.get(place)) {
            *variable = element;
        }
        self.holds(body)
    }
}

fn fail(span: Span, cause: Cause<'_>) -> Failure<'_> {
    Failure { span, cause }
}

fn find<'v>(of: &Value<'v>, name: &str, span: Span) -> Result<'v, Option<Value<'v>>> {
    match of {
        Value::Map(map) => Ok(map.get(name)),
        other => Err(fail(span, Cause::NoParts(other.sort()))),
    }
}

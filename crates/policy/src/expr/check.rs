//! Which kinds of value an expression can have: refuses what can never work, and doubts what may
//! fail for some calls.
//!
//! Without a tool's schema the arguments may be any JSON, and nothing is doubted: everything could
//! fail then.

use std::collections::BTreeSet;

use serde_json::Value as Json;

use super::{
    ast::{Access, Expr, Kind, Problem, Span},
    functions::Function,
    names::Fact,
    ops::{Binary, HOLDERS},
    presence::{self, place},
    shape::{Shape, Sorts, Unknown},
    value::Sort,
};
use crate::error::Code;

/// A part of an expression that has no value for some calls that the schema allows, or the same one
/// for all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Doubt {
    pub(crate) span: Span,
    pub(crate) code: Code,
    pub(crate) message: String,
    /// Whether no call that fits the schema has the field.
    pub(crate) is_certain: bool,
}

/// Refuses a condition that can never be true or false.
pub(crate) fn condition(expr: &Expr) -> Result<(), Problem> {
    wanted(expr, &[Sort::Bool], "a condition")
}

/// Refuses an expression that can never be of one of the kinds.
pub(crate) fn wanted(expr: &Expr, sorts: &[Sort], what: &str) -> Result<(), Problem> {
    let found = Checker::new(None).shape(expr)?.sorts;
    if sorts.iter().any(|sort| found.has(*sort)) {
        return Ok(());
    }
    let names: Vec<_> = sorts.iter().map(|sort| sort.name()).collect();
    let message = format!("{what} must be {}; this is {}", names.join(" or "), found.names());
    Err(wrong(expr.span, message))
}

/// The kinds of value that the expression can have for any call.
#[cfg(feature = "prover")]
pub(crate) fn sorts(expr: &Expr) -> Sorts {
    Checker::new(None).shape(expr).map_or(Sorts::ALL, |shape| shape.sorts)
}

/// Refuses an expression that can have no value at all.
#[cfg(test)]
pub(super) fn kinds(expr: &Expr) -> Result<(), Problem> {
    Checker::new(None).shape(expr).map(drop)
}

/// What may fail for calls whose arguments fit the schema.
#[cfg(feature = "prover")]
pub(crate) fn doubts(expr: &Expr, schema: &Json) -> Result<Vec<Doubt>, Problem> {
    let mut checker = Checker::new(Some(schema));
    checker.shape(expr)?;
    Ok(checker.doubts)
}

impl Doubt {
    pub(crate) fn new(span: Span, code: Code, message: String) -> Self {
        Self { span, code, message, is_certain: false }
    }
}

struct Checker<'s> {
    schema: Option<&'s Json>,
    doubts: Vec<Doubt>,
    /// The fields that are there wherever the present part matters.
    present: BTreeSet<String>,
    /// The elements of the loops around.
    loops: Vec<Shape<'s>>,
}

type Found<'s> = Result<Shape<'s>, Problem>;

impl<'s> Checker<'s> {
    fn new(schema: Option<&'s Json>) -> Self {
        Self { schema, doubts: Vec::new(), present: BTreeSet::new(), loops: Vec::new() }
    }

    /// What the expression can be.
    fn shape(&mut self, expr: &Expr) -> Found<'s> {
        match &expr.kind {
            Kind::Literal(value) => Ok(Shape::literal(value)),
            Kind::Args => Ok(Shape::arguments(self.schema)),
            Kind::Path { chain, .. } => self.shape(chain),
            Kind::Fact(fact) => Ok(fact_shape(*fact)),
            Kind::Variable { depth, .. } => {
                Ok(self.loops.get(*depth).copied().unwrap_or(Shape::ANY))
            }
            Kind::HasFact(_) => Ok(Shape::BOOL),
            Kind::List(items) => {
                let items = items.iter().map(|item| Ok(self.shape(item)?.sorts));
                let items: Result<Vec<Sorts>, Problem> = items.collect();
                Ok(Shape::list(items?))
            }
            Kind::Field { of, name, access } => self.field(expr, (of, name), *access),
            Kind::Index { of, key } => self.index(of, key),
            Kind::Has { of, .. } => self.container(of, &[Sort::Map]).map(|_| Shape::BOOL),
            Kind::HasValue(chain) => self.shape(chain).map(|_| Shape::BOOL),
            Kind::OrValue { chain, default } => Ok(self.shape(chain)?.or(self.shape(default)?)),
            Kind::Not(part) => self.takes(part, Sort::Bool, "`!`"),
            Kind::Negate(part) => self.negated(part),
            Kind::And(parts) => self.junction(parts, "`&&`", presence::when_true),
            Kind::Or(parts) => self.junction(parts, "`||`", presence::when_false),
            Kind::Choose { choice, then, otherwise } => {
                self.takes(choice, Sort::Bool, "`?`")?;
                let then =
                    self.given(presence::when_true(choice), |checker| checker.shape(then))?;
                let otherwise =
                    self.given(presence::when_false(choice), |checker| checker.shape(otherwise))?;
                Ok(then.or(otherwise))
            }
            Kind::Binary { op, left, right } => {
                let (left, right) = (self.shape(left)?, self.shape(right)?);
                let found = self.binary(*op, (left.sorts, right.sorts), expr.span)?;
                // A list that an operator gives is made of the two.
                Ok(found.holding(left.or(right)))
            }
            Kind::Call { function, args } => self.call(*function, args, expr.span),
            Kind::Matches { of, .. } => self.takes(of, Sort::Text, "`matches`"),
            Kind::Glob { of, .. } => self.takes(of, Sort::Text, "`glob`"),
            Kind::Fold { over, body, .. } => self.fold(over, body),
        }
    }

    /// Looks at a part whose value only matters where these fields are there.
    fn given<T>(&mut self, fields: BTreeSet<String>, look: impl FnOnce(&mut Self) -> T) -> T {
        let before = self.present.clone();
        self.present.extend(fields);
        let found = look(self);
        self.present = before;
        found
    }

    /// A part of `&&` only matters where all others are true, whatever their order, since one that
    /// is false settles the answer; likewise of `||` where all others are false.
    fn junction(
        &mut self,
        parts: &[Expr],
        by: &str,
        known: fn(&Expr) -> BTreeSet<String>,
    ) -> Found<'s> {
        for (place, part) in parts.iter().enumerate() {
            let others = parts.iter().enumerate().filter(|(other, _)| *other != place);
            let fields = others.flat_map(|(_, other)| known(other)).collect();
            self.given(fields, |checker| checker.takes(part, Sort::Bool, by))?;
        }
        Ok(Shape::BOOL)
    }

    fn field(&mut self, expr: &Expr, (of, name): (&Expr, &str), access: Access) -> Found<'s> {
        let holder = self.container(of, &[Sort::Map])?;
        if is_labels(of) {
            return Ok(Shape::only(Sort::Text));
        }
        let Some(field) = holder.field(name) else { return Ok(Shape::ANY) };
        let here = place(expr).unwrap_or_default();
        if let Some(Unknown { hint, is_certain }) = field.unknown {
            let message = format!("the schema has no `{here}`{hint}");
            let (span, code) = (expr.span, Code::UnknownField);
            self.doubts.push(Doubt { span, code, message, is_certain });
        } else if !field.is_required
            && access == Access::Must
            && !of.is_chain()
            && !self.present.contains(&here)
        {
            let message = format!("`{here}` may be missing; write `has({here}) && …` before it");
            self.doubt(expr.span, Code::CanError, message);
        }
        Ok(field.shape)
    }

    fn index(&mut self, of: &Expr, key: &Expr) -> Found<'s> {
        let holder = self.container(of, &[Sort::Map, Sort::List])?;
        let key_sorts = self.shape(key)?.sorts;
        if !key_sorts.has(Sort::Int) && !key_sorts.has(Sort::Text) {
            return Err(wrong(key.span, "an index of a list is an int, a field is a string"));
        }
        if self.schema.is_some() && !is_labels(of) {
            let message =
                "the list may have no such index; `exists` and `all` never fail because of it";
            self.doubt(key.span, Code::CanError, message.to_owned());
        }
        Ok(if is_labels(of) { Shape::only(Sort::Text) } else { holder.element() })
    }

    fn fold(&mut self, over: &Expr, body: &Expr) -> Found<'s> {
        let holder = self.container(over, &[Sort::Map, Sort::List])?;
        let element = if is_labels(over) { Shape::only(Sort::Text) } else { holder.element() };
        self.loops.push(element);
        let result = self.takes(body, Sort::Bool, "a loop");
        self.loops.pop();
        result
    }

    fn container(&mut self, of: &Expr, sorts: &[Sort]) -> Found<'s> {
        let found = self.shape(of)?;
        if !sorts.iter().any(|sort| found.sorts.has(*sort)) {
            let message = format!("{} has no such parts", found.sorts.names());
            return Err(wrong(of.span, message));
        }
        let allowed = sorts.iter().copied().map(Sorts::only).fold(Sorts::NONE, Sorts::or);
        self.doubt_others(of.span, found.sorts, allowed, "has no fields or elements");
        Ok(found)
    }

    fn takes(&mut self, part: &Expr, sort: Sort, by: &str) -> Found<'s> {
        let found = self.shape(part)?.sorts;
        if !found.has(sort) {
            let message = format!("{by} takes {}, this is {}", sort.name(), found.names());
            return Err(wrong(part.span, message));
        }
        self.doubt_others(part.span, found, Sorts::only(sort), &format!("{by} does not take"));
        Ok(Shape::BOOL)
    }

    fn negated(&mut self, part: &Expr) -> Found<'s> {
        const SIGNED: [Sort; 4] = [Sort::Int, Sort::Double, Sort::Decimal, Sort::Span];
        let found = self.shape(part)?.sorts;
        let signed = SIGNED.into_iter().map(Sorts::only).fold(Sorts::NONE, Sorts::or);
        let result = found.and(signed);
        if result == Sorts::NONE {
            return Err(wrong(part.span, format!("`-` does not take {}", found.names())));
        }
        self.doubt_others(part.span, found, signed, "`-` does not take");
        Ok(Shape::of(result))
    }

    fn binary(&mut self, op: Binary, (left, right): (Sorts, Sorts), span: Span) -> Found<'s> {
        let fits = |one: Sort, other: Sort| -> Sorts {
            let rows = op.signatures().iter().filter(|row| row.0 == one && row.1 == other);
            rows.fold(Sorts::NONE, |all, row| all.or(Sorts::only(row.2)))
        };
        match op {
            Binary::Equal | Binary::NotEqual => {
                if !left.can_equal(right) {
                    let (constant, code) = match op {
                        Binary::Equal => ("false", Code::AlwaysFalse),
                        _ => ("true", Code::AlwaysTrue),
                    };
                    let message = format!(
                        "always {constant}: {} never equals {}",
                        left.names(),
                        right.names()
                    );
                    self.doubts.push(Doubt::new(span, code, message));
                }
                return Ok(Shape::BOOL);
            }
            Binary::In if HOLDERS.iter().any(|holder| right.has(*holder)) => {
                let allowed = HOLDERS.iter().copied().map(Sorts::only).fold(Sorts::NONE, Sorts::or);
                self.doubt_others(span, right, allowed, "`in` does not take");
                return Ok(Shape::BOOL);
            }
            Binary::In
            | Binary::Less
            | Binary::LessOrEqual
            | Binary::Greater
            | Binary::GreaterOrEqual
            | Binary::Add
            | Binary::Subtract
            | Binary::Multiply => {}
        }
        let mut result = Sorts::NONE;
        let mut misfit = None;
        for one in left.iter() {
            for other in right.iter() {
                let gives = fits(one, other);
                result = result.or(gives);
                let is_known = !left.is_anything() && !right.is_anything();
                misfit = misfit.or((gives == Sorts::NONE && is_known).then_some((one, other)));
            }
        }
        let sign = op.sign();
        if result == Sorts::NONE {
            let message = format!("`{sign}` does not take {} and {}", left.names(), right.names());
            return Err(wrong(span, message));
        }
        if let Some((one, other)) = misfit {
            let message = format!("`{sign}` does not take {} and {}", one.name(), other.name());
            self.doubt(span, Code::CanError, format!("{message}, which the schema allows"));
        }
        Ok(Shape::of(result))
    }

    fn call(&mut self, function: Function, args: &[Expr], span: Span) -> Found<'s> {
        let found: Vec<Sorts> = args
            .iter()
            .map(|arg| self.shape(arg).map(|shape| shape.sorts))
            .collect::<Result<_, _>>()?;
        let mut result = Sorts::NONE;
        let mut taken = vec![Sorts::NONE; found.len()];
        for row in function.signatures().filter(|row| row.takes.len() == found.len()) {
            if row.takes.iter().zip(&found).all(|(sort, arg)| arg.has(*sort)) {
                result = result.or(Sorts::only(row.gives));
                for (all, sort) in taken.iter_mut().zip(row.takes) {
                    *all = all.or(Sorts::only(*sort));
                }
            }
        }
        if result == Sorts::NONE {
            let given: Vec<String> = found.iter().map(|sorts| sorts.names()).collect();
            let message = format!("`{}` does not take {}", function.name(), given.join(" and "));
            return Err(wrong(span, message));
        }
        for ((arg, sorts), allowed) in args.iter().zip(found).zip(taken) {
            let verb = format!("`{}` does not take", function.name());
            self.doubt_others(arg.span, sorts, allowed, &verb);
        }
        Ok(Shape::of(result))
    }

    fn doubt(&mut self, span: Span, code: Code, message: String) {
        if self.schema.is_some() {
            self.doubts.push(Doubt::new(span, code, message));
        }
    }

    /// Doubts a part that can be of kinds besides the allowed ones, unless nothing is known of it.
    fn doubt_others(&mut self, span: Span, found: Sorts, allowed: Sorts, verb: &str) {
        let others = found.without(allowed);
        if others != Sorts::NONE && !found.is_anything() {
            let message = format!("{verb} {}, which the schema allows", others.names());
            self.doubt(span, Code::CanError, message);
        }
    }
}

fn fact_shape<'s>(fact: Fact) -> Shape<'s> {
    match fact {
        Fact::AgentId | Fact::AgentName | Fact::CallTool | Fact::CallMode => {
            Shape::only(Sort::Text)
        }
        Fact::AgentLabels => Shape::only(Sort::Map),
        Fact::CallConnector
        | Fact::CallTransport
        | Fact::CallSession
        | Fact::CallOnBehalfOf
        | Fact::CallSideEffect
        | Fact::CallIntent => Shape::only(Sort::Text).or(Shape::only(Sort::Null)),
        Fact::CallLivemode | Fact::CallToolChanged => Shape::BOOL,
        Fact::Now => Shape::only(Sort::Time),
    }
}

fn is_labels(expr: &Expr) -> bool {
    matches!(expr.kind, Kind::Fact(Fact::AgentLabels))
}

fn wrong(span: Span, message: impl Into<String>) -> Problem {
    Problem::coded(span, Code::TypeError, message)
}

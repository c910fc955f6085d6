//! Which kinds of value an expression can have, and refusal of what can never work.
//!
//! Arguments are taken as any JSON here; a tool's schema can only narrow that.

use super::{
    ast::{Expr, Kind, Problem, Span},
    functions::Function,
    names::Fact,
    ops::{Binary, HOLDERS},
    value::{Sort, Value},
};
use crate::error::Code;

/// A set of kinds of value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Sorts(u16);

impl Sorts {
    /// What a JSON value of unknown shape can be.
    pub(crate) const JSON: Self = Self(0b0111_1111);

    /// Returns the set of one.
    pub(crate) const fn only(sort: Sort) -> Self {
        Self(1 << sort as u16)
    }

    /// Returns whether the kind is in the set.
    pub(crate) const fn has(self, sort: Sort) -> bool {
        self.0 & Self::only(sort).0 != 0
    }

    /// Returns both sets together.
    pub(crate) const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Returns the kinds in words.
    pub(crate) fn names(self) -> String {
        let names: Vec<_> =
            Sort::ALL.into_iter().filter(|sort| self.has(*sort)).map(Sort::name).collect();
        names.join(" or ")
    }
}

/// Refuses a condition that can never be true or false.
pub(crate) fn condition(expr: &Expr) -> Result<(), Problem> {
    wanted(expr, &[Sort::Bool], "a condition")
}

/// Refuses an expression that can never be of one of the kinds.
pub(crate) fn wanted(expr: &Expr, sorts: &[Sort], what: &str) -> Result<(), Problem> {
    let found = kinds(expr, &[])?;
    if sorts.iter().any(|sort| found.has(*sort)) {
        return Ok(());
    }
    let names: Vec<_> = sorts.iter().map(|sort| sort.name()).collect();
    let message = format!("{what} must be {}; this is {}", names.join(" or "), found.names());
    Err(wrong(expr.span, message))
}

/// Returns the kinds that the expression can have; `loops` are those of the loops' variables.
pub(super) fn kinds(expr: &Expr, loops: &[Sorts]) -> Result<Sorts, Problem> {
    let bool = Sorts::only(Sort::Bool);
    match &expr.kind {
        Kind::Literal(value) => Ok(Sorts::only(Value::of(value).sort())),
        Kind::Args => Ok(Sorts::only(Sort::Map)),
        Kind::Path { chain, .. } => kinds(chain, loops),
        Kind::Fact(fact) => Ok(fact_kinds(*fact)),
        Kind::Variable(depth) => Ok(loops.get(*depth).copied().unwrap_or(Sorts::JSON)),
        Kind::HasFact(_) => Ok(bool),
        Kind::List(items) => {
            items.iter().try_for_each(|item| kinds(item, loops).map(drop))?;
            Ok(Sorts::only(Sort::List))
        }
        Kind::Field { of, .. } => {
            container(of, &[Sort::Map], loops)?;
            Ok(if is_labels(of) { Sorts::only(Sort::Text) } else { Sorts::JSON })
        }
        Kind::Index { of, key } => {
            container(of, &[Sort::Map, Sort::List], loops)?;
            let key_kinds = kinds(key, loops)?;
            if !key_kinds.has(Sort::Int) && !key_kinds.has(Sort::Text) {
                return Err(wrong(key.span, "a place in a list is an int, a field is a string"));
            }
            Ok(if is_labels(of) { Sorts::only(Sort::Text) } else { Sorts::JSON })
        }
        Kind::Has { of, .. } => container(of, &[Sort::Map], loops).map(|()| bool),
        Kind::HasValue(chain) => kinds(chain, loops).map(|_| bool),
        Kind::OrValue { chain, default } => Ok(kinds(chain, loops)?.or(kinds(default, loops)?)),
        Kind::Not(part) => truth(part, "`!`", loops).map(|()| bool),
        Kind::Negate(part) => negated(part, loops),
        Kind::And(parts) => each_truth(parts, "`&&`", loops).map(|()| bool),
        Kind::Or(parts) => each_truth(parts, "`||`", loops).map(|()| bool),
        Kind::Choose { choice, then, otherwise } => {
            truth(choice, "`?`", loops)?;
            Ok(kinds(then, loops)?.or(kinds(otherwise, loops)?))
        }
        Kind::Binary { op, left, right } => {
            binary(*op, (kinds(left, loops)?, kinds(right, loops)?), expr.span)
        }
        Kind::Call { function, args } => call(*function, args, loops, expr.span),
        Kind::Matches { of, .. } => text(of, "`matches`", loops).map(|()| bool),
        Kind::Glob { of, .. } => text(of, "`glob`", loops).map(|()| bool),
        Kind::Fold { over, body, .. } => {
            container(over, &[Sort::Map, Sort::List], loops)?;
            let element = if is_labels(over) { Sorts::only(Sort::Text) } else { element(over) };
            let inside: Vec<Sorts> = loops.iter().copied().chain([element]).collect();
            truth(body, "a loop", &inside).map(|()| bool)
        }
    }
}

fn fact_kinds(fact: Fact) -> Sorts {
    let (text, maybe) =
        (Sorts::only(Sort::Text), Sorts::only(Sort::Text).or(Sorts::only(Sort::Null)));
    match fact {
        Fact::AgentId | Fact::AgentName | Fact::CallTool | Fact::CallMode => text,
        Fact::AgentLabels => Sorts::only(Sort::Map),
        Fact::CallConnector
        | Fact::CallTransport
        | Fact::CallSession
        | Fact::CallOnBehalfOf
        | Fact::CallSideEffect
        | Fact::CallIntent => maybe,
        Fact::CallLivemode | Fact::CallToolChanged => Sorts::only(Sort::Bool),
        Fact::Now => Sorts::only(Sort::Time),
    }
}

fn is_labels(expr: &Expr) -> bool {
    matches!(expr.kind, Kind::Fact(Fact::AgentLabels))
}

/// The kinds of a literal list's elements; those of other lists are not known here.
fn element(over: &Expr) -> Sorts {
    let Kind::Literal(value) = &over.kind else { return Sorts::JSON };
    let Some(items) = value.as_array() else { return Sorts::only(Sort::Text) };
    let found = items
        .iter()
        .fold(Sorts::default(), |all, item| all.or(Sorts::only(Value::of(item).sort())));
    if found.is_empty() { Sorts::JSON } else { found }
}

fn container(of: &Expr, sorts: &[Sort], loops: &[Sorts]) -> Result<(), Problem> {
    let found = kinds(of, loops)?;
    if sorts.iter().any(|sort| found.has(*sort)) {
        return Ok(());
    }
    Err(wrong(of.span, format!("{} has no such parts", found.names())))
}

fn truth(part: &Expr, by: &str, loops: &[Sorts]) -> Result<(), Problem> {
    takes(part, Sort::Bool, by, loops)
}

fn each_truth(parts: &[Expr], by: &str, loops: &[Sorts]) -> Result<(), Problem> {
    parts.iter().try_for_each(|part| truth(part, by, loops))
}

fn text(part: &Expr, by: &str, loops: &[Sorts]) -> Result<(), Problem> {
    takes(part, Sort::Text, by, loops)
}

fn takes(part: &Expr, sort: Sort, by: &str, loops: &[Sorts]) -> Result<(), Problem> {
    let found = kinds(part, loops)?;
    if found.has(sort) {
        return Ok(());
    }
    Err(wrong(part.span, format!("{by} takes {}, this is {}", sort.name(), found.names())))
}

fn negated(part: &Expr, loops: &[Sorts]) -> Result<Sorts, Problem> {
    let found = kinds(part, loops)?;
    let signed = [Sort::Int, Sort::Double, Sort::Decimal, Sort::Span];
    let result = signed.into_iter().filter(|sort| found.has(*sort)).map(Sorts::only);
    let result = result.fold(Sorts::default(), Sorts::or);
    if result.is_empty() {
        return Err(wrong(part.span, format!("`-` does not take {}", found.names())));
    }
    Ok(result)
}

fn binary(op: Binary, (left, right): (Sorts, Sorts), span: Span) -> Result<Sorts, Problem> {
    let bool = Sorts::only(Sort::Bool);
    let result = match op {
        Binary::Equal | Binary::NotEqual => bool,
        Binary::In => {
            let fits = HOLDERS.iter().any(|holder| right.has(*holder));
            if fits { bool } else { Sorts::default() }
        }
        Binary::Less
        | Binary::LessOrEqual
        | Binary::Greater
        | Binary::GreaterOrEqual
        | Binary::Add
        | Binary::Subtract
        | Binary::Multiply => op
            .signatures()
            .iter()
            .filter(|(one, other, _)| left.has(*one) && right.has(*other))
            .fold(Sorts::default(), |all, (_, _, gives)| all.or(Sorts::only(*gives))),
    };
    if result.is_empty() {
        let message =
            format!("`{}` does not take {} and {}", op.sign(), left.names(), right.names());
        return Err(wrong(span, message));
    }
    Ok(result)
}

fn call(function: Function, args: &[Expr], loops: &[Sorts], span: Span) -> Result<Sorts, Problem> {
    let found: Vec<Sorts> = args.iter().map(|arg| kinds(arg, loops)).collect::<Result<_, _>>()?;
    let result = function
        .signatures()
        .filter(|row| row.takes.len() == found.len())
        .filter(|row| row.takes.iter().zip(&found).all(|(sort, arg)| arg.has(*sort)))
        .fold(Sorts::default(), |all, row| all.or(Sorts::only(row.gives)));
    if result.is_empty() {
        let given: Vec<String> = found.iter().map(|sorts| sorts.names()).collect();
        let message = format!("`{}` does not take {}", function.name(), given.join(" and "));
        return Err(wrong(span, message));
    }
    Ok(result)
}

fn wrong(span: Span, message: impl Into<String>) -> Problem {
    Problem::coded(span, Code::TypeError, message)
}

//! What is written out in an expression and that nothing can read, whatever the call is.

use super::{
    ast::{Expr, Kind, Problem},
    eval::Machine,
    failure::Cause,
    functions::Function,
    names::Fact,
    scope::Scope,
};
use crate::{call::Call, error::Code};

/// The parts that have no value for any call, the innermost ones, each with what would have been
/// read. Any call will do to try them on.
pub(crate) fn unreadable(expr: &Expr, any: &Call) -> Vec<Problem> {
    let mut problems = Vec::new();
    look(expr, any, &mut problems);
    problems
}

/// Whether the part is written out and has a value.
fn look(expr: &Expr, any: &Call, problems: &mut Vec<Problem>) -> bool {
    let mut is_constant = true;
    for part in expr.parts() {
        is_constant &= look(part, any, problems);
    }
    let problem = match &expr.kind {
        Kind::Literal(_) => return true,
        Kind::List(_) => return is_constant,
        Kind::Call { function, args } if is_constant => {
            tried(expr, any, |cause| of_call(*function, args.last().unwrap_or(expr), cause))
        }
        Kind::Binary { .. } | Kind::Negate(_) if is_constant => {
            tried(expr, any, |cause| never(expr, cause))
        }
        Kind::Call { function, args } => {
            problems.extend(half_written(*function, args, any));
            return false;
        }
        _ => return false,
    };
    let is_readable = problem.is_none();
    problems.extend(problem);
    is_readable
}

/// What is to be said of the expression if it has no value.
fn tried(expr: &Expr, any: &Call, say: impl Fn(Cause<'_>) -> Problem) -> Option<Problem> {
    let scope = Scope::new(any);
    Machine::new(&scope).value(expr).err().map(|failure| say(failure.cause))
}

/// A zone or an address that is written out, beside something that is not.
fn half_written(function: Function, args: &[Expr], any: &Call) -> Option<Problem> {
    let [_, written] = args else { return None };
    let Kind::Literal(text) = &written.kind else { return None };
    text.as_str()?;
    let (function, args) = match function {
        Function::Part(_) => {
            let now = Expr { span: written.span, kind: Kind::Fact(Fact::Now) };
            (function, vec![now, written.clone()])
        }
        Function::ContainsIp => (Function::ToIp, vec![written.clone()]),
        _ => return None,
    };
    let alone = Expr { span: written.span, kind: Kind::Call { function, args } };
    tried(&alone, any, |cause| of_call(function, written, cause))
}

fn of_call(function: Function, read: &Expr, cause: Cause<'_>) -> Problem {
    let (Cause::BadInput { .. }, Some(wanted)) = (cause, wanted(function)) else {
        return never(read, cause);
    };
    let found = match &read.kind {
        Kind::Literal(value) => format!("`{}`", value.as_str().unwrap_or(&value.to_string())),
        _ => "this".to_owned(),
    };
    let message = format!("{found} is not valid; expected {wanted}");
    Problem::coded(read.span, Code::UnreadableConstant, message)
}

fn never(expr: &Expr, cause: Cause<'_>) -> Problem {
    let message = format!("this can never have a value: {cause}");
    Problem::coded(expr.span, Code::UnreadableConstant, message)
}

/// What the function reads.
const fn wanted(function: Function) -> Option<&'static str> {
    match function {
        Function::ToTime => Some("a time such as `2026-10-01T12:00:00Z`"),
        Function::ToSpan => Some("a span such as `1h30m`"),
        Function::ToDecimal => Some("digits with at most 18 after a point, such as `1250.00`"),
        Function::ToIp | Function::ContainsIp => Some("an address such as `10.0.0.7`"),
        Function::ToCidr => Some("a range such as `10.0.0.0/8`, with zeros after the prefix"),
        Function::ToInt => Some("a whole number such as `12`"),
        Function::ToDouble => Some("a number such as `0.5`"),
        Function::EmailDomain => Some("an address such as `ann@example.org`"),
        Function::UrlHost => Some("a URL such as `https://api.example.org/v1`"),
        Function::Part(_) => Some("a time zone such as `Europe/Vienna` or `+02:00`"),
        Function::Size
        | Function::StartsWith
        | Function::EndsWith
        | Function::Contains
        | Function::LowerAscii
        | Function::ToText => None,
    }
}

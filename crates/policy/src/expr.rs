//! The expression language: a strict part of CEL with its own parser and evaluator.
//!
//! Expressions read the call and nothing else; there is no clock, no variable that lives on and
//! no function that can reach outside.

mod ast;
mod check;
#[cfg(feature = "prover")]
mod constant;
mod decimal;
mod duration;
mod eval;
mod failure;
mod functions;
mod guard;
mod lex;
mod names;
mod network;
mod ops;
mod parse;
mod pattern;
mod presence;
mod scope;
mod shape;
mod slots;
mod value;

use std::time::Duration;

pub use decimal::{Decimal, DecimalError};

pub(crate) use ast::{Expr, Junction, Problem};
pub(crate) use check::condition;
pub(crate) use eval::{FUEL, Machine};
pub(crate) use failure::Failure;
pub(crate) use guard::{Branch, Guard, Key, Operand, Plain, guards};
pub(crate) use names::hint;
pub(crate) use parse::{Constants, Parsed, parse};
pub(crate) use pattern::Patterns;
pub(crate) use scope::{Scope, instant};
pub(crate) use slots::Slots;
pub(crate) use value::{Sort, Value};

/// What only proofs take apart.
#[cfg(feature = "prover")]
pub(crate) use {
    ast::{Access, Fold, Kind},
    check::{Doubt, doubts, sorts},
    constant::unreadable,
    functions::Function,
    names::Fact,
    ops::{Binary, ORDERED},
    pattern::Pattern,
    shape::{Sorts, unknown},
    value::List,
};

#[cfg(test)]
mod tests;

/// Refuses an expression that can never be an amount.
pub(crate) fn amount(expr: &Expr) -> Result<(), Problem> {
    check::wanted(expr, &[Sort::Decimal, Sort::Int], "an amount")
}

/// Refuses an expression that can never be a text.
pub(crate) fn text(expr: &Expr) -> Result<(), Problem> {
    check::wanted(expr, &[Sort::Text], "a currency")
}

/// Reads a span of time such as `1h30m`.
pub(crate) fn span(text: &str) -> Option<Duration> {
    duration::parse(text)?.try_into().ok()
}

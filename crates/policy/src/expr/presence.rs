//! Which fields are certainly there where a condition is true, or false.

use std::collections::BTreeSet;

use super::ast::{Access, Expr, Kind};

/// The fields that are there wherever the condition is true.
pub(crate) fn when_true(condition: &Expr) -> BTreeSet<String> {
    match &condition.kind {
        Kind::Has { of, name } => field(of, name).into_iter().collect(),
        Kind::HasValue(chain) => place(chain).into_iter().collect(),
        Kind::And(parts) => parts.iter().flat_map(when_true).collect(),
        Kind::Or(parts) => in_each(parts, when_true),
        Kind::Not(part) => when_false(part),
        _ => BTreeSet::new(),
    }
}

/// The fields that are there wherever the condition is false.
pub(crate) fn when_false(condition: &Expr) -> BTreeSet<String> {
    match &condition.kind {
        Kind::Or(parts) => parts.iter().flat_map(when_false).collect(),
        Kind::And(parts) => in_each(parts, when_false),
        Kind::Not(part) => when_true(part),
        _ => BTreeSet::new(),
    }
}

fn in_each(parts: &[Expr], known: fn(&Expr) -> BTreeSet<String>) -> BTreeSet<String> {
    let mut sets = parts.iter().map(known);
    let first = sets.next().unwrap_or_default();
    sets.fold(first, |common, next| common.intersection(&next).cloned().collect())
}

/// The field in the form in which it is remembered and shown.
pub(crate) fn place(expr: &Expr) -> Option<String> {
    match &expr.kind {
        Kind::Args => Some("args".to_owned()),
        Kind::Path { chain, .. } => place(chain),
        Kind::Variable { name, .. } => Some(name.to_string()),
        Kind::Field { of, name, access: Access::Must | Access::May } => field(of, name),
        _ => None,
    }
}

fn field(of: &Expr, name: &str) -> Option<String> {
    place(of).map(|of| format!("{of}.{name}"))
}

//! The shape of a parsed expression: names are resolved, patterns are compiled.

use std::sync::Arc;

use serde_json::Value as Json;

use super::{functions::Function, names::Fact, ops::Binary, pattern::Pattern};
use crate::{error::Code, glob::Glob};

/// A piece of an expression's text, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Span {
    pub(crate) start: usize,
    pub(crate) end: usize,
}

impl Span {
    pub(crate) const fn new(start: usize, end: usize) -> Self {
        Self { start, end }
    }

    /// The span from the start of this one to the end of the other.
    pub(crate) const fn to(self, other: Self) -> Self {
        Self { start: self.start, end: other.end }
    }
}

/// Why a text is not an expression that policies take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Problem {
    pub(crate) span: Span,
    pub(crate) code: Code,
    pub(crate) message: String,
}

impl Problem {
    pub(crate) fn new(span: Span, message: impl Into<String>) -> Self {
        Self { span, code: Code::BadExpression, message: message.into() }
    }

    pub(crate) fn coded(span: Span, code: Code, message: impl Into<String>) -> Self {
        Self { span, code, message: message.into() }
    }
}

/// One node and its place.
#[derive(Debug, Clone)]
pub(crate) struct Expr {
    pub(crate) span: Span,
    pub(crate) kind: Kind,
}

/// What a node does.
#[derive(Debug, Clone)]
pub(crate) enum Kind {
    /// A literal, a list of literals or a constant of the policy.
    Literal(Arc<Json>),
    /// A list with parts that are worked out.
    List(Vec<Expr>),
    /// The call's arguments.
    Args,
    /// A field of the arguments that is looked up once for all expressions of a decision; put in
    /// the chain's place by [`slots`](super::slots).
    Path {
        slot: usize,
        path: Box<[Box<str>]>,
        chain: Box<Expr>,
    },
    /// Something else that is known of the call.
    Fact(Fact),
    /// The variable of the loop at this nesting depth, from 0.
    Variable {
        depth: usize,
        name: Box<str>,
    },
    /// `of.field` or `of['field']`.
    Field {
        of: Box<Expr>,
        name: Box<str>,
        access: Access,
    },
    /// `of[key]`.
    Index {
        of: Box<Expr>,
        key: Box<Expr>,
    },
    /// `has(of.name)`.
    Has {
        of: Box<Expr>,
        name: Box<str>,
    },
    /// `has(call.session)` and its like.
    HasFact(Fact),
    /// `chain.orValue(default)`.
    OrValue {
        chain: Box<Expr>,
        default: Box<Expr>,
    },
    /// `chain.hasValue()`.
    HasValue(Box<Expr>),
    Not(Box<Expr>),
    Negate(Box<Expr>),
    And(Vec<Expr>),
    Or(Vec<Expr>),
    /// `if ? then : otherwise`.
    Choose {
        choice: Box<Expr>,
        then: Box<Expr>,
        otherwise: Box<Expr>,
    },
    Binary {
        op: Binary,
        left: Box<Expr>,
        right: Box<Expr>,
    },
    /// A function; a receiver comes first.
    Call {
        function: Function,
        args: Vec<Expr>,
    },
    /// `of.matches('…')`.
    Matches {
        of: Box<Expr>,
        pattern: Arc<Pattern>,
    },
    /// `glob(of, '…')`.
    Glob {
        of: Box<Expr>,
        pattern: Glob,
    },
    /// `over.exists(x, body)` and its like; the variable is the one at `depth`.
    Fold {
        fold: Fold,
        over: Box<Expr>,
        body: Box<Expr>,
        depth: usize,
    },
}

/// What a missing field is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Access {
    /// An error (`.field`).
    Must,
    /// An empty chain (`.?field`).
    May,
}

/// What a loop asks of the elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fold {
    All,
    Exists,
    ExistsOne,
}

/// What several conditions are asked for together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Junction {
    All,
    Any,
}

impl Expr {
    /// The conditions that this one asks for together, where it does.
    pub(crate) fn junction(&self) -> Option<(Junction, &[Expr])> {
        match &self.kind {
            Kind::And(parts) => Some((Junction::All, parts)),
            Kind::Or(parts) => Some((Junction::Any, parts)),
            _ => None,
        }
    }

    /// The sides of a comparison that are not written out.
    pub(crate) fn compared(&self) -> Vec<&Expr> {
        match &self.kind {
            Kind::Binary { left, right, .. } => {
                let sides = [&**left, &**right].into_iter();
                sides.filter(|side| !matches!(side.kind, Kind::Literal(_))).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Whether this is a chain with a `.?` in it, which only `orValue` and `hasValue` take.
    pub(crate) fn is_chain(&self) -> bool {
        match &self.kind {
            Kind::Field { access: Access::May, .. } => true,
            Kind::Field { of, .. } | Kind::Index { of, .. } => of.is_chain(),
            _ => false,
        }
    }

    /// The direct parts, in the order of the text.
    pub(crate) fn parts(&self) -> Vec<&Expr> {
        match &self.kind {
            Kind::Literal(_)
            | Kind::Args
            | Kind::Path { .. }
            | Kind::Fact(_)
            | Kind::Variable { .. }
            | Kind::HasFact(_) => Vec::new(),
            Kind::List(parts) | Kind::And(parts) | Kind::Or(parts) => parts.iter().collect(),
            Kind::Call { args, .. } => args.iter().collect(),
            Kind::Field { of: part, .. }
            | Kind::Has { of: part, .. }
            | Kind::Matches { of: part, .. }
            | Kind::Glob { of: part, .. }
            | Kind::HasValue(part)
            | Kind::Not(part)
            | Kind::Negate(part) => vec![part],
            Kind::Index { of: left, key: right }
            | Kind::OrValue { chain: left, default: right }
            | Kind::Fold { over: left, body: right, .. }
            | Kind::Binary { left, right, .. } => vec![left, right],
            Kind::Choose { choice, then, otherwise } => vec![choice, then, otherwise],
        }
    }

    /// The direct parts to change, in the order of the text.
    pub(crate) fn parts_mut(&mut self) -> Vec<&mut Expr> {
        match &mut self.kind {
            Kind::Literal(_)
            | Kind::Args
            | Kind::Path { .. }
            | Kind::Fact(_)
            | Kind::Variable { .. }
            | Kind::HasFact(_) => Vec::new(),
            Kind::List(parts) | Kind::And(parts) | Kind::Or(parts) => parts.iter_mut().collect(),
            Kind::Call { args, .. } => args.iter_mut().collect(),
            Kind::Field { of: part, .. }
            | Kind::Has { of: part, .. }
            | Kind::Matches { of: part, .. }
            | Kind::Glob { of: part, .. }
            | Kind::HasValue(part)
            | Kind::Not(part)
            | Kind::Negate(part) => vec![part],
            Kind::Index { of: left, key: right }
            | Kind::OrValue { chain: left, default: right }
            | Kind::Fold { over: left, body: right, .. }
            | Kind::Binary { left, right, .. } => vec![left, right],
            Kind::Choose { choice, then, otherwise } => vec![choice, then, otherwise],
        }
    }
}

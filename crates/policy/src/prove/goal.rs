//! What is asked of a call, and what a way to meet it is made of.

use super::{
    cube::Cube,
    domain::Limit,
    term::{Elements, Term},
};
use crate::{
    document::{Cost, Rule},
    expr::Expr,
    glob::Glob,
};

/// What a condition is to come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Want {
    True,
    False,
    /// It has no value.
    Fails,
}

/// Something that a call must do.
#[derive(Debug, Clone)]
pub(crate) enum Goal<'p> {
    /// Its tool is covered by one of the patterns.
    Covered(&'p [Glob]),
    /// The condition comes to this.
    Comes(&'p Expr, Want),
    /// The rule does not decide: it does not cover the tool, or its condition is false.
    Passes(&'p Rule),
    /// What it costs can be told.
    Charged(&'p Cost),
    /// The same as `Comes` within loops.
    Within(&'p Expr, Want, Elements),
    /// The condition comes to this or has no value.
    ComesOrFails(&'p Expr, Want, Elements),
}

/// One thing that a way needs.
#[derive(Debug, Clone)]
pub(super) enum Step<'p> {
    Goal(Goal<'p>),
    Limit(Term<'p>, Limit),
    /// The list has one more element that is spoken of.
    Element(Term<'p>),
    /// A text worth trying where nothing better is known.
    Hint(String),
}

/// What must hold together.
pub(super) type Way<'p> = Vec<Step<'p>>;

/// What a goal is split by: the cube as it stands, and the elements that loops around speak of.
pub(super) struct Splitter<'c, 'p> {
    pub(super) elements: Elements,
    pub(super) cube: &'c Cube<'p>,
}

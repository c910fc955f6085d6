//! Comparisons as limits on terms: with a value that is written out they are exact, between two
//! terms only the same comparison is recognised again.

use std::cmp::Ordering;

use serde_json::Value as Json;

use super::{
    domain::{Edge, Limit, Scalar, ordered_with},
    goal::{Splitter, Step, Want, Way},
    reading::{constant, texts},
    term::{Term, key, plain},
};
use crate::expr::{Binary, Expr, Kind, Sort, Sorts, Value};

/// One side of a comparison.
pub(super) enum Operand<'p> {
    Term(Term<'p>),
    Const(Scalar),
}

type Sides<'p> = (Binary, &'p Expr, &'p Expr);

/// The ways in which the comparison comes to this.
pub(super) fn ways<'p>(
    splitter: &Splitter<'_, 'p>,
    expr: &'p Expr,
    (op, left, right): Sides<'p>,
    want: Want,
) -> Vec<Way<'p>> {
    match op {
        Binary::NotEqual => ways(splitter, expr, (Binary::Equal, left, right), opposite(want)),
        Binary::Greater => ways(splitter, expr, (Binary::Less, right, left), want),
        Binary::GreaterOrEqual => ways(splitter, expr, (Binary::LessOrEqual, right, left), want),
        Binary::In => member(splitter, expr, (left, right), want),
        Binary::Equal | Binary::Less | Binary::LessOrEqual => {
            let mut ways = Vec::new();
            for (before, one) in operands(splitter, left) {
                for (between, other) in operands(splitter, right) {
                    let limits = limits(splitter, (op, &one, &other), (left, right), want);
                    ways.extend(
                        limits
                            .into_iter()
                            .map(|way| [before.clone(), between.clone(), way].concat()),
                    );
                }
            }
            if want == Want::Fails {
                ways.extend(splitter.unread(left));
                ways.extend(splitter.unread(right));
            }
            ways
        }
        Binary::Add | Binary::Subtract | Binary::Multiply => splitter.plain_truth(expr, want),
    }
}

/// What the expression can be, each with what must hold for that.
pub(super) fn operands<'p>(
    splitter: &Splitter<'_, 'p>,
    expr: &'p Expr,
) -> Vec<(Way<'p>, Operand<'p>)> {
    let expr = plain(expr);
    if let Some(value) = constant(expr) {
        return vec![(Vec::new(), Operand::Const(value))];
    }
    if let Kind::OrValue { chain, default } = &expr.kind {
        let found = Term::of(chain, splitter.elements);
        let mut all =
            vec![(vec![Step::Limit(found.clone(), Limit::Present)], Operand::Term(found))];
        for missing in splitter.missing(chain) {
            all.extend(
                operands(splitter, default)
                    .into_iter()
                    .map(|(way, operand)| ([missing.clone(), way].concat(), operand)),
            );
        }
        return all;
    }
    let mut way = splitter.reads(expr);
    let term = Term::of(expr, splitter.elements);
    way.push(Step::Limit(term.clone(), Limit::Present));
    if !term.is_read() {
        way.extend(texts(expr).into_iter().map(Step::Hint));
    }
    vec![(way, Operand::Term(term))]
}

fn limits<'p>(
    splitter: &Splitter<'_, 'p>,
    (op, one, other): (Binary, &Operand<'p>, &Operand<'p>),
    (left, right): (&'p Expr, &'p Expr),
    want: Want,
) -> Vec<Way<'p>> {
    match (one, other) {
        (Operand::Const(one), Operand::Const(other)) => {
            let found = settled(op, one, other);
            if found == want { vec![Vec::new()] } else { Vec::new() }
        }
        (Operand::Term(term), Operand::Const(value)) => limit(term, (op, value), Side::Left, want),
        (Operand::Const(value), Operand::Term(term)) => limit(term, (op, value), Side::Right, want),
        (Operand::Term(_), Operand::Term(_)) => {
            between(op, (&key(left, splitter.elements), &key(right, splitter.elements)), want)
        }
    }
}

/// What two written-out values come to.
fn settled(op: Binary, one: &Scalar, other: &Scalar) -> Want {
    let truth = |holds: bool| if holds { Want::True } else { Want::False };
    if op == Binary::Equal {
        return truth(one.equals(other));
    }
    match one.order(other) {
        Ok(Some(Ordering::Equal)) => truth(op == Binary::LessOrEqual),
        Ok(order) => truth(order == Some(Ordering::Less)),
        Err(_) => Want::Fails,
    }
}

/// Which side of the comparison the term stands on.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Left,
    Right,
}

fn limit<'p>(
    term: &Term<'p>,
    (op, value): (Binary, &Scalar),
    side: Side,
    want: Want,
) -> Vec<Way<'p>> {
    let one = |limit: Limit| vec![vec![Step::Limit(term.clone(), limit)]];
    if op == Binary::Equal {
        return match want {
            Want::True => one(Limit::OneOf(vec![value.clone()])),
            Want::False => one(Limit::NoneOf(vec![value.clone()])),
            Want::Fails => Vec::new(),
        };
    }
    let ordered = ordered_with(value.sort());
    let holds = if op == Binary::Less { Edge::Open } else { Edge::Closed };
    let fails = if op == Binary::Less { Edge::Closed } else { Edge::Open };
    match (want, side) {
        (Want::Fails, _) => one(Limit::Sorts(Sorts::ALL.without(ordered))),
        (Want::True, Side::Left) => one(Limit::AtMost(value.clone(), holds)),
        (Want::True, Side::Right) => one(Limit::AtLeast(value.clone(), holds)),
        (Want::False, Side::Left) => one(Limit::AtLeast(value.clone(), fails)),
        (Want::False, Side::Right) => one(Limit::AtMost(value.clone(), fails)),
    }
}

/// A comparison of two terms, and what it says of the other comparisons of the same two.
fn between<'p>(op: Binary, (left, right): (&str, &str), want: Want) -> Vec<Way<'p>> {
    let (sorted_left, sorted_right) = if left <= right { (left, right) } else { (right, left) };
    let name =
        |sign: &str, left: &str, right: &str| Term::opaque(format!("{sign}({left},{right})"));
    let holds = |term: Term<'p>| Step::Limit(term, Limit::OneOf(vec![Value::Bool(true)]));
    let fails = |term: Term<'p>| Step::Limit(term, Limit::OneOf(vec![Value::Bool(false)]));
    let equal = || name("==", sorted_left, sorted_right);
    let less = |left: &str, right: &str| name("<", left, right);
    let most = |left: &str, right: &str| name("<=", left, right);
    let own = match op {
        Binary::Less => less(left, right),
        Binary::LessOrEqual => most(left, right),
        _ => equal(),
    };
    let way = match (op, want) {
        (_, Want::Fails) => vec![Step::Limit(own, Limit::Absent)],
        (Binary::Less, Want::True) => vec![
            holds(own),
            holds(most(left, right)),
            fails(less(right, left)),
            fails(most(right, left)),
            fails(equal()),
        ],
        (Binary::LessOrEqual, Want::True) => vec![holds(own), fails(less(right, left))],
        (_, Want::True) => vec![holds(own)],
        (_, Want::False) => vec![fails(own)],
    };
    vec![way]
}

fn member<'p>(
    splitter: &Splitter<'_, 'p>,
    expr: &'p Expr,
    (left, right): (&'p Expr, &'p Expr),
    want: Want,
) -> Vec<Way<'p>> {
    let listed = match &plain(right).kind {
        Kind::Literal(value) => value.as_array().and_then(|values| scalars(values)),
        _ => None,
    };
    let mut ways = Vec::new();
    for (way, operand) in operands(splitter, left) {
        let limits = match (&listed, operand) {
            (Some(values), Operand::Const(value)) => {
                let found = values.iter().any(|one| one.equals(&value));
                let found = if found { Want::True } else { Want::False };
                if found == want { vec![Vec::new()] } else { Vec::new() }
            }
            (Some(values), Operand::Term(term)) => match want {
                Want::True => vec![vec![Step::Limit(term, Limit::OneOf(values.clone()))]],
                Want::False => vec![vec![Step::Limit(term, Limit::NoneOf(values.clone()))]],
                Want::Fails => Vec::new(),
            },
            (None, Operand::Const(value)) if Term::of(right, splitter.elements).is_read() => {
                contained(splitter, right, value, want)
            }
            (None, Operand::Const(_) | Operand::Term(_)) => {
                return splitter.plain_truth(expr, want);
            }
        };
        ways.extend(limits.into_iter().map(|limits| [way.clone(), limits].concat()));
    }
    if want == Want::Fails {
        ways.extend(splitter.unread(left));
    }
    ways
}

/// A written-out value in a list or map of the call.
fn contained<'p>(
    splitter: &Splitter<'_, 'p>,
    right: &'p Expr,
    value: Scalar,
    want: Want,
) -> Vec<Way<'p>> {
    let holder = Term::of(right, splitter.elements);
    let holders = Sorts::only(Sort::List).or(Sorts::only(Sort::Map));
    let limit = match want {
        Want::True => Limit::Includes(value),
        Want::False => Limit::Excludes(value),
        Want::Fails => {
            let in_maps = match value.sort() {
                Sort::Text | Sort::Int | Sort::Double | Sort::Bool => holders,
                _ => Sorts::only(Sort::List),
            };
            let mut ways = splitter.unread(right);
            ways.push(vec![Step::Limit(holder, Limit::Sorts(Sorts::ALL.without(in_maps)))]);
            return ways;
        }
    };
    vec![vec![Step::Limit(holder.clone(), Limit::Sorts(holders)), Step::Limit(holder, limit)]]
}

const fn opposite(want: Want) -> Want {
    match want {
        Want::True => Want::False,
        Want::False => Want::True,
        Want::Fails => Want::Fails,
    }
}

fn scalars(values: &[Json]) -> Option<Vec<Scalar>> {
    values.iter().map(|value| Value::of(value).to_scalar()).collect()
}

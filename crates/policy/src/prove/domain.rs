//! What one term can be: whether it is there, of which kinds, within which bounds, out of which
//! values. A conjunction of limits, never an alternative.

use std::{borrow::Cow, cmp::Ordering};

use crate::{
    expr::{Decimal, List, ORDERED, Sort, Sorts, Value},
    prove::texts::{self, Test},
};

/// A value that is no list and no map, kept apart from what it was read from.
pub(super) type Scalar = Value<'static>;

impl Value<'_> {
    /// The value apart from what it was read from; nothing for lists and maps.
    pub(crate) fn to_scalar(&self) -> Option<Value<'static>> {
        Some(match self {
            Self::Null => Value::Null,
            Self::Bool(value) => Value::Bool(*value),
            Self::Int(value) => Value::Int(*value),
            Self::Double(value) => Value::Double(*value),
            Self::Text(text) => Value::Text(Cow::Owned(text.clone().into_owned())),
            Self::Time(at) => Value::Time(*at),
            Self::Span(span) => Value::Span(*span),
            Self::Decimal(value) => Value::Decimal(*value),
            Self::Ip(address) => Value::Ip(*address),
            Self::Cidr(cidr) => Value::Cidr(*cidr),
            Self::List(_) | Self::Map(_) => return None,
        })
    }
}

/// One limit on what a term can be; every one but [`Limit::Absent`] also says that it is there.
#[derive(Debug, Clone)]
pub(super) enum Limit {
    Absent,
    Present,
    Sorts(Sorts),
    OneOf(Vec<Scalar>),
    NoneOf(Vec<Scalar>),
    AtLeast(Scalar, Edge),
    AtMost(Scalar, Edge),
    Passes(Test),
    FailsTest(Test),
    /// A list that has this element, or a map that has this key.
    Includes(Scalar),
    Excludes(Scalar),
}

/// Whether a bound itself is within.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Edge {
    Open,
    Closed,
}

/// Whether a term has a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Presence {
    Unknown,
    Present,
    Absent,
}

/// What a term can be.
#[derive(Debug, Clone)]
pub(super) struct Domain {
    pub(super) presence: Presence,
    pub(super) sorts: Sorts,
    pub(super) low: Option<(Scalar, Edge)>,
    pub(super) high: Option<(Scalar, Edge)>,
    pub(super) one_of: Option<Vec<Scalar>>,
    none_of: Vec<Scalar>,
    pub(super) passes: Vec<Test>,
    fails: Vec<Test>,
    pub(super) includes: Vec<Scalar>,
    excludes: Vec<Scalar>,
    /// Set when it was said to be there and not to be there.
    is_torn: bool,
}

impl Domain {
    /// A domain of values of these kinds that may be missing.
    pub(super) fn of(sorts: Sorts) -> Self {
        Self {
            presence: Presence::Unknown,
            sorts,
            low: None,
            high: None,
            one_of: None,
            none_of: Vec::new(),
            passes: Vec::new(),
            fails: Vec::new(),
            includes: Vec::new(),
            excludes: Vec::new(),
            is_torn: false,
        }
    }

    /// The same values, which are there for every call.
    pub(super) fn always(self) -> Self {
        Self { presence: Presence::Present, ..self }
    }

    /// Adds a limit.
    pub(super) fn limit(&mut self, limit: Limit) {
        let presence = match limit {
            Limit::Absent => Presence::Absent,
            _ => Presence::Present,
        };
        self.is_torn |= self.presence != Presence::Unknown && self.presence != presence;
        self.presence = presence;
        match limit {
            Limit::Absent | Limit::Present => {}
            Limit::Sorts(sorts) => self.sorts = self.sorts.and(sorts),
            Limit::OneOf(values) => {
                let known = self.one_of.take();
                let kept = values.into_iter().filter(|value| {
                    known.as_ref().is_none_or(|known| known.iter().any(|one| one.equals(value)))
                });
                self.one_of = Some(kept.collect());
            }
            Limit::NoneOf(values) => self.none_of.extend(values),
            Limit::AtLeast(bound, edge) => {
                self.sorts = self.sorts.and(ordered_with(bound.sort()));
                tighten(&mut self.low, (bound, edge), Ordering::Greater);
            }
            Limit::AtMost(bound, edge) => {
                self.sorts = self.sorts.and(ordered_with(bound.sort()));
                tighten(&mut self.high, (bound, edge), Ordering::Less);
            }
            Limit::Passes(test) => {
                self.sorts = self.sorts.and(Sorts::only(Sort::Text));
                self.passes.push(test);
            }
            Limit::FailsTest(test) => {
                self.sorts = self.sorts.and(Sorts::only(Sort::Text));
                self.fails.push(test);
            }
            Limit::Includes(value) => self.includes.push(value),
            Limit::Excludes(value) => self.excludes.push(value),
        }
    }

    /// Whether the value lies within the limits.
    pub(super) fn admits(&self, value: &Value<'_>) -> bool {
        let tested = |test: &Test| matches!(value, Value::Text(text) if test.is_match(text));
        self.sorts.has(value.sort())
            && within(value, self.low.as_ref(), Ordering::Greater)
            && within(value, self.high.as_ref(), Ordering::Less)
            && self.one_of.as_ref().is_none_or(|all| all.iter().any(|one| one.equals(value)))
            && !self.none_of.iter().any(|one| one.equals(value))
            && self.passes.iter().all(tested)
            && !self.fails.iter().any(tested)
            && self.includes.iter().all(|part| has(value, part) != Some(false))
            && !self.excludes.iter().any(|part| has(value, part) == Some(true))
    }

    /// Whether nothing is left, for certain.
    pub(super) fn is_empty(&self) -> bool {
        if self.is_torn {
            return true;
        }
        if self.presence != Presence::Present {
            return false;
        }
        self.sorts == Sorts::NONE
            || self.finite().is_some_and(|all| !all.iter().any(|value| self.admits(value)))
            || self.is_range_empty()
            || self.includes.iter().any(|one| self.excludes.iter().any(|other| one.equals(other)))
            || (self.one_of.is_none() && texts::contradict(&self.passes, &self.fails))
    }

    /// All the values there can be, when they can be counted.
    fn finite(&self) -> Option<Vec<Scalar>> {
        if let Some(values) = &self.one_of {
            return Some(values.iter().flat_map(forms).collect());
        }
        let bools = Sorts::only(Sort::Bool).or(Sorts::only(Sort::Null));
        if self.sorts.without(bools) == Sorts::NONE {
            return Some(vec![Value::Bool(true), Value::Bool(false), Value::Null]);
        }
        if self.sorts != Sorts::only(Sort::Int) {
            return None;
        }
        let (Some((Value::Int(low), _)), Some((Value::Int(high), _))) = (&self.low, &self.high)
        else {
            return None;
        };
        let count = high.checked_sub(*low).filter(|count| (0..64).contains(count))?;
        Some((0..=count).map(|step| Value::Int(low + step)).collect())
    }

    fn is_range_empty(&self) -> bool {
        let (Some((low, low_edge)), Some((high, high_edge))) = (&self.low, &self.high) else {
            return false;
        };
        match low.order(high) {
            Ok(Some(Ordering::Greater)) => true,
            Ok(Some(Ordering::Equal)) => {
                *low_edge == Edge::Open
                    || *high_edge == Edge::Open
                    || self.none_of.iter().any(|one| one.equals(low))
            }
            Ok(Some(Ordering::Less) | None) | Err(_) => false,
        }
    }
}

/// The values of all kinds that equal the value: numbers do so across kinds.
pub(super) fn forms(value: &Scalar) -> Vec<Scalar> {
    let mut all = vec![value.clone()];
    let whole = match value {
        Value::Int(whole) => Some(*whole),
        Value::Double(double) => double.to_string().parse().ok(),
        Value::Decimal(decimal) => decimal.to_string().parse().ok(),
        _ => None,
    };
    if let Some(whole) = whole {
        #[expect(clippy::cast_precision_loss, reason = "compared with what it came from")]
        let double = Value::Double(whole as f64);
        let decimal = Value::Decimal(Decimal::from(whole));
        all.extend(
            [Value::Int(whole), double, decimal]
                .into_iter()
                .filter(|form| form.sort() != value.sort() && form.equals(&Value::Int(whole))),
        );
    }
    all
}

/// The kinds of values that have an order with values of this kind.
pub(super) fn ordered_with(sort: Sort) -> Sorts {
    let rows = ORDERED.iter().filter(|row| row.1 == sort);
    rows.fold(Sorts::NONE, |all, row| all.or(Sorts::only(row.0)))
}

/// Keeps the tighter of two bounds; where they cannot be compared the first, which is wide enough.
fn tighten(known: &mut Option<(Scalar, Edge)>, new: (Scalar, Edge), tighter: Ordering) {
    let is_tighter = match known {
        None => true,
        Some((bound, edge)) => match new.0.order(bound) {
            Ok(Some(Ordering::Equal)) => *edge == Edge::Closed,
            Ok(Some(order)) => order == tighter,
            Ok(None) | Err(_) => false,
        },
    };
    if is_tighter {
        *known = Some(new);
    }
}

fn within(value: &Value<'_>, bound: Option<&(Scalar, Edge)>, side: Ordering) -> bool {
    let Some((bound, edge)) = bound else { return true };
    match value.order(bound) {
        Ok(Some(Ordering::Equal)) => *edge == Edge::Closed,
        Ok(Some(order)) => order == side,
        Ok(None) | Err(_) => false,
    }
}

/// Whether a list has the element; nothing where the value is no list.
fn has(value: &Value<'_>, part: &Scalar) -> Option<bool> {
    match value {
        Value::List(List::Json(items)) => {
            Some(items.iter().any(|item| Value::of(item).equals(part)))
        }
        Value::List(List::Built(items)) => Some(items.iter().any(|item| item.equals(part))),
        _ => None,
    }
}

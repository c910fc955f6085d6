//! The operators with two sides, as one table: what they take and what they give.

use super::value::Sort::{self, Bool, Decimal, Double, Int, List, Map, Span, Text, Time};

/// An operator with two sides; `&&`, `||` and `?:` are shapes of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Binary {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    In,
    Add,
    Subtract,
    Multiply,
}

impl Binary {
    /// The operator as it is written.
    pub(crate) const fn sign(self) -> &'static str {
        match self {
            Self::Equal => "==",
            Self::NotEqual => "!=",
            Self::Less => "<",
            Self::LessOrEqual => "<=",
            Self::Greater => ">",
            Self::GreaterOrEqual => ">=",
            Self::In => "in",
            Self::Add => "+",
            Self::Subtract => "-",
            Self::Multiply => "*",
        }
    }

    /// What the operator takes on its two sides and what it gives; equality takes all.
    pub(crate) const fn signatures(self) -> &'static [(Sort, Sort, Sort)] {
        match self {
            Self::Equal | Self::NotEqual | Self::In => &[],
            Self::Less | Self::LessOrEqual | Self::Greater | Self::GreaterOrEqual => ORDERED,
            Self::Add => ADDED,
            Self::Subtract => SUBTRACTED,
            Self::Multiply => MULTIPLIED,
        }
    }
}

/// What has an order with what.
pub(crate) const ORDERED: &[(Sort, Sort, Sort)] = &[
    (Int, Int, Bool),
    (Int, Double, Bool),
    (Double, Int, Bool),
    (Double, Double, Bool),
    (Decimal, Decimal, Bool),
    (Decimal, Int, Bool),
    (Int, Decimal, Bool),
    (Text, Text, Bool),
    (Bool, Bool, Bool),
    (Time, Time, Bool),
    (Span, Span, Bool),
];

const ADDED: &[(Sort, Sort, Sort)] = &[
    (Int, Int, Int),
    (Double, Double, Double),
    (Decimal, Decimal, Decimal),
    (Decimal, Int, Decimal),
    (Int, Decimal, Decimal),
    (Text, Text, Text),
    (List, List, List),
    (Time, Span, Time),
    (Span, Time, Time),
    (Span, Span, Span),
];

const SUBTRACTED: &[(Sort, Sort, Sort)] = &[
    (Int, Int, Int),
    (Double, Double, Double),
    (Decimal, Decimal, Decimal),
    (Decimal, Int, Decimal),
    (Int, Decimal, Decimal),
    (Time, Time, Span),
    (Time, Span, Time),
    (Span, Span, Span),
];

const MULTIPLIED: &[(Sort, Sort, Sort)] =
    &[(Int, Int, Int), (Double, Double, Double), (Decimal, Int, Decimal), (Int, Decimal, Decimal)];

/// What `in` takes on its right side.
pub(crate) const HOLDERS: [Sort; 2] = [List, Map];

//! Why an expression has no value for a call. Names kinds and fields, never values.

use std::fmt;

use super::{ast::Span, value::Sort};

/// An expression that has no value for this call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Failure<'e> {
    /// The part of the text that has no value.
    pub(crate) span: Span,
    pub(crate) cause: Cause<'e>,
}

/// Why a part has no value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cause<'e> {
    /// The mapping has no such field.
    NoField(&'e str),
    /// A field or element of something that has none.
    NoParts(Sort),
    /// A list that has no such place.
    NoPlace,
    /// An operator that does not take these.
    NoOperator { sign: &'static str, left: Sort, right: Sort },
    /// A function that does not take this.
    NoFunction { name: &'static str, of: Sort },
    /// Something else than true or false where a condition is needed.
    NotBool(Sort),
    /// A result outside the range.
    Overflow,
    /// A text or number that the function cannot read.
    BadInput { name: &'static str },
    /// All the work that one decision may cost is done.
    OutOfFuel,
    /// A loop over more than the allowed number of elements.
    TooManyElements,
}

impl fmt::Display for Cause<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoField(name) => write!(f, "no such field `{name}`"),
            Self::NoParts(of) => write!(f, "{} has no fields or elements", article(*of)),
            Self::NoPlace => f.write_str("no such index in the list"),
            Self::NoOperator { sign, left, right } => {
                write!(f, "`{sign}` does not take {} and {}", article(*left), article(*right))
            }
            Self::NoFunction { name, of } => {
                write!(f, "`{name}` does not take {}", article(*of))
            }
            Self::NotBool(of) => write!(f, "expected a bool, found {}", article(*of)),
            Self::Overflow => f.write_str("the result is out of range"),
            Self::BadInput { name } => write!(f, "`{name}` cannot read the value"),
            Self::OutOfFuel => f.write_str("the decision takes too much work"),
            Self::TooManyElements => f.write_str("the list is too long for a loop"),
        }
    }
}

fn article(sort: Sort) -> String {
    match sort {
        Sort::Null => "null".to_owned(),
        Sort::Int | Sort::Ip => format!("an {}", sort.name()),
        Sort::Bool
        | Sort::Double
        | Sort::Text
        | Sort::List
        | Sort::Map
        | Sort::Time
        | Sort::Span
        | Sort::Decimal
        | Sort::Cidr => format!("a {}", sort.name()),
    }
}

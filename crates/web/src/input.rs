//! What a route reads of a request: its body, its query.

use crate::query::Param;

/// What a route does with the body of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BodyRule {
    /// There is none; one that comes is refused.
    None,
    /// One JSON object of at most this many bytes.
    Json(usize),
    /// The same, or nothing, which says as much as an object without members.
    OptionalJson(usize),
    /// One JSON object of at most this many bytes, or the same as a form of texts.
    JsonOrForm(usize),
    /// The same as either, or nothing.
    OptionalJsonOrForm(usize),
}

impl BodyRule {
    /// The most bytes that are read.
    pub const fn limit(self) -> usize {
        match self {
            Self::None => 0,
            Self::Json(limit)
            | Self::OptionalJson(limit)
            | Self::JsonOrForm(limit)
            | Self::OptionalJsonOrForm(limit) => limit,
        }
    }

    /// Whether it may be a form.
    pub(crate) const fn takes_form(self) -> bool {
        matches!(self, Self::JsonOrForm(_) | Self::OptionalJsonOrForm(_))
    }

    /// Whether it may be nothing.
    pub(crate) const fn is_optional(self) -> bool {
        matches!(self, Self::None | Self::OptionalJson(_) | Self::OptionalJsonOrForm(_))
    }
}

/// What a route reads of a request.
#[derive(Debug, Clone, Copy)]
pub struct Input {
    /// The body.
    pub body: BodyRule,
    /// The query parameters.
    pub query: &'static [Param],
}

/// Reads no body and no query.
pub const NOTHING: Input = Input { body: BodyRule::None, query: &[] };

/// Reads these query parameters and no body.
pub const fn query(query: &'static [Param]) -> Input {
    Input { body: BodyRule::None, query }
}

/// Reads a JSON object of at most this many bytes and no query.
pub const fn json(limit: usize) -> Input {
    Input { body: BodyRule::Json(limit), query: &[] }
}

/// Reads a JSON object or a form of at most this many bytes and no query.
pub const fn json_or_form(limit: usize) -> Input {
    Input { body: BodyRule::JsonOrForm(limit), query: &[] }
}

/// Reads a JSON object or a form of at most this many bytes, or nothing, and no query.
pub const fn optional_json_or_form(limit: usize) -> Input {
    Input { body: BodyRule::OptionalJsonOrForm(limit), query: &[] }
}

/// Reads a JSON object of at most this many bytes, or nothing, and no query.
pub const fn optional_json(limit: usize) -> Input {
    Input { body: BodyRule::OptionalJson(limit), query: &[] }
}

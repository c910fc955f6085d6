//! What may be wrong with a body, and how deep one may be.

/// The deepest nesting in a body.
pub(crate) const MAX_DEPTH: usize = 8;

/// A body that is not one of ours.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BodyError {
    /// The bytes are no JSON that the strict parser takes.
    #[error("the body is no strict JSON: {0}")]
    Json(String),
    /// The bytes are not the canonical form of what they say.
    #[error("the body is not in its RFC 8785 form")]
    NotCanonical,
    /// A value is outside the profile.
    #[error("the body is outside the profile: {0}")]
    Profile(String),
    /// The format or kind is one that this version does not know.
    #[error("the body's {0} is not known to this version")]
    Unknown(&'static str),
    /// A member is missing, unknown or malformed.
    #[error("the body has not the shape of its kind: {0}")]
    Shape(String),
}

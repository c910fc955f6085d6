//! What an error code is: a word of the wire, and one row of what it means to a caller.
//!
//! The codes that the kit raises itself are in `codes`; each face has tables of its own, made with
//! the same macro, so that no code can lack its row.

use std::fmt;

/// The family of an error, the envelope's `type`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// The request is at fault.
    InvalidRequest,
    /// The credential is missing or not valid.
    Authentication,
    /// The org's policy refused.
    Policy,
    /// The caller may not do this.
    Permission,
    /// Too much at once.
    RateLimit,
    /// The service is at fault.
    Api,
}

impl Family {
    /// The word of the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::InvalidRequest => "invalid_request_error",
            Self::Authentication => "authentication_error",
            Self::Policy => "policy_error",
            Self::Permission => "permission_error",
            Self::RateLimit => "rate_limit_error",
            Self::Api => "api_error",
        }
    }
}

/// What is said of a code.
#[derive(Debug)]
pub struct CodeRow {
    /// The word of the wire.
    pub word: &'static str,
    /// The HTTP statuses it comes with; the first one unless the raiser says otherwise.
    pub statuses: &'static [u16],
    /// The family.
    pub family: Family,
    /// What happened, in a few words.
    pub title: &'static str,
    /// What to do about it.
    pub remedy: &'static str,
}

/// An error code of the HTTP surface.
#[derive(Debug, Clone, Copy)]
pub struct Code(&'static CodeRow);

impl Code {
    /// The code of this row.
    pub const fn new(row: &'static CodeRow) -> Self {
        Self(row)
    }

    /// The word of the wire.
    pub const fn as_str(self) -> &'static str {
        self.0.word
    }

    /// The code's row.
    pub const fn row(self) -> &'static CodeRow {
        self.0
    }
}

/// Two codes are one when they have the same word.
impl PartialEq for Code {
    fn eq(&self, other: &Self) -> bool {
        self.0.word == other.0.word
    }
}

impl Eq for Code {}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Defines the codes of an area, each with its row, and `ALL` of them.
#[macro_export]
macro_rules! codes {
    ($($name:ident $word:literal [$($status:literal),+] $family:ident $title:literal $remedy:literal)+) => {
        $(
            #[doc = $title]
            pub const $name: $crate::code::Code = $crate::code::Code::new(&$crate::code::CodeRow {
                word: $word,
                statuses: &[$($status),+],
                family: $crate::code::Family::$family,
                title: $title,
                remedy: $remedy,
            });
        )+

        /// Every code of this area.
        pub const ALL: &[$crate::code::Code] = &[$($name),+];
    };
}

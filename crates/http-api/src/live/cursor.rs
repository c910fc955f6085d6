//! The place in a stream that a client resumes from, `<instance>.<seq>`.

use std::{fmt, str::FromStr};

/// A place in an org's events, as one instance gave it out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Cursor {
    pub(crate) instance: String,
    pub(crate) seq: u64,
}

/// A text that is no cursor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected `<instance>.<seq>`: 1 to 32 characters of `0-9a-z`, a dot, and 1 to 19 digits")]
pub(crate) struct BadCursor;

impl FromStr for Cursor {
    type Err = BadCursor;

    fn from_str(text: &str) -> Result<Self, BadCursor> {
        let (instance, seq) = text.split_once('.').ok_or(BadCursor)?;
        let instance_fits = (1..=32).contains(&instance.len())
            && instance.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'z'));
        let seq_fits =
            (1..=19).contains(&seq.len()) && seq.bytes().all(|byte| byte.is_ascii_digit());
        if !instance_fits || !seq_fits {
            return Err(BadCursor);
        }
        let seq = seq.parse().map_err(|_| BadCursor)?;
        Ok(Self { instance: instance.to_owned(), seq })
    }
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.instance, self.seq)
    }
}

/// Where a stream begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Resume {
    /// With what happens from now on.
    Live,
    /// Behind this place.
    Behind(u64),
    /// With what happens from now on, the cursor being one that cannot be served.
    Expired,
}

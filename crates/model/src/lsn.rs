//! Places in a database's log.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::deserialize_text;

/// A place in the database's log, printed as PostgreSQL does: `16/B374D848`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Lsn(pub u64);

/// A text that is no place in a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected a place in a log such as `16/B374D848`")]
pub struct LsnError;

impl fmt::Display for Lsn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:X}/{:X}", self.0 >> 32, self.0 & 0xffff_ffff)
    }
}

impl FromStr for Lsn {
    type Err = LsnError;

    fn from_str(text: &str) -> Result<Self, LsnError> {
        let half = |text: &str| {
            let plain =
                (1..=8).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_hexdigit());
            if plain { u64::from_str_radix(text, 16).map_err(|_| LsnError) } else { Err(LsnError) }
        };
        let (high, low) = text.split_once('/').ok_or(LsnError)?;
        Ok(Self((half(high)? << 32) | half(low)?))
    }
}

impl Serialize for Lsn {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Lsn {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserialize_text(deserializer)
    }
}

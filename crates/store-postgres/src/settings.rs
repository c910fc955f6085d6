//! What the store is told of its database. Reads no environment; the server fills it in.

use std::{str::FromStr, time::Duration};

use crypto::Secret;

/// How the control database is reached and how long it may take.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The address, such as `postgres://user:password@host:5432/database?sslmode=verify-full`.
    pub url: Secret<String>,
    /// Certificates, as PEM, that are trusted beside the public ones.
    pub ca_pem: Option<String>,
    /// The most connections at a time for turns, leases, sweeps, keys and health.
    pub pool_size: usize,
    /// The most connections at a time beside those, for lists, searches, exports and walks.
    pub reading_pool_size: usize,
    /// By when every call has an answer, be it that there is none.
    pub deadline: Duration,
    /// How long a lease lasts.
    pub lease: Duration,
    /// How long a session may hold the head or the turn lock of an org without a statement before
    /// PostgreSQL ends it. Others wait this long for a turn lock, and twice as long for a head.
    pub hold: Duration,
    /// How statements are planned.
    pub plans: Plans,
}

/// How PostgreSQL plans the statements of the service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Plans {
    /// As is right for the server: `Auto` where it has the extension Citus, `Generic` elsewhere.
    #[default]
    Detect,
    /// Once for all values, which is the cheapest.
    Generic,
    /// As PostgreSQL itself chooses, for the values or for all of them.
    Auto,
}

impl FromStr for Plans {
    type Err = UnknownPlans;

    fn from_str(word: &str) -> Result<Self, UnknownPlans> {
        match word {
            "detect" => Ok(Self::Detect),
            "generic" => Ok(Self::Generic),
            "auto" => Ok(Self::Auto),
            _ => Err(UnknownPlans),
        }
    }
}

/// A word that names no way to plan.
#[derive(Debug, thiserror::Error)]
#[error("expected `detect`, `generic` or `auto`")]
pub struct UnknownPlans;

impl Settings {
    /// The usual settings for the database at this address.
    pub fn new(url: Secret<String>) -> Self {
        Self {
            url,
            ca_pem: None,
            pool_size: 16,
            reading_pool_size: 12,
            deadline: Duration::from_secs(2),
            lease: Duration::from_secs(15),
            hold: Duration::from_millis(500),
            plans: Plans::default(),
        }
    }
}

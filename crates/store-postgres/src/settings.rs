//! What the store is told of its database. Reads no environment; the server fills it in.

use std::time::Duration;

use crypto::Secret;

/// How the control database is reached and how long it may take.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The address, such as `postgres://user:password@host:5432/database?sslmode=verify-full`.
    pub url: Secret<String>,
    /// Certificates, as PEM, that are trusted beside the public ones.
    pub ca_pem: Option<String>,
    /// The most connections at a time.
    pub pool_size: usize,
    /// By when every call has an answer, be it that there is none.
    pub deadline: Duration,
    /// How long a lease lasts.
    pub lease: Duration,
}

impl Settings {
    /// The usual settings for the database at this address.
    pub fn new(url: Secret<String>) -> Self {
        Self {
            url,
            ca_pem: None,
            pool_size: 16,
            deadline: Duration::from_secs(2),
            lease: Duration::from_secs(15),
        }
    }
}

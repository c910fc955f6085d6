//! Why somebody was not signed in.

use std::time::Duration;

use ledger::StoreDown;

/// Why somebody was not signed in. None of it depends on whether an address is anybody's.
#[derive(Debug, thiserror::Error)]
pub enum SignInError {
    /// The link, the code or the browser is wrong; nobody is told which.
    #[error("the link or the code is wrong, or was requested in another browser")]
    Unauthenticated,
    /// The challenge was used, is too old, or had its tries.
    #[error("the link and the code are no longer valid; request new ones")]
    Expired,
    /// Too many asked, for this address or from this network.
    #[error("too many sign-ins were requested; try again in {} s", .0.as_secs())]
    TooMany(Duration),
    /// People could not be read or written.
    #[error(transparent)]
    Down(#[from] StoreDown),
}

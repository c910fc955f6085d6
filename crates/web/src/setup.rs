//! What the way of a request needs of the outside: clock, randomness, bounds and addresses.

use std::{sync::Arc, time::Duration};

use model::{Clock, Entropy};

use crate::{client::TrustedProxies, lifecycle::Lifecycle, room::Room};

/// What the router itself needs of the outside.
pub struct Setup {
    /// The public address, without a slash at its end.
    pub base_url: String,
    /// The clock of request ids.
    pub clock: Arc<dyn Clock>,
    /// The randomness of request ids.
    pub entropy: Arc<dyn Entropy>,
    /// The longest that a whole body may take to arrive.
    pub body_time: Duration,
    /// The longest that the body of a refused request is waited for, to be thrown away.
    pub unread_time: Duration,
    /// The room for the bodies of requests.
    pub room: Arc<Room>,
    /// The proxies whose word on who the client is counts.
    pub proxies: TrustedProxies,
    /// How far the server is on its way down.
    pub lifecycle: Lifecycle,
}

impl std::fmt::Debug for Setup {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Setup").field("base_url", &self.base_url).finish_non_exhaustive()
    }
}

//! What the handlers share.

use std::{sync::Arc, time::Duration};

use admin::Admin;
use async_trait::async_trait;
use crypto::Secret;
use gate::Gate;
use model::{AgentId, Clock, Entropy, KeyId};
use records::Records;
use web::{Cursors, Lifecycle, LookupError, Slots, State};

use crate::{
    access::{Principal, accounts::principal},
    health::Health,
    key_set::KeySetCache,
    live::feed::Feeds,
};

/// What is running.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Build {
    /// The version of the program.
    pub version: String,
    /// The commit that it was built from, where that is known.
    pub commit: Option<String>,
}

/// The state of every handler.
pub struct App {
    pub(crate) gate: Gate,
    pub(crate) admin: Arc<Admin>,
    pub(crate) records: Records,
    pub(crate) feeds: Feeds,
    pub(crate) streams: Slots<KeyId>,
    pub(crate) waits: Slots<Waiter>,
    pub(crate) cursors: Cursors,
    pub(crate) health: Health,
    pub(crate) key_set: KeySetCache,
    pub(crate) lifecycle: Lifecycle,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) entropy: Arc<dyn Entropy>,
    pub(crate) wait_timeout: Duration,
    pub(crate) build: Build,
    /// The name of this run of this instance in stream cursors.
    pub(crate) instance: String,
}

/// Whose waits are counted together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Waiter {
    Agent(AgentId),
    Org(KeyId),
}

impl std::fmt::Debug for App {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("App").field("instance", &self.instance).finish_non_exhaustive()
    }
}

#[async_trait]
impl State for App {
    type Holder = Principal;

    async fn holder(&self, key: &Secret<String>) -> Result<Option<Principal>, LookupError> {
        principal(&self.admin, key).await
    }
}

/// What is held open by clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeldOpen {
    /// Event streams.
    pub streams: usize,
    /// Waits for an action.
    pub waits: usize,
}

impl App {
    /// What clients hold open now.
    pub fn held_open(&self) -> HeldOpen {
        HeldOpen { streams: self.streams.open(), waits: self.waits.open() }
    }
}

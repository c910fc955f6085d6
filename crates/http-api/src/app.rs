//! What the handlers share.

use std::{sync::Arc, time::Duration};

use admin::Admin;
use async_trait::async_trait;
use crypto::Secret;
use gate::Gate;
use model::{AgentId, Clock, Entropy, KeyId};
use records::Records;
use web::{ApiError, Cursors, Lifecycle, LookupError, Patience, Place, Slots, State};

use crate::{
    access::{Principal, accounts::principal},
    health::Health,
    key_set::KeySetCache,
    lists::Lists,
    live::feed::Feeds,
    trials::Trials,
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
    pub(crate) trials: Trials,
    pub(crate) lists: Lists,
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

    fn number(&self, holder: &Principal) -> u128 {
        holder.key().as_uuid().as_u128()
    }

    fn place(&self, holder: &Principal, patience: Patience) -> Result<Place, ApiError> {
        match patience {
            Patience::Lists => self.lists.take(holder.org(), holder.key()),
            Patience::Short | Patience::Waits => Ok(Place::unbounded()),
        }
    }
}

/// What is held open by clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeldOpen {
    /// Event streams.
    pub streams: usize,
    /// Waits for an action.
    pub waits: usize,
    /// Tests, lints and comparisons of policies that are being worked on.
    pub policy_runs: usize,
}

impl App {
    /// What clients hold open now.
    pub fn held_open(&self) -> HeldOpen {
        let (streams, waits) = (self.streams.open(), self.waits.open());
        HeldOpen { streams, waits, policy_runs: self.trials.running() }
    }

    /// The steps that tests of policies took so far.
    pub fn policy_steps(&self) -> u64 {
        self.trials.steps()
    }
}

//! What the handlers share.

use std::{sync::Arc, time::Duration};

use admin::Admin;
use async_trait::async_trait;
use crypto::Secret;
use gate::Gate;
use model::{AgentId, Clock, Entropy, KeyId, OrgId};
use records::Records;
use web::{ApiError, Cursors, Lifecycle, LookupError, Patience, Place, Slots, State};

use crate::{
    access::{Principal, accounts::principal},
    health::Health,
    key_set::KeySetCache,
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

/// The lists that are under way.
pub(crate) struct Lists {
    keys: Slots<KeyId>,
    orgs: Slots<OrgId>,
}

impl Lists {
    pub(crate) fn new() -> Self {
        Self { keys: Slots::new(LISTS_OF_KEY), orgs: Slots::new(LISTS_OF_ORG) }
    }

    /// A place for one more, where the key and the org have one left.
    fn take(&self, org: OrgId, key: KeyId) -> Result<Place, ApiError> {
        let limited = |most, whose| {
            ApiError::rate_limited(format!(
                "{most} lists of this {whose} are under way; let one end first"
            ))
        };
        let of_key = self.keys.take(key).ok_or_else(|| limited(LISTS_OF_KEY, "key"))?;
        let of_org = self.orgs.take(org).ok_or_else(|| limited(LISTS_OF_ORG, "org"))?;
        Ok(Place::of((of_key, of_org)))
    }
}

/// The most lists, searches and exports of one key that are under way on this instance.
const LISTS_OF_KEY: usize = 4;
/// The most of one org.
const LISTS_OF_ORG: usize = 8;

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

#[cfg(test)]
mod tests {
    use model::Uuid;

    use super::*;

    #[test]
    fn a_key_has_four_lists_under_way_and_an_org_eight() {
        let lists = Lists::new();
        let org = |n| OrgId::from_uuid(Uuid::from_u128(n));
        let key = |n| KeyId::from_uuid(Uuid::from_u128(n));
        let mut held: Vec<_> = (0..4).map(|_| lists.take(org(1), key(1)).unwrap()).collect();
        assert_eq!(lists.take(org(1), key(1)).unwrap_err().status(), 429);
        held.extend((0..4).map(|_| lists.take(org(1), key(2)).unwrap()));
        assert_eq!(lists.take(org(1), key(3)).unwrap_err().status(), 429);
        lists.take(org(2), key(4)).unwrap();
        held.pop();
        lists.take(org(1), key(3)).unwrap();
    }
}

//! What the handlers share, and the service made of it.

use std::{sync::Arc, time::Duration};

use admin::Admin;
use async_trait::async_trait;
use crypto::Secret;
use gate::Gate;
use ledger::EventStore;
use model::{AgentId, Clock, Entropy, KeyId, Mint};
use records::Records;
use web::{BadTable, Cursors, Lifecycle, LookupError, Router, Setup, Slots, State, TrustedProxies};

use crate::{
    access::{Principal, principal},
    handlers::{Health, KeySetCache},
    live::Feeds,
    routes,
};

/// The most streams that one key holds open.
const STREAMS: usize = 8;
/// The most waits that one agent holds open on this instance.
const WAITS: usize = 20;
/// The longest that a whole body may take to arrive.
const BODY_TIME: Duration = Duration::from_secs(30);

/// What the interface is made of.
pub struct Parts {
    /// Decides and carries out actions.
    pub gate: Gate,
    /// Authenticates, and knows the seal keys.
    pub admin: Arc<Admin>,
    /// Reads the logs of deeds.
    pub records: Records,
    /// Where streams read what was committed.
    pub events: Arc<dyn EventStore>,
    /// Says how the server's parts are.
    pub probe: Arc<dyn Probe>,
    /// How far the server is on its way down.
    pub lifecycle: Lifecycle,
    /// The clock of request ids and caches.
    pub clock: Arc<dyn Clock>,
    /// The randomness of request ids.
    pub entropy: Arc<dyn Entropy>,
    /// What the operator sets.
    pub settings: Settings,
}

/// What the operator sets.
#[derive(Debug)]
pub struct Settings {
    /// The public address.
    pub base_url: String,
    /// How long a gateway action is waited for when its sender does not say.
    pub wait_timeout: Duration,
    /// The key of list cursors, the same on every instance.
    pub cursor_key: Secret<Vec<u8>>,
    /// The proxies whose word on who the client is counts.
    pub proxies: TrustedProxies,
    /// What is running.
    pub build: Build,
}

/// What is running.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Build {
    /// The version of the program.
    pub version: String,
    /// The commit that it was built from, where that is known.
    pub commit: Option<String>,
}

/// How one part of the server is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Condition {
    /// As it should be.
    Ok,
    /// Working, not as it should.
    Degraded,
    /// Not working.
    Down,
}

/// One part of the server and how it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Check {
    /// The part's name, such as `database`.
    pub name: &'static str,
    /// How it is.
    pub condition: Condition,
}

/// Looks at the server's parts.
#[async_trait]
pub trait Probe: Send + Sync {
    /// Returns how each part is now.
    async fn checks(&self) -> Vec<Check>;
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

impl std::fmt::Debug for Parts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Parts").field("settings", &self.settings).finish_non_exhaustive()
    }
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
    /// Returns what clients hold open now.
    pub fn held_open(&self) -> HeldOpen {
        HeldOpen { streams: self.streams.open(), waits: self.waits.open() }
    }
}

/// Returns the whole interface as one service, to be given to [`crate::serve`].
pub fn service(parts: Parts) -> Result<Router<App>, BadTable> {
    let Parts { gate, admin, records, events, probe, lifecycle, clock, entropy, settings } = parts;
    let random = Mint::new(clock.now(), &*entropy).bytes::<8>();
    let setup = Setup {
        base_url: settings.base_url.trim_end_matches('/').to_owned(),
        clock: Arc::clone(&clock),
        entropy: Arc::clone(&entropy),
        body_time: BODY_TIME,
        proxies: settings.proxies,
        lifecycle: lifecycle.clone(),
    };
    let app = App {
        feeds: Feeds::new(events, gate.ledger().notices().clone()),
        gate,
        admin,
        records,
        streams: Slots::new(STREAMS),
        waits: Slots::new(WAITS),
        cursors: Cursors::new(settings.cursor_key),
        health: Health::new(probe),
        key_set: KeySetCache::default(),
        lifecycle,
        clock,
        entropy,
        wait_timeout: settings.wait_timeout,
        build: settings.build,
        instance: format!("{:016x}", u64::from_be_bytes(random)),
    };
    Router::new(setup, Arc::new(app), routes::table())
}

//! The whole interface, put together.

use std::{
    sync::{Arc, LazyLock},
    time::Duration,
};

use admin::Admin;
use crypto::Secret;
use delivery::Webhooks;
use gate::Gate;
use ledger::{EventStore, Spawn};
use model::{Clock, Entropy, Mint};
use people::{People, Signup};
use records::Records;
use web::{
    BadTableError, Cursors, Lifecycle, Room, Router, Setup, Site, Slots, Table, TrustedProxies,
};

use crate::{
    app::{App, Build},
    console,
    health::{Health, Probe},
    key_set::KeySetCache,
    lists::Lists,
    live::feed::Feeds,
    overview::cache::Overviews,
    routes,
    sign_in::SignIn,
    trials::{Aside, Trials},
};

/// The most streams that one key holds open.
const STREAMS: usize = 8;
/// The most waits that one agent holds open on this instance.
const WAITS: usize = 20;
/// The longest that a whole body may take to arrive.
const BODY_TIME: Duration = Duration::from_secs(30);
/// The longest that the body of a refused request is waited for.
const UNREAD_TIME: Duration = Duration::from_secs(1);

/// The part of the room for bodies that one key may have.
const SHARES: usize = 16;

/// What the interface is made of.
pub struct Parts {
    /// Decides and carries out actions.
    pub gate: Gate,
    /// Authenticates, and knows the seal keys.
    pub admin: Arc<Admin>,
    /// Reads the logs of deeds.
    pub records: Records,
    /// Changes and reads webhook endpoints.
    pub webhooks: Webhooks,
    /// Where streams read what was committed.
    pub events: Arc<dyn EventStore>,
    /// Where people sign in.
    pub people: Arc<People>,
    /// Runs what is left to do behind an answer.
    pub behind: Arc<dyn Spawn>,
    /// Says how the server's parts are.
    pub probe: Arc<dyn Probe>,
    /// How far the server is on its way down.
    pub lifecycle: Lifecycle,
    /// The clock of request ids and caches.
    pub clock: Arc<dyn Clock>,
    /// The randomness of request ids.
    pub entropy: Arc<dyn Entropy>,
    /// Where policies are tested and compared.
    pub aside: Aside,
    /// What the operator sets.
    pub settings: Settings,
}

/// What the operator sets.
#[derive(Debug)]
pub struct Settings {
    /// The public address.
    pub base_url: String,
    /// Who may become a member of an org.
    pub signup: Signup,
    /// How long a gateway action is waited for when its sender does not say.
    pub wait_timeout: Duration,
    /// The key of list cursors, the same on every instance.
    pub cursor_key: Secret<Vec<u8>>,
    /// The most bytes of bodies that are held in memory at once.
    pub body_memory: usize,
    /// The proxies whose word on who the client is counts.
    pub proxies: TrustedProxies,
    /// What is running.
    pub build: Build,
}

impl std::fmt::Debug for Parts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Parts").field("settings", &self.settings).finish_non_exhaustive()
    }
}

/// The whole interface as one service, to be given to [`web::serve`].
pub fn service(parts: Parts) -> Result<Router<App>, BadTableError> {
    let Parts { gate, admin, records, webhooks, events, people, behind, probe, .. } = parts;
    let (lifecycle, clock, entropy) = (parts.lifecycle, parts.clock, parts.entropy);
    let (aside, settings) = (parts.aside, parts.settings);
    let random = Mint::new(clock.now(), &*entropy).bytes::<8>();
    let table = routes::table();
    let site = Site::of(&settings.base_url);
    let sign_in = SignIn::new(people, Arc::clone(&behind), site, settings.signup);
    let setup = Setup {
        base_url: settings.base_url.trim_end_matches('/').to_owned(),
        clock: Arc::clone(&clock),
        entropy: Arc::clone(&entropy),
        body_time: BODY_TIME,
        unread_time: UNREAD_TIME,
        room: Arc::new(room(settings.body_memory, &table)),
        proxies: settings.proxies,
        lifecycle: lifecycle.clone(),
    };
    let app = App {
        sign_in,
        feeds: Feeds::new(events, gate.ledger().notices().clone()),
        gate,
        admin,
        records,
        webhooks,
        streams: Slots::new(STREAMS),
        waits: Slots::new(WAITS),
        trials: Trials::new(aside),
        lists: Lists::new(Arc::clone(&clock)),
        overviews: Overviews::default(),
        cursors: Cursors::new(settings.cursor_key),
        refusal_page: console::refused::answer,
        reference: LazyLock::new(routes::reference::published),
        health: Health::new(probe),
        key_set: KeySetCache::default(),
        lifecycle,
        behind,
        clock,
        entropy,
        wait_timeout: settings.wait_timeout,
        build: settings.build,
        instance: format!("{:016x}", u64::from_be_bytes(random)),
    };
    Router::new(setup, Arc::new(app), table)
}

/// The room for bodies: of one key a sixteenth, and never less than the largest body.
fn room(most: usize, table: &Table<App>) -> Room {
    let largest = table.iter().map(|route| route.input.body.limit());
    let share = largest.fold(most / SHARES, usize::max);
    Room::new(most.max(share), share)
}

//! A deployment in memory: a store, what takes turns over it, and the Gate and the administration
//! that are made of them.

use std::{collections::BTreeMap, sync::Arc};

use act::MayOperate;
use admin::{Admin, ConnectorCheck};
use crypto::{Secret, vault::Ring};
use deed::{KeySet, SealKey, SealKeys, Sealer};
use evidence::{Began, EvidenceStore as _, Following, Gap, Held, Lease, Of, Step, Written};
use gate::{ChangeLog, Gate, Limits, Toolbox};
use ledger::{Changes, Entry, Ledger, Needs, Parts, Request, Snapshot};
use model::{Clock as _, ConnectorId, Entropy, LogGap, Lsn, Mint, OrgId, Timestamp};
use records::DeedStore as _;
use serde_json::Value;
use store_memory::{MemoryPeople, MemoryStore};

use crate::{ManualClock, OnTokio, SeededEntropy};

/// The base URL that intents are signed for in fixtures.
pub const AUDIENCE: &str = "https://chancery.example.com";

/// The moment at which fixtures begin: noon of 2026-10-01 in UTC.
pub const START: Timestamp = Timestamp::from_unix_millis(1_790_856_000_000);

/// One process of a deployment in memory.
#[derive(Debug)]
pub struct Fixture {
    /// The record.
    pub store: Arc<MemoryStore>,
    /// The people who sign in.
    pub people: Arc<MemoryPeople>,
    /// The time of the store and of the process.
    pub clock: Arc<ManualClock>,
    /// The randomness of the process.
    pub dice: Arc<SeededEntropy>,
    /// What signs its deeds.
    pub sealer: Arc<Sealer>,
    /// What encrypts credentials.
    pub vault: Arc<Ring>,
    /// What takes its turns.
    pub ledger: Ledger,
}

/// A sealer with keys of its own, registered for what is sealed from then on.
pub fn sealer(entropy: &dyn Entropy, since: Timestamp) -> Sealer {
    let keys = SealKeys::from_pem(SealKeys::generate_pem(entropy).expose()).unwrap();
    let registered =
        keys.keys().map(|(purpose, key)| SealKey::new(*key.public(), purpose, since)).collect();
    let registered = KeySet::new(registered).unwrap();
    Sealer::new(keys, registered)
}

/// Bounds of a Gate, small enough for tests to reach them.
pub fn limits() -> Limits {
    Limits { max_args_bytes: 1_000, max_result_bytes: 100, ..Limits::default() }
}

impl Fixture {
    /// A process over an empty record, at [`START`]; the same seed makes the same one.
    pub fn new(seed: u64) -> Self {
        let (clock, dice) = (Arc::new(ManualClock::at(START)), Arc::new(SeededEntropy::new(seed)));
        let store = Arc::new(MemoryStore::new(clock.clone()));
        let people = Arc::new(MemoryPeople::new(clock.clone()));
        let sealer = Arc::new(sealer(&*dice, START));
        Self::over((store, people), clock, dice, sealer)
    }

    /// Another process over the same record, with the same keys and randomness of its own.
    pub fn beside(&self, seed: u64) -> Self {
        let dice = Arc::new(SeededEntropy::new(seed));
        let kept = (self.store.clone(), self.people.clone());
        Self::over(kept, self.clock.clone(), dice, self.sealer.clone())
    }

    /// This process with another sealer.
    pub fn sealing_by(self, sealer: Sealer) -> Self {
        Self::over((self.store, self.people), self.clock, self.dice, Arc::new(sealer))
    }

    fn over(
        (store, people): (Arc<MemoryStore>, Arc<MemoryPeople>),
        clock: Arc<ManualClock>,
        dice: Arc<SeededEntropy>,
        sealer: Arc<Sealer>,
    ) -> Self {
        let ledger = Ledger::new(parts(&store, &clock, &dice, &sealer)).unwrap();
        let vault = Arc::new(Ring::parse(&Secret::new(format!("{}=", "A".repeat(43)))).unwrap());
        Self { store, people, clock, dice, sealer, vault, ledger }
    }

    /// What a ledger of this process is made of, for one that differs in some part.
    pub fn parts(&self) -> Parts {
        parts(&self.store, &self.clock, &self.dice, &self.sealer)
    }

    /// The Gate of this process over these tools.
    pub fn gate(&self, toolbox: Arc<dyn Toolbox>, limits: Limits) -> Gate {
        self.gate_beside_log(toolbox, Arc::new(gate::NoChangeLog), limits)
    }

    /// The same beside this change log.
    pub fn gate_beside_log(
        &self,
        toolbox: Arc<dyn Toolbox>,
        log: Arc<dyn ChangeLog>,
        limits: Limits,
    ) -> Gate {
        Gate::new(gate::Parts {
            ledger: self.ledger.clone(),
            store: self.store.clone(),
            people: self.people.clone(),
            toolbox,
            log,
            spawn: Arc::new(OnTokio),
            pause: Arc::new(OnTokio),
            clock: self.clock.clone(),
            instance: "one".to_owned(),
            audience: AUDIENCE.into(),
            limits,
        })
    }

    /// The administration of this process, whose connectors are judged by this.
    pub fn admin(&self, connectors: Arc<dyn ConnectorCheck>) -> Admin {
        Admin::new(admin::Parts {
            ledger: self.ledger.clone(),
            store: self.store.clone(),
            connectors,
            entropy: self.dice.clone(),
            clock: self.clock.clone(),
            pepper: Secret::new(vec![9; 32]),
            vault: self.vault.clone(),
        })
    }

    /// Writes rows as they are given, in a turn without deeds.
    pub async fn write(&self, org: OrgId, rows: impl Into<Changes>) {
        self.ledger.enter(org, Rows(rows.into())).await.unwrap();
    }

    /// Lets somebody be about to read the change log of a connector's database, who has read nothing of it.
    pub async fn hold_log(&self, (org, connector): (OrgId, ConnectorId)) -> Lease {
        let now = self.clock.now();
        let held = self.store.hold_log(Of { org, connector }, "one", (now, now)).await.unwrap();
        let Held::Yes(lease, _) = held else { panic!("{held:?}") };
        lease
    }

    /// Lets the change log of a connector's database be as its follower keeps it: in its first stretch,
    /// and broken by this where it is.
    pub async fn follow_log(&self, (org, connector): (OrgId, ConnectorId), broken: Option<LogGap>) {
        let of = Of { org, connector };
        let now = self.clock.now();
        let began = Began {
            epoch: 1,
            system: "7301".to_owned(),
            timeline: 1,
            published: crypto::sha256("published"),
            from_xid: 700,
        };
        let (read_to, confirmable, beat_at) = (Lsn(4096), Lsn(4096), Some(now));
        let (at, makes_slot) = (now, false);
        let following = Following { began, read_to, confirmable, broken, beat_at, at, makes_slot };
        let gap = broken.map(|cause| Gap { ended: 1, read_to, cause, at: now });
        let step = Step { following, frames: Vec::new(), gap };
        let lease = self.hold_log((org, connector)).await;
        assert_eq!(self.store.write(of, lease.token, &step).await.unwrap(), Written::Yes);
    }

    /// The bodies of the org's deeds, in order.
    pub fn bodies(&self, org: OrgId) -> Vec<Value> {
        let deeds = self.store.deeds(org).into_iter();
        deeds.map(|deed| serde_json::from_str(&deed.body).unwrap()).collect()
    }

    /// What the org's last deed commits to, by its place in the body.
    pub async fn last_opened(&self, org: OrgId) -> BTreeMap<String, Value> {
        let last = self.store.deeds(org).pop().unwrap();
        let open = self.store.deed(org, last.id).await.unwrap().unwrap();
        let value = |it: &deed::Disclosure| serde_json::from_str(it.value()).unwrap();
        open.disclosures.iter().map(|it| (it.path().as_str().to_owned(), value(it))).collect()
    }
}

fn parts(
    store: &Arc<MemoryStore>,
    clock: &Arc<ManualClock>,
    dice: &Arc<SeededEntropy>,
    sealer: &Arc<Sealer>,
) -> Parts {
    Parts {
        store: store.clone(),
        sealer: sealer.clone(),
        clock: clock.clone(),
        entropy: dice.clone(),
        spawn: Arc::new(OnTokio),
        log_host: "test.example".to_owned(),
    }
}

/// Whoever runs the deployment of a test.
#[derive(Debug, Clone, Copy)]
pub struct Operator;

impl MayOperate for Operator {}

/// Rows that a turn writes as they are given.
#[derive(Debug)]
pub struct Rows(pub Changes);

impl Request for Rows {
    type Answer = ();

    fn needs(&self, _: &Snapshot) -> Needs {
        Needs::default()
    }

    fn decide(&self, _: &Snapshot, _: &Mint<'_>) -> (Entry, ()) {
        (Entry { changes: self.0.clone(), ..Entry::default() }, ())
    }
}

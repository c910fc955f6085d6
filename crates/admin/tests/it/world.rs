//! A deployment in memory: a store, a ledger, a sealer, and a clock that tests move.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use crypto::{Secret, vault::Ring};
use deed::{KeySet, SealKey, SealKeys, Sealer};
use event::Event;
use ledger::{EventStore, Ledger};
use model::{OrgId, Timestamp};
use serde_json::Value;
use store_memory::MemoryStore;
use testkit::{ManualClock, OnTokio, SeededEntropy};

use act::{By, MayChange, MayView};
use admin::{
    Admin, Candidate, ConnectorCheck, CreatedOrg, KeyMode, NewAgent, NewKey, NewOrg, OrgChange,
    Parts, UnfitError,
};

pub(crate) const START: Timestamp = Timestamp::from_unix_millis(1_790_000_000_000);

/// An adapter that wants a host, and knows one password.
struct Picky;

#[async_trait]
impl ConnectorCheck for Picky {
    async fn check(&self, candidate: Candidate<'_>) -> Result<(), UnfitError> {
        if candidate.kind != "postgres" {
            return Err(UnfitError::UnknownKind(candidate.kind.to_owned()));
        }
        if candidate.config.get("host").is_none() {
            return Err(UnfitError::Config(vec!["`host`: expected a host name".to_owned()]));
        }
        let wrong = candidate.credential.get("conn_password").filter(|it| it.expose() != "right");
        wrong
            .map_or(Ok(()), |_| Err(UnfitError::Unreachable("the password was refused".to_owned())))
    }
}

/// Somebody who was admitted to change an org.
pub(crate) struct Actor(pub(crate) OrgId, pub(crate) By);

impl MayView for Actor {
    fn org(&self) -> OrgId {
        self.0
    }

    fn by(&self) -> By {
        self.1
    }
}

impl MayChange for Actor {}

pub(crate) struct World {
    pub(crate) admin: Admin,
    pub(crate) store: Arc<MemoryStore>,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) vault: Arc<Ring>,
    pub(crate) ledger: Ledger,
    pub(crate) sealing: Arc<Sealer>,
}

impl World {
    /// A deployment whose seal keys count from the start.
    pub(crate) fn new() -> Self {
        let clock = Arc::new(ManualClock::at(START));
        let store = Arc::new(MemoryStore::new(clock.clone()));
        Self::over(store, clock, sealer(START))
    }

    /// Returns another instance over the same store.
    pub(crate) fn second_instance(&self) -> Self {
        Self::over(self.store.clone(), self.clock.clone(), self.sealing.clone())
    }

    /// Returns another instance over the same store whose key counts only later.
    pub(crate) fn unable_to_seal(&self) -> Self {
        let later = START + Duration::from_hours(1);
        Self::over(self.store.clone(), self.clock.clone(), sealer(later))
    }

    fn over(store: Arc<MemoryStore>, clock: Arc<ManualClock>, sealing: Arc<Sealer>) -> Self {
        static INSTANCES: AtomicU64 = AtomicU64::new(0);
        let instance = INSTANCES.fetch_add(1, Ordering::SeqCst);
        let entropy = Arc::new(SeededEntropy::new(instance << 32));
        let ledger = Ledger::new(ledger::Parts {
            store: store.clone(),
            sealer: sealing.clone(),
            clock: clock.clone(),
            entropy: entropy.clone(),
            spawn: Arc::new(OnTokio),
            log_host: "chancery.test".to_owned(),
        })
        .unwrap();
        let ring = format!("{}=", "A".repeat(43));
        let vault = Arc::new(Ring::parse(&Secret::new(ring)).unwrap());
        let admin = Admin::new(Parts {
            ledger: ledger.clone(),
            store: store.clone(),
            connectors: Arc::new(Picky),
            entropy,
            clock: clock.clone(),
            pepper: Secret::new(vec![9; 32]),
            vault: vault.clone(),
        });
        Self { admin, store, clock, vault, ledger, sealing }
    }

    pub(crate) async fn org(&self) -> CreatedOrg {
        let new = NewOrg { name: "Acme".to_owned(), time_zone: "Europe/Zurich".to_owned() };
        self.admin.create_org(new).await.unwrap()
    }

    pub(crate) fn operator(&self, org: &CreatedOrg) -> OrgChange<'_> {
        self.admin.change(&Actor(org.org.id, By::Operator))
    }

    /// The bodies of the org's deeds, in order.
    pub(crate) fn bodies(&self, org: OrgId) -> Vec<Value> {
        let bodies = self.store.deeds(org).into_iter().map(|deed| deed.body);
        bodies.map(|body| serde_json::from_str(&body).unwrap()).collect()
    }

    pub(crate) fn last_body(&self, org: &CreatedOrg) -> Value {
        self.bodies(org.org.id).pop().unwrap()
    }

    /// What the org's admin deeds say happened, in order.
    pub(crate) fn sealed(&self, org: OrgId) -> Vec<String> {
        let bodies = self.bodies(org).into_iter();
        bodies.map(|body| body["admin"]["event"].as_str().unwrap().to_owned()).collect()
    }

    pub(crate) async fn events(&self, org: OrgId) -> Vec<Event> {
        self.store.events_after(org, 0, 1_000).await.unwrap()
    }
}

pub(crate) fn agent(name: &str) -> NewAgent {
    let labels = [("team".to_owned(), "care".to_owned())].into();
    NewAgent { name: name.to_owned(), labels, intent_mode: model::IntentMode::Off }
}

pub(crate) fn agent_key() -> NewKey {
    NewKey {
        name: "first".to_owned(),
        scopes: vec![model::Scope::ActionsExecute, model::Scope::ActionsRead],
        mode: KeyMode::Live,
        expires_at: None,
    }
}

pub(crate) fn org_key() -> NewKey {
    NewKey { scopes: vec![model::Scope::Admin], ..agent_key() }
}

fn sealer(active_from: Timestamp) -> Arc<Sealer> {
    let pem = SealKeys::generate_pem(&crypto::SystemEntropy::new());
    let keys = SealKeys::from_pem(pem.expose()).unwrap();
    let public =
        keys.keys().map(|(purpose, key)| SealKey::new(*key.public(), purpose, active_from));
    let registered = KeySet::new(public.collect()).unwrap();
    Arc::new(Sealer::new(keys, registered))
}

//! The domain put together: ledger, Gate and administration over one set of stores.
//!
//! It knows neither PostgreSQL nor HTTP; the service and the demo make theirs of the same parts.

use std::{fmt, sync::Arc};

use act::MayOperate;
use crypto::{Secret, SystemEntropy, vault::Ring};
use ledger::Ledger;
use model::OrgId;

use crate::{clock::SystemClock, runtime::Tokio, work::Work};

/// Where everything is kept. One store usually plays all the parts.
#[derive(Clone)]
pub struct Stores {
    /// Turns.
    pub ledger: Arc<dyn ledger::LedgerStore>,
    /// Actions.
    pub actions: Arc<dyn gate::ActionStore>,
    /// Accounts, policies and seal keys.
    pub accounts: Arc<dyn admin::Store>,
    /// Events.
    pub events: Arc<dyn ledger::EventStore>,
    /// Logs of deeds.
    pub records: Arc<dyn records::Store>,
}

impl fmt::Debug for Stores {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stores").finish_non_exhaustive()
    }
}

impl Stores {
    /// One store in all its parts.
    pub fn of<S>(store: &Arc<S>) -> Self
    where
        S: ledger::LedgerStore
            + ledger::EventStore
            + gate::ActionStore
            + admin::Store
            + records::Store
            + 'static,
    {
        Self {
            ledger: Arc::clone(store) as _,
            actions: Arc::clone(store) as _,
            accounts: Arc::clone(store) as _,
            events: Arc::clone(store) as _,
            records: Arc::clone(store) as _,
        }
    }
}

/// What the domain is made of.
pub struct Parts {
    /// Where everything is kept.
    pub stores: Stores,
    /// Signs deeds and checkpoints.
    pub sealer: deed::Sealer,
    /// Knows the addresses of people.
    pub people: Arc<dyn gate::AddressBook>,
    /// Finds tools.
    pub toolbox: Arc<dyn gate::Toolbox>,
    /// Tells what the change logs of governed databases have.
    pub log: Arc<dyn gate::ChangeLog>,
    /// Says whether a connector's config would do.
    pub connectors: Arc<dyn admin::ConnectorCheck>,
    /// Starts what outlives its request.
    pub tasks: Tokio,
    /// Mixed into the MAC of every API key.
    pub pepper: Secret<Vec<u8>>,
    /// Encrypts credentials.
    pub vault: Arc<Ring>,
    /// The bounds of the Gate.
    pub limits: gate::Limits,
    /// The host that names logs.
    pub log_host: String,
    /// The name of this instance, for leases.
    pub instance: String,
    /// The base URL that signed intents must be for.
    pub audience: Arc<str>,
}

impl fmt::Debug for Parts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Parts").field("instance", &self.instance).finish_non_exhaustive()
    }
}

/// The domain at work.
#[derive(Debug, Clone)]
pub struct Core {
    /// Takes turns.
    pub ledger: Ledger,
    /// Decides actions and carries them out.
    pub gate: gate::Gate,
    /// Makes orgs, agents, keys, policies and connectors.
    pub admin: Arc<admin::Admin>,
    /// Reads the logs of deeds.
    pub records: records::Records,
    /// Where everything is kept.
    pub stores: Stores,
    /// What the workers did.
    pub work: Arc<Work>,
}

/// Whoever runs the deployment: its verbs and its workers, and nobody else.
struct Operator;

impl MayOperate for Operator {}

impl Core {
    /// What the operator may change of the whole deployment.
    pub(crate) fn deployment(&self) -> admin::Deployment<'_> {
        self.admin.operate(&Operator)
    }

    /// What the operator may change of an org.
    pub(crate) fn operator(&self, org: OrgId) -> admin::OrgChange<'_> {
        self.deployment().org(org)
    }

    /// The domain over these parts. The face for embedders, `chancery::memory`, puts its own
    /// together: it has neither logs to read nor workers, and no crate below both of them is above
    /// the Gate and the administration.
    pub fn new(parts: Parts) -> prometheus::Result<Self> {
        let (clock, spawn) = (Arc::new(SystemClock), Arc::new(parts.tasks));
        let entropy = Arc::new(SystemEntropy::new());
        let stores = parts.stores;
        let ledger = Ledger::new(ledger::Parts {
            store: Arc::clone(&stores.ledger),
            sealer: Arc::new(parts.sealer),
            clock: clock.clone(),
            entropy: entropy.clone(),
            spawn: spawn.clone(),
            log_host: parts.log_host,
        })?;
        let gate = gate::Gate::new(gate::Parts {
            ledger: ledger.clone(),
            store: Arc::clone(&stores.actions),
            people: parts.people,
            toolbox: parts.toolbox,
            log: parts.log,
            spawn: spawn.clone(),
            pause: spawn,
            clock: clock.clone(),
            instance: parts.instance,
            audience: parts.audience,
            limits: parts.limits,
        });
        let admin = Arc::new(admin::Admin::new(admin::Parts {
            ledger: ledger.clone(),
            store: Arc::clone(&stores.accounts),
            connectors: parts.connectors,
            entropy,
            clock,
            pepper: parts.pepper,
            vault: parts.vault,
        }));
        let records = records::Records::new(Arc::clone(&stores.records), ledger.clone());
        Ok(Self { ledger, gate, admin, records, stores, work: Arc::default() })
    }
}

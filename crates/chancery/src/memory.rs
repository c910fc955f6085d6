//! A Gate over a store in memory, with one org: everything that the service does with a call,
//! without a database, a network or a setting. Nothing outlives the process.

mod error;
mod runtime;
mod tools;

use std::sync::Arc;

use act::MayOperate;
use admin::{
    Activation, Admin, Expected, KeyMode, NewAgent, NewConnector, NewKey, NewOrg, NewPolicy,
    NewVersion,
};
use base64::{Engine, engine::general_purpose::STANDARD};
use crypto::{Secret, SystemEntropy, vault::Ring};
use deed::verify::Trust;
use gate::{Gate, Submission, Submitted};
use ledger::{
    Ledger,
    record::{Action, PolicyMode},
};
use model::{AgentId, Clock, Entropy, KeyId, OrgId, Scope, Timestamp};
use serde_json::{Value, json};
use store_memory::{MemoryPeople, MemoryStore};

pub use error::OfficeError;
pub use tools::FnTool;

use runtime::{Runtime, SystemClock};
use tools::Tools;

/// A Gate in memory, with an org of its own and the tools that it was given.
#[derive(Debug)]
pub struct Office {
    gate: Gate,
    admin: Admin,
    store: Arc<MemoryStore>,
    org: OrgId,
}

/// An agent of the office, by a live key of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Agent {
    /// The agent's id.
    pub id: AgentId,
    /// The key that it calls with.
    pub key: KeyId,
}

/// The end of a call, or a call that waits for a person.
#[derive(Debug, Clone)]
pub struct Called {
    /// The action as it stands; sealed unless it waits for a person.
    pub action: Arc<Action>,
    /// What the tool answered, where it ran.
    pub result: Option<Arc<Value>>,
}

/// The program that opened the office.
struct Operator;

impl MayOperate for Operator {}

impl Office {
    /// Opens an office with these tools, governed by this policy. It must be called inside a
    /// tokio runtime, which runs what outlives a call.
    pub async fn open(policy: &str, tools: Vec<FnTool>) -> Result<Self, OfficeError> {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let entropy: Arc<dyn Entropy> = Arc::new(SystemEntropy::new());
        let store = Arc::new(MemoryStore::new(Arc::clone(&clock)));
        let tools = Arc::new(Tools::of(tools));
        let ledger = Ledger::new(ledger::Parts {
            store: Arc::clone(&store) as _,
            sealer: Arc::new(sealer(&store, clock.as_ref(), entropy.as_ref()).await?),
            clock: Arc::clone(&clock),
            entropy: Arc::clone(&entropy),
            spawn: Arc::new(Runtime),
            log_host: "memory.invalid".to_owned(),
        })
        .map_err(OfficeError::of)?;
        let gate = Gate::new(gate::Parts {
            ledger: ledger.clone(),
            store: Arc::clone(&store) as _,
            people: Arc::new(MemoryPeople::new(Arc::clone(&clock))),
            toolbox: Arc::clone(&tools) as _,
            log: Arc::new(gate::NoChangeLog),
            spawn: Arc::new(Runtime),
            pause: Arc::new(Runtime),
            clock: Arc::clone(&clock),
            instance: "memory".to_owned(),
            audience: "memory.invalid".into(),
            limits: gate::Limits::default(),
        });
        let admin = Admin::new(admin::Parts {
            ledger,
            store: Arc::clone(&store) as _,
            connectors: Arc::clone(&tools) as _,
            vault: Arc::new(Ring::parse(&random_key(entropy.as_ref())).map_err(OfficeError::of)?),
            pepper: Secret::new(random_key(entropy.as_ref()).expose().clone().into_bytes()),
            entropy,
            clock,
        });
        let new = NewOrg { name: "Office".to_owned(), time_zone: "UTC".to_owned() };
        let org = admin.operate(&Operator).create_org(new).await.map_err(OfficeError::of)?.org.id;
        let office = Self { gate, admin, store, org };
        for name in tools.connectors() {
            let made = office.connector(name).await?;
            tools.connect(name, made);
        }
        office.govern(policy).await?;
        Ok(office)
    }
}

impl Office {
    /// Makes an agent that may call, and a live key for it.
    pub async fn agent(&self, name: &str) -> Result<Agent, OfficeError> {
        let operator = self.admin.operate(&Operator).org(self.org);
        let id =
            operator.create_agent(NewAgent::named(name)).await.map_err(OfficeError::of)?.object.id;
        let key = NewKey {
            name: "memory".to_owned(),
            scopes: vec![Scope::ActionsExecute, Scope::ActionsRead],
            mode: KeyMode::Live,
            expires_at: None,
        };
        let key = operator.create_agent_key(id, key).await.map_err(OfficeError::of)?;
        Ok(Agent { id, key: key.key.object.id })
    }

    /// Lets another policy decide from the next call on; it is judged against the office's tools
    /// before.
    pub async fn govern(&self, document: &str) -> Result<(), OfficeError> {
        let operator = self.admin.operate(&Operator).org(self.org);
        let digest = crypto::sha256(document).to_string();
        let policy = operator.create_policy(NewPolicy::named(digest)).await;
        let policy = policy.map_err(OfficeError::of)?.object.id;
        let tools = self.gate.known_tools(self.org).await.map_err(OfficeError::of)?;
        let known = operator.view().known(tools).await.map_err(OfficeError::of)?;
        let effort = policy::Effort::unbounded();
        let linted = admin::lint(document.to_owned(), &known, &effort).map_err(OfficeError::of)?;
        let version = operator.create_policy_version(NewVersion::of(policy, linted)).await;
        let version = version.map_err(OfficeError::of)?.object.id;
        let untested = operator.view().untested(policy, version).await.map_err(OfficeError::of)?;
        let activation = Activation {
            version: untested.pass(&effort).map_err(OfficeError::of)?,
            mode: PolicyMode::Enforce,
            reason: "The program says so.".to_owned(),
            expected_active: Expected::Anything,
        };
        operator.activate_policy(activation).await.map_err(OfficeError::of)?;
        Ok(())
    }

    /// Sends a call and waits for its end: refused, waiting for a person, or run and sealed.
    pub async fn call(
        &self,
        agent: &Agent,
        tool: &str,
        args: Value,
    ) -> Result<Called, OfficeError> {
        let sender = policy::Agent::new(agent.id);
        let call = policy::Call::new(tool, sender, Timestamp::EPOCH).with_args(args);
        let call = Submission::new(self.org, agent.key, call);
        match self.gate.submit(call).await.map_err(OfficeError::of)? {
            Submitted::Replayed(action) | Submitted::Decided(action) => {
                Ok(Called { action, result: None })
            }
            Submitted::Running(running) => {
                let done = running.done.await.map_err(OfficeError::of)?;
                Ok(Called { action: done.action, result: done.result })
            }
        }
    }

    /// Every deed of the office, one a line in the form that verifiers read.
    pub fn log(&self) -> Result<Vec<u8>, OfficeError> {
        let mut lines = Vec::new();
        for deed in self.store.deeds(self.org) {
            let form = deed::api_form(&deed.body, &deed.signature, &[]);
            lines.extend(form.map_err(OfficeError::of)?.to_string().into_bytes());
            lines.push(b'\n');
        }
        Ok(lines)
    }

    /// What somebody must know to check the log: the public keys.
    pub fn trust(&self) -> Trust {
        let keys = self.gate.ledger().sealer().registered();
        Trust { keys: Some(keys.as_ref().clone()), ..Trust::default() }
    }

    /// A signed checkpoint of the log as it stands, by which anyone can tell later that deeds
    /// were cut off.
    pub async fn checkpoint(&self) -> Result<String, OfficeError> {
        let ledger = self.gate.ledger();
        let snapshot = ledger.look(self.org).await.map_err(OfficeError::of)?;
        let base = snapshot.base().ok_or_else(|| OfficeError::of("the office's org is gone"))?;
        let note = ledger.sealer().checkpoint(&base.head.chain, snapshot.now());
        note.map_err(OfficeError::of)
    }

    /// The Gate itself, for what the office has no short way to.
    pub fn gate(&self) -> &Gate {
        &self.gate
    }

    /// The office's org.
    pub fn org(&self) -> OrgId {
        self.org
    }

    async fn connector(&self, name: &str) -> Result<model::ConnectorId, OfficeError> {
        let connector = NewConnector::of(tools::KIND, name, json!({}));
        let operator = self.admin.operate(&Operator).org(self.org);
        let made = operator.create_connector(connector).await.map_err(OfficeError::of)?;
        Ok(made.object.id)
    }
}

/// New seal keys, known to the store.
async fn sealer(
    store: &MemoryStore,
    clock: &dyn Clock,
    entropy: &dyn Entropy,
) -> Result<deed::Sealer, OfficeError> {
    let keys = deed::SealKeys::from_pem(deed::SealKeys::generate_pem(entropy).expose());
    let keys = keys.map_err(OfficeError::of)?;
    let ahead = (clock.now(), admin::SealKeyActivation::Ahead);
    let registered = admin::register_seal_keys(store, &keys, ahead).await;
    Ok(deed::Sealer::new(keys, registered.map_err(OfficeError::of)?.set))
}

/// 32 random bytes in base64.
fn random_key(entropy: &dyn Entropy) -> Secret<String> {
    let mut bytes = [0; 32];
    entropy.fill(&mut bytes);
    Secret::new(STANDARD.encode(bytes))
}

#[cfg(test)]
mod tests;

//! A deployment in memory: a store, a ledger, a sealer, and a clock that tests move.

use std::{
    ops::Deref,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use event::Event;
use ledger::EventStore;
use model::OrgId;
use serde_json::{Value, json};
use testkit::{Fixture, Operator, sealer};

use act::{By, MayChange, MayOwn, MayView};
use admin::{
    AccountStore as _, Admin, Candidate, ConnectorCheck, Coverage, CreatedOrg, Deployment, KeyMode,
    KnownTools, NewAgent, NewKey, NewOrg, OrgChange, UnfitError,
};

pub(crate) use testkit::START;

/// An adapter that wants a host, and knows one password.
struct Picky;

#[async_trait]
impl ConnectorCheck for Picky {
    fn receiver(&self, _: &str, config: &Value) -> Value {
        config["host"].clone()
    }

    fn target(&self, _: &str, config: &Value) -> Value {
        json!({ "host": config["host"] })
    }

    async fn check(&self, candidate: Candidate<'_>) -> Result<KnownTools, UnfitError> {
        if candidate.kind != "postgres" {
            return Err(UnfitError::UnknownKind(candidate.kind.to_owned()));
        }
        if candidate.config.get("host").is_none() {
            return Err(UnfitError::Config(vec!["`host`: expected a host name".to_owned()]));
        }
        let wrong = candidate.credential.get("conn_password").filter(|it| it.expose() != "right");
        if wrong.is_some() {
            return Err(UnfitError::Unreachable("the password was refused".to_owned()));
        }
        // What a database would say of the tools is what the config says that it says.
        let tools = candidate
            .config
            .get("tools")
            .and_then(|tools| serde_json::from_value(tools.clone()).ok());
        let known = tools.filter(|_: &KnownTools| !candidate.credential.is_empty());
        Ok(known.unwrap_or_default())
    }

    async fn coverage(
        &self,
        candidate: Candidate<'_>,
        _: &[String],
    ) -> Result<Option<Coverage>, UnfitError> {
        let (publication, slot) = ("svc_shop".to_owned(), "svc_shop".to_owned());
        let (checks, tables) = (Vec::new(), Vec::new());
        let told = Coverage { publication, slot, checks, tables, script: None };
        Ok(candidate.config.get("log").map(|_| told))
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

/// Somebody whom an access rule would take for an owner; whether they are one, the turn knows.
pub(crate) struct Owner(pub(crate) OrgId, pub(crate) By);

impl MayView for Owner {
    fn org(&self) -> OrgId {
        self.0
    }

    fn by(&self) -> By {
        self.1
    }
}

impl MayChange for Owner {}
impl MayOwn for Owner {}

pub(crate) struct World {
    pub(crate) admin: Admin,
    fixture: Fixture,
}

impl Deref for World {
    type Target = Fixture;

    fn deref(&self) -> &Fixture {
        &self.fixture
    }
}

/// A seed that no other instance has.
fn seed() -> u64 {
    static INSTANCES: AtomicU64 = AtomicU64::new(0);
    INSTANCES.fetch_add(1, Ordering::SeqCst) << 32
}

impl World {
    /// A deployment whose seal keys count from the start.
    pub(crate) fn new() -> Self {
        Self::of(Fixture::new(seed()))
    }

    /// Another instance over the same store.
    pub(crate) fn second_instance(&self) -> Self {
        Self::of(self.beside(seed()))
    }

    /// Another instance over the same store whose key counts only later.
    pub(crate) fn unable_to_seal(&self) -> Self {
        let instance = self.beside(seed());
        let later = sealer(&*instance.dice, START + Duration::from_hours(1));
        Self::of(instance.sealing_by(later))
    }

    fn of(fixture: Fixture) -> Self {
        Self { admin: fixture.admin(Arc::new(Picky)), fixture }
    }

    pub(crate) fn deployment(&self) -> Deployment<'_> {
        self.admin.operate(&Operator)
    }

    pub(crate) async fn org(&self) -> CreatedOrg {
        let name = match self.store.orgs().await.unwrap().found.len() {
            0 => "Acme".to_owned(),
            others => format!("Acme {others}"),
        };
        let new = NewOrg { name, time_zone: "Europe/Zurich".to_owned() };
        self.deployment().create_org(new).await.unwrap()
    }

    pub(crate) fn operator(&self, org: &CreatedOrg) -> OrgChange<'_> {
        self.deployment().org(org.org.id)
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
    NewAgent { labels, ..NewAgent::named(name) }
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

//! Making an org: one turn that makes everything that an org starts with.

use std::collections::BTreeMap;

use act::{ActError, By, Changed, Fact, Record};
use deed::Subject;
use ledger::{
    Entry, LedgerError, Needs, Request, Snapshot,
    record::{ActivePolicy, Agent, Org, Policy, PolicyMode, PolicyVersion, RETENTION_DAYS},
};
use model::{AgentId, DeedId, EventType, IntentMode, Mint, OrgId, PolicyId, PolicyVersionId};
use serde_json::json;
use uuid::Uuid;

use crate::{
    ChangeError, Deployment, PolicyError, agent, input,
    policy::{
        activation::{self, How},
        manage, versions,
    },
};

/// The org in whose log the acts of the deployment itself are sealed.
pub const OPERATOR_ORG: OrgId = OrgId::from_uuid(Uuid::nil());

/// The agent that acts for people in the console; it has no key.
const CONSOLE: &str = "console";
const STARTER: &str = "starter";

/// What an org is made with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewOrg {
    /// Its name.
    pub name: String,
    /// Its time zone, an IANA name.
    pub time_zone: String,
}

/// An org and what it starts with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CreatedOrg {
    /// The org.
    pub org: Org,
    /// The agent that acts for people in the console.
    pub console: Agent,
    /// The starter policy.
    pub policy: Policy,
    /// Its first version, which is enforced.
    pub version: PolicyVersion,
    /// The deed that the org was made.
    pub deed: DeedId,
}

impl Deployment<'_> {
    /// Makes an org: its log, the agent `console`, the enforced starter policy, and a deed for
    /// each.
    pub async fn create_org(&self, new: NewOrg) -> Result<CreatedOrg, PolicyError> {
        let NewOrg { name, time_zone } = new;
        let (name, time_zone) = (input::title(&name)?, input::time_zone(&time_zone)?);
        if self.has_org_named(&name).await? {
            return Err(ChangeError::NameTaken(name).into());
        }
        let starter = policy::Policy::compile(policy::STARTER).map_err(PolicyError::Invalid)?;
        let id = self.admin.mint().id(OrgId::from_uuid);
        let founding = Founding { name: name.clone(), time_zone, digest: starter.digest() };
        match self.admin.parts.ledger.enter(id, founding).await {
            // The store's unique key is the second guard: of two who ask at once, one is refused.
            Err(LedgerError::Fault) if self.has_org_named(&name).await? => {
                Err(ChangeError::NameTaken(name).into())
            }
            created => Ok(created.map_err(ActError::from)??),
        }
    }

    async fn has_org_named(&self, name: &str) -> Result<bool, ChangeError> {
        Ok(self.admin.parts.store.org_named(name).await?.is_some())
    }

    /// Makes the operator's own org unless it is there.
    pub(crate) async fn ensure_operator_org(&self) -> Result<(), ChangeError> {
        let ledger = &self.admin.parts.ledger;
        Ok(ledger.enter(OPERATOR_ORG, OperatorFounding).await.map_err(ActError::from)?)
    }
}

/// Makes an org in the first turn of its log.
struct Founding {
    name: String,
    time_zone: String,
    digest: model::Digest,
}

impl Request for Founding {
    type Answer = Result<CreatedOrg, ActError>;

    fn needs(&self, _: &Snapshot) -> Needs {
        Needs::default()
    }

    fn decide(&self, at: &Snapshot, mint: &Mint<'_>) -> (Entry, Self::Answer) {
        if at.org().is_some() {
            return (Entry::nothing(), Err(ActError::Conflict("the org already exists")));
        }
        let mut record = Record::new(By::Operator, None, mint);
        let org = found(&mut record, at.org_id(), &self.name, &self.time_zone);
        let console = agent::changed(
            &mut record,
            EventType::AgentCreated,
            None,
            console(org.object.id, mint),
        );
        let starter = Policy {
            id: mint.id(PolicyId::from_uuid),
            org: org.object.id,
            name: STARTER.to_owned(),
            description: "What every org starts with.".to_owned(),
            revision: 1,
            created_at: mint.now(),
            archived_at: None,
        };
        let policy = manage::changed(&mut record, EventType::PolicyCreated, None, starter);
        let author = Some(record.by().to_string());
        let version = versions::version_made(
            &mut record,
            PolicyVersion {
                id: mint.id(PolicyVersionId::from_uuid),
                org: org.object.id,
                policy: policy.object.id,
                number: 1,
                document: policy::STARTER.to_owned(),
                digest: self.digest,
                note: None,
                author,
                created_at: mint.now(),
            },
        );
        activation::activated(
            &mut record,
            1,
            (
                None,
                ActivePolicy {
                    mode: PolicyMode::Enforce,
                    policy: policy.object.id,
                    version: version.object.id,
                    digest: self.digest,
                },
            ),
            &How::default(),
        );
        let created = CreatedOrg {
            org: org.object,
            console: console.object,
            policy: policy.object,
            version: version.object,
            deed: org.deed,
        };
        (record.into_entry(), Ok(created))
    }
}

/// Makes the operator's org, in which no agent ever acts, so it needs neither agent nor policy.
struct OperatorFounding;

impl Request for OperatorFounding {
    type Answer = ();

    fn needs(&self, _: &Snapshot) -> Needs {
        Needs::default()
    }

    fn decide(&self, at: &Snapshot, mint: &Mint<'_>) -> (Entry, ()) {
        if at.org().is_some() {
            return (Entry::nothing(), ());
        }
        let mut record = Record::new(By::Operator, None, mint);
        found(&mut record, at.org_id(), "operator", "UTC");
        (record.into_entry(), ())
    }
}

fn found(record: &mut Record<'_>, id: OrgId, name: &str, time_zone: &str) -> Changed<Org> {
    let org = Org {
        id,
        name: name.to_owned(),
        time_zone: time_zone.to_owned(),
        // Whoever runs the service has all of it.
        pro: true,
        stop: None,
        voids: None,
        voided: None,
        retention_days: RETENTION_DAYS,
        pruned_to: 0,
        keys_made: 0,
        invites_made: 0,
        created_at: record.now(),
    };
    // The first deed of the log; the deed itself names the log.
    record.seal(fact(EventType::LogStarted, org.id));
    changed(record, EventType::OrgCreated, None, org)
}

fn console(org: OrgId, mint: &Mint<'_>) -> Agent {
    Agent {
        id: mint.id(AgentId::from_uuid),
        org,
        name: CONSOLE.to_owned(),
        description: "Acts for people in the console.".to_owned(),
        labels: BTreeMap::new(),
        intent_mode: IntentMode::Off,
        modes: model::Mode::ALL.to_vec(),
        owner: None,
        expires_at: None,
        system: true,
        stop: None,
        voids: None,
        voided: None,
        suspension: None,
        revision: 1,
        keys_made: 0,
        archived_at: None,
        created_at: mint.now(),
    }
}

/// A fact about an org, with the org's thin object.
pub(crate) fn fact(event: EventType, org: OrgId) -> Fact {
    Fact::new(event, Subject::org(org), json!({ "object": "org", "id": org }))
}

/// Adds an org in its new form.
pub(crate) fn changed(
    record: &mut Record<'_>,
    event: EventType,
    before: Option<&Org>,
    after: Org,
) -> Changed<Org> {
    let deed = record.seal(Fact {
        before: before.map(|org| json!(org)),
        after: Some(json!(after)),
        ..fact(event, after.id)
    });
    record.write(after.clone());
    Changed { object: after, deed }
}

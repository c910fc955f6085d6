//! Documents and the versions that are made of them.

use act::{ActError, Changed, Fact, Record};
use deed::Subject;
use ledger::{LedgerError, Needs, record::PolicyVersion};
use model::{Digest, EventType, PolicyId, PolicyVersionId, Timestamp};
use policy::{
    Agent, Approver, Catalog, Diff, Directory, Document, DocumentError, Effort, Finding, KnownTool,
    Policy, Severity,
};
use serde_json::{Value, json};

use super::{ExpectedVersion, manage::live, thin};
use crate::{AgentList, ChangeError, OrgChange, OrgView, PolicyError, input};

/// How often a version is numbered again when others are made at the same time.
const NUMBERINGS: u32 = 8;

/// What a version is made of.
#[derive(Debug, Clone)]
pub struct NewVersion {
    /// The policy that it is a version of.
    pub policy: PolicyId,
    /// The document.
    pub document: Linted,
    /// What its author says about it.
    pub note: Option<String>,
    /// The version that its author believes to be the latest.
    pub expected_parent: ExpectedVersion,
}

impl NewVersion {
    /// A version of the policy with nothing said about it.
    pub fn of(policy: PolicyId, document: Linted) -> Self {
        Self { policy, document, note: None, expected_parent: ExpectedVersion::Anything }
    }
}

/// The text of a policy: a version's or a draft.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Text {
    /// The document of a version.
    Version(PolicyVersionId),
    /// A document that is no version.
    Draft(String),
}

/// A document and what is to be said of it; only [`lint`] makes one.
#[derive(Debug, Clone)]
pub struct Linted {
    document: String,
    digest: Option<Digest>,
    findings: Vec<Finding>,
}

impl Linted {
    fn of(document: String, judged: Result<(Document, Vec<Finding>), DocumentError>) -> Self {
        let (digest, findings) = match judged {
            Ok((parsed, findings)) => (Some(Policy::from(parsed).digest()), findings),
            Err(DocumentError { findings }) => (None, findings),
        };
        Self { document, digest, findings }
    }

    /// The document's digest, when it can decide at all.
    pub fn digest(&self) -> Option<Digest> {
        self.digest
    }

    /// The findings, in the order of the text.
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// Whether the document may become a version.
    pub fn is_valid(&self) -> bool {
        self.digest.is_some()
            && self.findings.iter().all(|finding| finding.severity != Severity::Error)
    }
}

/// The tools of an org, as documents are judged against them.
struct Tools<'a>(&'a [KnownTool]);

impl Catalog for Tools<'_> {
    fn tools(&self) -> Vec<KnownTool> {
        self.0.to_vec()
    }
}

/// The most agents that a document is judged against.
const MOST_AGENTS: usize = 1_000;

/// What an org has besides its policy, as far as documents are judged against it.
#[derive(Debug, Clone, Default)]
pub struct KnownOrg {
    /// Its tools.
    pub tools: Vec<KnownTool>,
    /// Its agents.
    pub agents: Vec<Agent>,
}

impl Catalog for KnownOrg {
    fn tools(&self) -> Vec<KnownTool> {
        self.tools.clone()
    }
}

impl Directory for KnownOrg {
    fn approvers(&self) -> Option<Vec<Approver>> {
        None
    }

    fn agents(&self) -> Vec<Agent> {
        self.agents.clone()
    }
}

/// A document with what is to be said of it, judged against what there is where that takes no more
/// than this effort: up to two seconds for a large document.
pub fn lint(document: String, known: &KnownOrg, effort: &Effort) -> Result<Linted, PolicyError> {
    let judged = match policy::parse(&document) {
        Ok(parsed) => {
            let findings = policy::lint_within(&parsed, known, known, effort)?;
            Ok((parsed, findings))
        }
        Err(invalid) => Err(invalid),
    };
    Ok(Linted::of(document, judged))
}

/// What the second document decides differently from the first, judged against these
/// tools. It takes its time.
pub fn diff(
    before: &str,
    after: &str,
    tools: &[KnownTool],
    effort: &Effort,
) -> Result<Diff, PolicyError> {
    let compile = |document| Policy::compile(document).map_err(PolicyError::Invalid);
    Ok(policy::diff_within(&compile(before)?, &compile(after)?, &Tools(tools), effort)?)
}

impl OrgView<'_> {
    /// What documents of the org are judged against: these tools, and the newest of its agents.
    pub async fn known(&self, tools: Vec<KnownTool>) -> Result<KnownOrg, ChangeError> {
        let found = self.agents(&AgentList::default(), MOST_AGENTS).await?.items;
        // The service itself has no labels, and sends what people asked for.
        let agents = found.into_iter().filter(|agent| !agent.system).map(|agent| Agent {
            name: agent.name,
            labels: agent.labels,
            ..Agent::new(agent.id)
        });
        Ok(KnownOrg { tools, agents: agents.collect() })
    }

    /// A policy version of the org.
    pub async fn policy_version(&self, id: PolicyVersionId) -> Result<PolicyVersion, PolicyError> {
        let found = self.admin.parts.store.policy_version(self.org, id).await?;
        found.ok_or_else(|| ActError::NotFound("policy version").into())
    }
}

impl OrgChange<'_> {
    /// Makes a version of a policy from a document that can decide and has no error.
    pub async fn create_policy_version(
        &self,
        new: NewVersion,
    ) -> Result<Changed<PolicyVersion>, PolicyError> {
        let note = new.note.as_deref().map(input::note).transpose()?;
        let Some(digest) = new.document.digest.filter(|_| new.document.is_valid()) else {
            return Err(PolicyError::Invalid(DocumentError { findings: new.document.findings }));
        };
        let (parent, number) = self.next_number(new.policy).await?;
        let mut version = PolicyVersion {
            id: self.admin.mint().id(PolicyVersionId::from_uuid),
            org: self.org,
            policy: new.policy,
            number,
            document: new.document.document,
            digest,
            note,
            author: Some(self.by.to_string()),
            created_at: Timestamp::EPOCH,
        };
        if new.expected_parent.is_not(&parent) {
            return Err(ANOTHER_PARENT.into());
        }
        for _ in 1..NUMBERINGS {
            match self.add_version(version.clone()).await {
                // The store's unique key refused the number, if somebody else has it by now.
                Err(ActError::Ledger(LedgerError::Fault)) => {
                    let (parent, next) = self.next_number(new.policy).await?;
                    if next == version.number {
                        return Err(ActError::from(LedgerError::Fault).into());
                    }
                    if new.expected_parent.is_not(&parent) {
                        return Err(ANOTHER_PARENT.into());
                    }
                    version.number = next;
                }
                outcome => return Ok(outcome?),
            }
        }
        Ok(self.add_version(version).await?)
    }

    /// The latest version and the number that comes after it.
    async fn next_number(
        &self,
        policy: PolicyId,
    ) -> Result<(Option<PolicyVersionId>, u32), PolicyError> {
        let latest = self.admin.parts.store.latest_policy_version(self.org, policy).await?;
        let number = latest.as_ref().map_or(1, |version| version.number.saturating_add(1));
        Ok((latest.map(|version| version.id), number))
    }

    async fn add_version(
        &self,
        version: PolicyVersion,
    ) -> Result<Changed<PolicyVersion>, ActError> {
        let made = self.turn(Needs::default(), None, move |at, record| {
            live(at, version.policy)?;
            let version = PolicyVersion { created_at: at.now(), ..version.clone() };
            Ok(version_made(record, version))
        });
        made.await
    }
}

const ANOTHER_PARENT: ActError = ActError::Stale {
    param: "expected_parent",
    sentence: "`expected_parent` is not the latest version of the policy",
};

/// Adds a new version of a policy.
pub(crate) fn version_made(
    record: &mut Record<'_>,
    version: PolicyVersion,
) -> Changed<PolicyVersion> {
    let PolicyVersion { id, policy, number, digest, created_at, .. } = version;
    let deed = record.seal(Fact {
        event: EventType::PolicyVersionCreated,
        subject: Subject::policy_version(id),
        before: None,
        // The document is kept for ever in its own row; its digest is enough here.
        after: Some(json!({
            "id": id, "policy": policy, "number": number, "digest": digest,
            "note": version.note, "author": version.author, "created_at": created_at,
        })),
        data: vec![("policy", json!(policy)), ("number", json!(number)), ("digest", json!(digest))],
        object: thin(policy, json!(id), Value::Null),
    });
    record.write(version.clone());
    Changed { object: version, deed }
}

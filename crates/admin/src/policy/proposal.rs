//! Activations that wait for a second person.

use act::{ActError, By, Changed, Fact, Reason, Record};
use deed::Subject;
use ledger::{
    Needs, Snapshot,
    record::{
        ActivePolicy, ClosedProposal, PROPOSED_FOR, PolicyActivation, PolicyMode, Proposal,
        ProposalStatus,
    },
};
use model::{EventType, ProposalId, UserId};
use serde_json::json;

use super::{
    activation::{How, activated, active, turn},
    manage::live,
};
use crate::{OrgChange, OrgView, PolicyError};

pub(super) const WAITS: &str =
    "an activation in this mode is waiting for a second person; confirm or reject it first";

/// A proposed activation, and how it stands now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProposalStanding {
    /// The proposal.
    pub proposal: Proposal,
    /// How it stands.
    pub status: ProposalStatus,
}

impl OrgView<'_> {
    /// A proposed activation, however it stands.
    pub async fn policy_proposal(&self, id: ProposalId) -> Result<ProposalStanding, PolicyError> {
        let found = self.admin.parts.store.policy_proposal(self.org, id).await?;
        let proposal = found.ok_or(ActError::NotFound("proposed activation"))?;
        let at = self.admin.parts.ledger.look(self.org).await?;
        let status = status(&proposal, &at);
        Ok(ProposalStanding { proposal, status })
    }

    /// The activations that wait for a second person now.
    pub async fn waiting_proposals(&self) -> Result<Vec<ProposalStanding>, PolicyError> {
        let open = self.admin.parts.store.open_policy_proposals(self.org).await?;
        let at = self.admin.parts.ledger.look(self.org).await?;
        let standing = open.into_iter().map(|proposal| {
            let status = status(&proposal, &at);
            ProposalStanding { proposal, status }
        });
        Ok(standing.filter(|it| it.status == ProposalStatus::PendingSecondPerson).collect())
    }
}

impl OrgChange<'_> {
    /// Makes the version of a proposal active, as another person than the one who proposed it.
    pub async fn confirm_activation(
        &self,
        id: ProposalId,
        reason: Option<&str>,
    ) -> Result<Changed<PolicyActivation>, PolicyError> {
        let user = self.person()?;
        let reason = reason.map(Reason::parse).transpose()?;
        let said = reason.as_ref().map(|reason| reason.as_str().to_owned());
        self.turn(needed(id), reason, move |at, record| {
            let waiting = waiting(id, at)?;
            if waiting.person == Some(user) {
                return Err(PolicyError::OwnProposal);
            }
            let after = ActivePolicy {
                mode: waiting.mode,
                policy: waiting.policy,
                version: waiting.version,
                digest: waiting.digest,
            };
            let how = How {
                reason: Some(&waiting.reason),
                proposal: Some(waiting),
                failed_tests: waiting.failed_tests,
            };
            let before = active(at, waiting.mode);
            let made = activated(record, turn(at), (before, after), &how);
            record.write(closed(waiting, ProposalStatus::Confirmed, record, said.clone()));
            Ok(made)
        })
        .await
    }

    /// Rejects a proposed activation, or takes one's own back.
    pub async fn reject_activation(
        &self,
        id: ProposalId,
        reason: &str,
    ) -> Result<Changed<Proposal>, PolicyError> {
        self.person()?;
        let reason = Reason::parse(reason)?;
        let said = reason.as_str().to_owned();
        self.turn(needed(id), Some(reason), move |at, record| {
            let after =
                closed(waiting(id, at)?, ProposalStatus::Rejected, record, Some(said.clone()));
            Ok(changed(record, EventType::PolicyActivationRejected, after))
        })
        .await
    }

    /// Who the person is that asks; a key is no second person.
    fn person(&self) -> Result<UserId, PolicyError> {
        match self.by {
            By::Member { user, .. } => Ok(user),
            By::Operator | By::OrgKey(_) | By::Person(_) | By::Service => {
                Err(ActError::NotAllowed.into())
            }
        }
    }
}

/// An activation that would be made if one person sufficed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wanted {
    pub(super) id: ProposalId,
    pub(super) after: ActivePolicy,
    /// The policy's revision under which its tests were run.
    pub(super) revision: u32,
    pub(super) failed_tests: u32,
}

impl Wanted {
    /// The activation as whoever makes the change proposes it. The turn knows the key that it came by.
    pub(super) fn proposal(self, at: &Snapshot, record: &Record<'_>) -> Proposal {
        let Self { id, after, revision, failed_tests } = self;
        let ActivePolicy { mode, policy, version, digest } = after;
        let person = match record.by() {
            By::Member { user, .. } => Some(user),
            By::OrgKey(key) => at.key(key).and_then(|key| key.made_by),
            By::Operator | By::Person(_) | By::Service => None,
        };
        Proposal {
            id,
            org: at.org_id(),
            mode,
            policy,
            version,
            digest,
            revision,
            previous: active(at, mode).map(|active| active.version),
            failed_tests,
            reason: record.reason().to_owned(),
            proposed_by: record.by().to_string(),
            person,
            proposed_at: at.now(),
            expires_at: at.now() + PROPOSED_FOR,
            closed: None,
        }
    }
}

/// Adds a proposal that was not there.
pub(super) fn proposed(record: &mut Record<'_>, draft: Proposal) -> Changed<Proposal> {
    changed(record, EventType::PolicyActivationProposed, draft)
}

/// What gives way to a new proposal, in its last form; an error where it still waits.
pub(super) fn closed_before(open: &Proposal, at: &Snapshot, by: By) -> Result<Proposal, ActError> {
    match status(open, at) {
        ProposalStatus::PendingSecondPerson => Err(ActError::Conflict(WAITS)),
        status => {
            let end = ClosedProposal { at: at.now(), status, by: by.to_string(), reason: None };
            Ok(Proposal { closed: Some(end), ..open.clone() })
        }
    }
}

/// Whether another proposal than this one waits in the mode.
pub(super) fn is_other(open: &[Proposal], mode: PolicyMode, known: Option<ProposalId>) -> bool {
    open.iter().any(|open| open.mode == mode && Some(open.id) != known)
}

fn status(proposal: &Proposal, at: &Snapshot) -> ProposalStatus {
    let active = active(at, proposal.mode).map(|active| active.version);
    let revision = live(at, proposal.policy).ok().map(|policy| policy.revision);
    proposal.status(at.now(), active, revision)
}

/// The proposal, which can still be answered.
fn waiting(id: ProposalId, at: &Snapshot) -> Result<&Proposal, ActError> {
    let proposal = at.proposal(id).ok_or(ActError::NotFound("proposed activation"))?;
    let sentence = match status(proposal, at) {
        ProposalStatus::PendingSecondPerson => return Ok(proposal),
        ProposalStatus::Confirmed => "the activation was already confirmed",
        ProposalStatus::Rejected => "the activation was already rejected",
        ProposalStatus::Expired => {
            "the activation expired because nobody confirmed it within 24 hours; propose it again"
        }
        ProposalStatus::Stale => {
            "another version became active, or the policy changed, since this was proposed; propose it again"
        }
    };
    Err(ActError::Conflict(sentence))
}

fn needed(id: ProposalId) -> Needs {
    Needs { proposals: [id].into(), ..Needs::default() }
}

fn closed(
    before: &Proposal,
    status: ProposalStatus,
    record: &Record<'_>,
    reason: Option<String>,
) -> Proposal {
    let end = ClosedProposal { at: record.now(), status, by: record.by().to_string(), reason };
    Proposal { closed: Some(end), ..before.clone() }
}

/// Adds a proposal in its new form.
pub(crate) fn changed(
    record: &mut Record<'_>,
    event: EventType,
    after: Proposal,
) -> Changed<Proposal> {
    let deed = record.seal(Fact {
        event,
        subject: Subject::policy(after.policy),
        before: None,
        after: Some(json!(after)),
        data: vec![
            ("proposal", json!(after.id)),
            ("mode", json!(after.mode)),
            ("version", json!(after.version)),
            ("digest", json!(after.digest)),
            ("previous", json!(after.previous)),
            ("failed_tests", json!(after.failed_tests)),
        ],
        object: super::thin(after.policy, json!(after.version), json!(after.mode)),
    });
    record.write(after.clone());
    Changed { object: after, deed }
}

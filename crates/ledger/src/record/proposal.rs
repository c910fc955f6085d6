//! Activations that wait for a second person.

use std::time::Duration;

use model::{Digest, OrgId, PolicyId, PolicyVersionId, ProposalId, Timestamp, UserId};
use serde::{Deserialize, Serialize};

use super::{PolicyMode, Row};

/// How long a proposed activation waits for its second person.
pub const PROPOSED_FOR: Duration = Duration::from_hours(24);

/// The activation of a policy version as somebody proposed it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Proposal {
    /// The proposal's id.
    pub id: ProposalId,
    /// The org.
    pub org: OrgId,
    /// What the version would do.
    pub mode: PolicyMode,
    /// The policy.
    pub policy: PolicyId,
    /// The version that would be active.
    pub version: PolicyVersionId,
    /// The digest of its document.
    pub digest: Digest,
    /// The policy's revision under which its tests were run.
    pub revision: u32,
    /// The version that was active in the mode.
    pub previous: Option<PolicyVersionId>,
    /// How many of the policy's tests fail under the version, which an owner overruled.
    pub failed_tests: u32,
    /// Why.
    pub reason: String,
    /// Who proposed it, as text such as `mem_…` or `operator`.
    pub proposed_by: String,
    /// The person who did, or who made the key that did, where that is known.
    pub person: Option<UserId>,
    /// When.
    pub proposed_at: Timestamp,
    /// When it can be confirmed no more.
    pub expires_at: Timestamp,
    /// What it came to; nothing while it waits, and for as long as nobody looked after its time.
    pub closed: Option<ClosedProposal>,
}

/// What a proposal came to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClosedProposal {
    /// When.
    pub at: Timestamp,
    /// What it came to.
    pub status: ProposalStatus,
    /// Who closed it.
    pub by: String,
    /// Why, where they said so.
    pub reason: Option<String>,
}

/// How a proposal stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProposalStatus {
    /// It waits for another person.
    PendingSecondPerson,
    /// Another person confirmed it: the version became active.
    Confirmed,
    /// Somebody rejected it, or whoever proposed it took it back.
    Rejected,
    /// Nobody confirmed it in time.
    Expired,
    /// Another version became active, or the policy or its tests changed.
    Stale,
}

impl ProposalStatus {
    /// Every status.
    pub const ALL: [Self; 5] =
        [Self::PendingSecondPerson, Self::Confirmed, Self::Rejected, Self::Expired, Self::Stale];

    /// The word.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::PendingSecondPerson => "pending_second_person",
            Self::Confirmed => "confirmed",
            Self::Rejected => "rejected",
            Self::Expired => "expired",
            Self::Stale => "stale",
        }
    }
}

impl Proposal {
    /// How it stands at this moment, where this version is active in its mode and its policy has this
    /// revision; an archived policy has none.
    pub fn status(
        &self,
        now: Timestamp,
        active: Option<PolicyVersionId>,
        revision: Option<u32>,
    ) -> ProposalStatus {
        if let Some(closed) = &self.closed {
            return closed.status;
        }
        let holds = active == self.previous && revision == Some(self.revision);
        match (now < self.expires_at, holds) {
            (false, _) => ProposalStatus::Expired,
            (true, false) => ProposalStatus::Stale,
            (true, true) => ProposalStatus::PendingSecondPerson,
        }
    }
}

impl Row for Proposal {
    type Key = ProposalId;

    fn key(&self) -> ProposalId {
        self.id
    }
}

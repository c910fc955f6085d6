//! The store of approvals.

use async_trait::async_trait;
use ledger::{
    StoreDown,
    record::{Agent, Member, Org},
};
use model::{
    ActionId, AgentId, ApprovalId, ApprovalStatus, MemberId, OrgId, PolicyVersionId, Role,
    Timestamp, UserId,
};

use super::actions::Page;
use crate::practice::Practice;

/// What a list of questions shows; every absent filter lets everything through.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ApprovalFilter {
    /// Those that stand so; empty lets every one through.
    pub statuses: Vec<ApprovalStatus>,
    /// Of this agent's calls.
    pub agent: Option<AgentId>,
    /// Of calls of tools that this glob covers.
    pub tool: Option<policy::Glob>,
    /// Those that wait for this person.
    pub waits_for: Option<PersonIdentity>,
    /// Requested at or after this time.
    pub from: Option<Timestamp>,
    /// Requested before this time.
    pub to: Option<Timestamp>,
}

/// A person with everything by which a rule can name them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PersonIdentity {
    /// The id of the person.
    pub user: UserId,
    /// The role in the org.
    pub role: Role,
    /// The ids and the address, in lower case.
    pub names: Vec<String>,
}

/// Whose call it is that waits.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Caller {
    /// The org.
    pub org: Option<Org>,
    /// The agent.
    pub agent: Option<Agent>,
}

/// Where what people are asked is read.
#[async_trait]
pub trait ApprovalStore: Send + Sync {
    /// The action that the approval is of.
    async fn asked(&self, org: OrgId, id: ApprovalId) -> Result<Option<ActionId>, StoreDown>;

    /// Returns up to `limit` actions behind this one, newest first, about which people are or were
    /// asked. Of those that exclude the person for whom they wait, as the one for whom the agent says that
    /// it acts, it leaves out those that name the person by an id or the address alone; the Gate leaves
    /// out the others.
    async fn approvals(
        &self,
        org: OrgId,
        filter: &ApprovalFilter,
        after: Option<ActionId>,
        limit: usize,
    ) -> Result<Page, StoreDown>;

    /// Up to `limit` live members of the org behind this place who may answer at all, the oldest
    /// first.
    async fn approvers(
        &self,
        org: OrgId,
        after: Option<(Timestamp, MemberId)>,
        limit: usize,
    ) -> Result<Vec<Member>, StoreDown>;

    /// Whether one of these is a live member of the org, or the person of one.
    async fn has_one_of(
        &self,
        org: OrgId,
        (members, users): (&[MemberId], &[UserId]),
    ) -> Result<bool, StoreDown>;

    /// Whether the org has one live member and no other.
    async fn has_one_member(&self, org: OrgId) -> Result<bool, StoreDown>;

    /// What was done before a call of this agent to this tool, as far as the newest
    /// [`PRACTICE_LOOKED_AT`](crate::PRACTICE_LOOKED_AT) sealed calls of the tool, and as many of the
    /// agent, show it; the times at which it acted from this moment on.
    async fn practice(
        &self,
        org: OrgId,
        call: (AgentId, &str),
        since: Timestamp,
    ) -> Result<Practice, StoreDown>;

    /// The agent and its org as they stand now.
    async fn caller(&self, org: OrgId, agent: AgentId) -> Result<Caller, StoreDown>;

    /// Who made a policy version, where that is known.
    async fn author(
        &self,
        org: OrgId,
        version: PolicyVersionId,
    ) -> Result<Option<String>, StoreDown>;
}

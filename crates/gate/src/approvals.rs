//! What people are asked, as it is read: lists, one question with what is shown of it, and who may
//! answer.

use std::collections::BTreeMap;

use async_trait::async_trait;
use ledger::{
    StoreDown,
    record::{Action, Agent, Member, Org},
};
use model::{
    ActionId, AgentId, ApprovalId, ApprovalStatus, MemberId, OrgId, PolicyVersionId, Role, State,
    Timestamp, UserId,
};
use policy::Excluded;

use crate::{
    approver::{Approver, Question},
    begin::hold,
    gate::Gate,
    practice::Practice,
    store::{ActionDetail, Page},
};

/// How many of those who may answer at all are read at once.
const APPROVERS_AT_ONCE: usize = 200;

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
    pub waits_for: Option<Asked>,
    /// Asked at or after this moment.
    pub from: Option<Timestamp>,
    /// Asked before this moment.
    pub to: Option<Timestamp>,
}

/// A person by everything that a rule may call them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    /// Who they are.
    pub user: UserId,
    /// What they are in the org.
    pub role: Role,
    /// Their ids and their address, in small letters.
    pub names: Vec<String>,
}

/// What keeps people from answering, as far as it stands in other rows than the question's.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Barring {
    /// Who made the policy version that asked.
    pub author: Option<String>,
    /// The member who owns the agent.
    pub owner: Option<MemberId>,
    /// Whether a Stop, or the end of the agent, holds what waits: nobody's yes is taken then.
    pub is_held: bool,
}

/// Whose call it is that waits.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Caller {
    /// The org.
    pub org: Option<Org>,
    /// The agent.
    pub agent: Option<Agent>,
}

/// Where the addresses of people are read, by which rules may call them.
#[async_trait]
pub trait AddressBook: Send + Sync {
    /// The addresses of these people in their one form, as far as they have one.
    async fn addresses(&self, users: &[UserId]) -> Result<BTreeMap<UserId, String>, StoreDown>;
}

/// Where what people are asked is read.
#[async_trait]
pub trait ApprovalStore: Send + Sync {
    /// The action that the approval is of.
    async fn asked(&self, org: OrgId, id: ApprovalId) -> Result<Option<ActionId>, StoreDown>;

    /// Returns up to `limit` actions behind this one, newest first, about which people are or were
    /// asked.
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

impl Gate {
    /// The action about which people are asked so, with everything that is shown of it.
    pub async fn approval(
        &self,
        org: OrgId,
        id: ApprovalId,
    ) -> Result<Option<ActionDetail>, StoreDown> {
        match self.parts.store.asked(org, id).await? {
            Some(action) => self.parts.store.detail(org, action).await,
            None => Ok(None),
        }
    }

    /// A page of the actions about which people are or were asked, newest first.
    pub async fn approvals(
        &self,
        org: OrgId,
        filter: &ApprovalFilter,
        after: Option<ActionId>,
        limit: usize,
    ) -> Result<Page, StoreDown> {
        self.parts.store.approvals(org, filter, after, limit).await
    }

    /// Up to this many members who may answer what the action asks at this moment, the oldest
    /// first.
    pub async fn eligible(
        &self,
        action: &Action,
        book: &dyn AddressBook,
        most: usize,
    ) -> Result<Vec<Member>, StoreDown> {
        let Some(approval) = &action.approval else { return Ok(Vec::new()) };
        let Barring { author, owner, is_held: _ } = self.barring(action).await?;
        let question = Question { action, approval, author: author.as_deref(), owner };
        // Addresses are read where somebody may be called by one.
        let mut names = approval.from.iter().chain(&action.on_behalf_of);
        let by_address = names.any(|name| name.contains('@'));
        let (mut found, mut after) = (Vec::new(), None);
        loop {
            let page = self.parts.store.approvers(action.org, after, APPROVERS_AT_ONCE).await?;
            after = page.last().map(|member| (member.joined_at, member.id));
            let is_last = page.len() < APPROVERS_AT_ONCE;
            let addresses = if by_address {
                let users: Vec<_> = page.iter().map(|member| member.user).collect();
                book.addresses(&users).await?
            } else {
                BTreeMap::new()
            };
            let may = |member: &Member| {
                let address = addresses.get(&member.user).map(String::as_str);
                Approver { member, address }.barred(question).is_none()
            };
            found.extend(page.into_iter().filter(may));
            if is_last || found.len() >= most {
                found.truncate(most);
                return Ok(found);
            }
        }
    }

    /// Who made the policy version that asked about the action, and who owns its agent, as far as
    /// the question excludes them, and whether the call is held while it waits.
    pub async fn barring(&self, action: &Action) -> Result<Barring, StoreDown> {
        let mut barring = Barring { author: self.author(action).await?, ..Barring::default() };
        let waits = action.state == State::PendingApproval;
        if waits || excludes(action, Excluded::AgentOwner) {
            let Caller { org, agent } =
                self.parts.store.caller(action.org, action.agent.id).await?;
            let now = self.parts.clock.now();
            barring.is_held = waits && hold((org.as_ref(), agent.as_ref()), now).is_some();
            barring.owner = agent.and_then(|agent| agent.owner);
        }
        Ok(barring)
    }

    /// Who made the policy version that asked about the action, if the question excludes them.
    pub(crate) async fn author(&self, action: &Action) -> Result<Option<String>, StoreDown> {
        if !excludes(action, Excluded::PolicyAuthor) {
            return Ok(None);
        }
        self.parts.store.author(action.org, action.decision.policy_version).await
    }
}

fn excludes(action: &Action, who: Excluded) -> bool {
    action.approval.as_ref().is_some_and(|approval| approval.exclude.contains(&who))
}

//! What people are asked, as it is read: lists, one question with what is shown of it, and who may
//! answer.

use std::collections::BTreeMap;

use ledger::{
    StoreDown,
    record::{Action, Member},
};
use model::{ActionId, ApprovalId, MemberId, OrgId, State};
use policy::Excluded;

use crate::{
    approver::{Approver, Question},
    decide::hold,
    gate::Gate,
    reference::Reference,
    store::{ActionDetail, ApprovalFilter, Caller, Page, PersonIdentity},
};

/// How many of those who may answer at all are read at once.
const APPROVERS_AT_ONCE: usize = 200;
/// How many questions are read at once where some were left out of those that were read first.
const QUESTIONS_AT_ONCE: usize = 200;

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
        let (store, mut after) = (&self.parts.store, after);
        let Some(asked) = &filter.waits_for else {
            return store.approvals(org, filter, after, limit).await;
        };
        let (mut actions, mut at_once) = (Vec::new(), limit.saturating_add(1));
        loop {
            let page = store.approvals(org, filter, after, at_once).await?;
            at_once = at_once.max(QUESTIONS_AT_ONCE);
            after = page.actions.last().map(|action| action.id);
            actions.extend(page.actions.into_iter().filter(|action| !is_excluded(asked, action)));
            if !page.has_more || actions.len() > limit {
                let has_more = actions.len() > limit;
                actions.truncate(limit);
                return Ok(Page { actions, has_more });
            }
        }
    }

    /// Up to this many members who may answer what the action asks at this moment, the oldest
    /// first.
    pub async fn eligible(&self, action: &Action, most: usize) -> Result<Vec<Member>, StoreDown> {
        let Some(approval) = &action.approval else { return Ok(Vec::new()) };
        let Barring { author, owner, is_held: _ } = self.barring(action).await?;
        let stated = &Reference::of(action);
        let question = Question { action, approval, stated, author: author.as_deref(), owner };
        // Addresses are read where somebody may be called by one.
        let is_stated = excludes(action, Excluded::OnBehalfOf) && !stated.addresses.is_empty();
        let by_address = is_stated || approval.from.iter().any(|name| name.contains('@'));
        let (mut found, mut after) = (Vec::new(), None);
        loop {
            let page = self.parts.store.approvers(action.org, after, APPROVERS_AT_ONCE).await?;
            after = page.last().map(|member| (member.joined_at, member.id));
            let is_last = page.len() < APPROVERS_AT_ONCE;
            let addresses = if by_address {
                let users: Vec<_> = page.iter().map(|member| member.user).collect();
                self.parts.people.addresses(&users).await?
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

/// Whether the question excludes them as the one for whom the agent says that it acts.
fn is_excluded(person: &PersonIdentity, action: &Action) -> bool {
    let stated = Reference::of(action);
    excludes(action, Excluded::OnBehalfOf) && person.names.iter().any(|name| stated.has(name))
}

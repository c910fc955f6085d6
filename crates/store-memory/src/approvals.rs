//! The Gate's store of what people are asked.

use std::{cmp::Reverse, collections::BTreeSet};

use async_trait::async_trait;
use gate::{
    ApprovalFilter, ApprovalStore, Caller, PRACTICE_LOOKED_AT, Page, PersonIdentity, Practice,
    SLOT, Span,
};
use ledger::{
    StoreDown,
    record::{Action, Approval, Member},
};
use model::{
    ActionId, AgentId, ApprovalId, ApprovalStatus, MemberId, OrgId, PolicyVersionId, Role, State,
    Status, Timestamp, UserId,
};
use policy::Excluded;

use crate::{MemoryStore, rows::Rows};

#[async_trait]
impl ApprovalStore for MemoryStore {
    async fn asked(&self, org: OrgId, id: ApprovalId) -> Result<Option<ActionId>, StoreDown> {
        let kept = self.reach("find an approval")?;
        let mut actions = kept.orgs.get(&org).into_iter().flat_map(|rows| rows.actions.values());
        let is = |action: &Action| action.approval.as_ref().is_some_and(|it| it.id == id);
        Ok(actions.find(|kept| is(&kept.action)).map(|kept| kept.action.id))
    }

    async fn approvals(
        &self,
        org: OrgId,
        filter: &ApprovalFilter,
        after: Option<ActionId>,
        limit: usize,
    ) -> Result<Page, StoreDown> {
        let kept = self.reach("list approvals")?;
        let none = Rows::default();
        let rows = kept.orgs.get(&org).unwrap_or(&none);
        let all = rows.actions.values().map(|kept| &*kept.action);
        let shown = all.filter(|action| after.is_none_or(|after| action.id < after));
        let mut actions: Vec<_> = shown.filter(|action| passes(filter, action, rows)).collect();
        actions.sort_by_key(|action| Reverse(action.id));
        let has_more = actions.len() > limit;
        Ok(Page { actions: actions.into_iter().take(limit).cloned().collect(), has_more })
    }

    async fn approvers(
        &self,
        org: OrgId,
        after: Option<(Timestamp, MemberId)>,
        limit: usize,
    ) -> Result<Vec<Member>, StoreDown> {
        let kept = self.reach("find who may approve")?;
        let members = kept.orgs.get(&org).into_iter().flat_map(|rows| rows.members.values());
        let may = |member: &&Member| member.is_live() && member.can_approve;
        let mut found: Vec<_> = members.filter(may).cloned().collect();
        found.retain(|member| Some((member.joined_at, member.id)) > after);
        found.sort_by_key(|member| (member.joined_at, member.id));
        found.truncate(limit);
        Ok(found)
    }

    async fn has_one_of(
        &self,
        org: OrgId,
        (members, users): (&[MemberId], &[UserId]),
    ) -> Result<bool, StoreDown> {
        let kept = self.reach("look for members")?;
        let mut all = kept.orgs.get(&org).into_iter().flat_map(|rows| rows.members.values());
        let is = |it: &Member| members.contains(&it.id) || users.contains(&it.user);
        Ok(all.any(|member| member.is_live() && is(member)))
    }

    async fn has_one_member(&self, org: OrgId) -> Result<bool, StoreDown> {
        let kept = self.reach("count the members of an org")?;
        let members = kept.orgs.get(&org).into_iter().flat_map(|rows| rows.members.values());
        Ok(members.filter(|member| member.is_live()).count() == 1)
    }

    async fn practice(
        &self,
        org: OrgId,
        (agent, tool): (AgentId, &str),
        since: Timestamp,
    ) -> Result<Practice, StoreDown> {
        let kept = self.reach("look for what was done before")?;
        let actions = kept.orgs.get(&org).into_iter().flat_map(|rows| rows.actions.values());
        let sealed = actions.map(|kept| &*kept.action).filter(|it| it.state == State::Sealed);
        let mut sealed: Vec<&Action> = sealed.collect();
        sealed.sort_by_key(|action| Reverse(action.id));
        let ran = |action: &&&Action| action.status == Status::Executed;
        let of_tool = || sealed.iter().filter(|it| it.tool == tool).take(PRACTICE_LOOKED_AT);
        let of_agent = || sealed.iter().filter(|it| it.agent.id == agent);
        let slots: BTreeSet<_> = of_agent()
            .filter(ran)
            .map(|action| Span::around(action.created_at, action.created_at, SLOT).from)
            .filter(|slot| *slot >= since)
            .collect();
        Ok(Practice {
            org_ran_it: of_tool().any(|action| ran(&action)),
            agent_ran_it: of_tool().filter(ran).any(|it| it.agent.id == agent)
                || of_agent().take(PRACTICE_LOOKED_AT).filter(ran).any(|it| it.tool == tool),
            slots: slots.into_iter().collect(),
        })
    }

    async fn caller(&self, org: OrgId, agent: AgentId) -> Result<Caller, StoreDown> {
        let kept = self.reach("find whose call waits")?;
        let rows = kept.orgs.get(&org);
        Ok(Caller {
            org: rows.and_then(|rows| rows.org.clone()),
            agent: rows.and_then(|rows| rows.agents.get(&agent).cloned()),
        })
    }

    async fn author(
        &self,
        org: OrgId,
        version: PolicyVersionId,
    ) -> Result<Option<String>, StoreDown> {
        let kept = self.reach("find a policy's author")?;
        let found = kept.orgs.get(&org).and_then(|rows| rows.versions.get(&version));
        Ok(found.and_then(|version| version.author.clone()))
    }
}

fn passes(filter: &ApprovalFilter, action: &Action, rows: &Rows) -> bool {
    let Some(approval) = &action.approval else { return false };
    (filter.statuses.is_empty() || filter.statuses.contains(&approval.status))
        && filter.agent.is_none_or(|agent| action.agent.id == agent)
        && filter.tool.as_ref().is_none_or(|glob| glob.is_match(&action.tool))
        && filter.from.is_none_or(|from| from <= action.created_at)
        && filter.to.is_none_or(|to| action.created_at < to)
        && filter.waits_for.as_ref().is_none_or(|asked| waits_for(asked, (action, approval), rows))
}

fn waits_for(
    asked: &PersonIdentity,
    (action, approval): (&Action, &Approval),
    rows: &Rows,
) -> bool {
    let called = |name: &str| asked.names.iter().any(|known| known.eq_ignore_ascii_case(name));
    let named = |who: &String| match who.split_once(':') {
        Some(("role", role)) => role.parse::<Role>().is_ok_and(|role| asked.role.is_at_least(role)),
        Some(("member", name)) => called(name),
        _ => false,
    };
    let author = || rows.versions.get(&action.decision.policy_version)?.author.as_deref();
    let owner = || Some(rows.agents.get(&action.agent.id)?.owner?.to_string());
    let is = |excluded: &Excluded| match excluded {
        Excluded::OnBehalfOf => action.on_behalf_of.as_deref().is_some_and(called),
        Excluded::PolicyAuthor => author().is_some_and(called),
        Excluded::AgentOwner => owner().is_some_and(|owner| called(&owner)),
    };
    approval.status == ApprovalStatus::Pending
        && (approval.from.is_empty() || approval.from.iter().any(named))
        && !approval.exclude.iter().any(is)
        && approval.decisions.iter().all(|answer| answer.user != asked.user)
}

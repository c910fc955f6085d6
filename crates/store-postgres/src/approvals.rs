//! The Gate's store of what people are asked.
//!
//! Each way that a question may stand leads to its actions, newest first, by an index that holds only
//! actions about which people are or were asked; an agent's have one of their own.

use std::{
    sync::LazyLock,
    time::{SystemTime, UNIX_EPOCH},
};

use admin::AccountStore;
use async_trait::async_trait;
use gate::{
    ApprovalFilter, ApprovalStore, Caller, PRACTICE_LOOKED_AT, Page, PersonIdentity, Practice,
};
use ledger::{StoreDown, record::Member};
use model::{
    ActionId, AgentId, ApprovalId, ApprovalStatus, MemberId, OrgId, PolicyVersionId, Role,
    Timestamp, UserId,
};
use uuid::Uuid;

use crate::{
    PostgresStore,
    database::Call,
    list::first_id,
    members::member,
    rows::{Cells, bigint, system_time, timestamp},
};

#[async_trait]
impl ApprovalStore for PostgresStore {
    async fn asked(&self, org: OrgId, id: ApprovalId) -> Result<Option<ActionId>, StoreDown> {
        let call = Call::new(ASKED).with(*org.as_uuid()).with(id.to_string());
        self.found("find an approval", call, |row| {
            Cells::of("action", row).id("id", ActionId::from_uuid)
        })
        .await
    }

    async fn approvals(
        &self,
        org: OrgId,
        filter: &ApprovalFilter,
        after: Option<ActionId>,
        limit: usize,
    ) -> Result<Page, StoreDown> {
        let attempt = "list approvals";
        let sql = if filter.agent.is_some() { OF_AGENT.as_str() } else { OF_ORG.as_str() };
        // Each leads to its actions once, however often it was named.
        let mut statuses = filter.statuses.clone();
        statuses.sort_unstable();
        statuses.dedup();
        let statuses: Vec<&str> = match statuses.as_slice() {
            [] => ApprovalStatus::WORDS.to_vec(),
            some => some.iter().map(|status| status.as_str()).collect(),
        };
        let below = filter.to.map_or(Uuid::max(), first_id);
        let asked = filter.waits_for.as_ref();
        let roles = asked.map(|asked| {
            let members = asked.names.iter().map(|name| format!("member:{name}"));
            let roles = [Role::Viewer, Role::Admin, Role::Owner].into_iter();
            let roles = roles.filter(|role| asked.role.is_at_least(*role));
            members.chain(roles.map(|role| format!("role:{role}"))).collect::<Vec<_>>()
        });
        let made = match asked {
            Some(asked) => self.made_by(org, asked).await?,
            None => Vec::new(),
        };
        let call = Call::new(sql)
            .with(*org.as_uuid())
            .with(filter.from.map_or(Uuid::nil(), first_id))
            .with(after.map_or(below, |after| below.min(*after.as_uuid())))
            .with(bigint(limit as u64).saturating_add(1))
            .with(statuses)
            .with(filter.agent.map(|id| *id.as_uuid()))
            .with(filter.tool.as_ref().map(policy::Glob::to_like))
            .with(roles)
            .with(asked.map(|asked| asked.names.clone()))
            .with(asked.map(|asked| asked.user.to_string()))
            .with(made);
        let rows = self.reading.ask_one(attempt, call).await?;
        let shown = rows.iter().take(limit).map(|row| Cells::of("action", row).json("record"));
        let actions = shown.collect::<Result<_, _>>().map_err(|fault| fault.down(attempt))?;
        Ok(Page { actions, has_more: rows.len() > limit })
    }

    async fn approvers(
        &self,
        org: OrgId,
        after: Option<(Timestamp, MemberId)>,
        limit: usize,
    ) -> Result<Vec<Member>, StoreDown> {
        let sql = "
            select id, org_id, user_id, role, can_approve, joined_at, role_since, removed_at, revision
            from member
            where org_id = $1 and removed_at is null and can_approve and (joined_at, id) > ($2, $3)
            order by joined_at, id limit $4";
        let (joined, id) = after
            .map_or((UNIX_EPOCH, Uuid::nil()), |(joined, id)| (system_time(joined), *id.as_uuid()));
        let call =
            Call::new(sql).with(*org.as_uuid()).with(joined).with(id).with(bigint(limit as u64));
        self.all("find who may approve", call, member).await
    }

    async fn has_one_of(
        &self,
        org: OrgId,
        (members, users): (&[MemberId], &[UserId]),
    ) -> Result<bool, StoreDown> {
        let sql = "
            select exists (
                select from member
                where org_id = $1 and removed_at is null and id = any($2)
            ) or exists (
                select from member
                where org_id = $1 and removed_at is null and user_id = any($3)
            ) as is_there";
        let call = Call::new(sql)
            .with(*org.as_uuid())
            .with(members.iter().map(|id| *id.as_uuid()).collect::<Vec<_>>())
            .with(users.iter().map(|id| *id.as_uuid()).collect::<Vec<_>>());
        let found = self.found("look for members", call, |row| {
            Cells::of("member", row).get::<bool>("is_there")
        });
        Ok(found.await?.unwrap_or_default())
    }

    async fn has_one_member(&self, org: OrgId) -> Result<bool, StoreDown> {
        let sql = "
            select id from member where org_id = $1 and removed_at is null limit 2";
        let call = Call::new(sql).with(*org.as_uuid());
        let rows = self.reading.ask_one("count the members of an org", call).await?;
        Ok(rows.len() == 1)
    }

    async fn practice(
        &self,
        org: OrgId,
        (agent, tool): (AgentId, &str),
        since: Timestamp,
    ) -> Result<Practice, StoreDown> {
        let call = Call::new(PRACTICE)
            .with(*org.as_uuid())
            .with(*agent.as_uuid())
            .with(tool.to_owned())
            .with(system_time(since))
            .with(bigint(PRACTICE_LOOKED_AT as u64));
        let found = self.found("look for what was done before", call, |row| {
            let cells = Cells::of("action", row);
            let slots = cells.get::<Vec<SystemTime>>("slots")?;
            Ok(Practice {
                org_ran_it: cells.get("org_ran_it")?,
                agent_ran_it: cells.get("agent_ran_it")?,
                slots: slots.into_iter().map(timestamp).collect(),
            })
        });
        Ok(found.await?.unwrap_or_default())
    }

    async fn caller(&self, org: OrgId, agent: AgentId) -> Result<Caller, StoreDown> {
        let agent = AccountStore::agent(self, org, agent).await?;
        Ok(Caller { org: AccountStore::org(self, org).await?, agent })
    }

    async fn author(
        &self,
        org: OrgId,
        version: PolicyVersionId,
    ) -> Result<Option<String>, StoreDown> {
        let sql = "select author from policy_version where org_id = $1 and id = $2";
        let call = Call::new(sql).with(*org.as_uuid()).with(*version.as_uuid());
        let found = self.found("find a policy's author", call, |row| {
            Cells::of("policy_version", row).get::<Option<String>>("author")
        });
        Ok(found.await?.flatten())
    }
}

// Of the tool's newest calls, and of the agent's, one that ran ends the search. When the agent acted
// is kept in the counts.
//
// A tool and an agent are asked for by their bounds and in their order, which their own indexes alone
// have: of a tool that an org of many calls never used, the planner thinks that many of the newest rows
// are its own, and would go through all of them.
const PRACTICE: &str = "
    with of_tool as materialized (
        select agent_id, status from action
        where org_id = $1 and tool >= $3 and tool <= $3 and state = 'sealed'
        order by tool desc, id desc limit $5
    )
    select
        exists (select from of_tool where status = 'executed') as org_ran_it,
        exists (select from of_tool where status = 'executed' and agent_id = $2) or exists (
            select from (
                select tool, status from action
                where org_id = $1 and agent_id >= $2 and agent_id <= $2 and state = 'sealed'
                order by agent_id desc, id desc limit $5
            ) as newest
            where status = 'executed' and tool = $3
        ) as agent_ran_it,
        array(
            select distinct slot from action_tally
            where org_id = $1 and owner_id = $2 and slot >= $4 and status = 'executed'
            order by slot
        ) as slots";

impl PostgresStore {
    /// The policy versions that this person made, as records name them.
    async fn made_by(&self, org: OrgId, person: &PersonIdentity) -> Result<Vec<String>, StoreDown> {
        let attempt = "find the policy versions that somebody made";
        let sql = "select id from policy_version where org_id = $1 and lower(author) = any($2)";
        let call = Call::new(sql).with(*org.as_uuid()).with(person.names.clone());
        let rows = self.reading.ask_one(attempt, call).await?;
        let id = |row| Cells::of("policy_version", row).id("id", PolicyVersionId::from_uuid);
        let ids: Result<Vec<_>, _> = rows.iter().map(id).collect();
        let ids = ids.map_err(|fault| fault.down(attempt))?;
        Ok(ids.iter().map(PolicyVersionId::to_string).collect())
    }
}

const ASKED: &str = "
    select id from action
    where org_id = $1 and record::json #>> '{approval,id}' = $2 and approval_status is not null";

static OF_ORG: LazyLock<String> = LazyLock::new(|| list("$6::uuid is null"));
static OF_AGENT: LazyLock<String> = LazyLock::new(|| list("agent_id = $6"));

/// The records of the newest actions that one of the states leads to and the filters let through.
///
/// For whom a question waits is told by its record, which is read of one question after the other until
/// there are enough. The fences see to that: where the planner has not heard yet that there are many
/// questions, it would read the records of all of them first and sort them afterwards.
fn list(agent: &str) -> String {
    format!(
        "
        select called.record
        from (
            select found.id
            from unnest($5::text[]) as wanted (status)
            cross join lateral (
                select asked.id
                from (
                    select id from action
                    where org_id = $1 and approval_status = wanted.status and {agent}
                        and id >= $2 and id < $3
                        and ($7::text is null or tool like $7)
                    order by id desc offset 0
                ) as asked
                where $8::text[] is null or exists (
                    select from (
                        select * from action where org_id = $1 and id = asked.id offset 0
                    ) as action
                    where {WAITS_FOR})
                order by asked.id desc limit $4
            ) as found
            order by found.id desc limit $4
        ) as shown
        cross join lateral (
            select record from action where org_id = $1 and id = shown.id offset 0
        ) as called
        order by shown.id desc"
    )
}

/// Whether the question waits for somebody who goes by the names of `$9`, is called so by rules as
/// `$8` says and made the policy versions of `$11`. An agent is looked at only for a question that
/// excludes its owner.
const WAITS_FOR: &str = "
    approval_status = 'pending'
    and (json_array_length(record::json #> '{approval,from}') = 0 or exists (
        select from json_array_elements_text(record::json #> '{approval,from}') as named (who)
        where lower(named.who) = any($8)))
    and not (coalesce(lower(on_behalf_of) = any($9), false)
        and coalesce((record::json #> '{approval,exclude}')::text, 'on_behalf_of')
            like '%on_behalf_of%')
    and not (record::json #>> '{decision,policy_version}' = any($11)
        and (record::json #> '{approval,exclude}')::text like '%policy_author%')
    and not ((record::json #> '{approval,exclude}')::text like '%agent_owner%' and exists (
        select from agent as asks
        where asks.org_id = $1 and asks.id = action.agent_id
            and asks.record::json ->> 'owner' = any($9)))
    and not exists (
        select from json_array_elements(record::json #> '{approval,decisions}') as given (decision)
        where given.decision ->> 'user' = $10)";

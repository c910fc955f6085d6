//! The turn's actions: those that began and those that moved, one statement each.

use std::{
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, SystemTime},
};

use ledger::{
    Turn,
    record::{Action, NewAction},
};
use model::{ActionId, Timestamp};
use uuid::Uuid;

use super::Step;
use crate::{
    database::Call,
    fault::Fault,
    list::is_of,
    rows::{bigint, system_time, to_json},
};

/// The statements that write the actions that the turn begins and those that it moves.
pub(crate) fn steps<'a>(
    turn: &'a Turn,
    (new, moved): (&'a [NewAction], &'a [Arc<Action>]),
    lease: Duration,
) -> Result<Vec<Step<'a>>, Fault> {
    let (new, moved) = last_forms(new, moved);
    let lease_until = turn.at + lease;
    let mut steps = Vec::new();
    if let Some(odd) = new.iter().find(|action| !is_of(*action.id.as_uuid(), action.created_at)) {
        // Lists are in the order of ids.
        let why = format!("its id is not of the moment {}", odd.created_at);
        return Err(Fault::Row { table: "action", column: "created_at", why });
    }
    if !new.is_empty() {
        let call = Call::new(BEGUN).with(*turn.org.as_uuid());
        steps.push(Step::rows(Columns::of(&new, lease_until)?.values(call)));
    }
    if !moved.is_empty() {
        let call = Call::new(MOVED).with(*turn.org.as_uuid());
        steps.push(Step::rows(Columns::of(&moved, lease_until)?.values(call)));
    }
    Ok(steps)
}

const BEGUN: &str = "
    insert into action
        (org_id, id, created_at, agent_id, tool, tool_digest, mode, state, status, on_behalf_of,
         outcome, shadow_outcome, approval_status, approval_expires_at, deadline,
         execution_status, error_code, verdict, level, deed_id, lease_holder, lease_token,
         lease_until, record)
    select $1::uuid, r.*
    from unnest($2::uuid[], $3::timestamptz[], $4::uuid[], $5::text[], $6::bytea[], $7::text[],
        $8::text[], $9::text[], $10::text[], $11::text[], $12::text[], $13::text[],
        $14::timestamptz[], $15::timestamptz[], $16::text[], $17::text[], $18::text[],
        $19::text[], $20::uuid[], $21::text[], $22::bigint[], $23::timestamptz[], $24::text[])
        as r";

// `offset 0` keeps the list of rows from being merged into the statement: the planner then knows
// the org only as part of each row's key, and cannot go through the whole org instead.
const MOVED: &str = "
    with moved as (
        update action
        set created_at = r.created_at, agent_id = r.agent_id, tool = r.tool,
            tool_digest = r.tool_digest, mode = r.mode, state = r.state, status = r.status,
            on_behalf_of = r.on_behalf_of, outcome = r.outcome,
            shadow_outcome = r.shadow_outcome, approval_status = r.approval_status,
            approval_expires_at = r.approval_expires_at, deadline = r.deadline,
            execution_status = r.execution_status, error_code = r.error_code,
            verdict = r.verdict, level = r.level, deed_id = r.deed_id,
            lease_holder = r.lease_holder, lease_token = r.lease_token,
            lease_until = r.lease_until, record = r.record
        from (
            select $1::uuid as org_id, r.*
            from unnest($2::uuid[], $3::timestamptz[], $4::uuid[], $5::text[], $6::bytea[],
                $7::text[], $8::text[], $9::text[], $10::text[], $11::text[], $12::text[],
                $13::text[], $14::timestamptz[], $15::timestamptz[], $16::text[], $17::text[],
                $18::text[], $19::text[], $20::uuid[], $21::text[], $22::bigint[],
                $23::timestamptz[], $24::text[])
                as r (id, created_at, agent_id, tool, tool_digest, mode, state, status,
                    on_behalf_of, outcome, shadow_outcome, approval_status,
                    approval_expires_at, deadline, execution_status, error_code, verdict,
                    level, deed_id, lease_holder, lease_token, lease_until, record)
            offset 0
        ) as r
        where action.org_id = r.org_id and action.id = r.id
        returning action.id
    )
    select 1 / (count(*) = cardinality($2::uuid[]))::integer from moved";

/// The actions that the turn begins and those that it moves, each in its last form.
fn last_forms<'a>(
    new: &'a [NewAction],
    moved: &'a [Arc<Action>],
) -> (Vec<&'a Action>, Vec<&'a Action>) {
    let mut last: BTreeMap<ActionId, &Action> =
        moved.iter().map(|action| (action.id, &**action)).collect();
    // One that begins twice stays twice here, for the primary key to refuse.
    let last_form = |new: &'a NewAction| last.get(&new.action.id).copied().unwrap_or(&new.action);
    let new: Vec<&Action> = new.iter().map(last_form).collect();
    for action in &new {
        last.remove(&action.id);
    }
    // Renewals of leases lock the same rows without the head. Both take them in the order of their
    // ids, so that neither waits for the other in a circle.
    (new, last.into_values().collect())
}

/// The actions column by column, as `unnest` takes them.
struct Columns<'a> {
    id: Vec<Uuid>,
    created_at: Vec<SystemTime>,
    agent_id: Vec<Uuid>,
    tool: Vec<&'a str>,
    tool_digest: Vec<Option<&'a [u8]>>,
    mode: Vec<&'static str>,
    state: Vec<&'static str>,
    status: Vec<&'static str>,
    on_behalf_of: Vec<Option<&'a str>>,
    outcome: Vec<&'static str>,
    shadow_outcome: Vec<Option<&'static str>>,
    approval_status: Vec<Option<&'static str>>,
    approval_expires_at: Vec<Option<SystemTime>>,
    deadline: Vec<Option<SystemTime>>,
    execution_status: Vec<Option<&'static str>>,
    error_code: Vec<Option<&'a str>>,
    verdict: Vec<Option<&'static str>>,
    level: Vec<Option<&'static str>>,
    deed_id: Vec<Option<Uuid>>,
    lease_holder: Vec<Option<&'a str>>,
    lease_token: Vec<Option<i64>>,
    lease_until: Vec<Option<SystemTime>>,
    record: Vec<String>,
}

impl<'a> Columns<'a> {
    fn of(actions: &[&'a Action], lease_until: Timestamp) -> Result<Self, Fault> {
        fn each<'a, T>(actions: &[&'a Action], column: impl Fn(&'a Action) -> T) -> Vec<T> {
            actions.iter().map(|action| column(action)).collect()
        }
        let lease_until = system_time(lease_until);
        Ok(Self {
            id: each(actions, |a| *a.id.as_uuid()),
            created_at: each(actions, |a| system_time(a.created_at)),
            agent_id: each(actions, |a| *a.agent.id.as_uuid()),
            tool: each(actions, |a| a.tool.as_str()),
            tool_digest: each(actions, |a| a.tool_digest.as_ref().map(|d| &d.as_bytes()[..])),
            mode: each(actions, |a| a.mode.as_str()),
            state: each(actions, |a| a.state.as_str()),
            status: each(actions, |a| a.status.as_str()),
            on_behalf_of: each(actions, |a| a.on_behalf_of.as_deref()),
            outcome: each(actions, |a| a.decision.outcome.as_str()),
            shadow_outcome: each(actions, |a| {
                a.decision.shadow.as_ref().map(|s| s.outcome.as_str())
            }),
            approval_status: each(actions, |a| a.approval.as_ref().map(|p| p.status.as_str())),
            approval_expires_at: each(actions, |a| {
                a.approval.as_ref().map(|p| system_time(p.expires_at))
            }),
            deadline: each(actions, |a| a.deadline.map(system_time)),
            execution_status: each(actions, |a| a.execution.as_ref().map(|e| e.status.as_str())),
            error_code: each(actions, |a| {
                Some(a.execution.as_ref()?.error_code.as_ref()?.as_str())
            }),
            verdict: each(actions, |a| a.witness.as_ref().map(|w| w.verdict.as_str())),
            level: each(actions, |a| a.witness.as_ref().map(|w| w.level.as_str())),
            deed_id: each(actions, |a| a.deed.map(|id| *id.as_uuid())),
            lease_holder: each(actions, |a| a.lease.as_ref().map(|l| l.holder.as_str())),
            lease_token: each(actions, |a| a.lease.as_ref().map(|l| bigint(l.token))),
            lease_until: each(actions, |a| a.lease.as_ref().map(|_| lease_until)),
            record: actions
                .iter()
                .map(|action| to_json("record", "action", action))
                .collect::<Result<_, _>>()?,
        })
    }

    /// Adds the columns to a statement, in the order of the table.
    fn values(self, call: Call<'a>) -> Call<'a> {
        call.with(self.id)
            .with(self.created_at)
            .with(self.agent_id)
            .with(self.tool)
            .with(self.tool_digest)
            .with(self.mode)
            .with(self.state)
            .with(self.status)
            .with(self.on_behalf_of)
            .with(self.outcome)
            .with(self.shadow_outcome)
            .with(self.approval_status)
            .with(self.approval_expires_at)
            .with(self.deadline)
            .with(self.execution_status)
            .with(self.error_code)
            .with(self.verdict)
            .with(self.level)
            .with(self.deed_id)
            .with(self.lease_holder)
            .with(self.lease_token)
            .with(self.lease_until)
            .with(self.record)
    }
}

//! The turn's idempotency keys, budget counters and accepted tools, one statement each.

use std::collections::BTreeMap;

use ledger::{
    Turn,
    record::{AcceptedTool, BudgetUse, IdempotencyKey},
};

use super::Step;
use crate::{database::Call, rows::system_time};

/// The statements that write the turn's keys, counters and tools. A later one of the same row
/// wins.
pub(crate) fn steps<'a>(
    turn: &'a Turn,
    (keys, budgets, tools): (&'a [IdempotencyKey], &'a [BudgetUse], &'a [AcceptedTool]),
) -> Vec<Step<'a>> {
    let keys: BTreeMap<_, _> = keys.iter().map(|row| ((row.agent, &row.key), row)).collect();
    let budgets: BTreeMap<_, _> =
        budgets.iter().map(|row| ((&row.key, row.window_start), row)).collect();
    let tools: BTreeMap<_, _> = tools.iter().map(|row| ((row.agent, &row.tool), row)).collect();
    let tools: Vec<&AcceptedTool> = tools.into_values().collect();
    let keys: Vec<&IdempotencyKey> = keys.into_values().collect();
    let budgets: Vec<&BudgetUse> = budgets.into_values().collect();
    let keys = (!keys.is_empty()).then(|| Step::race(name_actions(turn, &keys)));
    let budgets = (!budgets.is_empty()).then(|| Step::rows(count(turn, &budgets)));
    let tools = (!tools.is_empty()).then(|| Step::rows(accept(turn, &tools)));
    keys.into_iter().chain(budgets).chain(tools).collect()
}

fn accept<'a>(turn: &'a Turn, rows: &[&'a AcceptedTool]) -> Call<'a> {
    let sql = "
        insert into accepted_tool (org_id, agent_id, tool, digest, told)
        select $1, r.agent_id, r.tool, r.digest, r.told
        from unnest($2::uuid[], $3::text[], $4::bytea[], $5::bytea[])
            as r (agent_id, tool, digest, told)
        on conflict (org_id, agent_id, tool) do update
        set digest = excluded.digest, told = excluded.told";
    Call::new(sql)
        .with(*turn.org.as_uuid())
        .with(rows.iter().map(|row| *row.agent.as_uuid()).collect::<Vec<_>>())
        .with(rows.iter().map(|row| row.tool.as_str()).collect::<Vec<_>>())
        .with(rows.iter().map(|row| &row.digest.as_bytes()[..]).collect::<Vec<_>>())
        .with(rows.iter().map(|row| Some(&row.told.as_ref()?.as_bytes()[..])).collect::<Vec<_>>())
}

/// The statement that gives the keys to their actions, and fails when one of them still
/// names another.
fn name_actions<'a>(turn: &'a Turn, rows: &[&'a IdempotencyKey]) -> Call<'a> {
    let sql = "
        with given as (
            insert into idempotency (org_id, agent_id, key, action_id, fingerprint, expires_at)
            select $1::uuid, r.agent_id, r.key, r.action_id, r.fingerprint, r.expires_at
            from unnest($2::uuid[], $3::text[], $4::uuid[], $5::bytea[], $6::timestamptz[])
                as r (agent_id, key, action_id, fingerprint, expires_at)
            on conflict (org_id, agent_id, key) do update
            set action_id = excluded.action_id, fingerprint = excluded.fingerprint,
                expires_at = excluded.expires_at
            where idempotency.expires_at <= $7 or idempotency.action_id = excluded.action_id
            returning key
        )
        select 1 / (count(*) = cardinality($3::text[]))::integer from given";
    Call::new(sql)
        .with(*turn.org.as_uuid())
        .with(rows.iter().map(|row| *row.agent.as_uuid()).collect::<Vec<_>>())
        .with(rows.iter().map(|row| row.key.as_str()).collect::<Vec<_>>())
        .with(rows.iter().map(|row| *row.action.as_uuid()).collect::<Vec<_>>())
        .with(rows.iter().map(|row| &row.fingerprint.as_bytes()[..]).collect::<Vec<_>>())
        .with(rows.iter().map(|row| system_time(row.expires_at)).collect::<Vec<_>>())
        .with(system_time(turn.at))
}

fn count<'a>(turn: &'a Turn, rows: &[&'a BudgetUse]) -> Call<'a> {
    let sql = "
        insert into budget_window (org_id, key, window_start, window_end, used)
        select $1, r.key, r.window_start, r.window_end, r.used::numeric
        from unnest($2::text[], $3::timestamptz[], $4::timestamptz[], $5::text[])
            as r (key, window_start, window_end, used)
        on conflict (org_id, key, window_start) do update
        set window_end = excluded.window_end, used = excluded.used";
    Call::new(sql)
        .with(*turn.org.as_uuid())
        .with(rows.iter().map(|row| row.key.as_str()).collect::<Vec<_>>())
        .with(rows.iter().map(|row| system_time(row.window_start)).collect::<Vec<_>>())
        .with(rows.iter().map(|row| system_time(row.window_end)).collect::<Vec<_>>())
        .with(rows.iter().map(|row| row.used.to_string()).collect::<Vec<_>>())
}

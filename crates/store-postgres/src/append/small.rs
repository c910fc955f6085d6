//! The rows of orgs, agents, keys and connectors, which change seldom: one statement each.

use ledger::record::{Agent, ApiKey, Connector, Holder, IntentKeys, Org, OrgRenamed, OrgSettings};
use model::OrgId;

use super::Step;
use crate::{
    database::Call,
    fault::Fault,
    rows::{system_time, to_json},
};

/// The statements that write these rows, those of agents before those of their keys.
pub(super) fn accounts<'a>(
    id: OrgId,
    (orgs, agents, keys, connectors): (&'a [Org], &'a [Agent], &'a [ApiKey], &'a [Connector]),
) -> Result<Vec<Step<'a>>, Fault> {
    let mut calls = Vec::new();
    for row in orgs {
        calls.push(org(row)?);
    }
    for row in agents {
        calls.push(agent(id, row)?);
    }
    for row in keys {
        calls.extend([api_key(id, row)?, key_org(id, row)]);
    }
    for row in connectors {
        calls.push(connector(id, row)?);
    }
    Ok(calls.into_iter().map(Step::rows).collect())
}

fn org(row: &Org) -> Result<Call<'_>, Fault> {
    let sql = "
        insert into org (org_id, created_at, record) values ($1, $2, $3)
        on conflict (org_id) do update set record = excluded.record";
    Ok(Call::new(sql)
        .with(*row.id.as_uuid())
        .with(system_time(row.created_at))
        .with(to_json("record", "org", row)?))
}

/// The statement that takes the name of an org that is being made.
pub(super) fn org_name(row: &Org) -> Call<'_> {
    let sql = "insert into org_name (name, org_id) values ($1, $2)";
    Call::new(sql).with(row.name.as_str()).with(*row.id.as_uuid())
}

/// The statements that take another name for an org and give the one before back, which another
/// org may hold from a time when names were not told apart.
pub(super) fn renamed(org: OrgId, row: &OrgRenamed) -> [Call<'_>; 2] {
    let given_back = "delete from org_name where name = $1 and org_id = $2";
    let taken = "insert into org_name (name, org_id) values ($1, $2)";
    [(given_back, &row.before), (taken, &row.after)]
        .map(|(sql, name)| Call::new(sql).with(name.as_str()).with(*org.as_uuid()))
}

/// The statement that writes the settings of an org.
pub(super) fn settings(row: &OrgSettings) -> Call<'_> {
    let sql = "
        insert into org_settings (org_id, retention_days, updated_at, answer_seconds,
            require_other_person, allow_single_member, revision, policy_two_person)
        values ($1, $2, $3, $4, $5, $6, $7, $8)
        on conflict (org_id) do update
        set retention_days = excluded.retention_days, updated_at = excluded.updated_at,
            answer_seconds = excluded.answer_seconds,
            require_other_person = excluded.require_other_person,
            allow_single_member = excluded.allow_single_member, revision = excluded.revision,
            policy_two_person = excluded.policy_two_person";
    let approvals = row.approvals;
    Call::new(sql)
        .with(*row.org.as_uuid())
        .with(i32::from(row.retention_days))
        .with(system_time(row.updated_at))
        .with(approvals.default_expires_in.map(|time| i64::from(time.seconds())))
        .with(approvals.require_other_person)
        .with(approvals.allow_single_member)
        .with(i64::from(row.revision))
        .with(row.policy_two_person)
}

fn agent(org: OrgId, row: &Agent) -> Result<Call<'_>, Fault> {
    let sql = "
        insert into agent (org_id, id, name, created_at, archived_at, record)
        values ($1, $2, $3, $4, $5, $6)
        on conflict (org_id, id) do update
        set name = excluded.name, archived_at = excluded.archived_at, record = excluded.record";
    Ok(Call::new(sql)
        .with(*org.as_uuid())
        .with(*row.id.as_uuid())
        .with(&row.name)
        .with(system_time(row.created_at))
        .with(row.archived_at.map(system_time))
        .with(to_json("record", "agent", row)?))
}

/// The statement that writes the intent keys of an agent.
pub(super) fn intent_keys(org: OrgId, row: &IntentKeys) -> Result<Call<'_>, Fault> {
    let sql = "
        insert into intent_key_set (org_id, agent_id, record) values ($1, $2, $3)
        on conflict (org_id, agent_id) do update set record = excluded.record";
    Ok(Call::new(sql).with(*org.as_uuid()).with(*row.agent.as_uuid()).with(to_json(
        "record",
        "intent_key_set",
        row,
    )?))
}

fn api_key(org: OrgId, row: &ApiKey) -> Result<Call<'_>, Fault> {
    let sql = "
        insert into api_key (org_id, id, agent_id, created_at, record)
        values ($1, $2, $3, $4, $5)
        on conflict (org_id, id) do update
        set agent_id = excluded.agent_id, record = excluded.record";
    let agent = match row.holder {
        Holder::Agent(agent) => Some(*agent.as_uuid()),
        Holder::Org => None,
    };
    Ok(Call::new(sql)
        .with(*org.as_uuid())
        .with(*row.id.as_uuid())
        .with(agent)
        .with(system_time(row.created_at))
        .with(to_json("record", "api_key", row)?))
}

fn key_org(org: OrgId, row: &ApiKey) -> Call<'_> {
    let sql = "
        insert into api_key_org (key_id, org_id) values ($1, $2)
        on conflict (key_id) do nothing";
    Call::new(sql).with(*row.id.as_uuid()).with(*org.as_uuid())
}

fn connector(org: OrgId, row: &Connector) -> Result<Call<'_>, Fault> {
    let sql = "
        insert into connector (org_id, id, name, created_at, record)
        values ($1, $2, $3, $4, $5)
        on conflict (org_id, id) do update set name = excluded.name, record = excluded.record";
    Ok(Call::new(sql)
        .with(*org.as_uuid())
        .with(*row.id.as_uuid())
        .with(row.name.as_str())
        .with(system_time(row.created_at))
        .with(to_json("record", "connector", row)?))
}

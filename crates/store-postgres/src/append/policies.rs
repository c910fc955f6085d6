//! The rows of policies: versions are only ever added, so is the history of what was active.

use ledger::record::{
    ActiveChange, ActivePolicy, Policy, PolicyActivation, PolicyMode, PolicyTests, PolicyVersion,
    Proposal,
};
use model::OrgId;

use super::Step;
use crate::{
    database::Call,
    fault::Fault,
    rows::{bigint, system_time, to_json},
};

/// The statements that write policies, their versions and their tests.
pub(super) fn steps<'a>(
    org: OrgId,
    (policies, versions, suites): (&'a [Policy], &'a [PolicyVersion], &'a [PolicyTests]),
) -> impl Iterator<Item = Step<'a>> {
    let policies = policies.iter().map(move |row| policy(org, row));
    let versions = versions.iter().map(move |row| version(org, row));
    let suites = suites.iter().map(move |row| tests(org, row));
    policies.chain(versions).chain(suites).map(Step::rows)
}

/// The statements that write what is active, and what its history gets longer by.
pub(super) fn activations<'a>(
    org: OrgId,
    (changes, entries): (&'a [ActiveChange], &'a [PolicyActivation]),
) -> impl Iterator<Item = Step<'a>> {
    let active = changes.iter().map(move |change| match &change.active {
        Some(row) => active(org, row),
        None => ended(org, change.mode),
    });
    active.chain(entries.iter().map(move |row| history(org, row))).map(Step::rows)
}

/// The statements that write proposed activations.
pub(super) fn proposals(org: OrgId, rows: &[Proposal]) -> Result<Vec<Step<'_>>, Fault> {
    // One that gives way to another is closed before the other is made.
    let (closed, open): (Vec<_>, Vec<_>) = rows.iter().partition(|row| row.closed.is_some());
    closed.into_iter().chain(open).map(|row| Ok(Step::rows(proposal(org, row)?))).collect()
}

fn proposal(org: OrgId, row: &Proposal) -> Result<Call<'_>, Fault> {
    let sql = "
        insert into policy_proposal (org_id, id, mode, proposed_at, closed_at, record)
        values ($1, $2, $3, $4, $5, $6)
        on conflict (org_id, id) do update
        set closed_at = excluded.closed_at, record = excluded.record";
    Ok(Call::new(sql)
        .with(*org.as_uuid())
        .with(*row.id.as_uuid())
        .with(row.mode.as_str())
        .with(system_time(row.proposed_at))
        .with(row.closed.as_ref().map(|closed| system_time(closed.at)))
        .with(to_json("record", "policy_proposal", row)?))
}

fn policy(org: OrgId, row: &Policy) -> Call<'_> {
    let sql = "
        insert into policy (org_id, id, name, description, revision, created_at, archived_at)
        values ($1, $2, $3, $4, $5, $6, $7)
        on conflict (org_id, id) do update
        set name = excluded.name, description = excluded.description,
            revision = excluded.revision, archived_at = excluded.archived_at";
    Call::new(sql)
        .with(*org.as_uuid())
        .with(*row.id.as_uuid())
        .with(&row.name)
        .with(&row.description)
        .with(integer(row.revision))
        .with(system_time(row.created_at))
        .with(row.archived_at.map(system_time))
}

fn version(org: OrgId, row: &PolicyVersion) -> Call<'_> {
    let sql = "
        insert into policy_version
            (org_id, id, policy_id, number, document, digest, note, author, created_at)
        values ($1, $2, $3, $4, $5, $6, $7, $8, $9)";
    Call::new(sql)
        .with(*org.as_uuid())
        .with(*row.id.as_uuid())
        .with(*row.policy.as_uuid())
        .with(integer(row.number))
        .with(&row.document)
        .with(&row.digest.as_bytes()[..])
        .with(&row.note)
        .with(&row.author)
        .with(system_time(row.created_at))
}

fn tests(org: OrgId, row: &PolicyTests) -> Call<'_> {
    let sql = "
        insert into policy_tests (org_id, policy_id, suite, cases, revision, updated_at)
        values ($1, $2, $3, $4, $5, $6)
        on conflict (org_id, policy_id) do update
        set suite = excluded.suite, cases = excluded.cases, revision = excluded.revision,
            updated_at = excluded.updated_at";
    Call::new(sql)
        .with(*org.as_uuid())
        .with(*row.policy.as_uuid())
        .with(&row.suite)
        .with(integer(row.cases))
        .with(integer(row.revision))
        .with(system_time(row.updated_at))
}

fn active(org: OrgId, row: &ActivePolicy) -> Call<'_> {
    let sql = "
        insert into policy_active (org_id, mode, policy_id, version_id, digest)
        values ($1, $2, $3, $4, $5)
        on conflict (org_id, mode) do update
        set policy_id = excluded.policy_id, version_id = excluded.version_id,
            digest = excluded.digest";
    Call::new(sql)
        .with(*org.as_uuid())
        .with(row.mode.as_str())
        .with(*row.policy.as_uuid())
        .with(*row.version.as_uuid())
        .with(&row.digest.as_bytes()[..])
}

fn ended(org: OrgId, mode: PolicyMode) -> Call<'static> {
    let sql = "delete from policy_active where org_id = $1 and mode = $2";
    Call::new(sql).with(*org.as_uuid()).with(mode.as_str())
}

fn history(org: OrgId, row: &PolicyActivation) -> Call<'_> {
    let sql = "
        insert into policy_activation
            (org_id, turn, deed_id, at, mode, policy_id, version_id, previous_id, made_by, reason,
             proposal_id, proposed_by, forced)
        values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)";
    let (proposal, proposed_by) = row.proposed.as_ref().map(|(id, by)| (id, by)).unzip();
    Call::new(sql)
        .with(*org.as_uuid())
        .with(bigint(row.turn))
        .with(*row.deed.as_uuid())
        .with(system_time(row.at))
        .with(row.mode.as_str())
        .with(row.active.map(|(policy, _)| *policy.as_uuid()))
        .with(row.active.map(|(_, version)| *version.as_uuid()))
        .with(row.previous.map(|version| *version.as_uuid()))
        .with(&row.by)
        .with(&row.reason)
        .with(proposal.map(|id| *id.as_uuid()))
        .with(proposed_by)
        .with(row.forced)
}

/// The number as PostgreSQL takes it; what does not fit was never counted here.
fn integer(number: u32) -> i32 {
    i32::try_from(number).unwrap_or(i32::MAX)
}

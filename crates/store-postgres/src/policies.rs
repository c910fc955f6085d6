//! Administration's store of policies: their versions, tests and what was active.

use admin::{DECISION_EVENTS, DecisionEvent, PolicyStore, VersionSummary};
use async_trait::async_trait;
use deed::Disclosure;
use ledger::{
    StoreDown,
    record::{Policy, PolicyActivation, PolicyMode, PolicyTests, PolicyVersion, Proposal},
};
use model::{DeedId, OrgId, PolicyId, PolicyVersionId, ProposalId, Timestamp};
use tokio_postgres::Row;

use crate::{
    PostgresStore,
    database::Call,
    fault::Fault,
    rows::{Cells, bigint, system_time},
};

#[async_trait]
impl PolicyStore for PostgresStore {
    async fn policies(&self, org: OrgId) -> Result<Vec<Policy>, StoreDown> {
        let sql = "
            select id, name, description, revision, created_at, archived_at from policy
            where org_id = $1 order by created_at, id";
        self.all("read an org's policies", Call::new(sql).with(*org.as_uuid()), |row| {
            policy(org, row)
        })
        .await
    }

    async fn policy_version(
        &self,
        org: OrgId,
        id: PolicyVersionId,
    ) -> Result<Option<PolicyVersion>, StoreDown> {
        let sql = "
            select id, policy_id, number, document, digest, note, author, created_at
            from policy_version where org_id = $1 and id = $2";
        let call = Call::new(sql).with(*org.as_uuid()).with(*id.as_uuid());
        self.found("read a policy version", call, |row| version(org, row)).await
    }

    async fn latest_policy_version(
        &self,
        org: OrgId,
        policy: PolicyId,
    ) -> Result<Option<PolicyVersion>, StoreDown> {
        let sql = "
            select id, policy_id, number, document, digest, note, author, created_at
            from policy_version where org_id = $1 and policy_id = $2
            order by number desc limit 1";
        let call = Call::new(sql).with(*org.as_uuid()).with(*policy.as_uuid());
        let attempt = "read the latest version of a policy";
        self.found(attempt, call, |row| version(org, row)).await
    }

    async fn policy_versions(
        &self,
        org: OrgId,
        policy: PolicyId,
        below: Option<u32>,
        limit: usize,
    ) -> Result<Vec<VersionSummary>, StoreDown> {
        let sql = "
            select id, policy_id, number, digest, note, author, created_at from policy_version
            where org_id = $1 and policy_id = $2 and number < $3
            order by number desc limit $4";
        let below = below.and_then(|below| i32::try_from(below).ok()).unwrap_or(i32::MAX);
        let call = Call::new(sql)
            .with(*org.as_uuid())
            .with(*policy.as_uuid())
            .with(below)
            .with(bounded(limit));
        self.all("list the versions of a policy", call, summary).await
    }

    async fn policy_activations(
        &self,
        org: OrgId,
        mode: Option<PolicyMode>,
        below: Option<u64>,
        limit: usize,
    ) -> Result<Vec<PolicyActivation>, StoreDown> {
        let sql = "
            select turn, deed_id, at, mode, policy_id, version_id, previous_id, made_by, reason,
                proposal_id, proposed_by, forced
            from policy_activation
            where org_id = $1 and ($2::text is null or mode = $2) and turn < $3
            order by turn desc limit $4";
        let call = Call::new(sql)
            .with(*org.as_uuid())
            .with(mode.map(PolicyMode::as_str))
            .with(bigint(below.unwrap_or(u64::MAX)))
            .with(bounded(limit));
        self.all("list what was active", call, activation).await
    }

    async fn policy_proposal(
        &self,
        org: OrgId,
        id: ProposalId,
    ) -> Result<Option<Proposal>, StoreDown> {
        let sql = "select record from policy_proposal where org_id = $1 and id = $2";
        let call = Call::new(sql).with(*org.as_uuid()).with(*id.as_uuid());
        self.found("read a proposed activation", call, proposal).await
    }

    async fn open_policy_proposals(&self, org: OrgId) -> Result<Vec<Proposal>, StoreDown> {
        let sql = "
            select record from policy_proposal
            where org_id = $1 and closed_at is null order by id";
        let call = Call::new(sql).with(*org.as_uuid());
        self.all("find what waits for a second person", call, proposal).await
    }

    async fn policy_tests(
        &self,
        org: OrgId,
        policy: PolicyId,
    ) -> Result<Option<PolicyTests>, StoreDown> {
        let sql = "
            select policy_id, suite, cases, revision, updated_at from policy_tests
            where org_id = $1 and policy_id = $2";
        let call = Call::new(sql).with(*org.as_uuid()).with(*policy.as_uuid());
        self.found("read the tests of a policy", call, tests).await
    }

    async fn decisions(
        &self,
        org: OrgId,
        (since, after): (Option<Timestamp>, u64),
        limit: usize,
    ) -> Result<Vec<DecisionEvent>, StoreDown> {
        let sql = "
            select event.seq, event.kind, called.record, opens.text
            from (
                select seq, kind, action_id from event
                where org_id = $1 and seq > $2 and kind = any($3)
                    and ($4::timestamptz is null or created_at >= $4)
                order by seq limit $5
            ) as event
            cross join lateral (
                select record from action where org_id = $1 and id = event.action_id offset 0
            ) as called
            left join lateral (
                select text from disclosure
                where org_id = $1 and owner_id = event.action_id and path = $6
                offset 0
            ) as opens on true
            order by event.seq";
        let kinds: Vec<_> = DECISION_EVENTS.iter().map(|kind| kind.as_str()).collect();
        let call = Call::new(sql)
            .with(*org.as_uuid())
            .with(bigint(after))
            .with(kinds)
            .with(since.map(system_time))
            .with(bounded(limit))
            .with(deed::Path::REQUEST.as_str().to_owned());
        self.all("read decisions", call, decided).await
    }
}

/// The policy that a row is. Rows that an older version of the service wrote lack the
/// columns that it does not know.
pub(crate) fn policy(org: OrgId, row: &Row) -> Result<Policy, Fault> {
    let cells = Cells::of("policy", row);
    let revision: Option<i32> = cells.get("revision")?;
    Ok(Policy {
        id: cells.id("id", PolicyId::from_uuid)?,
        org,
        name: cells.get("name")?,
        description: cells.get::<Option<String>>("description")?.unwrap_or_default(),
        revision: number(&cells, "revision", revision.unwrap_or(1))?,
        created_at: cells.moment("created_at")?,
        archived_at: cells.moment_if_any("archived_at")?,
    })
}

fn version(org: OrgId, row: &Row) -> Result<PolicyVersion, Fault> {
    let document = Cells::of("policy_version", row).get("document")?;
    let VersionSummary { id, policy, number, digest, note, author, created_at } = summary(row)?;
    Ok(PolicyVersion { id, org, policy, number, document, digest, note, author, created_at })
}

fn summary(row: &Row) -> Result<VersionSummary, Fault> {
    let cells = Cells::of("policy_version", row);
    Ok(VersionSummary {
        id: cells.id("id", PolicyVersionId::from_uuid)?,
        policy: cells.id("policy_id", PolicyId::from_uuid)?,
        number: number(&cells, "number", cells.get("number")?)?,
        digest: cells.digest("digest")?,
        note: cells.get("note")?,
        author: cells.get("author")?,
        created_at: cells.moment("created_at")?,
    })
}

fn activation(row: &Row) -> Result<PolicyActivation, Fault> {
    let cells = Cells::of("policy_activation", row);
    let policy = cells.id_if_any("policy_id", PolicyId::from_uuid)?;
    let version = cells.id_if_any("version_id", PolicyVersionId::from_uuid)?;
    let proposal = cells.id_if_any("proposal_id", ProposalId::from_uuid)?;
    let proposed_by: Option<String> = cells.get("proposed_by")?;
    Ok(PolicyActivation {
        turn: cells.count("turn")?,
        deed: cells.id("deed_id", DeedId::from_uuid)?,
        at: cells.moment("at")?,
        mode: mode(&cells)?,
        active: policy.zip(version),
        previous: cells.id_if_any("previous_id", PolicyVersionId::from_uuid)?,
        by: cells.get("made_by")?,
        reason: cells.get("reason")?,
        proposed: proposal.zip(proposed_by),
        forced: cells.get::<Option<bool>>("forced")?.unwrap_or_default(),
    })
}

fn proposal(row: &Row) -> Result<Proposal, Fault> {
    Cells::of("policy_proposal", row).json("record")
}

fn tests(row: &Row) -> Result<PolicyTests, Fault> {
    let cells = Cells::of("policy_tests", row);
    Ok(PolicyTests {
        policy: cells.id("policy_id", PolicyId::from_uuid)?,
        suite: cells.get("suite")?,
        cases: number(&cells, "cases", cells.get("cases")?)?,
        revision: number(&cells, "revision", cells.get("revision")?)?,
        updated_at: cells.moment("updated_at")?,
    })
}

/// The mode that a row names.
pub(crate) fn mode(cells: &Cells<'_>) -> Result<PolicyMode, Fault> {
    let word: &str = cells.get("mode")?;
    PolicyMode::ALL
        .into_iter()
        .find(|mode| mode.as_str() == word)
        .ok_or_else(|| cells.fault("mode", "expected `enforce` or `shadow`"))
}

fn decided(row: &Row) -> Result<DecisionEvent, Fault> {
    let cells = Cells::of("event", row);
    let opens = Cells::of("disclosure", row);
    let request = opens
        .get::<Option<String>>("text")?
        .map(|text| Disclosure::from_text(text).map_err(|error| opens.fault("text", error)))
        .transpose()?;
    Ok(DecisionEvent {
        seq: cells.count("seq")?,
        kind: cells.word("kind")?,
        action: Cells::of("action", row).json("record")?,
        args: request.and_then(|it| serde_json::from_str(it.value()).ok()),
    })
}

fn number(cells: &Cells<'_>, column: &'static str, number: i32) -> Result<u32, Fault> {
    u32::try_from(number).map_err(|error| cells.fault(column, error))
}

fn bounded(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX)
}

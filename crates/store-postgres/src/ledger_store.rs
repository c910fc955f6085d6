//! The ledger's store and the streams': bases, rows for a turn, settled doubts, events.

use std::{collections::BTreeSet, sync::Arc};

use async_trait::async_trait;
use deed::{ChainHead, tree::Frontier};
use event::Event;
use ledger::{
    AppendError, Base, EventStore, Head, HeldOrg, LedgerStore, Loaded, LogNo, Needs, StoreDown,
    Turn, TurnLock,
    record::{AcceptedTool, ActivePolicy, BudgetUse, Connector, IdempotencyKey, Policy},
};
use model::{ActionId, AgentId, EventId, OrgId, PolicyId, PolicyVersionId, Timestamp};
use serde::de::DeserializeOwned;
use tokio_postgres::Row;
use uuid::Uuid;

use crate::{
    PostgresStore,
    database::Call,
    fault::Fault,
    members, org_settings, policies,
    rows::{Cells, bigint, system_time},
    webhooks,
};

#[async_trait]
impl LedgerStore for PostgresStore {
    async fn base(&self, org: OrgId) -> Result<(Option<Base>, Timestamp), StoreDown> {
        let attempt = "read the base of an org";
        let answers = self.database.ask(attempt, &base_calls(org)).await?;
        base(org, &answers).map_err(|fault| fault.down(attempt))
    }

    async fn load(&self, org: OrgId, needs: &Needs) -> Result<Loaded, StoreDown> {
        let attempt = "load rows for a turn";
        let answers = self.database.ask(attempt, &loads(*org.as_uuid(), needs)).await?;
        loaded(needs, &answers).map_err(|fault| fault.down(attempt))
    }

    async fn policy_document(
        &self,
        org: OrgId,
        version: PolicyVersionId,
    ) -> Result<Option<String>, StoreDown> {
        let attempt = "read a policy document";
        let sql = "select document from policy_version where org_id = $1 and id = $2";
        let call = Call::new(sql).with(*org.as_uuid()).with(*version.as_uuid());
        let rows = self.database.ask_one(attempt, call).await?;
        let document =
            rows.first().map(|row| Cells::of("policy_version", row).get("document")).transpose();
        document.map_err(|fault| fault.down(attempt))
    }

    async fn append(&self, turn: &Turn) -> Result<Timestamp, AppendError> {
        self.append_turn(turn).await
    }

    async fn hold(&self, org: OrgId, needs: &Needs) -> Result<Option<HeldOrg>, StoreDown> {
        self.hold_head(org, needs).await
    }

    async fn turn_lock(&self, org: OrgId) -> Result<Option<Box<dyn TurnLock>>, StoreDown> {
        self.take_turn_lock(org).await
    }

    async fn settle(&self, turn: &Turn) -> Result<bool, StoreDown> {
        let attempt = "settle a turn";
        let (org, id) = (*turn.org.as_uuid(), turn.id);
        // A commit that is still on its way holds the turn's row or will want to insert it: the
        // first is waited for, the second will find the fence there and be aborted.
        let fence = Call::new(FENCE).with(org).with(id).with(system_time(turn.at));
        let settled = Call::new(COMMITTED).with(org).with(id);
        let answers = self.database.ask(attempt, &[fence, settled]).await?;
        let row = answers.last().and_then(|rows| rows.first());
        let committed = row.map(|row| Cells::of("turn", row).get("committed")).transpose();
        let committed = committed.map_err(|fault| fault.down(attempt))?;
        committed.ok_or_else(|| Fault::Broken("the fence is not there".to_owned()).down(attempt))
    }
}

#[async_trait]
impl EventStore for PostgresStore {
    async fn events_after(
        &self,
        org: OrgId,
        seq: u64,
        limit: usize,
    ) -> Result<Vec<Event>, StoreDown> {
        let attempt = "read events";
        let sql = "
            select seq, id, kind, created_at, livemode, agent_id, action_id, data
            from only event where org_id = $1 and seq > $2
            order by seq limit $3";
        let call = Call::new(sql)
            .with(*org.as_uuid())
            .with(bigint(seq))
            .with(i64::try_from(limit).unwrap_or(i64::MAX));
        let rows = self.database.ask_one(attempt, call).await?;
        let events = rows.iter().map(|row| event(org, row)).collect::<Result<_, _>>();
        events.map_err(|fault| fault.down(attempt))
    }

    async fn events_at(&self, org: OrgId, places: &[u64]) -> Result<Vec<Event>, StoreDown> {
        let sql = "
            select seq, id, kind, created_at, livemode, agent_id, action_id, data
            from only event where org_id = $1 and seq = any($2) order by seq";
        let places: Vec<i64> = places.iter().copied().map(bigint).collect();
        let call = Call::new(sql).with(*org.as_uuid()).with(places);
        self.all("read events", call, |row| event(org, row)).await
    }

    async fn last_event(&self, org: OrgId) -> Result<u64, StoreDown> {
        let attempt = "read the place of the last event";
        let sql = "select event_seq from org_head where org_id = $1";
        let rows = self.database.ask_one(attempt, Call::new(sql).with(*org.as_uuid())).await?;
        let last = rows.first().map(|row| Cells::of("org_head", row).count("event_seq"));
        last.transpose().map(Option::unwrap_or_default).map_err(|fault| fault.down(attempt))
    }
}

const HEAD: &str = "
    select head.version, head.log, head.size, head.last_digest, head.frontier, head.issued_at,
        head.event_seq, org.record,
        (select count(*) from closed_log where org_id = $1) as log_no
    from org_head as head join org on org.org_id = $1
    where head.org_id = $1";
const ACTIVE: &str = "
    select mode, policy_id, version_id, digest from policy_active
    where org_id = $1 order by mode";
const POLICIES: &str = "
    select id, name, description, revision, created_at, archived_at from policy
    where org_id = $1 and archived_at is null";
const CONNECTORS: &str = "select record from connector where org_id = $1";

// `offset 0` keeps each question one of a whole key: it is asked for one wanted row after the other
// by the primary key, and cannot become a walk through the whole org that is compared with them.
const AGENTS: &str = "
    select found.record from unnest($2::uuid[]) as wanted (id)
    cross join lateral (
        select record from agent where org_id = $1 and id = wanted.id offset 0
    ) as found";
const KEYS: &str = "
    select found.record from unnest($2::uuid[]) as wanted (id)
    cross join lateral (
        select record from api_key where org_id = $1 and id = wanted.id offset 0
    ) as found";
const ACTIONS: &str = "
    select found.record from unnest($2::uuid[]) as wanted (id)
    cross join lateral (
        select record from only action where org_id = $1 and id = wanted.id offset 0
    ) as found";
const IDEMPOTENCY_KEYS: &str = "
    select named.* from unnest($2::uuid[], $3::text[]) as wanted (agent_id, key)
    cross join lateral (
        select agent_id, key, action_id, fingerprint, expires_at from idempotency
        where org_id = $1 and agent_id = wanted.agent_id and key = wanted.key
        offset 0
    ) as named";
const BUDGETS: &str = "
    select used.* from unnest($2::text[], $3::timestamptz[]) as wanted (key, window_start)
    cross join lateral (
        select key, window_start, window_end, used::text as used from budget_window
        where org_id = $1 and key = wanted.key and window_start = wanted.window_start
        offset 0
    ) as used";

const ACCEPTED_TOOLS: &str = "
    select accepted.* from unnest($2::uuid[], $3::text[]) as wanted (agent_id, tool)
    cross join lateral (
        select agent_id, tool, digest, told from accepted_tool
        where org_id = $1 and agent_id = wanted.agent_id and tool = wanted.tool
        offset 0
    ) as accepted";

const INTENT_KEYS: &str = "
    select found.* from unnest($2::uuid[]) as wanted (agent_id)
    cross join lateral (
        select record from intent_key_set
        where org_id = $1 and agent_id = wanted.agent_id
        offset 0
    ) as found";

const MEMBERS: &str = "
    select found.* from unnest($2::uuid[]) as wanted (id)
    cross join lateral (
        select id, org_id, user_id, role, can_approve, joined_at, role_since, removed_at, revision from member
        where org_id = $1 and id = wanted.id
        offset 0
    ) as found";

const INVITES: &str = "
    select found.* from unnest($2::uuid[]) as wanted (id)
    cross join lateral (
        select id, org_id, user_id, role, can_approve, invited_by, created_at, expires_at, closed_at,
            member_id
        from invite where org_id = $1 and id = wanted.id
        offset 0
    ) as found";

const PROPOSALS: &str = "
    select found.* from unnest($2::uuid[]) as wanted (id)
    cross join lateral (
        select record from policy_proposal where org_id = $1 and id = wanted.id
        offset 0
    ) as found";

const FENCE: &str = "
    insert into turn (org_id, id, version, at) values ($1, $2, null, $3)
    on conflict (org_id, id) do nothing";
const COMMITTED: &str =
    "select version is not null as committed from turn where org_id = $1 and id = $2";

/// The statements that read the base of an org. The head is read first: what the later statements
/// see is at least as new, and whatever is newer has moved the head, so that a turn decided on the
/// mixture is lost.
pub(crate) fn base_calls<'a>(org: OrgId) -> [Call<'a>; 5] {
    let call = |sql| Call::new(sql).with(*org.as_uuid());
    let clock = Call::new("select clock_timestamp() as clock");
    [call(HEAD), call(ACTIVE), call(CONNECTORS), call(POLICIES), clock]
}

/// The base that these answers are, with the database's time.
pub(crate) fn base(org: OrgId, answers: &[Vec<Row>]) -> Result<(Option<Base>, Timestamp), Fault> {
    let [head, active, connectors, policies, clock] = answers else {
        return Err(Fault::Broken("a statement returned no result".to_owned()));
    };
    let clock = clock.first().map(|row| Cells::of("clock", row).moment("clock")).transpose()?;
    let clock = clock.ok_or_else(|| Fault::Broken("the time was not returned".to_owned()))?;
    let Some(row) = head.first() else { return Ok((None, clock)) };
    let cells = Cells::of("org_head", row);
    let connectors: Vec<Connector> = records("connector", connectors)?;
    let policies: Vec<Policy> =
        policies.iter().map(|row| policies::policy(org, row)).collect::<Result<_, _>>()?;
    let base = Base {
        head: org_head(&cells)?,
        org: Cells::of("org", row).json("record")?,
        active: active.iter().map(active_policy).collect::<Result<_, _>>()?,
        policies: policies.into_iter().map(|row| (row.id, row)).collect(),
        connectors: connectors.into_iter().map(|row| (row.id, row)).collect(),
    };
    Ok((Some(base), clock))
}

/// The head that a row of `org_head` holds.
pub(crate) fn org_head(cells: &Cells<'_>) -> Result<Head, Fault> {
    Ok(Head {
        version: cells.count("version")?,
        log_no: log_no(cells, "log_no")?,
        chain: chain_head(cells)?,
        event_seq: cells.count("event_seq")?,
    })
}

/// Which of an org's logs a number names.
pub(crate) fn log_no(cells: &Cells<'_>, column: &'static str) -> Result<LogNo, Fault> {
    let number = u32::try_from(cells.count(column)?);
    number.map(LogNo::new).map_err(|error| cells.fault(column, error))
}

/// The head of a log that a row of `org_head` or `closed_log` holds.
pub(crate) fn chain_head(cells: &Cells<'_>) -> Result<ChainHead, Fault> {
    let frontier = Frontier::from_bytes(cells.count("size")?, cells.get("frontier")?)
        .map_err(|error| cells.fault("frontier", error))?;
    Ok(ChainHead::restore(
        cells.word("log")?,
        cells.digest("last_digest")?,
        cells.moment("issued_at")?,
        frontier,
    ))
}

fn active_policy(row: &Row) -> Result<ActivePolicy, Fault> {
    let cells = Cells::of("policy_active", row);
    Ok(ActivePolicy {
        mode: policies::mode(&cells)?,
        policy: cells.id("policy_id", PolicyId::from_uuid)?,
        version: cells.id("version_id", PolicyVersionId::from_uuid)?,
        digest: cells.digest("digest")?,
    })
}

/// The statements that find what is needed, one for each family that something is needed
/// of, in the order in which [`loaded`] takes their answers.
pub(crate) fn loads(org: Uuid, needs: &Needs) -> Vec<Call<'_>> {
    let Needs {
        agents,
        keys,
        actions,
        idempotency_keys,
        budgets,
        settings,
        accepted_tools,
        intent_keys,
        members,
        invites,
        proposals,
        webhooks,
    } = needs;
    let call = |sql| Call::new(sql).with(org);
    let calls = [
        (!agents.is_empty()).then(|| call(AGENTS).with(column(agents, |id| *id.as_uuid()))),
        (!keys.is_empty()).then(|| call(KEYS).with(column(keys, |id| *id.as_uuid()))),
        (!actions.is_empty()).then(|| call(ACTIONS).with(column(actions, |id| *id.as_uuid()))),
        (!idempotency_keys.is_empty()).then(|| {
            call(IDEMPOTENCY_KEYS)
                .with(column(idempotency_keys, |(agent, _)| *agent.as_uuid()))
                .with(column(idempotency_keys, |(_, key)| key.as_str()))
        }),
        (!budgets.is_empty()).then(|| {
            call(BUDGETS)
                .with(column(budgets, |(key, _)| key.as_str()))
                .with(column(budgets, |(_, start)| system_time(*start)))
        }),
        (!settings.is_empty()).then(|| call(org_settings::SETTINGS)),
        (!accepted_tools.is_empty()).then(|| {
            call(ACCEPTED_TOOLS)
                .with(column(accepted_tools, |(agent, _)| *agent.as_uuid()))
                .with(column(accepted_tools, |(_, tool)| tool.as_str()))
        }),
        (!intent_keys.is_empty())
            .then(|| call(INTENT_KEYS).with(column(intent_keys, |agent| *agent.as_uuid()))),
        (!members.is_empty()).then(|| call(MEMBERS).with(column(members, |id| *id.as_uuid()))),
        (!invites.is_empty()).then(|| call(INVITES).with(column(invites, |id| *id.as_uuid()))),
        (!proposals.is_empty())
            .then(|| call(PROPOSALS).with(column(proposals, |id| *id.as_uuid()))),
        (!webhooks.is_empty()).then(|| call(webhooks::LIVE)),
    ];
    calls.into_iter().flatten().collect()
}

/// What these answers found of the needs.
pub(crate) fn loaded(needs: &Needs, answers: &[Vec<Row>]) -> Result<Loaded, Fault> {
    let mut answers = answers.iter();
    let mut rows = |is_asked: bool| {
        if !is_asked {
            return Ok([].as_slice());
        }
        let answer = answers.next().map(Vec::as_slice);
        answer.ok_or_else(|| Fault::Broken("a statement returned no result".to_owned()))
    };
    Ok(Loaded {
        agents: records("agent", rows(!needs.agents.is_empty())?)?,
        keys: records("api_key", rows(!needs.keys.is_empty())?)?,
        actions: records("action", rows(!needs.actions.is_empty())?)?
            .into_iter()
            .map(Arc::new)
            .collect(),
        idempotency_keys: each(rows(!needs.idempotency_keys.is_empty())?, idempotency_key)?,
        budgets: each(rows(!needs.budgets.is_empty())?, budget)?,
        settings: each(rows(!needs.settings.is_empty())?, org_settings::settings)?,
        accepted_tools: each(rows(!needs.accepted_tools.is_empty())?, accepted_tool)?,
        intent_keys: records("intent_key_set", rows(!needs.intent_keys.is_empty())?)?,
        members: each(rows(!needs.members.is_empty())?, members::member)?,
        invites: each(rows(!needs.invites.is_empty())?, members::invite)?,
        proposals: records("policy_proposal", rows(!needs.proposals.is_empty())?)?,
        webhooks: webhooks::of_orgs(records("webhook", rows(!needs.webhooks.is_empty())?)?),
    })
}

/// One column of the wanted keys, as `unnest` takes it.
fn column<'a, K, T>(keys: &'a BTreeSet<K>, value: impl Fn(&'a K) -> T) -> Vec<T> {
    keys.iter().map(value).collect()
}

fn each<T>(rows: &[Row], read: fn(&Row) -> Result<T, Fault>) -> Result<Vec<T>, Fault> {
    rows.iter().map(read).collect()
}

fn records<T: DeserializeOwned>(table: &'static str, rows: &[Row]) -> Result<Vec<T>, Fault> {
    rows.iter().map(|row| Cells::of(table, row).json("record")).collect()
}

/// The idempotency key that a row is.
pub(crate) fn idempotency_key(row: &Row) -> Result<IdempotencyKey, Fault> {
    let cells = Cells::of("idempotency", row);
    Ok(IdempotencyKey {
        agent: cells.id("agent_id", AgentId::from_uuid)?,
        key: cells.get("key")?,
        action: cells.id("action_id", ActionId::from_uuid)?,
        fingerprint: cells.digest("fingerprint")?,
        expires_at: cells.moment("expires_at")?,
    })
}

fn budget(row: &Row) -> Result<BudgetUse, Fault> {
    let cells = Cells::of("budget_window", row);
    Ok(BudgetUse {
        key: cells.get("key")?,
        window_start: cells.moment("window_start")?,
        window_end: cells.moment("window_end")?,
        used: cells.word("used")?,
    })
}

fn accepted_tool(row: &Row) -> Result<AcceptedTool, Fault> {
    let cells = Cells::of("accepted_tool", row);
    Ok(AcceptedTool {
        agent: cells.id("agent_id", AgentId::from_uuid)?,
        tool: cells.get("tool")?,
        digest: cells.digest("digest")?,
        told: cells.digest_if_any("told")?,
    })
}

/// The event that a row is.
pub(crate) fn event(org: OrgId, row: &Row) -> Result<Event, Fault> {
    let cells = Cells::of("event", row);
    Ok(Event {
        org,
        seq: cells.count("seq")?,
        id: cells.id("id", EventId::from_uuid)?,
        kind: cells.word("kind")?,
        created_at: cells.moment("created_at")?,
        livemode: cells.get("livemode")?,
        agent: cells.id_if_any("agent_id", AgentId::from_uuid)?,
        action: cells.id_if_any("action_id", ActionId::from_uuid)?,
        object: cells.json("data")?,
    })
}

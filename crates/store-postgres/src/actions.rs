//! The Gate's store: actions are read, found due, and their leases renewed.

use std::collections::BTreeMap;

use async_trait::async_trait;
use deed::Disclosure;
use gate::{
    ActionDetail, ActionPlace, ActionStore, Due, DueFor, DuePlace, Filter, HeldLease, IntentFilter,
    Miscount, Page, Renewal, StoredDeed, Sweep, UnderWay, Voiding,
};
use ledger::{
    StoreDown,
    record::{Action, IdempotencyKey, KeptReport, Lease, UsedIntent},
};
use model::{ActionId, AgentId, ConnectorId, DeedId, OrgId};
use tokio_postgres::Row;

use crate::{
    PostgresStore,
    database::Call,
    fault::Fault,
    ledger_store::{event, idempotency_key},
    list::page,
    nodes::is_of_a_node,
    pipeline::Answers,
    rows::{Cells, bigint, system_time},
};

#[async_trait]
impl ActionStore for PostgresStore {
    async fn action(&self, org: OrgId, id: ActionId) -> Result<Option<Action>, StoreDown> {
        let attempt = "read an action";
        let call = Call::new(ACTION).with(*org.as_uuid()).with(*id.as_uuid());
        let rows = self.database.ask_one(attempt, call).await?;
        let action = rows.first().map(|row| Cells::of("action", row).json("record"));
        action.transpose().map_err(|fault| fault.down(attempt))
    }

    async fn detail(&self, org: OrgId, id: ActionId) -> Result<Option<ActionDetail>, StoreDown> {
        let attempt = "read an action's detail";
        // The action is read last, so that nothing it speaks of is missing from the others' answers
        // only because it came later.
        let calls = [DISCLOSURES, EVENTS, DEEDS, ACTION]
            .map(|sql| Call::new(sql).with(*org.as_uuid()).with(*id.as_uuid()));
        let answers = self.reading.ask(attempt, &calls).await?;
        detail(org, &answers).map_err(|fault| fault.down(attempt))
    }

    async fn list(
        &self,
        org: OrgId,
        filter: &Filter,
        after: Option<ActionPlace>,
        limit: usize,
    ) -> Result<Page, StoreDown> {
        page(&self.reading, org, filter, after, limit).await
    }

    async fn idempotency_key(
        &self,
        org: OrgId,
        agent: AgentId,
        key: &str,
    ) -> Result<Option<IdempotencyKey>, StoreDown> {
        let attempt = "read an idempotency key";
        let sql = "
            select agent_id, key, action_id, fingerprint, expires_at from idempotency
            where org_id = $1 and agent_id = $2 and key = $3 and expires_at > now()";
        let call = Call::new(sql).with(*org.as_uuid()).with(*agent.as_uuid()).with(key);
        let rows = self.database.ask_one(attempt, call).await?;
        rows.first().map(idempotency_key).transpose().map_err(|fault| fault.down(attempt))
    }

    async fn used_intents(
        &self,
        org: OrgId,
        filter: &IntentFilter,
        after: Option<ActionId>,
        limit: usize,
    ) -> Result<Vec<UsedIntent>, StoreDown> {
        self.intents_used(org, filter, after, limit).await
    }

    async fn due(
        &self,
        sweep: Sweep,
        after: Option<DuePlace>,
        limit: usize,
    ) -> Result<Vec<Due>, StoreDown> {
        let attempt = "look for what is due";
        let sql = match sweep {
            Sweep::Reports => REPORTS_DUE,
            Sweep::Approvals => APPROVALS_DUE,
            Sweep::Takeovers => TAKEOVERS_DUE,
            Sweep::Evidence => EVIDENCE_DUE,
        };
        let question = |orgs| {
            Call::new(sql)
                .with(orgs)
                .with(i64::try_from(limit).unwrap_or(i64::MAX))
                .with(after.map(|place| system_time(place.since)))
                .with(after.map(|place| *place.org.as_uuid()))
                .with(after.map(|place| *place.action.as_uuid()))
        };
        let mut all = self.all_orgs(attempt, question, |row| due(sweep, row)).await?;
        // Each node answers in this order; who asks goes on behind the last one.
        all.sort_by_key(Due::place);
        all.truncate(limit);
        Ok(all)
    }

    async fn report(&self, org: OrgId, action: ActionId) -> Result<Option<KeptReport>, StoreDown> {
        let sql = "select record from kept_report where org_id = $1 and action_id = $2";
        let call = Call::new(sql).with(*org.as_uuid()).with(*action.as_uuid());
        let kept = |row: &Row| {
            let text: String = Cells::of("kept_report", row).get("record")?;
            Ok(KeptReport { action, text: text.into() })
        };
        self.found("read a report", call, kept).await
    }

    async fn drift(&self, org: OrgId) -> Result<Vec<Miscount>, StoreDown> {
        self.budget_drift(org).await
    }

    async fn voiding(&self, limit: usize) -> Result<Vec<Voiding>, StoreDown> {
        self.void_notes(limit).await
    }

    async fn void(
        &self,
        voiding: &Voiding,
        after: Option<ActionId>,
        limit: usize,
    ) -> Result<Vec<ActionId>, StoreDown> {
        self.waiting_in_vain(voiding, after, limit).await
    }

    async fn under_way(
        &self,
        org: OrgId,
        agent: Option<AgentId>,
        limit: usize,
    ) -> Result<UnderWay, StoreDown> {
        self.in_flight(org, agent, limit).await
    }

    async fn hand_back(&self, held: &[HeldLease]) -> Result<(), StoreDown> {
        let calls: Vec<_> = by_org(held)
            .into_iter()
            .map(|(org, leases)| leased(Call::new(HANDED_BACK), org, &leases))
            .collect();
        self.database.change_planned("hand leases back", calls).await.map(|_| ())
    }

    async fn renew(&self, held: &[HeldLease]) -> Result<Renewal, StoreDown> {
        let by_org = by_org(held);
        let down = match self.renew_of(&by_org).await {
            Err(down) => down,
            renewed => return renewed,
        };
        // A node that is away is no reason to lose the leases of orgs on the others.
        let Some(nodes) = self.database.nodes_behind("renew leases", &down).await else {
            return Err(down);
        };
        let mut by_node: BTreeMap<_, BTreeMap<_, _>> = BTreeMap::new();
        for (org, held) in by_org {
            let node = nodes.iter().position(|orgs| orgs.contains(org.as_uuid()));
            by_node.entry(node).or_default().insert(org, held);
        }
        let (mut all, mut answers) = (Renewal::default(), 0_usize);
        for held in by_node.values() {
            match self.renew_of(held).await {
                Ok(renewal) => {
                    answers += 1;
                    all.renewed.extend(renewal.renewed);
                    all.lost.extend(renewal.lost);
                }
                Err(failed) if is_of_a_node(&failed) => {}
                Err(failed) => return Err(failed),
            }
        }
        if answers == 0 { Err(down) } else { Ok(all) }
    }
}

impl PostgresStore {
    async fn renew_of(
        &self,
        by_org: &BTreeMap<OrgId, Vec<&HeldLease>>,
    ) -> Result<Renewal, StoreDown> {
        let attempt = "renew leases";
        let millis = i64::try_from(self.lease.as_millis()).unwrap_or(i64::MAX);
        let calls: Vec<_> = by_org
            .iter()
            .flat_map(|(org, held)| {
                // What is lost is looked for afterwards: a run that ends meanwhile has ended then.
                [
                    leased(Call::new(RENEWED), *org, held).with(millis),
                    leased(Call::new(LOST), *org, held),
                ]
            })
            .collect();
        let answers = self.database.change_planned(attempt, calls).await?;
        renewal(by_org.keys().copied(), &answers).map_err(|fault| fault.down(attempt))
    }
}

pub(crate) const ACTION: &str = "select record from action where org_id = $1 and id = $2";
const DISCLOSURES: &str = "
    select opens.text
    from (
        select $2::uuid as id union all select id from deed where org_id = $1 and action_id = $2
    ) as owner
    cross join lateral (
        select owner_id, path, text from disclosure
        where org_id = $1 and owner_id = owner.id
        offset 0
    ) as opens
    order by opens.owner_id, opens.path";
const EVENTS: &str = "
    select seq, id, kind, created_at, livemode, agent_id, action_id, data from event
    where org_id = $1 and action_id = $2
    order by seq limit 200";
const DEEDS: &str = "
    select seq, id, kind, agent_id, action_id, issued_at, body, digest, signature, key_id
    from deed where org_id = $1 and action_id = $2
    order by seq";

// These look through every org; what is found is then changed by turns of its own org. `now()`
// holds still within a statement, so that each is a range of its partial index.
const REPORTS_DUE: &str = "
    select org_id, id, deadline as since from only action
    where ($1::uuid[] is null or org_id = any($1))
        and state = 'executing' and deadline is not null and deadline <= now()
        and ($3::timestamptz is null or deadline >= $3
            and (deadline, org_id, id) > ($3, $4::uuid, $5::uuid))
    order by deadline, org_id, id limit $2";

const APPROVALS_DUE: &str = "
    select org_id, id, approval_expires_at as since from only action
    where ($1::uuid[] is null or org_id = any($1))
        and state = 'pending_approval' and approval_expires_at <= now()
        and ($3::timestamptz is null or approval_expires_at >= $3
            and (approval_expires_at, org_id, id) > ($3, $4::uuid, $5::uuid))
    order by approval_expires_at, org_id, id limit $2";

const TAKEOVERS_DUE: &str = "
    select org_id, id, lease_until as since, lease_holder, lease_token,
        split_part(tool, '.', 1) as connector
    from only action
    where ($1::uuid[] is null or org_id = any($1))
        and lease_until is not null and lease_until <= now()
        and ($3::timestamptz is null or lease_until >= $3
            and (lease_until, org_id, id) > ($3, $4::uuid, $5::uuid))
    order by lease_until, org_id, id limit $2";

const EVIDENCE_DUE: &str = "
    select org_id, action_id as id, awaited_since as since, connector_id from kept_report
    where ($1::uuid[] is null or org_id = any($1))
        and awaited_since is not null
        and ($3::timestamptz is null or awaited_since >= $3
            and (awaited_since, org_id, action_id) > ($3, $4::uuid, $5::uuid))
    order by awaited_since, org_id, action_id limit $2";

// Planned for its values, so that the rows are found by their keys and never by walking the org.
// `is true` keeps the index of leases out of it, whose order is another one.
const RENEWED: &str = "
    update only action
    set lease_until = date_trunc('milliseconds', now()) + $5::bigint * interval '1 millisecond'
    from unnest($2::uuid[], $3::text[], $4::bigint[]) as held (id, holder, token)
    where action.org_id = $1 and action.id = held.id
        and action.lease_holder = held.holder and action.lease_token = held.token
        and (action.lease_until > now()) is true
    returning action.id, action.lease_holder, action.lease_token";

const LOST: &str = "
    select held.id, held.holder as lease_holder, held.token as lease_token
    from unnest($2::uuid[], $3::text[], $4::bigint[]) as held (id, holder, token)
    join only action on action.org_id = $1 and action.id = held.id
    where action.state in ('executing', 'witnessing') and action.lease_until is not null
        and not (action.lease_holder = held.holder and action.lease_token = held.token
            and action.lease_until > now())";

const HANDED_BACK: &str = "
    update only action set lease_until = least(action.lease_until, date_trunc('milliseconds', now()))
    from unnest($2::uuid[], $3::text[], $4::bigint[]) as held (id, holder, token)
    where action.org_id = $1 and action.id = held.id
        and action.lease_holder = held.holder and action.lease_token = held.token";

/// The leases of each org. Turns move the same rows; both take them in the order of their
/// ids.
fn by_org(held: &[HeldLease]) -> BTreeMap<OrgId, Vec<&HeldLease>> {
    let mut by_org: BTreeMap<OrgId, Vec<&HeldLease>> = BTreeMap::new();
    for lease in held {
        by_org.entry(lease.org).or_default().push(lease);
    }
    for leases in by_org.values_mut() {
        leases.sort_by_key(|lease| lease.action);
    }
    by_org
}

fn leased<'a>(call: Call<'a>, org: OrgId, leases: &[&'a HeldLease]) -> Call<'a> {
    call.with(*org.as_uuid())
        .with(leases.iter().map(|held| *held.action.as_uuid()).collect::<Vec<_>>())
        .with(leases.iter().map(|held| held.lease.holder.as_str()).collect::<Vec<_>>())
        .with(leases.iter().map(|held| bigint(held.lease.token)).collect::<Vec<_>>())
}

/// Each org's answers: what was renewed, and what is lost.
fn renewal(orgs: impl Iterator<Item = OrgId>, answers: &Answers) -> Result<Renewal, Fault> {
    let mut all = Renewal::default();
    for (org, answers) in orgs.zip(answers.chunks(2)) {
        let [renewed, lost] = answers else { continue };
        for (rows, leases) in [(renewed, &mut all.renewed), (lost, &mut all.lost)] {
            for row in rows {
                leases.push(held_lease(org, row)?);
            }
        }
    }
    Ok(all)
}

fn held_lease(org: OrgId, row: &Row) -> Result<HeldLease, Fault> {
    let cells = Cells::of("action", row);
    Ok(HeldLease {
        org,
        action: cells.id("id", ActionId::from_uuid)?,
        lease: Lease { holder: cells.get("lease_holder")?, token: cells.count("lease_token")? },
    })
}

fn due(sweep: Sweep, row: &Row) -> Result<Due, Fault> {
    let cells = Cells::of("action", row);
    let what = match sweep {
        Sweep::Reports => DueFor::EdgeDeadline,
        Sweep::Approvals => DueFor::ApprovalExpiry,
        Sweep::Takeovers => DueFor::Takeover {
            from: Lease { holder: cells.get("lease_holder")?, token: cells.count("lease_token")? },
            connector: cells.get("connector")?,
        },
        Sweep::Evidence => {
            DueFor::Evidence { connector: cells.id("connector_id", ConnectorId::from_uuid)? }
        }
    };
    Ok(Due {
        since: cells.moment("since")?,
        org: cells.id("org_id", OrgId::from_uuid)?,
        action: cells.id("id", ActionId::from_uuid)?,
        what,
    })
}

fn detail(org: OrgId, answers: &Answers) -> Result<Option<ActionDetail>, Fault> {
    let [disclosures, events, deeds, action] = answers.as_slice() else {
        return Err(Fault::Broken("a statement returned no result".to_owned()));
    };
    let Some(row) = action.first() else { return Ok(None) };
    Ok(Some(ActionDetail {
        action: Cells::of("action", row).json("record")?,
        disclosures: disclosures.iter().map(disclosure).collect::<Result<_, _>>()?,
        events: events.iter().map(|row| event(org, row)).collect::<Result<_, _>>()?,
        deeds: deeds.iter().map(stored_deed).collect::<Result<_, _>>()?,
    }))
}

fn disclosure(row: &Row) -> Result<Disclosure, Fault> {
    let cells = Cells::of("disclosure", row);
    Disclosure::from_text(cells.get("text")?).map_err(|error| cells.fault("text", error))
}

fn stored_deed(row: &Row) -> Result<StoredDeed, Fault> {
    let cells = Cells::of("deed", row);
    let place = ledger::Place::from_u64(cells.count("seq")?);
    Ok(StoredDeed {
        id: cells.id("id", DeedId::from_uuid)?,
        kind: cells.word("kind")?,
        log_no: place.log(),
        seq: place.seq(),
        issued_at: cells.moment("issued_at")?,
        body: cells.get("body")?,
        digest: cells.digest("digest")?,
        signature: cells.bytes("signature")?,
        key_id: cells.get("key_id")?,
        agent: cells.id_if_any("agent_id", AgentId::from_uuid)?,
        action: cells.id_if_any("action_id", ActionId::from_uuid)?,
    })
}

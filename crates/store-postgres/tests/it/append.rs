//! What only a look into the tables shows of an append.

use std::{sync::Arc, time::Duration};

use deed::tree::{Nodes, Tree};
use ledger::{AppendError, Changes, LedgerStore};
use model::{DeedId, Digest, Level, Verdict};
use store_postgres::{PostgresStore, testing::TestDatabase};
use testkit::{Draft, Scribe, eventually::eventually, sample};

use crate::world::{settings, store};

#[tokio::test]
async fn the_kept_nodes_are_those_of_the_tree_over_the_deeds() {
    let Some((database, store)) = store().await else { return };
    let mut scribe = Scribe::created(1, &*store).await;
    for size in [1, 200, 120, 256, 23] {
        let deeds = (0..size).map(|_| scribe.deed(None)).collect();
        scribe.append(&*store, Draft { deeds, ..Draft::default() }).await.unwrap();
    }
    let owner = database.owner().await;
    let sql = "select digest from deed where org_id = $1 order by seq";
    let digests = owner.query(sql, &[scribe.org.as_uuid()]).await.unwrap();
    let digest = |bytes: &[u8]| Digest::from_bytes(bytes.try_into().unwrap());
    let tree = Tree::of(digests.iter().map(|row| digest(row.get("digest"))));
    let base = store.base(scribe.org).await.unwrap().0.unwrap();
    assert_eq!((tree.size(), tree.root_at(600)), (600, Some(base.head.chain.root())));
    let sql = "select level, index, hash from log_node where org_id = $1 order by level, index";
    let nodes = owner.query(sql, &[scribe.org.as_uuid()]).await.unwrap();
    let kept: Vec<(i16, i64)> =
        nodes.iter().map(|row| (row.get("level"), row.get("index"))).collect();
    assert_eq!(kept, [(1, 0), (1, 1)]);
    for row in nodes {
        let (level, index): (i16, i64) = (row.get("level"), row.get("index"));
        let height = u32::try_from(level).unwrap() * 8;
        let node = tree.node(height, u64::try_from(index).unwrap());
        assert_eq!(node, Some(digest(row.get("hash"))));
    }
}

#[tokio::test]
async fn states_that_contradict_their_fields_are_refused() {
    let Some((_database, store)) = store().await else { return };
    let mut scribe = Scribe::created(2, &*store).await;
    let (agent, mint) = (scribe.agent("one"), scribe.mint());
    let (request, _) = sample::request(&serde_json::json!({}), &mint);
    let running = sample::action(&agent, request, &mint);
    let deed = || mint.id(DeedId::from_uuid);
    let (sealed, denied) = (sample::sealed(&running, deed()), sample::denied(&running, deed()));
    let waiting = sample::waiting(&running, scribe.now, &mint);
    let mut unknown = sealed.clone();
    if let Some(execution) = &mut unknown.execution {
        execution.status = model::ExecutionStatus::Unknown;
    }
    let witness = sample::witness(Verdict::Unverifiable, Level::L0, scribe.now);
    let lies = [
        ("sealed without a deed", ledger::record::Action { deed: None, ..sealed.clone() }),
        ("running with a deed", ledger::record::Action { deed: Some(deed()), ..running.clone() }),
        (
            "refused after a run",
            ledger::record::Action { execution: sealed.execution.clone(), ..denied.clone() },
        ),
        (
            "refused with a verdict",
            ledger::record::Action { witness: sealed.witness.clone(), ..denied },
        ),
        ("ended without a verdict", ledger::record::Action { witness: None, ..sealed.clone() }),
        ("waiting without a question", ledger::record::Action { approval: None, ..waiting }),
        ("unknown and verified", unknown.clone()),
        (
            "failed and unknown",
            ledger::record::Action {
                status: model::Status::Failed,
                witness: Some(witness.clone()),
                ..unknown.clone()
            },
        ),
        ("ended under a lease", ledger::record::Action { lease: running.lease.clone(), ..sealed }),
    ];
    for (lie, action) in lies {
        let change = sample::begun(action, Vec::new());
        let refused = store.append(&scribe.turn(vec![change])).await;
        assert!(matches!(refused, Err(AppendError::Refused(_))), "{lie}: {refused:?}");
    }
    let honest = ledger::record::Action { witness: Some(witness), ..unknown };
    let change = sample::begun(honest, Vec::new());
    scribe.append(&*store, vec![change]).await.unwrap();
}

#[tokio::test]
async fn an_error_of_the_store_repeats_nothing_of_the_row() {
    let Some((_database, store)) = store().await else { return };
    let scribe = Scribe::created(3, &*store).await;
    let (agent, mint) = (scribe.agent("canary-agent"), scribe.mint());
    let (request, disclosure) = sample::request(&serde_json::json!("canary-args"), &mint);
    let mut action =
        sample::sealed(&sample::action(&agent, request, &mint), mint.id(DeedId::from_uuid));
    (action.deed, action.on_behalf_of) = (None, Some("canary-person".to_owned()));
    let change = sample::begun(action, vec![disclosure]);
    let error = store.append(&scribe.turn(vec![change])).await.unwrap_err();
    let causes = std::iter::successors(Some(&error as &dyn std::error::Error), |e| e.source());
    let told: Vec<_> = causes.map(|cause| format!("{cause:?} {cause}")).collect();
    let told = told.join(" ");
    assert!(told.contains("action_sealed_with_a_deed"), "{told}");
    assert!(!told.contains("canary"), "{told}");
}

#[tokio::test]
async fn a_nul_that_got_this_far_is_refused_and_does_not_break_the_connection() {
    let Some((database, _)) = store().await else { return };
    let mut one = settings(&database);
    one.pool_size = 1;
    let store = PostgresStore::new(&one).unwrap();
    let mut scribe = Scribe::created(4, &store).await;
    let agent = scribe.agent("nul \0 inside");
    let refused = store.append(&scribe.turn(vec![Changes::from(agent)])).await;
    assert!(matches!(refused, Err(AppendError::Refused(_))), "{refused:?}");
    scribe.append(&store, vec![Changes::from(scribe.agent("fine"))]).await.unwrap();
}

#[tokio::test]
async fn a_lease_ends_when_the_settings_say() {
    let Some((database, _)) = store().await else { return };
    let mut brief = settings(&database);
    brief.lease = Duration::from_millis(1);
    let store = PostgresStore::new(&brief).unwrap();
    let mut scribe = Scribe::created(5, &store).await;
    let mint = scribe.mint();
    let (request, _) = sample::request(&serde_json::json!({}), &mint);
    let action = sample::action(&scribe.agent("one"), request, &mint);
    scribe.now = store.base(scribe.org).await.unwrap().1;
    let change = sample::begun(action, Vec::new());
    scribe.append(&store, vec![change]).await.unwrap();
    let lease = ledger::record::Lease { holder: "one".to_owned(), token: 1 };
    let due = eventually(async || {
        let due = gate::ActionStore::due(&store, gate::Sweep::Takeovers, None, 10).await.unwrap();
        (!due.is_empty()).then_some(due)
    });
    let due = due.await;
    assert_eq!(due.len(), 1);
    let connector = "shop".to_owned();
    assert_eq!(due[0].what, gate::DueFor::Takeover { from: lease, connector });
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn renewals_and_turns_over_the_same_actions_do_not_wait_for_each_other_in_a_circle() {
    let Some((_database, store)) = store().await else { return };
    let mut scribe = Scribe::created(6, &*store).await;
    let mint = scribe.mint();
    let (agent, (request, _)) =
        (scribe.agent("one"), sample::request(&serde_json::json!({}), &mint));
    let mut actions: Vec<_> = (0..200).map(|_| sample::action(&agent, request, &mint)).collect();
    actions.sort_by_key(|action| action.id);
    let begin = actions.iter().map(|a| sample::begun(a.clone(), Vec::new()));
    scribe.append(&*store, begin.collect::<Vec<_>>()).await.unwrap();
    let held: Vec<_> = actions
        .iter()
        .map(|action| gate::HeldLease {
            org: scribe.org,
            action: action.id,
            lease: action.lease.clone().unwrap(),
        })
        .collect();
    let renewing = tokio::spawn({
        let (store, held) = (std::sync::Arc::clone(&store), held.clone());
        async move {
            for _ in 0..40 {
                let renewed = gate::ActionStore::renew(&*store, &held).await.unwrap();
                assert_eq!(renewed.renewed.len(), held.len());
            }
        }
    });
    // Each turn names the actions the other way round.
    for _ in 0..40 {
        actions.reverse();
        let moves = actions.iter().map(|a| sample::moved(a.clone()));
        scribe.append(&*store, moves.collect::<Vec<_>>()).await.unwrap();
    }
    renewing.await.unwrap();
}

/// How many actions the org below has.
const MANY: usize = 20 * 256;

#[tokio::test]
async fn statements_planned_on_empty_tables_find_single_rows_in_large_ones() {
    let Some(database) = TestDatabase::new().await else { return };
    let mut lasting = settings(&database);
    lasting.lease = Duration::from_hours(1);
    let store = Arc::new(PostgresStore::new(&lasting).unwrap());
    let mut scribe = Scribe::created(7, &*store).await;
    let agent = scribe.agent("busy");
    let mut first = None;
    // The first round plans every statement; only then the tables grow.
    for round in 0..20 {
        let mint = scribe.mint();
        let mut draft = Draft::default();
        for number in 0..256 {
            let args = serde_json::json!({ "number": number });
            let (request, disclosure) = sample::request(&args, &mint);
            let mut action = sample::action(&agent, request, &mint);
            action.mode = model::Mode::Proxy;
            let until = scribe.now + Duration::from_hours(1);
            let known = sample::idempotency_key(&action, &format!("{round}/{number}"), until);
            draft.deeds.push(scribe.deed(Some(action.id)));
            draft.events.push(scribe.event(Some(action.id)));
            first.get_or_insert_with(|| (action.clone(), known.clone()));
            draft.changes.extend(Changes::from(known));
            // All but one are sealed: what is not is found by its state, however many there are.
            if (round, number) != (0, 0) {
                action = sample::sealed(&action, mint.id(DeedId::from_uuid));
            }
            draft.changes.extend(sample::begun(action, vec![disclosure]));
        }
        scribe.append(&*store, draft).await.unwrap();
        let (action, known) = first.as_ref().unwrap();
        touch(&store, &mut scribe, action, known).await;
    }
    // A server process reports what it has read when it ends.
    drop(store);
    let owner = database.owner().await;
    let sql = "select coalesce(sum(idx_tup_fetch + seq_tup_read), 0)::bigint,
            (select sum(idx_tup_read)::bigint from pg_stat_user_indexes),
            (select count(*) from pg_stat_activity where usename = $1
                and datname = current_database())
        from pg_stat_user_tables";
    let told = eventually(async || {
        let row = owner.query_one(sql, &[&database.role()]).await.unwrap();
        let (rows, entries, open): (i64, i64, i64) = (row.get(0), row.get(1), row.get(2));
        (open == 0).then_some((rows, entries))
    });
    let ((rows, entries), many) = (told.await, i64::try_from(MANY).unwrap());
    assert!(rows > 0, "nothing was counted");
    assert!(rows < many && entries < many, "{rows} rows and {entries} entries were read");
}

/// Asks everything once that names single rows of the large tables.
async fn touch(
    store: &PostgresStore,
    scribe: &mut Scribe,
    action: &ledger::record::Action,
    named: &ledger::record::IdempotencyKey,
) {
    use gate::ActionStore;
    let needs = ledger::Needs {
        actions: [action.id].into(),
        idempotency_keys: [(named.agent, named.key.clone())].into(),
        ..ledger::Needs::default()
    };
    assert_eq!(store.load(scribe.org, &needs).await.unwrap().actions.len(), 1);
    assert!(store.action(scribe.org, action.id).await.unwrap().is_some());
    assert!(store.idempotency_key(scribe.org, named.agent, &named.key).await.unwrap().is_some());
    let detail = store.detail(scribe.org, action.id).await.unwrap().unwrap();
    assert_eq!((detail.deeds.len(), detail.disclosures.len()), (1, 2));
    let lease = action.lease.clone().unwrap();
    let held = gate::HeldLease { org: scribe.org, action: action.id, lease };
    assert_eq!(store.renew(&[held]).await.unwrap().renewed.len(), 1);
    let moved = sample::moved(action.clone());
    scribe.append(store, vec![moved, Changes::from(named.clone())]).await.unwrap();
    for filter in filters_for_nothing() {
        let page = store.list(scribe.org, &filter, None, 1).await.unwrap();
        assert!(page.actions.is_empty(), "{filter:?}");
    }
}

/// Each filter alone, for what no action has: only its own index tells that at once.
fn filters_for_nothing() -> Vec<gate::Filter> {
    let every = gate::Filter::default;
    let glob = policy::Glob::parse("shop.never").unwrap();
    let nobody = model::AgentId::from_uuid(uuid::Uuid::nil());
    vec![
        gate::Filter { agent: Some(nobody), ..every() },
        gate::Filter { tool: Some(glob), ..every() },
        gate::Filter { states: vec![model::State::Witnessing], ..every() },
        gate::Filter { decisions: vec![model::DecisionOutcome::Deny], ..every() },
        gate::Filter { verdicts: vec![model::Verdict::Mismatch], ..every() },
        gate::Filter { levels: vec![model::Level::L2], ..every() },
        gate::Filter { on_behalf_of: Some("nobody".to_owned()), ..every() },
        gate::Filter { shadow_differs: Some(gate::ShadowDiffers), ..every() },
    ]
}

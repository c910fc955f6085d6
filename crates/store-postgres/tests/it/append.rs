//! What only a look into the tables shows of an append.

use std::time::Duration;

use chancery_store_postgres::PostgresStore;
use deed::tree::{Nodes, Tree};
use ledger::{AppendError, Change, LedgerStore};
use model::{DeedId, Digest, Level, Verdict};
use testkit::{Draft, Scribe, sample};

use crate::world::{settings, store};

#[tokio::test]
async fn the_kept_nodes_are_those_of_the_tree_over_the_deeds() {
    let Some((database, store)) = store().await else { return };
    let mut scribe = Scribe::founded(1, &*store).await;
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
    let mut scribe = Scribe::founded(2, &*store).await;
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
        let change = Change::ActionBegun(Box::new(action), Vec::new());
        let refused = store.append(&scribe.turn(vec![change])).await;
        assert!(matches!(refused, Err(AppendError::Refused(_))), "{lie}: {refused:?}");
    }
    let honest = ledger::record::Action { witness: Some(witness), ..unknown };
    let change = Change::ActionBegun(Box::new(honest), Vec::new());
    scribe.append(&*store, vec![change]).await.unwrap();
}

#[tokio::test]
async fn an_error_of_the_store_repeats_nothing_of_the_row() {
    let Some((_database, store)) = store().await else { return };
    let scribe = Scribe::founded(3, &*store).await;
    let (agent, mint) = (scribe.agent("canary-agent"), scribe.mint());
    let (request, disclosure) = sample::request(&serde_json::json!("canary-args"), &mint);
    let mut action =
        sample::sealed(&sample::action(&agent, request, &mint), mint.id(DeedId::from_uuid));
    (action.deed, action.on_behalf_of) = (None, Some("canary-person".to_owned()));
    let change = Change::ActionBegun(Box::new(action), vec![disclosure]);
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
    let mut scribe = Scribe::founded(4, &store).await;
    let agent = scribe.agent("nul \0 inside");
    let refused = store.append(&scribe.turn(vec![Change::Agent(agent)])).await;
    assert!(matches!(refused, Err(AppendError::Refused(_))), "{refused:?}");
    scribe.append(&store, vec![Change::Agent(scribe.agent("fine"))]).await.unwrap();
}

#[tokio::test]
async fn a_lease_ends_when_the_settings_say() {
    let Some((database, _)) = store().await else { return };
    let mut brief = settings(&database);
    brief.lease = Duration::from_millis(300);
    let store = PostgresStore::new(&brief).unwrap();
    let mut scribe = Scribe::founded(5, &store).await;
    let mint = scribe.mint();
    let (request, _) = sample::request(&serde_json::json!({}), &mint);
    let action = sample::action(&scribe.agent("one"), request, &mint);
    scribe.now = store.base(scribe.org).await.unwrap().1;
    let change = Change::ActionBegun(Box::new(action), Vec::new());
    scribe.append(&store, vec![change]).await.unwrap();
    tokio::time::sleep(Duration::from_millis(400)).await;
    let due = gate::ActionStore::due(&store, 10).await.unwrap();
    assert_eq!(due.iter().map(|due| due.what).collect::<Vec<_>>(), [gate::DueFor::Takeover]);
}

//! A head that is held: it gives order to those who write one org, and no authority.

use std::time::Duration;

use ledger::{AppendError, Changes, HeldOrg, LedgerStore, Needs};
use store_postgres::{PostgresStore, Settings, testing::TestDatabase};
use testkit::Scribe;

use crate::world::{settings, store, until_blocked};

/// How long a head may be held in a test of somebody who stops: less than a second, as the usual
/// setting is. Whoever waits for it waits twice as long at most, by PostgreSQL's clock.
const HOLD: Duration = Duration::from_millis(900);

async fn hold(store: &PostgresStore, scribe: &Scribe) -> HeldOrg {
    store.hold(scribe.org, &Needs::default()).await.unwrap().expect("the head is free")
}

/// The store on this database whose heads may be held for [`HOLD`].
fn brief(database: &TestDatabase) -> PostgresStore {
    let mut settings = settings(database);
    assert!(Settings::new(settings.url.clone()).hold < HOLD);
    settings.hold = HOLD;
    PostgresStore::new(&settings).unwrap()
}

#[tokio::test]
async fn whoever_holds_the_head_appends_before_those_who_did_not_ask() {
    let Some((_database, store)) = store().await else { return };
    let mut scribe = Scribe::created(31, &*store).await;
    let held = hold(&store, &scribe).await;
    assert_eq!(held.base.unwrap().head.version, scribe.turn(vec![]).expected.unwrap().version);
    let impolite = scribe.turn(vec![Changes::from(scribe.agent("impolite"))]);
    let polite = scribe.turn(vec![Changes::from(scribe.agent("polite"))]);
    let (waits, wins) = tokio::join!(store.append(&impolite), async {
        tokio::time::sleep(Duration::from_millis(50)).await;
        held.head.append(&polite).await
    });
    assert!(wins.is_ok(), "{wins:?}");
    assert!(matches!(waits, Err(AppendError::Lost)), "{waits:?}");
    scribe.went(&polite);
    // The connection is none of a transaction any more, and neither is the head.
    scribe.append(&*store, vec![Changes::from(scribe.agent("next"))]).await.unwrap();
}

#[tokio::test]
async fn a_head_that_is_let_go_is_free_and_nothing_of_it_is_kept() {
    let Some((_database, store)) = store().await else { return };
    let mut scribe = Scribe::created(32, &*store).await;
    for _ in 0..20 {
        let held = hold(&store, &scribe).await;
        drop(held);
    }
    scribe.append(&*store, vec![Changes::from(scribe.agent("next"))]).await.unwrap();
}

#[tokio::test]
async fn who_holds_the_head_and_stops_keeps_the_others_waiting_for_less_than_a_second() {
    let Some((database, store)) = store().await else { return };
    let mut scribe = Scribe::created(33, &*store).await;
    let stopped = hold(&brief(&database), &scribe).await;
    let late = scribe.turn(vec![Changes::from(scribe.agent("late"))]);
    // PostgreSQL ends the session that holds it; nothing else lets go of the head.
    let next = hold(&store, &scribe).await;
    let turn = scribe.turn(vec![Changes::from(scribe.agent("next"))]);
    next.head.append(&turn).await.unwrap();
    scribe.went(&turn);
    // What it held is gone, and so is what it would have appended.
    let woken = stopped.head.append(&late).await;
    assert!(matches!(woken, Err(AppendError::Lost)), "{woken:?}");
    scribe.append(&*store, vec![Changes::from(scribe.agent("after"))]).await.unwrap();
}

#[tokio::test]
async fn a_head_that_does_not_come_free_is_done_without() {
    let Some((database, store)) = store().await else { return };
    let scribe = Scribe::created(34, &*store).await;
    let brief = brief(&database);
    let owner = database.owner().await;
    owner.batch_execute("begin").await.unwrap();
    let sql = "select from org_head where org_id = $1 for update";
    owner.query(sql, &[scribe.org.as_uuid()]).await.unwrap();
    assert!(brief.hold(scribe.org, &Needs::default()).await.unwrap().is_none());
    owner.batch_execute("rollback").await.unwrap();
    hold(&store, &scribe).await;
}

#[tokio::test]
async fn those_who_ask_have_the_head_one_after_the_other() {
    let Some((_database, store)) = store().await else { return };
    let scribe = std::sync::Arc::new(Scribe::created(35, &*store).await);
    let mut tasks = tokio::task::JoinSet::new();
    for number in 0..12 {
        let (store, scribe) = (store.clone(), scribe.clone());
        tasks.spawn(async move {
            let mut own = Scribe::new(100 + number, scribe.now);
            own.org = scribe.org;
            let held = hold(&store, &scribe).await;
            own.reread(&*store).await;
            let turn = own.turn(vec![Changes::from(own.agent(&number.to_string()))]);
            held.head.append(&turn).await.expect("nobody else writes while the head is held");
        });
    }
    for task in tasks.join_all().await {
        let () = task;
    }
    let head = store.base(scribe.org).await.unwrap().0.unwrap().head;
    assert_eq!(head.version, 12 + scribe.turn(vec![]).expected.unwrap().version);
}

#[tokio::test]
async fn who_has_the_turn_lock_takes_turns_and_hands_it_to_the_next() {
    let Some((database, store)) = store().await else { return };
    let owner = database.owner().await;
    let mut scribe = Scribe::created(36, &*store).await;
    let turn_lock = store.turn_lock(scribe.org).await.unwrap().expect("the turn lock is free");
    let next = {
        let (store, org) = (store.clone(), scribe.org);
        tokio::spawn(async move { store.turn_lock(org).await.unwrap().is_some() })
    };
    for number in 0..3 {
        let turn = vec![Changes::from(scribe.agent(&number.to_string()))];
        scribe.append(&*store, turn).await.unwrap();
    }
    until_blocked(&owner).await;
    assert!(!next.is_finished(), "two have the turn lock");
    let other = Scribe::new(37, scribe.now).org;
    assert!(
        store.turn_lock(other).await.unwrap().is_some(),
        "every org has a turn lock of its own"
    );
    drop(turn_lock);
    assert!(next.await.unwrap());
}

#[tokio::test]
async fn who_has_the_turn_lock_and_stops_keeps_the_others_waiting_for_less_than_a_second() {
    let Some((database, store)) = store().await else { return };
    let scribe = Scribe::created(38, &*store).await;
    let brief = brief(&database);
    let stopped = brief.turn_lock(scribe.org).await.unwrap();
    assert!(stopped.is_some());
    // PostgreSQL ends the session that has it.
    let next = store.turn_lock(scribe.org).await.unwrap();
    assert!(next.is_some(), "the turn lock does not come free");
    // Whoever does not get it in time does without.
    assert!(brief.turn_lock(scribe.org).await.unwrap().is_none(), "two have the turn lock");
    hold(&store, &scribe).await;
}

#[tokio::test]
async fn turn_locks_leave_connections_for_heads() {
    let Some((database, store)) = store().await else { return };
    let mut settings = settings(&database);
    settings.pool_size = 4;
    let few = PostgresStore::new(&settings).unwrap();
    let (mut scribes, mut turn_locks, mut heads) = (Vec::new(), Vec::new(), Vec::new());
    for number in 40..44 {
        let scribe = Scribe::created(number, &*store).await;
        turn_locks.extend(few.turn_lock(scribe.org).await.unwrap());
        scribes.push(scribe);
    }
    assert_eq!(turn_locks.len(), 1, "the others do without");
    for scribe in scribes.iter().take(3) {
        heads.push(hold(&few, scribe).await);
    }
    drop((turn_locks, heads));
}

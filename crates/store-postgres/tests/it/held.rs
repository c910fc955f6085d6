//! A head that is held: it gives order to those who write one org, and no authority.

use std::time::{Duration, Instant};

use ledger::{AppendError, Changes, HeldOrg, LedgerStore, Needs};
use store_postgres::PostgresStore;
use testkit::Scribe;

use crate::world::{settings, store};

/// By when a head must be free again that somebody holds who says nothing.
const STOPPED: Duration = Duration::from_secs(1);

async fn hold(store: &PostgresStore, scribe: &Scribe) -> HeldOrg {
    store.hold(scribe.org, &Needs::default()).await.unwrap().expect("the head is free")
}

#[expect(clippy::disallowed_methods, reason = "how long a head is held is what is tested")]
fn now() -> Instant {
    Instant::now()
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
    let Some((_database, store)) = store().await else { return };
    let mut scribe = Scribe::created(33, &*store).await;
    let stopped = hold(&store, &scribe).await;
    let late = scribe.turn(vec![Changes::from(scribe.agent("late"))]);
    let begun = now();
    let next = hold(&store, &scribe).await;
    assert!(begun.elapsed() < STOPPED, "{:?}", begun.elapsed());
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
    let owner = database.owner().await;
    owner.batch_execute("begin").await.unwrap();
    let sql = "select from org_head where org_id = $1 for update";
    owner.query(sql, &[scribe.org.as_uuid()]).await.unwrap();
    assert!(store.hold(scribe.org, &Needs::default()).await.unwrap().is_none());
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
            loop {
                let held = hold(&store, &scribe).await;
                let begun = now();
                own.reread(&*store).await;
                let turn = own.turn(vec![Changes::from(own.agent(&number.to_string()))]);
                match held.head.append(&turn).await {
                    Ok(_) => break,
                    // It was given to the next one, since on a busy machine this took too long.
                    Err(AppendError::Lost) if begun.elapsed() > STOPPED / 2 => {}
                    Err(error) => panic!("after {:?}: {error:?}", begun.elapsed()),
                }
            }
        });
    }
    for task in tasks.join_all().await {
        let () = task;
    }
    let head = store.base(scribe.org).await.unwrap().0.unwrap().head;
    assert_eq!(head.version, 12 + scribe.turn(vec![]).expected.unwrap().version);
}

#[tokio::test]
async fn who_has_the_floor_takes_turns_and_hands_it_to_the_next() {
    let Some((_database, store)) = store().await else { return };
    let mut scribe = Scribe::created(36, &*store).await;
    let floor = store.floor(scribe.org).await.unwrap().expect("the floor is free");
    let mut next = {
        let (store, org) = (store.clone(), scribe.org);
        tokio::spawn(async move { store.floor(org).await.unwrap().is_some() })
    };
    for number in 0..3 {
        let turn = vec![Changes::from(scribe.agent(&number.to_string()))];
        scribe.append(&*store, turn).await.unwrap();
    }
    let waited = tokio::time::timeout(Duration::from_millis(50), &mut next).await;
    assert!(waited.is_err(), "two have the floor");
    let other = Scribe::new(37, scribe.now).org;
    assert!(store.floor(other).await.unwrap().is_some(), "every org has a floor of its own");
    drop(floor);
    assert!(next.await.unwrap());
}

#[tokio::test]
async fn who_has_the_floor_and_stops_keeps_the_others_waiting_for_less_than_a_second() {
    let Some((_database, store)) = store().await else { return };
    let scribe = Scribe::created(38, &*store).await;
    let stopped = store.floor(scribe.org).await.unwrap();
    assert!(stopped.is_some());
    let begun = now();
    // They have it then, or do without.
    let _ = store.floor(scribe.org).await.unwrap();
    hold(&store, &scribe).await;
    assert!(begun.elapsed() < STOPPED, "{:?}", begun.elapsed());
}

#[tokio::test]
async fn floors_leave_connections_for_heads() {
    let Some((database, store)) = store().await else { return };
    let mut settings = settings(&database);
    (settings.pool_size, settings.deadline) = (4, Duration::from_secs(5));
    let few = PostgresStore::new(&settings).unwrap();
    let (mut scribes, mut floors, mut heads) = (Vec::new(), Vec::new(), Vec::new());
    for number in 40..44 {
        let scribe = Scribe::created(number, &*store).await;
        floors.extend(few.floor(scribe.org).await.unwrap());
        scribes.push(scribe);
    }
    assert_eq!(floors.len(), 1, "the others do without");
    for scribe in scribes.iter().take(3) {
        heads.push(hold(&few, scribe).await);
    }
    drop((floors, heads));
}

//! A database that is away, slow, cut off or restarted: every call has its answer in time, and
//! what is in doubt is settled.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    time::Duration,
};

use ledger::{AppendError, Changes, LedgerStore};
use store_postgres::{Durability, PostgresStore, testing::TestDatabase};
use testkit::{Draft, Scribe, eventually::until};
use tokio::{
    net::TcpListener,
    time::{Instant, pause, resume, sleep},
};

use crate::{
    proxy::{Proxy, Wire},
    world::{patient, store, until_blocked},
};

/// The deadline of a call. It passes while the clock of the test is paused, which jumps to the next
/// timer as soon as nothing else is to be done: a busy machine makes no call late.
const DEADLINE: Duration = Duration::from_secs(30);
/// What timers are late by, each of them by a millisecond at most.
const ROUNDED: Duration = Duration::from_secs(1);

/// A store of two connections on the database at this address.
fn small(url: &str) -> PostgresStore {
    let mut settings = patient(url);
    (settings.deadline, settings.pool_size) = (DEADLINE, 2);
    PostgresStore::new(&settings).unwrap()
}

/// Lets the deadlines of this call pass. What it sent and what it is to be answered must wait for
/// nothing that comes over the wire, for which a paused clock does not wait.
async fn late<T>(call: impl Future<Output = T>) -> T {
    pause();
    let begun = Instant::now();
    let answer = call.await;
    assert!(begun.elapsed() >= DEADLINE, "it did not wait for an answer");
    assert!(begun.elapsed() < DEADLINE + ROUNDED, "{:?}", begun.elapsed());
    resume();
    answer
}

/// As above, once this has come about.
async fn late_after<T>(reached: impl Future<Output = ()>, call: impl Future<Output = T>) -> T {
    let paused = async {
        reached.await;
        pause();
        Instant::now()
    };
    let (answer, paused) = tokio::join!(call, paused);
    assert!(paused.elapsed() < DEADLINE + ROUNDED, "{:?}", paused.elapsed());
    resume();
    answer
}

#[tokio::test]
async fn a_server_that_is_not_there_is_told_in_time() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let silent = small(&format!("postgres://a:b@{}/c", listener.local_addr().unwrap()));
    let closed = small("postgres://a:b@127.0.0.1:1/c");
    let scribe = Scribe::new(1, model::Timestamp::EPOCH);
    let turn = scribe.turn(vec![Changes::from(scribe.org_row())]);
    assert!(matches!(late(silent.append(&turn)).await, Err(AppendError::Down(_))));
    assert!(late(silent.base(scribe.org)).await.is_err());
    assert!(late(silent.ping()).await.is_err());
    let begun = Instant::now();
    assert!(matches!(closed.append(&turn).await, Err(AppendError::Down(_))));
    assert!(closed.base(scribe.org).await.is_err());
    assert!(closed.ping().await.is_err());
    assert!(begun.elapsed() < DEADLINE, "a refusal is an answer");
}

#[tokio::test]
async fn a_process_that_starts_waits_for_a_server_that_is_slow_to_take_it() {
    let Some(database) = TestDatabase::new().await else { return };
    let proxy = Proxy::before(&database.url()).await;
    let mut settings = patient(&proxy.url());
    settings.deadline = Duration::from_secs(2);
    let store = PostgresStore::new(&settings).unwrap();
    proxy.set(Wire::Stopped);
    pause();
    let waits = async {
        sleep(settings.deadline * 2 + settings.deadline / 2).await;
        resume();
        proxy.set(Wire::Through);
    };
    let (checked, ()) = tokio::join!(store.check(Durability::MayBeLost), waits);
    checked.unwrap();
}

#[tokio::test]
async fn a_process_that_starts_asks_a_server_that_refuses_once() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut settings = patient(&format!("postgres://a:b@{}/c", listener.local_addr().unwrap()));
    settings.deadline = Duration::from_secs(5);
    let store = PostgresStore::new(&settings).unwrap();
    let asked = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&asked);
    tokio::spawn(async move {
        while let Ok((connection, _)) = listener.accept().await {
            counted.fetch_add(1, Relaxed);
            drop(connection);
        }
    });
    assert!(store.check(Durability::MayBeLost).await.is_err());
    assert_eq!(asked.load(Relaxed), 1);
}

#[tokio::test]
async fn a_wrong_password_is_told_without_the_password() {
    let Some(database) = TestDatabase::new().await else { return };
    let url = database.url().replace("chancery_test:chancery@", "nobody:canary-secret@");
    let error = small(&url).ping().await.unwrap_err();
    let told = format!("{error:?} {error} {:?}", std::error::Error::source(&error));
    assert!(!told.contains("canary-secret"), "{told}");
}

#[tokio::test]
async fn a_lost_answer_is_in_doubt_and_settles_as_committed() {
    let Some((database, direct)) = store().await else { return };
    let proxy = Proxy::before(&database.url()).await;
    let store = small(&proxy.url());
    let mut scribe = Scribe::created(2, &*direct).await;
    scribe.append(&store, vec![Changes::from(scribe.agent("before"))]).await.unwrap();
    let agent = scribe.agent("in doubt");
    let turn = scribe.turn(vec![Changes::from(agent.clone())]);
    proxy.set(Wire::Deaf);
    let committed = until("the turn is committed", async || {
        let found = admin::AccountStore::agent(&*direct, scribe.org, agent.id).await;
        found.unwrap().is_some()
    });
    let doubt = late_after(committed, store.append(&turn)).await;
    assert!(matches!(doubt, Err(AppendError::InDoubt(_))), "{doubt:?}");
    assert!(late(store.settle(&turn)).await.is_err(), "nobody hears the answer yet");
    proxy.set(Wire::Through);
    assert!(store.settle(&turn).await.unwrap());
    let found = admin::AccountStore::agent(&store, scribe.org, agent.id).await.unwrap();
    assert_eq!(found, Some(agent));
}

#[tokio::test]
async fn a_turn_that_arrives_after_it_was_given_up_changes_nothing() {
    let Some((database, direct)) = store().await else { return };
    let proxy = Proxy::before(&database.url()).await;
    let store = small(&proxy.url());
    let mut scribe = Scribe::created(3, &*direct).await;
    let ghost = scribe.agent("ghost");
    let draft = |scribe: &Scribe, agent| Draft {
        changes: Changes::from(agent),
        deeds: vec![scribe.deed(None)],
        events: vec![scribe.event(None)],
    };
    // The connection knows the statements now, so that the next turn is sent at once.
    let first = draft(&scribe, scribe.agent("before"));
    scribe.append(&store, first).await.unwrap();
    let turn = scribe.turn(draft(&scribe, ghost.clone()));
    proxy.set(Wire::Stopped);
    let doubt = late(store.append(&turn)).await;
    assert!(matches!(doubt, Err(AppendError::InDoubt(_))), "{doubt:?}");
    assert!(!direct.settle(&turn).await.unwrap());
    proxy.set(Wire::Through);
    // What was held back has now arrived; whoever asks sees nothing of it, then or later.
    for _ in 0..20 {
        sleep(Duration::from_millis(25)).await;
        assert!(!direct.settle(&turn).await.unwrap());
    }
    let found = admin::AccountStore::agent(&*direct, scribe.org, ghost.id).await.unwrap();
    assert!(found.is_none());
    scribe.reread(&*direct).await;
    let after = draft(&scribe, scribe.agent("after"));
    scribe.append(&*direct, after).await.unwrap();
}

#[tokio::test]
async fn a_head_that_somebody_holds_is_answered_in_time_and_harms_nobody() {
    let Some((database, direct)) = store().await else { return };
    let store = small(&database.url());
    let mut scribe = Scribe::created(4, &*direct).await;
    let mut other = Scribe::created(5, &*direct).await;
    let holder = database.owner().await;
    holder.batch_execute("begin").await.unwrap();
    let sql = "select from org_head where org_id = $1 for update";
    holder.query(sql, &[scribe.org.as_uuid()]).await.unwrap();
    let turn = scribe.turn(vec![Changes::from(scribe.agent("blocked"))]);
    let watcher = database.owner().await;
    let blocked = late_after(until_blocked(&watcher), store.append(&turn)).await;
    assert!(matches!(blocked, Err(AppendError::InDoubt(_) | AppendError::Down(_))), "{blocked:?}");
    other.append(&store, vec![Changes::from(other.agent("free"))]).await.unwrap();
    holder.batch_execute("rollback").await.unwrap();
    // Settled either way, the org goes on.
    let committed = direct.settle(&turn).await.unwrap();
    let agents = admin::AccountStore::agents(&*direct, scribe.org, &admin::AgentList::all(), 99)
        .await
        .unwrap();
    assert_eq!(agents.len(), usize::from(committed));
    scribe.reread(&*direct).await;
    scribe.append(&store, vec![Changes::from(scribe.agent("next"))]).await.unwrap();
}

#[tokio::test]
async fn connections_that_the_server_ended_are_replaced() {
    let Some((database, store)) = store().await else { return };
    let mut scribe = Scribe::created(6, &*store).await;
    let owner = database.owner().await;
    for round in 0..5 {
        let sql = "select pg_terminate_backend(pid, 60000) from pg_stat_activity where usename = $1
            and datname = current_database()";
        let ended = owner.query(sql, &[&database.role()]).await.unwrap();
        assert!(ended.iter().all(|row| row.get(0)), "a backend goes on");
        // The ends of the connections are here; the driver learns of them when it reads.
        sleep(Duration::from_millis(10)).await;
        let agent = scribe.agent(&format!("round {round}"));
        scribe.append(&*store, vec![Changes::from(agent)]).await.unwrap();
    }
}

#[tokio::test]
async fn tls_that_is_asked_for_is_never_done_without() {
    let Some(database) = TestDatabase::new().await else { return };
    for mode in ["require", "verify-full"] {
        let url = format!("{}?sslmode={mode}", database.url());
        let refused = small(&url).ping().await.unwrap_err();
        let why = std::error::Error::source(&refused).unwrap().to_string();
        assert!(why.contains("TLS"), "{why}");
    }
    let plain = format!("{}?sslmode=disable", database.url());
    small(&plain).ping().await.unwrap();
}

#[tokio::test]
async fn a_full_pool_is_told_in_time() {
    let Some((database, direct)) = store().await else { return };
    let proxy = Proxy::before(&database.url()).await;
    let store = Arc::new(small(&proxy.url()));
    let scribe = Scribe::created(7, &*direct).await;
    store.ping().await.unwrap();
    proxy.set(Wire::Stopped);
    let mut askers = tokio::task::JoinSet::new();
    for _ in 0..10 {
        let (store, org) = (Arc::clone(&store), scribe.org);
        askers.spawn(async move { store.base(org).await.is_err() });
    }
    assert!(late(askers.join_all()).await.into_iter().all(|failed| failed));
    proxy.set(Wire::Through);
    assert!(store.base(scribe.org).await.unwrap().0.is_some());
}

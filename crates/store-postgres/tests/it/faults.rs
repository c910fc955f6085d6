//! A database that is away, slow, cut off or restarted: every call has its answer in time, and
//! what is in doubt is settled.

use std::time::{Duration, Instant};

use crypto::Secret;
use ledger::{AppendError, Changes, LedgerStore};
use store_postgres::{Durability, PostgresStore, Settings, testing::TestDatabase};
use testkit::{Draft, Scribe};

use crate::{
    proxy::{Proxy, Wire},
    world::store,
};

const DEADLINE: Duration = Duration::from_millis(600);
/// How much later than its deadline an answer may come on a busy machine.
const GRACE: Duration = Duration::from_secs(2);

fn impatient(url: String) -> PostgresStore {
    let mut settings = Settings::new(Secret::new(url));
    (settings.deadline, settings.pool_size) = (DEADLINE, 2);
    PostgresStore::new(&settings).unwrap()
}

#[expect(clippy::disallowed_methods, reason = "the time that an answer takes is what is tested")]
fn now() -> Instant {
    Instant::now()
}

#[tokio::test]
async fn a_server_that_is_not_there_is_told_in_time() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let silent = format!("postgres://a:b@{}/c", listener.local_addr().unwrap());
    let closed = "postgres://a:b@127.0.0.1:1/c".to_owned();
    for url in [silent, closed] {
        let (store, begun) = (impatient(url), now());
        let scribe = Scribe::new(1, model::Timestamp::EPOCH);
        let turn = scribe.turn(vec![Changes::from(scribe.org_row())]);
        assert!(matches!(store.append(&turn).await, Err(AppendError::Down(_))));
        assert!(store.base(scribe.org).await.is_err());
        assert!(store.ping().await.is_err());
        assert!(begun.elapsed() < DEADLINE * 3 + GRACE);
    }
}

#[tokio::test]
async fn a_process_that_starts_waits_for_a_server_that_is_slow_to_take_it() {
    let Some(database) = TestDatabase::new().await else { return };
    let proxy = Proxy::before(&database.url()).await;
    let store = impatient(proxy.url());
    proxy.set(Wire::Stopped);
    let waits = async {
        tokio::time::sleep(DEADLINE * 3).await;
        proxy.set(Wire::Through);
    };
    let (checked, ()) = tokio::join!(store.check(Durability::MayBeLost), waits);
    checked.unwrap();
    let begun = now();
    let closed = impatient("postgres://a:b@127.0.0.1:1/c".to_owned());
    assert!(closed.check(Durability::MayBeLost).await.is_err());
    assert!(begun.elapsed() < DEADLINE * 3, "a server that refuses is not asked again");
}

#[tokio::test]
async fn a_wrong_password_is_told_without_the_password() {
    let Some(database) = TestDatabase::new().await else { return };
    let url = database.url().replace("chancery_test:chancery@", "nobody:canary-secret@");
    let error = impatient(url).ping().await.unwrap_err();
    let told = format!("{error:?} {error} {:?}", std::error::Error::source(&error));
    assert!(!told.contains("canary-secret"), "{told}");
}

#[tokio::test]
async fn a_lost_answer_is_in_doubt_and_settles_as_committed() {
    let Some((database, direct)) = store().await else { return };
    let proxy = Proxy::before(&database.url()).await;
    let store = impatient(proxy.url());
    let mut scribe = Scribe::created(2, &*direct).await;
    scribe.append(&store, vec![Changes::from(scribe.agent("before"))]).await.unwrap();
    let agent = scribe.agent("in doubt");
    let turn = scribe.turn(vec![Changes::from(agent.clone())]);
    proxy.set(Wire::Deaf);
    let doubt = store.append(&turn).await;
    assert!(matches!(doubt, Err(AppendError::InDoubt(_))), "{doubt:?}");
    assert!(store.settle(&turn).await.is_err(), "nobody hears the answer yet");
    proxy.set(Wire::Through);
    assert!(store.settle(&turn).await.unwrap());
    let found = admin::AccountStore::agent(&store, scribe.org, agent.id).await.unwrap();
    assert_eq!(found, Some(agent));
}

#[tokio::test]
async fn a_turn_that_arrives_after_it_was_given_up_changes_nothing() {
    let Some((database, direct)) = store().await else { return };
    let proxy = Proxy::before(&database.url()).await;
    let store = impatient(proxy.url());
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
    let late = scribe.turn(draft(&scribe, ghost.clone()));
    proxy.set(Wire::Stopped);
    let begun = now();
    let doubt = store.append(&late).await;
    assert!(matches!(doubt, Err(AppendError::InDoubt(_))), "{doubt:?}");
    assert!(begun.elapsed() < DEADLINE + GRACE);
    assert!(!direct.settle(&late).await.unwrap());
    proxy.set(Wire::Through);
    // What was held back has now arrived; whoever asks sees nothing of it, then or later.
    for _ in 0..20 {
        tokio::time::sleep(Duration::from_millis(25)).await;
        assert!(!direct.settle(&late).await.unwrap());
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
    let store = impatient(database.url());
    let mut scribe = Scribe::created(4, &*direct).await;
    let mut other = Scribe::created(5, &*direct).await;
    let holder = database.owner().await;
    holder.batch_execute("begin").await.unwrap();
    let sql = "select from org_head where org_id = $1 for update";
    holder.query(sql, &[scribe.org.as_uuid()]).await.unwrap();
    let turn = scribe.turn(vec![Changes::from(scribe.agent("blocked"))]);
    let begun = now();
    let blocked = store.append(&turn).await;
    assert!(matches!(blocked, Err(AppendError::InDoubt(_) | AppendError::Down(_))), "{blocked:?}");
    assert!(begun.elapsed() < DEADLINE + GRACE);
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
        let sql = "select pg_terminate_backend(pid) from pg_stat_activity where usename = $1
            and datname = current_database()";
        owner.query(sql, &[&database.role()]).await.unwrap();
        // The driver learns of it when it reads; until then one call may fail, and says so.
        tokio::time::sleep(Duration::from_millis(100)).await;
        let agent = scribe.agent(&format!("round {round}"));
        scribe.append(&*store, vec![Changes::from(agent)]).await.unwrap();
    }
}

#[tokio::test]
async fn tls_that_is_asked_for_is_never_done_without() {
    let Some(database) = TestDatabase::new().await else { return };
    for mode in ["require", "verify-full"] {
        let url = format!("{}?sslmode={mode}", database.url());
        let refused = impatient(url).ping().await.unwrap_err();
        let why = std::error::Error::source(&refused).unwrap().to_string();
        assert!(why.contains("TLS"), "{why}");
    }
    let plain = format!("{}?sslmode=disable", database.url());
    impatient(plain).ping().await.unwrap();
}

#[tokio::test]
async fn a_full_pool_is_told_in_time() {
    let Some((database, direct)) = store().await else { return };
    let proxy = Proxy::before(&database.url()).await;
    let store = std::sync::Arc::new(impatient(proxy.url()));
    let scribe = Scribe::created(7, &*direct).await;
    store.ping().await.unwrap();
    proxy.set(Wire::Stopped);
    let begun = now();
    let mut askers = tokio::task::JoinSet::new();
    for _ in 0..10 {
        let (store, org) = (std::sync::Arc::clone(&store), scribe.org);
        askers.spawn(async move { store.base(org).await.is_err() });
    }
    assert!(askers.join_all().await.into_iter().all(|failed| failed));
    assert!(begun.elapsed() < DEADLINE + GRACE);
    proxy.set(Wire::Through);
    assert!(store.base(scribe.org).await.unwrap().0.is_some());
}

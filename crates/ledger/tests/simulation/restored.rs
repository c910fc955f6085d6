//! A record that is put back under a running process, as by a restore or by a standby that is
//! promoted before it has heard of everything.

use std::{
    sync::{Arc, atomic::Ordering::Relaxed},
    time::Duration,
};

use ledger::{Entry, Ledger, LedgerError, LedgerStore, Needs, Parts, Request, Snapshot};
use model::Mint;
use testkit::{Fixture, ManualClock};
use tokio::sync::Semaphore;

use crate::{
    fronted::{Fronted, Shown},
    world::{Bump, founding, world_org},
};

/// A process with keys of its own.
fn ledger(store: &Arc<Fronted>, seed: u64) -> Ledger {
    ledger_of(&Fixture::new(seed), store)
}

fn ledger_of(process: &Fixture, store: &Arc<Fronted>) -> Ledger {
    Ledger::new(Parts { store: Arc::clone(store) as _, ..process.parts() }).unwrap()
}

fn store() -> Arc<Fronted> {
    Fronted::new(Fixture::new(0).store, Semaphore::MAX_PERMITS)
}

async fn bump(ledger: &Ledger, label: &str) -> Result<u64, LedgerError> {
    let bump = Bump { label: label.to_owned(), limit: 100, panics: false };
    ledger.enter(world_org(), bump).await
}

#[tokio::test]
async fn nothing_is_sealed_on_a_record_that_is_behind_what_was_seen() {
    for gone in [false, true] {
        let store = store();
        let ledger = ledger(&store, 1);
        ledger.enter(world_org(), founding()).await.unwrap();
        bump(&ledger, "kept").await.unwrap();
        let before = store.store.base(world_org()).await.unwrap().0;
        bump(&ledger, "lost").await.unwrap();
        *store.shows.lock().unwrap() = Some(Shown(before.filter(|_| !gone)));
        // Memory would not look; whoever loses the head does.
        store.store.lose_next(1);
        let refused = bump(&ledger, "never").await;
        assert!(matches!(refused, Err(LedgerError::Withheld)), "{refused:?}");
        assert_eq!(ledger.withheld(), [world_org()].into());
        assert_eq!(store.store.deeds(world_org()).len(), 2);
    }
}

#[tokio::test]
async fn a_process_that_starts_knows_what_was_signed_for() {
    let store = store();
    let first = ledger(&store, 1);
    first.enter(world_org(), founding()).await.unwrap();
    bump(&first, "one").await.unwrap();
    let head = store.store.base(world_org()).await.unwrap().0.unwrap().head;
    let log = head.chain.log().clone();

    let started = ledger(&store, 2);
    started.has_seen(world_org(), log.clone(), 1);
    assert!(!started.has_seen_more(world_org(), &log, 1));
    bump(&started, "two").await.unwrap();
    let behind = ledger(&store, 3);
    behind.has_seen(world_org(), log.clone(), 3);
    assert!(behind.has_seen_more(world_org(), &log, 2));
    assert!(matches!(bump(&behind, "three").await, Err(LedgerError::Withheld)));
}

#[tokio::test]
async fn a_request_that_panics_is_in_doubt_and_the_org_goes_on() {
    let store = store();
    let ledger = ledger(&store, 1);
    ledger.enter(world_org(), founding()).await.unwrap();
    let faulty = Bump { label: "faulty".to_owned(), limit: 100, panics: true };
    let doubt = ledger.enter(world_org(), faulty).await;
    assert!(matches!(doubt, Err(LedgerError::InDoubt)), "{doubt:?}");
    assert_eq!(bump(&ledger, "after").await.unwrap(), 1);
    assert_eq!(ledger.figures().failed.load(Relaxed), 1);
}

/// A bump that takes this long to decide.
struct Slow {
    clock: Arc<ManualClock>,
    takes: Duration,
    bump: Bump,
}

impl Request for Slow {
    type Answer = u64;

    fn needs(&self, snapshot: &Snapshot) -> Needs {
        self.bump.needs(snapshot)
    }

    fn decide(&self, snapshot: &Snapshot, mint: &Mint<'_>) -> (Entry, u64) {
        self.clock.pass(self.takes);
        self.bump.decide(snapshot, mint)
    }
}

#[tokio::test]
async fn a_request_whose_turn_comes_too_late_is_not_decided() {
    let store = store();
    let process = Fixture::new(1);
    let ledger = ledger_of(&process, &store);
    ledger.enter(world_org(), founding()).await.unwrap();
    for (takes, is_late) in [(Duration::from_secs(5), false), (Duration::from_secs(7), true)] {
        let before = store.store.deeds(world_org()).len();
        let slow = Bump { label: "slow".to_owned(), limit: 100, panics: false };
        let slow = Slow { clock: Arc::clone(&process.clock), takes, bump: slow };
        let slow = ledger.enter(world_org(), slow);
        let (slow, behind) = tokio::join!(slow, bump(&ledger, "behind"));
        assert!(slow.is_ok(), "it had its turn in time: {slow:?}");
        assert_eq!(matches!(behind, Err(LedgerError::Busy)), is_late, "{behind:?}");
        let sealed = store.store.deeds(world_org()).len() - before;
        assert_eq!(sealed, if is_late { 1 } else { 2 }, "what was told holds");
    }
}

#[tokio::test]
async fn an_org_that_is_quiet_is_let_go_of_and_goes_on_where_it_was() {
    const IDLE: Duration = Duration::from_mins(5);
    let store = store();
    let process = Fixture::new(1);
    let ledger = ledger_of(&process, &store);
    ledger.enter(world_org(), founding()).await.unwrap();
    assert_eq!(bump(&ledger, "one").await.unwrap(), 1);
    process.clock.pass(Duration::from_secs(299));
    assert_eq!(ledger.let_go(IDLE), 0, "its last turn is not that long ago");
    process.clock.pass(Duration::from_secs(1));
    assert_eq!(ledger.let_go(IDLE), 1);
    assert_eq!(ledger.let_go(IDLE), 0, "nothing is left of it");
    // What was seen of its log is not let go of.
    let before = store.store.base(world_org()).await.unwrap().0;
    assert_eq!(bump(&ledger, "two").await.unwrap(), 2);
    *store.shows.lock().unwrap() = Some(Shown(before));
    process.clock.pass(IDLE);
    assert_eq!(ledger.let_go(IDLE), 1);
    assert!(matches!(bump(&ledger, "never").await, Err(LedgerError::Withheld)));
}

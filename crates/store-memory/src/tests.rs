//! The memory store keeps the contract, and does what tests order it to.

use std::{sync::Arc, time::Duration};

use gate::{ActionStore, Sweep};
use ledger::{AppendError, Changes, EventStore, LedgerStore};
use model::Timestamp;
use testkit::{ManualClock, Scribe, contract, sample};

use crate::{Doubt, MemoryStore};

fn store() -> (Arc<ManualClock>, Arc<MemoryStore>) {
    let start = Timestamp::parse_rfc3339("2026-10-01T12:00:00Z").unwrap();
    let clock = Arc::new(ManualClock::at(start));
    let store = MemoryStore::new(Arc::clone(&clock) as Arc<dyn model::Clock>);
    (clock, Arc::new(store))
}

#[tokio::test]
async fn the_ledgers_contract_is_kept() {
    contract::ledger_store(store().1).await;
}

#[tokio::test]
async fn the_streams_contract_is_kept() {
    contract::event_store(store().1).await;
}

#[tokio::test]
async fn the_gates_contract_is_kept() {
    contract::action_store(store().1).await;
}

#[tokio::test]
async fn administrations_contract_is_kept() {
    contract::account_stores(store().1).await;
}

#[tokio::test]
async fn the_couriers_contract_is_kept() {
    contract::delivery_store(store().1).await;
}

#[tokio::test]
async fn the_followers_contract_is_kept() {
    contract::evidence_store(store().1).await;
}

#[tokio::test]
async fn the_contract_of_reading_is_kept() {
    contract::record_store(store().1).await;
}

#[tokio::test]
async fn appends_are_lost_as_often_as_ordered() {
    let (_, store) = store();
    let mut scribe = Scribe::created(1, &*store).await;
    store.lose_next(2);
    let turn = scribe.turn(vec![Changes::from(scribe.agent("one"))]);
    for _ in 0..2 {
        assert!(matches!(store.append(&turn).await, Err(AppendError::Lost)));
    }
    store.append(&turn).await.unwrap();
    scribe.went(&turn);
}

#[tokio::test]
async fn an_ordered_doubt_is_settled_as_it_was() {
    let (_, store) = store();
    for (doubt, committed) in [(Doubt::Committed, true), (Doubt::Dropped, false)] {
        let mut scribe = Scribe::created(10 + u64::from(committed), &*store).await;
        store.doubt_next(doubt);
        let turn = scribe.turn(vec![Changes::from(scribe.agent("one"))]);
        assert!(matches!(store.append(&turn).await, Err(AppendError::InDoubt(_))));
        assert_eq!(store.settle(&turn).await.unwrap(), committed);
        scribe.reread(&*store).await;
        scribe.append(&*store, vec![Changes::from(scribe.agent("two"))]).await.unwrap();
    }
}

#[tokio::test]
async fn nothing_is_answered_or_written_while_it_is_down() {
    let (_, store) = store();
    let mut scribe = Scribe::created(20, &*store).await;
    let turn = scribe.turn(vec![Changes::from(scribe.agent("one"))]);
    store.go_down();
    assert!(matches!(store.append(&turn).await, Err(AppendError::Down(_))));
    assert!(store.base(scribe.org).await.is_err());
    assert!(store.last_event(scribe.org).await.is_err());
    store.come_up();
    store.append(&turn).await.unwrap();
    scribe.went(&turn);
}

#[tokio::test]
async fn a_renewed_lease_lasts_as_long_as_a_new_one() {
    let (clock, store) = store();
    let mut scribe = Scribe::created(30, &*store).await;
    let mint = scribe.mint();
    let (request, _) = sample::request(&serde_json::json!({}), &mint);
    let action = sample::action(&scribe.agent("one"), request, &mint);
    let change = sample::begun(action.clone(), Vec::new());
    scribe.append(&*store, vec![change]).await.unwrap();
    let lease = action.lease.unwrap();
    let held = [gate::HeldLease { org: scribe.org, action: action.id, lease }];
    clock.pass(Duration::from_secs(14));
    assert_eq!(store.renew(&held).await.unwrap().renewed, held);
    clock.pass(Duration::from_millis(14_999));
    assert!(store.due(Sweep::Takeovers, None, 10).await.unwrap().is_empty());
    clock.pass(Duration::from_millis(1));
    assert_eq!(store.due(Sweep::Takeovers, None, 10).await.unwrap().len(), 1);
    let late = store.renew(&held).await.unwrap();
    assert!(late.renewed.is_empty(), "it is too late");
    assert_eq!(late.lost, held);
}

#[tokio::test]
async fn an_orgs_deeds_are_given_out_in_order() {
    let (_, store) = store();
    let mut scribe = Scribe::created(40, &*store).await;
    for _ in 0..3 {
        let deeds = vec![scribe.deed(None), scribe.deed(None)];
        scribe.append(&*store, testkit::Draft { deeds, ..Default::default() }).await.unwrap();
    }
    let places: Vec<_> = store.deeds(scribe.org).iter().map(|deed| deed.seq).collect();
    assert_eq!(places, [0, 1, 2, 3, 4, 5]);
}

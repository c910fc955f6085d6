//! The contract that every store keeps.

use testkit::contract;

use crate::world::store;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_ledgers_contract_is_kept() {
    let Some((_database, store)) = store().await else { return };
    contract::ledger_store(store).await;
}

#[tokio::test]
async fn the_streams_contract_is_kept() {
    let Some((_database, store)) = store().await else { return };
    contract::event_store(store).await;
}

#[tokio::test]
async fn the_gates_contract_is_kept() {
    let Some((_database, store)) = store().await else { return };
    contract::action_store(store).await;
}

#[tokio::test]
async fn administrations_contract_is_kept() {
    let Some((_database, store)) = store().await else { return };
    contract::account_stores(store).await;
}

#[tokio::test]
async fn the_couriers_contract_is_kept() {
    let Some((_database, store)) = store().await else { return };
    contract::delivery_store(store).await;
}

#[tokio::test]
async fn the_followers_contract_is_kept() {
    let Some((_database, store)) = store().await else { return };
    contract::evidence_store(store).await;
}

#[tokio::test]
async fn the_contract_of_reading_is_kept() {
    let Some((_database, store)) = store().await else { return };
    contract::record_store(store).await;
}

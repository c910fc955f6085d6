//! The contract of every store: one suite per trait, run by each store's tests.
//!
//! A suite takes an empty store and panics where a promise is broken. Every case makes an org of
//! its own, so the cases do not see each other.

mod accounts;
mod amendments;
mod appends;
mod approvals;
mod drift;
mod events;
mod evidence;
mod figures;
mod halts;
mod intents;
mod leases;
mod lists;
mod logs;
mod members;
mod policies;
mod races;
mod readings;
mod reads;
mod reports;
mod retention;
mod texts;
mod webhooks;

use std::sync::Arc;

use ::evidence::EvidenceStore;
use delivery::DeliveryStore;
use gate::ActionStore;
use ledger::{EventStore, LedgerStore};

/// Everything that a store of the service is.
pub trait Store:
    LedgerStore
    + EventStore
    + ActionStore
    + admin::Store
    + records::Store
    + DeliveryStore
    + EvidenceStore
{
}

impl<S> Store for S where
    S: LedgerStore
        + EventStore
        + ActionStore
        + admin::Store
        + records::Store
        + DeliveryStore
        + EvidenceStore
{
}

/// Checks `ledger::LedgerStore`.
pub async fn ledger_store(store: Arc<dyn Store>) {
    appends::check(&*store).await;
    reads::check(&*store).await;
    texts::check(&*store).await;
    races::check(store).await;
}

/// Checks `ledger::EventStore`.
pub async fn event_store(store: Arc<dyn Store>) {
    events::check(&*store).await;
}

/// Checks `gate::ActionStore`.
pub async fn action_store(store: Arc<dyn Store>) {
    lists::check(&*store).await;
    intents::check(&*store).await;
    Box::pin(leases::check(&*store)).await;
    Box::pin(halts::check(&*store)).await;
    Box::pin(approvals::check(&*store)).await;
    Box::pin(reports::check(&*store)).await;
    Box::pin(amendments::check(&*store)).await;
    drift::check(&*store).await;
    Box::pin(figures::check(&*store)).await;
}

/// Checks `admin::AccountStore`, `admin::MemberStore`, `admin::PolicyStore`, `admin::SealKeyStore` and
/// `admin::RetentionStore`.
pub async fn account_stores(store: Arc<dyn Store>) {
    accounts::check(&*store).await;
    members::check(&*store).await;
    policies::check(&*store).await;
    retention::check(&*store).await;
}

/// Checks `records::Store`.
pub async fn record_store(store: Arc<dyn Store>) {
    logs::check(&*store).await;
    readings::check(&*store).await;
}

/// Checks `delivery::DeliveryStore`.
pub async fn delivery_store(store: Arc<dyn Store>) {
    Box::pin(webhooks::check(&*store)).await;
}

/// Checks `evidence::EvidenceStore`.
pub async fn evidence_store(store: Arc<dyn Store>) {
    Box::pin(evidence::check(&*store)).await;
}

//! What an operator does to an old record, and that nothing can be proved any less afterwards.

mod old;
mod past;
mod read_out;
mod thinning;

use std::sync::Arc;

use ledger::{Ledger, Parts};
use model::CheckId;
use records::{ChainCheck, CheckStatus, CheckStore, LogStore, Records};
use store_postgres::PostgresStore;
use testkit::{OnTokio, Scribe};

/// What reads the scribe's log.
fn records(store: &Arc<PostgresStore>, scribe: &Scribe) -> Records {
    let ledger = Ledger::new(Parts {
        store: Arc::clone(store) as _,
        sealer: scribe.sealer(),
        clock: Arc::new(testkit::ManualClock::at(scribe.now)),
        entropy: Arc::new(testkit::SeededEntropy::new(7)),
        spawn: Arc::new(OnTokio),
        log_host: "test.example".to_owned(),
    });
    Records::new(Arc::clone(store) as _, ledger.unwrap())
}

/// Has the log checked as somebody asked for it, against this checkpoint if any.
async fn checked(
    (store, records): (&PostgresStore, &Records),
    scribe: &Scribe,
    checkpoint: Option<String>,
) -> ChainCheck {
    let head = store.head(scribe.org).await.unwrap().unwrap();
    let check = ChainCheck {
        id: scribe.mint().id(CheckId::from_uuid),
        org: scribe.org,
        created_at: scribe.now,
        status: CheckStatus::Queued,
        log: Some(head.chain.log().clone()),
        from_seq: 0,
        end_seq: head.chain.size(),
        checkpoint,
        checked: 0,
        archived: 0,
        finished_at: None,
        first_bad: None,
    };
    store.ask_check(&check).await.unwrap();
    records.do_check(&scribe.sealer().registered()).await.unwrap().unwrap()
}

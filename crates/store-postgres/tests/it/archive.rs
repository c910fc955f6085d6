//! What an operator does to an old record, and that nothing can be proved any less afterwards.

mod old;
mod past;
mod thinning;

use std::sync::Arc;

use ledger::{Ledger, Parts};
use records::Records;
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

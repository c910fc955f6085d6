//! Two thousand calls through a pooler in each mode, on two instances whose statements look alike.

use crate::{
    house::PoolMode,
    pooled::{Pooled, Tally},
};

const CALLS: usize = 2_000;
const AT_ONCE: usize = 8;

#[tokio::test(flavor = "multi_thread")]
async fn two_thousand_calls_through_a_pooler_run_no_other_tools_statement() {
    let Some(mut pooled) = Pooled::new().await else { return };
    let session = pooled.storm(CALLS, AT_ONCE).await;
    told("session", &session);
    assert_eq!((session.ran, session.refused), (CALLS, 0));
    pooled.pooler.restart(PoolMode::Transaction);
    let transaction = pooled.storm(CALLS, AT_ONCE).await;
    told("transaction", &transaction);
    assert!(transaction.refused > 0, "two connections for eight calls at once are shared");
}

fn told(mode: &str, Tally { ran, refused, .. }: &Tally) {
    println!("{mode} mode: {ran} calls ran their own statement, {refused} ran nothing");
}

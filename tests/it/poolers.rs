//! A pooler between the service and a governed database: session mode is as good as no pooler, and
//! transaction mode, in which clients share a connection and what is prepared on it, is detected and
//! refused.

use serde_json::json;

use crate::{
    house::PoolMode,
    pooled::{NAMED, Pooled},
};

#[tokio::test]
async fn a_pooler_in_session_mode_is_as_good_as_none() {
    let Some(pooled) = Pooled::new().await else { return };
    let lines = pooled.check().await;
    assert!(lines.len() == 2 && lines.iter().all(|line| line.starts_with("ok")), "{lines:?}");
    let tally = pooled.storm(80, 8).await;
    assert_eq!((tally.ran, tally.refused), (80, 0));
}

#[tokio::test]
async fn a_pooler_in_transaction_mode_is_detected_and_never_runs_another_tools_statement() {
    let Some(mut pooled) = Pooled::new().await else { return };
    // Both instances have met the database before the pooler is turned.
    pooled.storm(8, 2).await;
    pooled.pooler.restart(PoolMode::Transaction);
    let lines = pooled.check().await;
    let told = |line: &String| line.starts_with("FAIL") && line.contains(NAMED);
    assert!(lines.len() == 2 && lines.iter().all(told), "{lines:?}");

    // The first of two servers is taken, so that the call logs in to the second one.
    let (one, other) = (pooled.visitor().await, pooled.visitor().await);
    one.batch_execute("begin").await.unwrap();
    let ran = pooled.read().await;
    assert_eq!(ran["status"], "succeeded", "{ran}");
    // The second one is taken and the first one is free, so that the next call's transaction would
    // begin there.
    other.batch_execute("begin").await.unwrap();
    one.batch_execute("rollback").await.unwrap();
    let refused = pooled.read().await;
    assert_eq!(refused["status"], "failed", "{refused}");
    assert_eq!(refused["error_code"], "connector_misconfigured");
    assert!(refused["error_message"].as_str().unwrap().contains(NAMED), "{refused}");
    assert_eq!(refused["result"], json!(null));
    other.batch_execute("rollback").await.unwrap();

    pooled.storm(80, 8).await;
}

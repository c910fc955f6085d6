//! Tools that fail, hang or answer too much: each ends as a sealed action that says what is
//! certain.

use serde_json::{Value, json};

use crate::{
    calls::{assert_sealed, caller},
    house::{House, SharedHouse, name},
};

#[tokio::test]
async fn a_statement_that_fails_is_a_sealed_failure_with_nothing_applied() {
    let Some((shared, caller)) = caller().await else { return };
    let divided = caller.executed("lab.divide", json!({ "by": 0 })).await;
    assert_sealed(&divided, "failed");
    assert_eq!(divided["execution"]["error_code"], "tool_error");
    let mark = "refused by a constraint";
    let refused = caller.executed("lab.note", json!({ "mark": mark })).await;
    assert_sealed(&refused, "failed");
    assert_eq!(refused["execution"]["status"], "failed");
    assert_eq!(shared.house.notes(mark).await, 0);
    assert_eq!(ledger_kind(shared, &refused).await, None, "its ledger row went with it");
}

#[tokio::test]
async fn a_result_over_the_limit_is_kept_as_its_digest_alone() {
    let Some((_, caller)) = caller().await else { return };
    let action = caller.executed("lab.text", json!({ "length": 65_536 })).await;
    assert_sealed(&action, "executed");
    assert_eq!(action["execution"]["result"]["text"].as_str().unwrap().len(), 65_536);
    let read = caller.detail(&action).await;
    assert_eq!(read["result"], Value::Null);
    assert_eq!(read["result_digest"], action["result_digest"]);
    let execution = &read["deeds"][0]["body"]["action"]["execution"];
    assert_eq!(execution["result"], Value::Null);
    assert!(execution["result_digest"]["commit"].is_string(), "{execution}");
    let within = caller.executed("lab.text", json!({ "length": 65_000 })).await;
    assert_eq!(caller.detail(&within).await["result"]["text"].as_str().unwrap().len(), 65_000);
}

#[tokio::test]
async fn a_result_that_is_too_large_to_read_is_a_failure() {
    let Some((_, caller)) = caller().await else { return };
    let action = caller.executed("lab.text", json!({ "length": 9_000_000 })).await;
    assert_sealed(&action, "failed");
    assert_eq!(action["execution"]["error_code"], "result_too_large");
    // The connection that it was cut off from does not stand in the way of the next call.
    caller.executed("lab.divide", json!({ "by": 1 })).await;
}

#[tokio::test]
async fn a_statement_that_takes_too_long_is_stopped_and_certainly_not_applied() {
    let Some(house) = House::new("gate: { execute_timeout: 1s }\n").await else { return };
    let service = house.serve().await;
    let caller = service.caller(&house.agent("slow").await.key);
    let mark = name();
    let args = json!({ "mark": mark, "milliseconds": 30_000 });
    let action = caller.executed("lab.slow-note", args).await;
    assert_sealed(&action, "failed");
    assert_eq!(action["execution"]["error_code"], "statement_timeout");
    assert_eq!(house.notes(&mark).await, 0);
    let read = caller.executed("lab.sleep", json!({ "milliseconds": 30_000 })).await;
    assert_eq!(read["execution"]["error_code"], "statement_timeout");
}

#[tokio::test]
async fn a_row_that_somebody_else_holds_is_waited_for_and_then_given_up() {
    let Some((shared, caller)) = caller().await else { return };
    let mut holder = shared.house.governed.client().await;
    let held = holder.transaction().await.unwrap();
    held.execute("select from orders where id = 3003 for update", &[]).await.unwrap();
    let args = json!({ "order": 3003, "status": "shipped" });
    let action = caller.executed("shop.orders.update_status", args).await;
    assert_sealed(&action, "failed");
    assert_eq!(action["execution"]["error_code"], "lock_timeout");
    held.rollback().await.unwrap();
    let args = json!({ "order": 3003, "status": "shipped" });
    assert_sealed(&caller.executed("shop.orders.update_status", args).await, "executed");
}

#[tokio::test]
async fn an_edge_that_never_reports_is_sealed_as_lost() {
    let Some(house) = House::new("gate: { edge_result_timeout: 1s }\n").await else { return };
    let service = house.serve().await;
    let caller = service.caller(&house.agent("edge").await.key);
    let action = crate::edge::authorized(&caller).await;
    let path = format!("/v1/actions/{}?wait=10", action["id"].as_str().unwrap());
    let sealed = caller.read(&path).await;
    assert_sealed(&sealed, "executed");
    assert_eq!(sealed["execution"]["error_code"], "edge_lost");
    assert_eq!(sealed["execution"]["status"], "unknown");
    assert_eq!(sealed["witness"]["verdict"], "UNVERIFIABLE");
    let late = crate::edge::report(&action, json!({ "result": 1 }));
    caller.send(late).await.error(409, "conflict", None);
}

async fn ledger_kind(shared: &SharedHouse, action: &Value) -> Option<String> {
    let id: model::ActionId = action["id"].as_str().unwrap().parse().unwrap();
    let ledger = shared.house.governed_ledger().await;
    ledger.into_iter().find(|(entry, _)| entry == id.as_uuid()).map(|(_, kind)| kind)
}

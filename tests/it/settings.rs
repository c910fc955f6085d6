//! Settings reach the place where they count.

use serde_json::{Value, json};

use crate::{
    calls::assert_sealed,
    edge::{edge_call, report},
    eventually::until,
    house::{Caller, House, Request, call},
};

const SETTINGS: &str = "
server: { trusted_proxies: 127.0.0.0/8, log_level: debug }
gate:
  wait_timeout: 0s
  edge_result_timeout: 1s
  max_args_bytes: 1024
  max_result_bytes: 1024
approvals: { default_expires_in: 2m }
";

/// The milliseconds between two times of an action.
fn between(begin: &Value, end: &Value) -> i64 {
    let millis =
        |time: &Value| time.as_str().unwrap().parse::<model::Timestamp>().unwrap().unix_millis();
    millis(end) - millis(begin)
}

async fn the_gate_waits_and_measures_as_it_is_told(caller: &Caller) {
    let args = json!({ "mark": "slow", "milliseconds": 8_000 });
    let running = caller.call("lab.slow-note", args).await.is(202);
    assert_eq!(running["status"], "processing");
    let mut body = call("lab.note", json!({ "mark": "x".repeat(1100) }));
    body["wait"] = json!(5);
    let large = caller.send(Request::post("/v1/actions", &body)).await;
    large.error(400, "validation_failed", Some("args"));
    body["args"]["mark"] = json!("x".repeat(1000));
    assert_sealed(&caller.insist(Request::post("/v1/actions", &body)).await.ok(), "executed");
    let mut body = call("lab.text", json!({ "length": 1100 }));
    body["wait"] = json!(5);
    let kept = caller.insist(Request::post("/v1/actions", &body)).await.ok();
    assert_eq!(caller.detail(&kept).await["result"], Value::Null);
}

#[tokio::test]
async fn what_the_settings_say_is_what_the_service_does() {
    let Some(house) = House::new(SETTINGS).await else { return };
    let service = house.serve().await;
    let caller = service.caller(&house.agent("set").await.key);
    the_gate_waits_and_measures_as_it_is_told(&caller).await;
    let held = caller
        .call("shop.refunds.create", json!({ "order": 10, "amount": 60, "reason": "broken" }));
    let held = held.await.is(202);
    assert_eq!(between(&held["created_at"], &held["approval"]["expires_at"]), 120_000);
    let authorized = caller.insist(Request::post("/v1/actions", &edge_call(&json!({})))).await.ok();
    assert_eq!(between(&authorized["created_at"], &authorized["next_action"]["deadline"]), 1_000);
    let large = report(&authorized, json!({ "result": "x".repeat(1100) }));
    caller.send(large).await.error(400, "validation_failed", Some("result"));
    until("its deadline passes", async || caller.detail(&authorized).await["state"] == "sealed")
        .await;
    let late = report(&authorized, json!({ "result": 1 }));
    caller.send(late).await.error(409, "conflict", None);
    // This machine is a trusted proxy, so that the client is whom it names.
    let forwarded = Request::get("/v1/nothing").header("X-Forwarded-For", "203.0.113.9, 127.0.0.2");
    caller.send(forwarded).await.error(404, "route_unknown", None);
    assert!(service.log().contains("from=203.0.113.9"), "{}", service.log());
}

#[tokio::test]
async fn settings_that_are_not_accepted_are_all_told_and_nothing_starts() {
    let Some(house) = House::new("").await else { return };
    let wrong = "gate: { wait_timeout: 26s, execute_timeout: 1ms }\nserver: { vault_keys: x }\n";
    house.write("wrong.yaml", wrong);
    let output = house.verbs.output(&["--config", "wrong.yaml", "serve"]).await;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{said}");
    for name in ["`gate.wait_timeout`", "`gate.execute_timeout`", "did you mean `server.vault_key`"]
    {
        assert!(said.contains(name), "{name}: {said}");
    }
    // Prod refuses this house as it stands: its address is plain http and it reaches loopback.
    house.write("prod.yaml", "server: { env: prod }\n");
    let output = house.verbs.output(&["--config", "prod.yaml", "serve"]).await;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{said}");
    for name in ["`SERVICE_BASE_URL`", "`SERVICE_ALLOW_PRIVATE_NETWORKS`"] {
        assert!(said.contains(name), "{name}: {said}");
    }
}

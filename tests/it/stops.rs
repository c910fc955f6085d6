//! Stop: nothing of a stopped agent, or of a stopped org, starts once the Stop was answered.

use serde_json::{Value, json};

use crate::{
    calls::assert_sealed,
    edge::{authorized, report},
    house::{Caller, House, SharedHouse, name},
};

/// Calls and must be refused, recorded and sealed, by this code.
async fn refused(caller: &Caller, code: &str) {
    let answer = caller.call("lab.note", json!({ "mark": "stopped" })).await;
    let error = answer.error(403, code, None);
    assert_eq!(error["type"], "permission_error");
    assert_sealed(&error["action"], "denied");
    assert_eq!(error["action"]["decision"]["source"], "stop");
}

#[tokio::test]
async fn a_stopped_agent_is_refused_until_it_is_started() {
    let Some(shared) = SharedHouse::get().await else { return };
    let agent = shared.house.agent(&name()).await;
    let caller = shared.service.caller(&agent.key);
    shared.house.tell("stop", &agent).await;
    refused(&caller, "agent_stopped").await;
    // Another agent of the org goes on.
    shared.caller().await.executed("lab.sleep", json!({ "milliseconds": 0 })).await;
    shared.house.tell("start", &agent).await;
    caller.executed("lab.sleep", json!({ "milliseconds": 0 })).await;
}

#[tokio::test]
async fn a_stopped_org_refuses_every_agent_until_it_is_started() {
    let Some(house) = House::new("").await else { return };
    let service = house.serve().await;
    let one = service.caller(&house.agent("one").await.key);
    let other = service.caller(&house.agent("other").await.key);
    one.executed("lab.sleep", json!({ "milliseconds": 0 })).await;
    house.tell_all("stop").await;
    refused(&one, "org_stopped").await;
    refused(&other, "org_stopped").await;
    house.tell_all("start").await;
    other.executed("lab.sleep", json!({ "milliseconds": 0 })).await;
    assert_eq!(house.notes("stopped").await, 0);
    house.sound_log(&one).await;
}

#[tokio::test]
async fn a_stopped_agents_pending_report_is_still_taken() {
    let Some(shared) = SharedHouse::get().await else { return };
    let agent = shared.house.agent(&name()).await;
    let caller = shared.service.caller(&agent.key);
    let action = authorized(&caller).await;
    shared.house.tell("stop", &agent).await;
    let sealed = caller.send(report(&action, json!({ "result": "done" }))).await.ok();
    assert_sealed(&sealed, "executed");
}

#[tokio::test]
async fn a_test_key_runs_nothing_that_is_live() {
    let Some(shared) = SharedHouse::get().await else { return };
    let house = &shared.house;
    let agent = house.agent(&name()).await;
    let words = ["key", "create", "--agent", &agent.id, "--test", "--org", &house.org];
    let key = house.verbs.run(&words).await;
    assert!(key.starts_with("svc_test_"), "{key}");
    let caller = shared.service.caller(key.trim());
    let mark = name();
    let answer = caller.call("lab.note", json!({ "mark": mark })).await;
    assert!(answer.status.is_client_error(), "{answer:?}");
    let action: Value = answer.json()["error"]["action"].clone();
    assert_sealed(&action, "denied");
    assert_eq!(action["livemode"], false);
    assert_eq!(house.notes(&mark).await, 0);
}

#[tokio::test]
async fn an_operator_changes_what_is_said_and_leaves_the_rest_of_an_agent() {
    let Some(shared) = SharedHouse::get().await else { return };
    let house = &shared.house;
    let agent = house.agent(&name()).await;
    let set = async |more: &[&str]| {
        let words = [&["agent", "set", &agent.id, "--org", &house.org], more].concat();
        house.verbs.run(&words).await
    };
    let org = shared.service.caller(&house.org_key().await);
    let read = async || org.read(&format!("/v1/agents/{}", agent.id)).await;
    let before = read().await;
    set(&["--mode", "proxy", "--expires", "90d", "--label", "team=ops"]).await;
    let changed = read().await;
    assert_eq!(changed["modes"], json!(["proxy"]), "{changed}");
    assert_eq!(changed["labels"], json!({ "team": "ops" }));
    assert!(changed["expires_at"].is_string());
    assert_eq!(changed["name"], before["name"]);
    let caller = shared.service.caller(&agent.key);
    let answer = caller.call("lab.note", json!({ "mark": "not by the gateway" })).await;
    answer.error(403, "policy_denied", None);
    set(&["--mode", "gateway", "--mode", "proxy", "--no-expiry"]).await;
    let back = read().await;
    assert_eq!((&back["modes"], &back["expires_at"]), (&before["modes"], &Value::Null), "{back}");
    assert_eq!(back["labels"], json!({ "team": "ops" }));
    caller.executed("lab.sleep", json!({ "milliseconds": 0 })).await;
    // What names nothing, or two things at once, changes nothing.
    let used = read().await;
    let org = house.org.as_str();
    for bad in [&[][..], &["--expires", "1h", "--no-expiry"], &["--expires", "yesterday"]] {
        let words = [&["agent", "set", &agent.id, "--org", org], bad].concat();
        assert_eq!(house.verbs.output(&words).await.status.code(), Some(2), "{bad:?}");
    }
    assert_eq!(read().await, used);
}

//! An agent's call, from the request to the sealed action: run, refused, held, counted.

use serde_json::{Value, json};

use crate::{
    calls::{assert_sealed, caller},
    house::{Request, SharedHouse, name},
};

#[tokio::test]
async fn a_read_is_run_witnessed_and_sealed() {
    let Some((shared, caller)) = caller().await else { return };
    let action = caller.executed("shop.customers.read", json!({ "customer": 6 })).await;
    assert_sealed(&action, "executed");
    assert_eq!(action["decision"]["rule_id"], "reads");
    assert_eq!(action["execution"]["status"], "succeeded");
    assert_eq!(action["execution"]["result"]["email"], "customer6@shop.example");
    assert_eq!(action["witness"]["verdict"], "VERIFIED");
    assert_eq!(action["witness"]["level"], "L0");
    assert_eq!(in_governed_ledger(shared, &action).await, 0, "a read leaves no ledger row");
}

#[tokio::test]
async fn an_insert_leaves_one_row_and_one_ledger_entry() {
    let Some((shared, caller)) = caller().await else { return };
    let mark = name();
    let action = caller.executed("lab.note", json!({ "mark": mark })).await;
    assert_sealed(&action, "executed");
    assert_eq!(action["execution"]["result"]["mark"], mark);
    assert_eq!(action["witness"]["verdict"], "VERIFIED");
    assert_eq!(shared.house.notes(&mark).await, 1);
    assert_eq!(in_governed_ledger(shared, &action).await, 1);
}

#[tokio::test]
async fn an_update_changes_its_row() {
    let Some((shared, caller)) = caller().await else { return };
    let args = json!({ "order": 3001, "status": "shipped" });
    let action = caller.executed("shop.orders.update_status", args).await;
    assert_sealed(&action, "executed");
    assert_eq!(action["execution"]["result"]["status"], "shipped");
    let sql = "select count(*) from orders where id = 3001 and status = 'shipped'";
    assert_eq!(shared.house.governed.count(sql).await, 1);
}

#[tokio::test]
async fn a_delete_deletes_its_row() {
    let Some((shared, caller)) = caller().await else { return };
    let action = caller.executed("shop.orders.delete", json!({ "order": 4999 })).await;
    assert_sealed(&action, "executed");
    assert_eq!(action["execution"]["result"], json!({ "count": 1 }));
    assert_eq!(action["decision"]["rule_id"], "old-orders");
    let sql = "select count(*) from orders where id = 4999";
    assert_eq!(shared.house.governed.count(sql).await, 0);
}

#[tokio::test]
async fn a_refusal_gives_the_rules_own_sentence_and_changes_nothing() {
    let Some((shared, caller)) = caller().await else { return };
    let answer = caller.call("shop.orders.delete", json!({ "order": 4 })).await;
    let error = answer.error(403, "policy_denied", None);
    let sentence = "Orders are kept for ten years; cancel them instead.";
    assert_eq!(error["message"], sentence);
    assert_eq!(error["type"], "policy_error");
    assert_sealed(&error["action"], "denied");
    assert_eq!(error["action"]["decision"]["rule_id"], "keep-orders");
    assert_eq!(error["action"]["execution"], Value::Null);
    assert_eq!(shared.house.governed.count("select count(*) from orders where id = 4").await, 1);
}

#[tokio::test]
async fn a_condition_without_a_value_refuses_the_call() {
    let Some((shared, caller)) = caller().await else { return };
    // An org whose policy reads an argument that calls may leave out.
    let policy = "schema: 1\ndefault: { outcome: allow }\nrules:\n  - { id: whose, match: lab.*, \
                  when: args.customer > 3, outcome: deny }\n";
    let house = &shared.house;
    let other = house.verbs.run(&["org", "create", "careless"]).await;
    let org = other.split_whitespace().next().unwrap();
    let file = house.write("careless.yaml", policy);
    let file = file.to_str().unwrap();
    let reason = ["--reason", "A test.", "--org", org];
    house
        .verbs
        .run(&[["policy", "activate", file, "--new", "--yes"].as_slice(), &reason].concat())
        .await;
    house.verbs.run(&["agent", "create", "careless", "--org", org]).await;
    let key = house.verbs.run(&["key", "create", "--agent", "careless", "--org", org]).await;
    let careless = shared.service.caller(key.trim());
    let body = json!({ "tool": "lab.note", "args": {}, "mode": "proxy", "connector_type": "mcp" });
    let error = careless.send(Request::post("/v1/actions", &body)).await;
    let error = error.error(403, "policy_unavailable", None);
    assert_sealed(&error["action"], "denied");
    drop(caller);
}

#[tokio::test]
async fn a_tool_that_nobody_serves_is_refused_and_sealed() {
    let Some((_, caller)) = caller().await else { return };
    for tool in ["shop.orders.burn", "ships.read", "no tool name"] {
        let error = caller.call(tool, json!({})).await.error(404, "tool_unknown", Some("tool"));
        assert_sealed(&error["action"], "denied");
        assert_eq!(error["action"]["tool"], tool);
        assert_eq!(error["action"]["decision"]["source"], "builtin");
    }
}

#[tokio::test]
async fn a_held_call_waits_for_a_person_and_its_agent_can_cancel_it() {
    let Some((shared, caller)) = caller().await else { return };
    let mark = name();
    let args = json!({ "order": 8, "amount": 51, "reason": mark });
    let answer = caller.call("shop.refunds.create", args).await;
    let held = answer.is(202);
    assert_eq!(held["status"], "pending_approval");
    assert_eq!(held["decision"]["message"], "A refund above 50 needs a person.");
    assert_eq!(held["next_action"]["type"], "await_approval");
    assert_eq!(held["next_action"]["approval"], held["approval"]["id"]);
    assert_eq!(held["deed"], Value::Null);
    let poll = held["next_action"]["poll_url"].as_str().unwrap().replace("wait=25", "wait=0.2");
    assert_eq!(caller.read(&poll).await["status"], "pending_approval");

    let path = format!("/v1/actions/{}/cancel", held["id"].as_str().unwrap());
    let cancelled = caller.send(Request::raw(&path, "")).await.ok();
    assert_sealed(&cancelled, "cancelled");
    assert_eq!(cancelled["approval"]["status"], "cancelled");
    caller.send(Request::raw(&path, "")).await.error(409, "conflict", None);
    let sql = format!("select count(*) from refunds where reason = '{mark}'");
    assert_eq!(shared.house.governed.count(&sql).await, 0);
}

#[tokio::test]
async fn only_the_agent_itself_and_an_org_key_can_cancel_a_held_call() {
    let Some((shared, caller)) = caller().await else { return };
    let args = json!({ "order": 9, "amount": 52, "reason": "broken" });
    let held = caller.call("shop.refunds.create", args).await.is(202);
    let cancel = Request::raw(&format!("/v1/actions/{}/cancel", held["id"].as_str().unwrap()), "");
    let stranger = shared.caller().await;
    stranger.send(cancel.clone()).await.error(404, "not_found", None);
    let org = shared.service.caller(&shared.house.org_key().await);
    assert_sealed(&org.send(cancel).await.ok(), "cancelled");
}

#[tokio::test]
async fn a_spent_budget_refuses_until_its_window_ends() {
    let Some((shared, caller)) = caller().await else { return };
    let mark = name();
    for _ in 0..20 {
        caller.executed("lab.counted", json!({ "mark": mark })).await;
    }
    let answer = caller.call("lab.counted", json!({ "mark": mark })).await;
    let error = answer.error(429, "budget_exceeded", None);
    assert_sealed(&error["action"], "denied");
    let seconds: u32 = answer.header("retry-after").unwrap().parse().unwrap();
    assert!((1..=86_400).contains(&seconds), "{seconds}");
    assert_eq!(shared.house.notes(&mark).await, 20);
}

async fn in_governed_ledger(shared: &SharedHouse, action: &Value) -> usize {
    let id: model::ActionId = action["id"].as_str().unwrap().parse().unwrap();
    let ledger = shared.house.governed_ledger().await;
    ledger.iter().filter(|(entry, kind)| entry == id.as_uuid() && kind == "act").count()
}

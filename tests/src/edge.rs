//! A call that the agent's edge runs, and the edge's report of it.

use serde_json::{Value, json};

use crate::house::{Caller, Request};

/// The body of a call that an edge will run.
pub fn edge_call(args: &Value) -> Value {
    json!({ "tool": "crm.notes.add", "args": args, "mode": "proxy", "connector_type": "mcp" })
}

/// Sends a call that an edge will run and returns its authorised action.
pub async fn authorized(caller: &Caller) -> Value {
    let call = edge_call(&json!({ "text": "hello" }));
    let action = caller.send(Request::post("/v1/actions", &call)).await.ok();
    assert_eq!(action["status"], "authorized", "{action}");
    action
}

/// An edge's report of this action.
pub fn report(action: &Value, more: Value) -> Request {
    let mut body = json!({
        "status": "succeeded",
        "started_at": action["created_at"],
        "finished_at": action["created_at"],
    });
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    Request::post(action["next_action"]["report_url"].as_str().unwrap(), &body)
}

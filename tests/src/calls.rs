//! An agent that calls tools of the shared house.

use serde_json::{Value, json};

use crate::house::{Caller, SharedHouse};

/// The shared house and a caller with an agent of its own.
pub async fn caller() -> Option<(&'static SharedHouse, Caller)> {
    let shared = SharedHouse::get().await?;
    let caller = shared.caller().await;
    Some((shared, caller))
}

/// Fails unless the action has ended like this and has its deed.
pub fn assert_sealed(action: &Value, status: &str) {
    assert_eq!(action["state"], "sealed", "{action}");
    assert_eq!(action["status"], status, "{action}");
    assert!(action["deed"].is_string(), "{action}");
}

/// Writes a note by a call that must be executed.
pub async fn note(caller: &Caller, mark: &str) -> Value {
    caller.executed("lab.note", json!({ "mark": mark })).await
}

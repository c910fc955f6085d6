//! What an agent does while the service dies, and what it does about that afterwards.

use serde_json::{Value, json};

use super::Evidence;
use crate::{
    edge::{edge_call, report},
    house::{Answer, Caller, Request, call},
};

/// What the service is doing when it dies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scene {
    /// It runs a write.
    Write,
    /// It authorises an edge's call and takes the report.
    Edge,
    /// It waits for a report that never comes.
    Lapse,
}

/// How an action was found to have ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The second try ran it, as the first.
    Retried,
    /// Certainly not applied.
    Failed,
    /// Applied, as the governed database says; what the tool answered is lost.
    Settled,
    /// Sealed with its result.
    Sealed,
    /// An edge that did not report.
    Lost,
}

impl Scene {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Write, Self::Edge, Self::Lapse];

    /// The settings that the scene needs.
    pub fn settings(self) -> &'static str {
        match self {
            Self::Write | Self::Edge => "",
            Self::Lapse => "gate: { edge_result_timeout: 1s }\n",
        }
    }

    /// Its name for a table.
    pub fn word(self) -> &'static str {
        match self {
            Self::Write => "write",
            Self::Edge => "edge",
            Self::Lapse => "lapse",
        }
    }

    fn request(self, mark: &str) -> Request {
        let mut body = match self {
            Self::Write => call("lab.note", json!({ "mark": mark })),
            Self::Edge | Self::Lapse => edge_call(&json!({ "mark": mark })),
        };
        body["wait"] = json!(25);
        Request::post("/v1/actions", &body).keyed(mark)
    }

    /// Acts until the service is gone.
    pub async fn play(self, caller: &Caller, mark: &str, evidence: &mut Evidence) {
        let answered = caller.try_send(self.request(mark)).await.ok();
        let action = answered.map(|answer| answer.ok());
        evidence.note(mark, action.clone());
        if let (Self::Edge, Some(action)) = (self, action) {
            let answered = caller.try_send(edge_report(&action)).await.ok();
            evidence.note(mark, answered.map(|answer| answer.ok()));
        }
    }

    /// Does what a client does that got no answer: the same again, under the same keys. Returns
    /// the action as it ended, and whether the second try was its first.
    pub async fn play_again(self, caller: &Caller, mark: &str, evidence: &mut Evidence) -> Value {
        let answer = caller.send(self.request(mark)).await;
        let replayed = is_replay(&answer);
        let mut action = answer.ok();
        evidence.note(mark, Some(action.clone()));
        if self == Self::Edge && action["status"] == "authorized" {
            action = caller.send(edge_report(&action)).await.ok();
            evidence.note(mark, Some(action.clone()));
        }
        while action["state"] != "sealed" {
            let path = format!("/v1/actions/{}?wait=25", action["id"].as_str().unwrap());
            action = caller.get(&path).await.ok();
            evidence.note(mark, Some(action.clone()));
        }
        let mut detail = caller.detail(&action).await;
        detail["replayed"] = json!(replayed);
        detail
    }
}

fn edge_report(action: &Value) -> Request {
    report(action, json!({ "result": "done" })).keyed(action["id"].as_str().unwrap())
}

fn is_replay(answer: &Answer) -> bool {
    answer.header("service-idempotent-replayed").is_some()
}

impl End {
    /// How this action ended.
    pub fn of(detail: &Value) -> Self {
        let execution = &detail["execution"];
        assert_eq!(detail["state"], "sealed", "{detail}");
        match (execution["status"].as_str().unwrap(), execution["error_code"].as_str()) {
            ("failed", Some("instance_lost")) => Self::Failed,
            ("unknown", Some("edge_lost")) => Self::Lost,
            ("succeeded", None) if detail["replayed"] == false => Self::Retried,
            ("succeeded", None) if detail["result"].is_null() => Self::Settled,
            ("succeeded", None) => Self::Sealed,
            other => panic!("ended as {other:?}: {detail}"),
        }
    }
}

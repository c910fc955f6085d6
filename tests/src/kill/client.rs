//! Agents that send one call after the other, whatever becomes of each.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use serde_json::{Value, json};
use tokio::task::JoinHandle;

use super::Evidence;
use crate::house::{Answer, Caller, Request, call};

const CLIENTS: usize = 8;

/// What was sent so far, and what was answered.
#[derive(Debug, Default)]
pub struct Load {
    evidence: Evidence,
    unanswered: Vec<String>,
    runs: usize,
}

/// Clients at work.
#[derive(Debug)]
pub struct Running {
    stop: Arc<AtomicBool>,
    clients: Vec<JoinHandle<Seen>>,
}

/// Each call's key, and its action if it was answered with one.
type Seen = Vec<(String, Option<Value>)>;

impl Load {
    /// Lets the clients send.
    pub fn start(&mut self, caller: &Caller) -> Running {
        self.runs += 1;
        let run = self.runs;
        let stop = Arc::new(AtomicBool::new(false));
        let client = |number| {
            let (caller, stop) = (caller.clone(), Arc::clone(&stop));
            tokio::spawn(async move { client(&caller, &format!("{run}.{number}"), &stop).await })
        };
        let clients = (0..CLIENTS).map(client).collect();
        Running { stop, clients }
    }

    /// Sends every call again that was not answered, until all are, and returns the evidence.
    pub async fn settle(mut self, caller: &Caller) -> Evidence {
        for key in std::mem::take(&mut self.unanswered) {
            let action = loop {
                let answer = caller.send(note(&key)).await;
                if answer.status.is_success() {
                    break answer.json();
                }
                // Its database may still be coming up.
                answer.is(503);
            };
            self.evidence.note(&key, Some(action));
        }
        self.evidence
    }
}

impl Running {
    /// Stops the clients and notes what each saw.
    pub async fn end(self, load: &mut Load) {
        self.stop.store(true, Ordering::Relaxed);
        for client in self.clients {
            for (key, answered) in client.await.unwrap() {
                if answered.is_none() {
                    load.unanswered.push(key.clone());
                }
                load.evidence.note(&key, answered);
            }
        }
    }
}

async fn client(caller: &Caller, name: &str, stop: &AtomicBool) -> Seen {
    let mut seen = Seen::new();
    while !stop.load(Ordering::Relaxed) {
        let key = format!("load {name}.{}", seen.len());
        let answer = caller.try_send(note(&key)).await;
        let gone = answer.is_err();
        let answered: Option<Answer> = answer.ok().filter(|answer| answer.status.is_success());
        seen.push((key, answered.map(|answer| answer.json())));
        if gone {
            break;
        }
    }
    seen
}

fn note(key: &str) -> Request {
    let mut body = call("lab.note", json!({ "mark": key }));
    body["wait"] = json!(25);
    Request::post("/v1/actions", &body).keyed(key)
}

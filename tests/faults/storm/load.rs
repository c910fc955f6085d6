//! Agents and edges at work while faults strike: every call is sent again under its key until it
//! is answered, as a careful client does.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use serde_json::{Value, json};
use tokio::task::JoinHandle;

use super::oracle::Oracle;
use crate::{
    edge::{edge_call, report},
    house::{Caller, House, Request, call},
};

/// Between two calls of a client, and before a call is sent again.
const BREATH: Duration = Duration::from_millis(15);

/// Where a service is now, and what strikes it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Line(Arc<Mutex<(Option<Caller>, String)>>);

impl Line {
    /// A caller of the service, once it has been started.
    pub(crate) fn caller(&self) -> Option<Caller> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).0.clone()
    }

    /// Tells where the service is.
    pub(crate) fn serves(&self, caller: Caller) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).0 = Some(caller);
    }

    /// Tells what strikes from now on; new keys name it.
    pub(crate) fn label(&self, label: &str) {
        label.clone_into(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner).1);
    }

    fn told(&self) -> String {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).1.clone()
    }
}

/// The clients of one service, which outlive it.
#[derive(Debug)]
pub(crate) struct Load {
    stop: Arc<AtomicBool>,
    clients: Vec<JoinHandle<()>>,
}

/// What a client calls for.
#[derive(Debug, Clone, Copy)]
enum Kind {
    Write,
    Counted,
    /// A write that its database refuses, so that what it was charged is given back.
    Refused,
    Edge,
    /// An edge that never reports.
    Lapse,
}

/// What each client does in turn.
const ROUND: [Kind; 8] = [
    Kind::Write,
    Kind::Edge,
    Kind::Write,
    Kind::Counted,
    Kind::Lapse,
    Kind::Write,
    Kind::Refused,
    Kind::Edge,
];

impl Load {
    /// Lets so many clients of this name wait for the first of these services. What it does not
    /// answer they ask of the next one.
    pub(crate) fn start(house: &House, name: &str, clients: usize, lines: &[Line]) -> Self {
        let folder = house.folder().join("oracle");
        std::fs::create_dir_all(&folder).unwrap();
        let stop: Arc<AtomicBool> = Arc::default();
        let client = |number| {
            let name = format!("{name}.{number}");
            let oracle = Oracle::new(&folder, &name);
            let client = Client { name, lines: lines.to_vec(), oracle };
            tokio::spawn(client.work(Arc::clone(&stop), number))
        };
        let clients = (0..clients).map(client).collect();
        Self { stop, clients }
    }

    /// Lets every client end its call, and waits for that.
    pub(crate) async fn end(self) {
        self.stop.store(true, Ordering::Relaxed);
        for client in self.clients {
            client.await.unwrap();
        }
    }
}

struct Client {
    name: String,
    lines: Vec<Line>,
    oracle: Oracle,
}

impl Client {
    async fn work(mut self, stop: Arc<AtomicBool>, first: usize) {
        let mut number = first;
        while !stop.load(Ordering::Relaxed) {
            let label = self.lines[0].told();
            let key = format!("{label}|{}.{number}", self.name);
            self.act(ROUND[number % ROUND.len()], &key).await;
            number += 1;
            tokio::time::sleep(BREATH).await;
        }
    }

    async fn act(&mut self, kind: Kind, key: &str) {
        let mut body = match kind {
            Kind::Write => call("lab.note", json!({ "mark": key })),
            Kind::Counted => call("lab.counted", json!({ "mark": key })),
            Kind::Refused => call("lab.counted", json!({ "mark": "refused by a constraint" })),
            Kind::Edge | Kind::Lapse => edge_call(&json!({ "mark": key })),
        };
        body["wait"] = json!(0.3);
        let request = Request::post("/v1/actions", &body).keyed(key);
        self.oracle.sends(key);
        let Some(action) = self.answered(key, request).await else { return };
        let is_edge = matches!(kind, Kind::Edge);
        if is_edge && action["status"] == "authorized" {
            self.oracle.runs(&action);
            let report =
                report(&action, json!({ "result": "done" })).keyed(&format!("{key} report"));
            self.answered(key, report).await;
        }
    }

    /// The action that answers; nothing when the answer is a conflict, as for a late report.
    async fn answered(&mut self, key: &str, request: Request) -> Option<Value> {
        for line in self.lines.clone().iter().cycle() {
            let answer = match line.caller() {
                Some(caller) => caller.try_send(request.clone()).await.ok(),
                None => None,
            };
            // Whoever asked for what panicked is told that the service failed, and nothing more.
            let is_doubt = |status| status == 503 || status == 500 && key.contains("|panic");
            if let Some(answer) = answer.filter(|answer| !is_doubt(answer.status)) {
                if answer.status == 409 {
                    return None;
                }
                assert!(answer.status.is_success(), "{key}: {answer:?}");
                let action = answer.json();
                self.oracle.is_told(key, &action);
                return Some(action);
            }
            tokio::time::sleep(BREATH).await;
        }
        None
    }
}

//! What a log says of failures that come by the thousand.

use std::{
    io::{self, Write},
    sync::{Arc, Mutex},
    time::Duration,
};

use tokio::time::advance;
use tracing::subscriber::{DefaultGuard, set_default};

use super::*;

#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Vec<u8>>>);

impl Write for Kept {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Keeps what this thread logs while it lives.
struct Log {
    kept: Kept,
    _is_written: DefaultGuard,
}

impl Log {
    fn new(env: Environment) -> Self {
        let kept = Kept::default();
        let writer = kept.clone();
        let layer = lines(env, false, move || writer.clone());
        Self { kept, _is_written: set_default(tracing_subscriber::registry().with(layer)) }
    }

    fn lines(self) -> Vec<String> {
        let bytes = self.kept.0.lock().unwrap().clone();
        String::from_utf8(bytes).unwrap().lines().map(str::to_owned).collect()
    }
}

/// The lines that were written while this was done.
pub(super) fn said(env: Environment, work: impl FnOnce()) -> Vec<String> {
    let log = Log::new(env);
    work();
    log.lines()
}

fn fails(times: usize) {
    for request in 0..times {
        tracing::error!(target: "web::error", request, "a request failed");
    }
}

#[tokio::test(start_paused = true)]
async fn a_thousand_requests_that_fail_are_told_of_in_a_few_lines_and_the_rest_is_counted() {
    for env in [Environment::Prod, Environment::Dev] {
        let log = Log::new(env);
        fails(1_000);
        advance(Duration::from_millis(999)).await;
        fails(1);
        advance(Duration::from_millis(1)).await;
        fails(1);
        let lines = log.lines();
        let [first, left_out, last] = lines.as_slice() else { panic!("{lines:?}") };
        for line in [first, last] {
            assert!(line.contains("a request failed"), "{lines:?}");
        }
        assert_eq!(count(env, left_out), Some(1_000), "{lines:?}");
        for line in &lines {
            let time = time(env, line);
            assert!(time.get(10..11) == Some("T") && time.ends_with('Z'), "no time: {line}");
        }
    }
}

/// The time that stands in a line.
fn time(env: Environment, line: &str) -> String {
    match env {
        Environment::Prod => {
            let line: serde_json::Value = serde_json::from_str(line).unwrap();
            line["timestamp"].as_str().unwrap_or_default().to_owned()
        }
        Environment::Dev => line.split(' ').next().unwrap_or_default().to_owned(),
    }
}

/// How many lines this one says were left out.
fn count(env: Environment, line: &str) -> Option<u64> {
    match env {
        Environment::Prod => {
            let line: serde_json::Value = serde_json::from_str(line).unwrap();
            line.get("left_out")?.as_u64()
        }
        Environment::Dev => line.split_once("left_out=")?.1.parse().ok(),
    }
}

#[test]
fn what_tells_of_one_org_or_of_no_failure_is_never_left_out() {
    let lines = said(Environment::Dev, || {
        for org in 0..50 {
            tracing::error!(target: "records::checker", org, "the log is not as it was sealed");
            tracing::info!(target: "web::router", org, "a request");
            // Not a module of `web`.
            tracing::warn!(target: "webs", org, "something else");
        }
    });
    assert_eq!(lines.len(), 150, "{lines:?}");
}

#[test]
fn each_kind_of_failure_has_a_line_of_its_own() {
    let lines = said(Environment::Dev, || {
        for _ in 0..50 {
            tracing::warn!(target: "ledger::draft", "the store is down");
            tracing::warn!(target: "ledger::commit", "a turn was not appended");
        }
    });
    let of = |what: &str| lines.iter().filter(|line| line.contains(what)).count();
    assert!((1..=3).contains(&of("is down")) && (1..=3).contains(&of("not appended")), "{lines:?}");
}

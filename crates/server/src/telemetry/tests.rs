//! What a log says of failures that come by the thousand.

use std::{
    io::{self, Write},
    sync::{Arc, Mutex},
    time::Duration,
};

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

/// The lines that were written while this was done.
fn said(env: Environment, work: impl FnOnce()) -> Vec<String> {
    let kept = Kept::default();
    let writer = kept.clone();
    let layer = lines(env, false, move || writer.clone());
    tracing::subscriber::with_default(tracing_subscriber::registry().with(layer), work);
    let bytes = kept.0.lock().unwrap().clone();
    String::from_utf8(bytes).unwrap().lines().map(str::to_owned).collect()
}

#[expect(clippy::disallowed_methods, reason = "a line stands for a second by the real clock")]
fn pass(span: Duration) {
    std::thread::sleep(span);
}

fn fails(times: usize) {
    for request in 0..times {
        tracing::error!(target: "web::error", request, "a request could not be answered");
    }
}

#[test]
fn a_thousand_requests_that_fail_are_told_of_in_a_few_lines_and_the_rest_is_counted() {
    for env in [Environment::Prod, Environment::Dev] {
        let lines = said(env, || {
            fails(1_000);
            pass(Duration::from_millis(1_100));
            fails(1);
        });
        assert!((3..=9).contains(&lines.len()), "{lines:?}");
        let left_out: u64 = lines.iter().filter_map(|line| count(env, line)).sum();
        let told = lines.iter().filter(|line| line.contains("could not be answered")).count();
        assert_eq!(left_out + u64::try_from(told).unwrap(), 1_001, "{lines:?}");
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

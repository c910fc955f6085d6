//! Faults strike the service at every named point while agents and edges work, thousands of times
//! if asked to. Afterwards what every client was told, what every edge ran, what the governed
//! database holds and what the record says must agree.
//!
//! `CHANCERY_CRASH_KILLS` says how many faults, about; each once at each point without it.

mod lane;
mod load;
mod oracle;
mod points;

use std::env;

use crate::house::{Site, binaries};
use lane::{Fault, Tally, strike};
use points::POINTS;

/// The faults, and the part of each of a hundred.
const FAULTS: [(Fault, usize); 4] =
    [(Fault::Service, 48), (Fault::Postgres, 16), (Fault::Connections, 22), (Fault::Pause, 14)];

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn no_fault_at_any_point_loses_a_record_or_runs_a_call_twice() {
    if Site::common().await.is_none() {
        return;
    }
    if binaries().is_none_or(|binaries| binaries.failpoints.is_none()) {
        eprintln!("left out: the storm needs `CHANCERY_FAILPOINT_BIN`; `cargo xtask test` sets it");
        return;
    }
    let lanes = FAULTS.map(|(fault, part)| tokio::spawn(strike(fault, rounds(part))));
    let mut tallies = Vec::new();
    for lane in lanes {
        tallies.extend(lane.await.unwrap());
    }
    println!("{}", table(&tallies));
    let found: Vec<_> = tallies.iter().flat_map(|tally| &tally.violations).collect();
    assert!(found.is_empty(), "{found:#?}");
    for Tally { fault, struck, .. } in &tallies {
        let missed: Vec<_> =
            POINTS.iter().filter(|point| !struck.contains_key(point.name)).collect();
        assert!(missed.is_empty(), "{fault:?} never struck at {missed:#?}");
    }
}

/// Returns how often a fault that is this part of all is struck at each point.
fn rounds(part: usize) -> usize {
    let kills = env::var("CHANCERY_CRASH_KILLS").map_or(0, |kills| kills.parse().unwrap());
    // The points of recovery are not struck as often by every fault.
    (kills * part).div_ceil(100 * (POINTS.len() - 2)).max(1)
}

/// Returns the table of what was struck and what was found, as Markdown.
fn table(tallies: &[Tally]) -> String {
    let mut lines = vec![
        "| Point | What has happened | service killed | PostgreSQL killed | connections cut | service paused | violations |"
            .to_owned(),
        "|---|---|---|---|---|---|---|".to_owned(),
    ];
    let at = |tally: &Tally, point: &str| tally.struck.get(point).copied().unwrap_or_default();
    for point in POINTS {
        let struck: Vec<_> =
            tallies.iter().map(|tally| at(tally, point.name).to_string()).collect();
        let is_of = |violation: &&String| violation.contains(&format!("`{}|", point.name));
        let violations = tallies.iter().flat_map(|tally| &tally.violations).filter(is_of).count();
        let struck = struck.join(" | ");
        lines.push(format!("| `{}` | {} | {struck} | {violations} |", point.name, point.what));
    }
    let sum = |tally: &Tally| tally.struck.values().sum::<usize>();
    let sums: Vec<_> = tallies.iter().map(|tally| sum(tally).to_string()).collect();
    let violations: usize = tallies.iter().map(|tally| tally.violations.len()).sum();
    lines.push(format!("| all | | {} | {violations} |", sums.join(" | ")));
    let (calls, faults): (usize, usize) =
        (tallies.iter().map(|tally| tally.calls).sum(), tallies.iter().map(sum).sum());
    lines.push(format!("\n{faults} faults, {calls} calls, {violations} violations"));
    lines.join("\n")
}

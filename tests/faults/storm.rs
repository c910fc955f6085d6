//! Faults strike the service at every named point while agents and edges work, thousands of times
//! if asked to. Afterwards what every client was told, what every edge ran, what the governed
//! database holds and what the record says must agree.
//!
//! `CHANCERY_CRASH_KILLS` says how many faults, about; each once at each point without it.
//! `CHANCERY_CRASH_AT` says how the names of the points begin; all of them without it.
//! `CHANCERY_CRASH_SEED` says in which order the points are struck; an order of its own without it.

mod hooks;
mod lane;
mod load;
mod oracle;
mod points;
mod watch;

use std::{
    env,
    hash::{BuildHasher, Hasher, RandomState},
};

use crate::house::{Site, binaries};
pub(crate) use lane::{Fault, Storm, Tally};
pub(crate) use points::{Point, Way};

use hooks::Posted;
use lane::Lane;
use points::POINTS;

/// The faults, how many services each strikes at a time, and its part of a hundred. What strikes a
/// database strikes every service.
const FAULTS: [(Fault, usize, usize); 6] = [
    (Fault::Service, 2, 48),
    (Fault::Postgres, 1, 16),
    (Fault::Connections, 1, 22),
    (Fault::Pause, 8, 14),
    (Fault::Panic, 1, 16),
    (Fault::Clock, 1, 10),
];

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn no_fault_at_any_point_loses_a_record_or_runs_a_call_twice() {
    let points = asked();
    // The points of recovery are not struck as often by every fault.
    let often = points.iter().filter(|point| point.way != Way::Orphans).count();
    let storms = FAULTS.map(|(fault, services, part)| {
        let rounds = rounds(part, often.max(1));
        Storm { fault, services, struck: services, points, rounds }
    });
    let Some(tallies) = rage(&storms).await else { return };
    println!("{}", table(points, &tallies));
    nothing_was_found_or_missed(points, &tallies);
}

/// The points whose names begin as whoever runs this wants it.
fn asked() -> &'static [Point] {
    let Ok(beginning) = env::var("CHANCERY_CRASH_AT") else { return POINTS };
    let points: Vec<_> =
        POINTS.iter().copied().filter(|point| point.name.starts_with(&beginning)).collect();
    assert!(!points.is_empty(), "no point's name begins with `{beginning}`");
    points.leak()
}

/// What decides in which order the points are struck.
fn seed() -> u64 {
    match env::var("CHANCERY_CRASH_SEED") {
        Ok(seed) => seed.parse().unwrap(),
        Err(_) => RandomState::new().build_hasher().finish(),
    }
}

/// Held by a test of many services that come and go: two at a time would leave no processor for any of them
/// to get to its database in time.
pub(crate) async fn alone() -> tokio::sync::MutexGuard<'static, ()> {
    static ALONE: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());
    ALONE.lock().await
}

/// Lets all storms rage at once and returns what came of each; nothing where the run has not what
/// they need.
pub(crate) async fn rage(storms: &[Storm]) -> Option<Vec<Tally>> {
    let _alone = alone().await;
    Site::common().await?;
    if binaries().is_none_or(|binaries| binaries.failpoints.is_none()) {
        eprintln!("left out: a storm needs `CHANCERY_FAILPOINT_BIN`; `cargo xtask test` sets it");
        return None;
    }
    let seed = seed();
    println!("the order of the faults: seed {seed}");
    // Houses that are built at once leave no processor for a verb to be answered in time.
    let mut lanes = Vec::new();
    for storm in storms {
        lanes.extend(Lane::new(*storm, seed).await);
    }
    let lanes = lanes.into_iter().map(|lane| tokio::spawn(lane::strike(lane)));
    let mut tallies = Vec::new();
    for lane in lanes.collect::<Vec<_>>() {
        tallies.push(lane.await.unwrap());
    }
    Some(tallies)
}

/// Fails the test if there is a violation, or a point that was not struck.
pub(crate) fn nothing_was_found_or_missed(points: &[Point], tallies: &[Tally]) {
    let found: Vec<_> = tallies.iter().flat_map(|tally| &tally.violations).collect();
    assert!(found.is_empty(), "{found:#?}");
    for Tally { fault, struck, .. } in tallies {
        let missed: Vec<_> =
            points.iter().filter(|point| !struck.contains_key(point.name)).collect();
        assert!(missed.is_empty(), "{fault:?} never struck at {missed:#?}");
    }
}

/// How often a fault that is this part of a hundred is struck at each of so many points.
pub(crate) fn rounds(part: usize, points: usize) -> usize {
    let kills = env::var("CHANCERY_CRASH_KILLS").map_or(0, |kills| kills.parse().unwrap());
    (kills * part).div_ceil(100 * points).max(1)
}

/// The table of what was struck and what was found, as Markdown.
pub(crate) fn table(points: &[Point], tallies: &[Tally]) -> String {
    let faults: Vec<_> = tallies.iter().map(|tally| tally.fault.heading()).collect();
    let mut lines = vec![
        format!("| Point | What has happened | {} | violations |", faults.join(" | ")),
        format!("|---|---|{}---|", "---|".repeat(tallies.len())),
    ];
    let at = |tally: &Tally, point: &str| tally.struck.get(point).copied().unwrap_or_default();
    for point in points {
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
    let seen = tallies.iter().map(|tally| format!("{:?}", tally.seen)).collect::<Vec<_>>();
    lines.push(format!("seen from outside: {}", seen.join(", ")));
    if tallies.iter().any(|tally| tally.posted != Posted::default()) {
        let posted = tallies.iter().map(|tally| format!("{:?}", tally.posted)).collect::<Vec<_>>();
        lines.push(format!("arrived at receivers: {}", posted.join(", ")));
    }
    lines.join("\n")
}

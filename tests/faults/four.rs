//! Four services on one org, struck at every point on the way to a sealed deed: killed, alone or
//! with their database, made to panic, or their clocks stepped. What was acknowledged is in the log
//! as it was shown, once, and every checkpoint that was ever handed out is of that log's past.
//!
//! `CHANCERY_CRASH_KILLS` says of how many faults this is a quarter; each once at each point
//! without it.

use crate::storm::{Fault, Point, Storm, Way, nothing_was_found_or_missed, rage, rounds, table};

#[rustfmt::skip]
const SEALING: &[Point] = &[
    Point { name: "turn.signed",         way: Way::Calls, what: "a turn is decided and signed" },
    Point { name: "turn.held",           way: Way::Calls, what: "the head is held in order, the turn on it is not decided" },
    Point { name: "turn.ahead",          way: Way::Calls, what: "the next turn is decided and signed while one is being committed" },
    Point { name: "append.unsent",       way: Way::Calls, what: "a turn's transaction is about to be sent" },
    Point { name: "append.unanswered",   way: Way::Calls, what: "a turn is committed, nobody was told" },
    Point { name: "gate.witnessed",      way: Way::Calls, what: "the run is witnessed, its end is not recorded" },
    Point { name: "gate.sealed",         way: Way::Calls, what: "the end is sealed, the agent was not told" },
    Point { name: "edge.report_parsed",  way: Way::Calls, what: "an edge's report is parsed, nothing of it is recorded" },
    Point { name: "edge.report_overdue", way: Way::Calls, what: "the sweep has found an overdue report" },
    Point { name: "checkpoint.signed",   way: Way::Calls, what: "a checkpoint is signed and kept nowhere" },
    Point { name: "checkpoint.recorded", way: Way::Calls, what: "a checkpoint is kept in the record, not in its file" },
    Point { name: "checkpoint.written",  way: Way::Calls, what: "a checkpoint's file is written and not in its place" },
    Point { name: "seal_key.registered", way: Way::Keys,  what: "a new seal key is registered and not at work" },
    Point { name: "seal_key.activated",  way: Way::Keys,  what: "a new seal key is at work, nothing tells of it" },
    Point { name: "retention.chosen",    way: Way::Start, what: "payloads are about to be removed" },
];

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn four_services_killed_anywhere_on_the_way_to_a_deed_lose_double_and_change_nothing() {
    let storm = |fault, struck, part| {
        let rounds = rounds(part, SEALING.len());
        Storm { fault, services: 4, struck, points: SEALING, rounds }
    };
    let storms = [
        storm(Fault::Service, 4, 13),
        storm(Fault::Postgres, 1, 4),
        storm(Fault::Panic, 2, 4),
        storm(Fault::Clock, 1, 4),
    ];
    let Some(tallies) = rage(&storms).await else { return };
    println!("{}", table(SEALING, &tallies));
    nothing_was_found_or_missed(SEALING, &tallies);
    for seen in tallies.iter().map(|tally| tally.seen) {
        assert!(seen.told > 0 && seen.read > 0 && seen.checkpoints > 0, "{seen:?}");
    }
}

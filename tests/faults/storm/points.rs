//! The points at which faults strike, as a table: their names are those of `failpoint::hit`.

/// A point of the service's life.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Point {
    /// Its name in the code.
    pub(crate) name: &'static str,
    /// How the service is brought there.
    pub(crate) way: Way,
    /// What has happened when it is reached, and what has not.
    pub(crate) what: &'static str,
}

/// What brings the service to a point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// Ordinary calls.
    Calls,
    /// Ordinary calls, of which receivers are told.
    Posts,
    /// Actions whose instance is gone.
    Orphans,
    /// A signal to stop.
    Stop,
    /// A start, which begins with what was left to be done.
    Start,
    /// New keys in the seal key file.
    Keys,
}

#[rustfmt::skip]
pub(crate) const POINTS: &[Point] = &[
    Point { name: "gate.parsed",             way: Way::Calls,   what: "a call is parsed, nothing of it is recorded" },
    Point { name: "gate.budget_charged",     way: Way::Calls,   what: "a turn has charged a call to its budget in memory" },
    Point { name: "turn.signed",             way: Way::Calls,   what: "a turn is decided and signed" },
    Point { name: "turn.ahead",              way: Way::Calls,   what: "the next turn is decided and signed while one is being committed" },
    Point { name: "append.unsent",           way: Way::Calls,   what: "a turn's transaction is about to be sent" },
    Point { name: "append.unanswered",       way: Way::Calls,   what: "a turn is committed, nobody was told" },
    Point { name: "gate.permitted",          way: Way::Calls,   what: "a call is permitted, its tool was not called" },
    Point { name: "connector.before_commit", way: Way::Calls,   what: "the tool's statement ran, its COMMIT is not sent" },
    Point { name: "connector.committed",     way: Way::Calls,   what: "the tool's COMMIT was answered, nobody was told" },
    Point { name: "gate.answered",           way: Way::Calls,   what: "the tool has answered, its answer is not looked at" },
    Point { name: "gate.witnessed",          way: Way::Calls,   what: "the run is witnessed, its end is not recorded" },
    Point { name: "gate.budget_released",    way: Way::Calls,   what: "a turn has given a charge back in memory" },
    Point { name: "gate.sealed",             way: Way::Calls,   what: "the end is sealed, the agent was not told" },
    Point { name: "edge.authorized",         way: Way::Calls,   what: "an edge's call is authorised, the edge was not told" },
    Point { name: "edge.report_parsed",      way: Way::Calls,   what: "an edge's report is parsed, nothing of it is recorded" },
    Point { name: "edge.report_overdue",     way: Way::Calls,   what: "the sweep has found an overdue report" },
    Point { name: "webhook.claimed",         way: Way::Posts,   what: "an endpoint is claimed, nothing is posted to it" },
    Point { name: "webhook.posted",          way: Way::Posts,   what: "an event is posted and taken, that is not noted" },
    Point { name: "webhook.noted",           way: Way::Posts,   what: "what was posted is noted, the endpoint is not let go or disabled" },
    Point { name: "recover.taken",           way: Way::Orphans, what: "an orphaned run is taken over, the tool was not asked" },
    Point { name: "recover.settled",         way: Way::Orphans, what: "the tool has settled an orphaned run, its end is not recorded" },
    Point { name: "stop.begun",              way: Way::Stop,    what: "stopping: requests still end" },
    Point { name: "stop.requests_ended",     way: Way::Stop,    what: "stopping: requests have ended, runs still end" },
    Point { name: "stop.runs_ended",         way: Way::Stop,    what: "stopping: runs have ended, workers go on" },
    Point { name: "stop.ended",              way: Way::Stop,    what: "stopping: everything has ended but the process" },
];

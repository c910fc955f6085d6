//! Compares what a tool reported with the evidence there is and gives a verdict.
//!
//! Pure: the evidence comes in, a [`Finding`] goes out. At L0 the evidence is the report itself and
//! the tool's own declaration; at L1 what a separate reader found of the reported rows, or what an API
//! says of the resource when it is asked once more; at L2 the transaction that the database's change
//! log tells. Every check says what it found, `MISMATCH` beats
//! `UNVERIFIABLE`, which beats `VERIFIED`, and all reasons are listed. What there is no evidence for
//! is never verified.

mod change_log;
mod detail;
mod finding;
mod net;
mod read_back;
mod report;
mod resource;
mod rows;
mod sentence;

use model::{
    Footprint, Level, LogAnswer, Outcome, ReadBack, SideEffect, WitnessMethod, WitnessReason,
};

pub use finding::{Finding, Source};

use finding::Problems;

/// The largest detail that is kept unless told otherwise, in bytes of its canonical form.
pub const MAX_DETAIL_BYTES: usize = 65_536;

/// Everything that is known of a run when it is judged.
#[derive(Debug, Clone, Copy)]
pub struct Evidence<'a> {
    /// What the run came to.
    pub outcome: &'a Outcome,
    /// Who reported it.
    pub reporter: Reporter,
    /// What the tool does to the world, where that was declared.
    pub side_effect: Option<SideEffect>,
    /// The most that the tool said it would change.
    pub footprint: Option<&'a Footprint>,
    /// How much evidence the call needs.
    pub required_level: Level,
    /// What was found beside the report.
    pub seen: Seen<'a>,
    /// The largest detail, in bytes of its canonical form.
    pub max_detail_bytes: usize,
}

/// Who reported a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reporter {
    /// A connector of the service.
    Connector,
    /// The agent's edge.
    Edge,
    /// Nobody.
    Nobody,
}

/// What was found beside the report.
#[derive(Debug, Clone, Copy)]
pub enum Seen<'a> {
    /// Nothing was looked for.
    Nothing,
    /// It was asked for as often as it may be, and nobody answered.
    GaveUp,
    /// What a separate reader found.
    ReadBack(&'a ReadBack),
    /// What the change log tells.
    ChangeLog(&'a LogAnswer),
}

/// The verdict on a run.
pub fn judge(evidence: &Evidence<'_>) -> Finding {
    finding::of(evidence, (level(evidence.seen), method(evidence)), found(evidence))
}

/// What every check comes to.
fn found(evidence: &Evidence<'_>) -> Found {
    let mut found = Found::default();
    report::check(evidence, &mut found.problems);
    match evidence.seen {
        Seen::Nothing => {}
        Seen::GaveUp => {
            found.problems.check("evidence_read").add(WitnessReason::WitnessGaveUp);
        }
        Seen::ReadBack(read) => read_back::check(evidence, read, &mut found),
        Seen::ChangeLog(answer) => change_log::check(evidence, answer, &mut found),
    }
    report::required_level(evidence, level(evidence.seen), &mut found.problems);
    found
}

/// What the checks came to.
#[derive(Debug, Default)]
struct Found {
    problems: Problems,
    rows: Vec<rows::RowFinding>,
    fields: Vec<resource::FieldFinding>,
    sources: Vec<Source>,
}

/// How much evidence there was: a log that does not tell is none.
fn level(seen: Seen<'_>) -> Level {
    match seen {
        Seen::ReadBack(ReadBack::Rows(_) | ReadBack::Resource(_)) => Level::L1,
        Seen::ChangeLog(LogAnswer::Committed(_) | LogAnswer::NeverCommitted { .. }) => Level::L2,
        Seen::Nothing
        | Seen::GaveUp
        | Seen::ReadBack(ReadBack::Unread(_))
        | Seen::ChangeLog(LogAnswer::NotYet { .. } | LogAnswer::Untold(_)) => Level::L0,
    }
}

fn method(evidence: &Evidence<'_>) -> WitnessMethod {
    match (level(evidence.seen), evidence.reporter) {
        (Level::L2, _) => WitnessMethod::ChangeLog,
        (Level::L1, _) => WitnessMethod::ReadBack,
        (Level::L0, Reporter::Connector) => WitnessMethod::Reported,
        (Level::L0, Reporter::Edge) => WitnessMethod::EdgeReported,
        (Level::L0, Reporter::Nobody) => WitnessMethod::None,
    }
}

#[cfg(test)]
mod tests;

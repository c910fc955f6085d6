//! The evidence of a run beside its report.

use model::{Level, LogAnswer, ReadBack};
use witness::Seen;

/// The evidence beside a report, as far as it could be had.
#[derive(Debug, Clone, Default)]
pub(crate) enum Observed {
    /// None was asked for.
    #[default]
    Nothing,
    /// It was asked for as often as it may be, and nobody answered.
    GaveUp,
    ReadBack(ReadBack),
    ChangeLog(LogAnswer),
    /// What the log had told by then of a run that it has nothing more to tell of.
    LastOfLog(LogAnswer),
}

impl Observed {
    /// The evidence for the judge.
    pub(crate) fn seen(&self) -> Seen<'_> {
        match self {
            Self::Nothing => Seen::Nothing,
            Self::GaveUp => Seen::GaveUp,
            Self::ReadBack(read) => Seen::ReadBack(read),
            Self::ChangeLog(answer) | Self::LastOfLog(answer) => Seen::ChangeLog(answer),
        }
    }

    /// Whether the change log did not tell what it may still tell.
    pub(crate) fn may_still_come(&self, required: Level) -> bool {
        match self {
            Self::GaveUp => required == Level::L2,
            Self::ChangeLog(answer) => matches!(answer, LogAnswer::NotYet { .. }),
            Self::Nothing | Self::ReadBack(_) | Self::LastOfLog(_) => false,
        }
    }
}

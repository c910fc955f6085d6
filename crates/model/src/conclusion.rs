//! What people are told of a run's verdict.

use crate::{ExecutionStatus, Level, Verdict};

/// What people are told of a run: its verdict, read beside how much evidence there was, how the run
/// ended and what it changed.
///
/// `VERIFIED` at L0 says that a report is consistent with itself; nobody has looked at anything else.
/// So it is called reported, and verified begins where the report was compared with evidence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Conclusion {
    /// The tool says so, and nobody else was asked.
    Reported,
    /// The run succeeded and changed no row.
    ChangedNothing,
    /// Evidence beside the report agrees with it.
    Verified,
    /// The run failed, and evidence beside its report says that nothing of it was applied.
    NotApplied,
    /// Report and evidence differ.
    Mismatch,
    /// The evidence does not suffice.
    Unverifiable,
}

impl Conclusion {
    /// Every conclusion.
    pub const ALL: [Self; 6] = [
        Self::Reported,
        Self::ChangedNothing,
        Self::Verified,
        Self::NotApplied,
        Self::Mismatch,
        Self::Unverifiable,
    ];

    /// The conclusion from a verdict at a level. `rows_changed` is the number of rows that a write
    /// reports. A run that failed has no conclusion if only its own report says so.
    ///
    /// ```
    /// use model::{Conclusion, ExecutionStatus::Succeeded, Level, Verdict::Verified};
    ///
    /// let told = |rows, level| Conclusion::of(Succeeded, rows, (Verified, level)).map(Conclusion::word);
    /// assert_eq!(told(Some(1), Level::L0), Some("Reported"));
    /// assert_eq!(told(Some(1), Level::L2), Some("Verified"));
    /// assert_eq!(told(Some(0), Level::L2), Some("Changed nothing"));
    /// ```
    pub fn of(
        run: ExecutionStatus,
        rows_changed: Option<u64>,
        (verdict, level): (Verdict, Level),
    ) -> Option<Self> {
        use ExecutionStatus::{Failed, Running, Succeeded, Unknown};
        match (verdict, run, level) {
            (Verdict::Mismatch, _, _) => Some(Self::Mismatch),
            // Nothing is verified of a run whose end nobody knows.
            (Verdict::Unverifiable, _, _) | (Verdict::Verified, Unknown | Running, _) => {
                Some(Self::Unverifiable)
            }
            (Verdict::Verified, Failed, Level::L0) => None,
            (Verdict::Verified, Failed, Level::L1 | Level::L2) => Some(Self::NotApplied),
            (Verdict::Verified, Succeeded, _) if rows_changed == Some(0) => {
                Some(Self::ChangedNothing)
            }
            (Verdict::Verified, Succeeded, Level::L0) => Some(Self::Reported),
            (Verdict::Verified, Succeeded, Level::L1 | Level::L2) => Some(Self::Verified),
        }
    }

    /// The word for people.
    pub fn word(self) -> &'static str {
        match self {
            Self::Reported => "Reported",
            Self::ChangedNothing => "Changed nothing",
            Self::Verified => "Verified",
            Self::NotApplied => "Not applied",
            Self::Mismatch => "Mismatch",
            Self::Unverifiable => "Unverifiable",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verified_is_said_of_what_was_checked_and_true_alone() {
        use ExecutionStatus::{Failed, Running, Succeeded, Unknown};
        for level in [Level::L0, Level::L1, Level::L2] {
            for rows in [None, Some(0), Some(1)] {
                for run in [Succeeded, Failed, Unknown, Running] {
                    let told = Conclusion::of(run, rows, (Verdict::Verified, level));
                    let is_checked = level != Level::L0 && rows != Some(0) && run == Succeeded;
                    assert_eq!(told == Some(Conclusion::Verified), is_checked, "{run} {rows:?}");
                    assert_eq!(
                        told.is_none(),
                        run == Failed && level == Level::L0,
                        "{run} {level}"
                    );
                    let odd = [Verdict::Mismatch, Verdict::Unverifiable];
                    let due = [Conclusion::Mismatch, Conclusion::Unverifiable];
                    let told = odd.map(|verdict| Conclusion::of(run, rows, (verdict, level)));
                    assert_eq!(told, due.map(Some), "what is wrong is said however the run ended");
                }
            }
        }
    }
}

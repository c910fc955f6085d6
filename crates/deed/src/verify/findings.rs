//! What checks came to: records that only the running of a check makes, held against what is
//! required.

use std::collections::BTreeMap;

use super::{
    checks::{Check, CheckId, CheckStatus},
    report::{ArchivedSummary, DeedSummary, Grade, Report, Verdict},
    required::CheckSet,
};

/// Why a check does not pass.
#[derive(Debug)]
pub(super) enum Unmet {
    /// It does not hold.
    Fails(String),
    /// It cannot be decided.
    Open(String),
}

impl From<String> for Unmet {
    fn from(why: String) -> Self {
        Self::Fails(why)
    }
}

/// What the checks of one thing came to: of one deed, or of an input as a whole.
#[derive(Debug, Default)]
pub(super) struct Findings {
    // Invariant: a check is here, or among the faults, only because `run` ran it.
    passed: CheckSet,
    faults: Vec<(CheckId, CheckStatus, String)>,
    // Whether a checkpoint from before vouched for a deed of the log.
    vouched: bool,
}

impl Findings {
    /// Runs a check, notes what it came to, and returns what it lets through.
    ///
    /// There is no other way to note one, so that what was not run is missed in the end.
    pub(super) fn run<T, E: Into<Unmet>>(
        &mut self,
        id: CheckId,
        check: impl FnOnce() -> Result<T, E>,
    ) -> Option<T> {
        let outcome = check();
        #[cfg(test)]
        if left_out::is(id) {
            return outcome.ok();
        }
        match outcome {
            Ok(through) => {
                self.passed.insert(id);
                return Some(through);
            }
            Err(unmet) => self.faults.push(match unmet.into() {
                Unmet::Fails(why) => (id, CheckStatus::Failed, why),
                Unmet::Open(why) => (id, CheckStatus::Undecided, why),
            }),
        }
        None
    }

    /// Whether this check came to something else than it should.
    pub(super) fn is_at_fault(&self, id: CheckId) -> bool {
        self.faults.iter().any(|(fault, _, _)| *fault == id)
    }

    /// Notes that the root of a checkpoint of at least one deed is that of the deeds.
    pub(super) fn vouched(&mut self) {
        self.vouched = true;
    }

    /// The first check that did not pass and why, or one that is required and did not run.
    pub(super) fn unmet(self, required: CheckSet) -> Option<(CheckId, String)> {
        let missing = (required - self.passed).iter().map(|id| (id, NOT_RUN.to_owned())).next();
        self.faults.into_iter().map(|(id, _, why)| (id, why)).next().or(missing)
    }
}

/// What the checks of all things came to.
#[derive(Debug, Default)]
pub(super) struct Account {
    passed: CheckSet,
    missing: CheckSet,
    faults: BTreeMap<CheckId, (CheckStatus, String)>,
    vouched: bool,
    archived: Vec<ArchivedSummary>,
}

impl Account {
    /// Takes over what the checks of one thing came to, of which these are required.
    pub(super) fn settle(&mut self, required: CheckSet, found: Findings) {
        self.passed |= found.passed;
        self.missing |= required - found.passed;
        self.vouched |= found.vouched;
        for (id, status, why) in found.faults {
            self.fault(id, status, why);
        }
    }

    /// Takes over what was found of deeds that come later.
    pub(super) fn absorb(&mut self, later: Self) {
        self.passed |= later.passed;
        self.missing |= later.missing;
        self.vouched |= later.vouched;
        for (id, (status, why)) in later.faults {
            self.fault(id, status, why);
        }
    }

    /// Notes which deeds are archived.
    pub(super) fn note_archived(&mut self, archived: Vec<ArchivedSummary>) {
        self.archived = archived;
    }

    /// Whether this check came to something else than it should.
    pub(super) fn is_at_fault(&self, id: CheckId) -> bool {
        self.faults.contains_key(&id)
    }

    fn fault(&mut self, id: CheckId, status: CheckStatus, why: String) {
        let worst = self.faults.entry(id).or_insert((CheckStatus::Passed, String::new()));
        if status > worst.0 {
            *worst = (status, why);
        }
    }

    /// Closes the account over these deeds.
    ///
    /// Nothing is missed where something else is at fault: what rests on it did not have to run.
    pub(super) fn close(mut self, deeds: Vec<DeedSummary>) -> Result<Verified, Box<Report>> {
        if self.faults.is_empty() {
            for id in self.missing.iter() {
                self.fault(id, CheckStatus::Undecided, NOT_RUN.to_owned());
            }
        }
        let verdict = match self.faults.values().map(|(status, _)| *status).max() {
            None | Some(CheckStatus::Passed) => Verdict::Valid,
            Some(CheckStatus::Undecided) => Verdict::Undecidable,
            Some(CheckStatus::Failed) => Verdict::Invalid,
        };
        if verdict != Verdict::Valid {
            self.archived.iter_mut().for_each(|archived| archived.proved = false);
            return Err(Box::new(self.report(verdict, deeds)));
        }
        let grade = match (self.vouched, self.passed.contains(CheckId::Sequence)) {
            // Whoever says that deeds are archived may say anything of them.
            (_, _) if self.archived.iter().any(|archived| !archived.proved) => Grade::Signed,
            (true, _) => Grade::Checkpointed,
            (false, true) => Grade::Chained,
            (false, false) => Grade::Signed,
        };
        let report = self.report(verdict, deeds);
        Ok(Verified { grade, report: Report { grade: Some(grade), ..report } })
    }

    /// Closes the account of what is no deed at all.
    pub(super) fn malformed(self) -> Report {
        self.report(Verdict::Malformed, Vec::new())
    }

    fn report(self, verdict: Verdict, deeds: Vec<DeedSummary>) -> Report {
        let Self { passed, mut faults, archived, .. } = self;
        for id in passed.iter() {
            faults.entry(id).or_insert((CheckStatus::Passed, String::new()));
        }
        let check = |(id, (status, detail))| Check { id, status, detail };
        let checks = faults.into_iter().map(check).collect();
        Report { verdict, grade: None, checks, deeds, archived }
    }
}

const NOT_RUN: &str = "the check was not run";

/// Deeds that are valid: every check that is required of them ran and passed.
///
/// [`verify`](super::verify) alone makes one, so that whoever is given one need not ask again.
#[derive(Debug)]
pub struct Verified {
    // Invariant: made by `Account::close` alone, of an account in which nothing is at fault and
    // nothing is missing.
    grade: Grade,
    report: Report,
}

impl Verified {
    /// How much was shown.
    pub const fn grade(&self) -> Grade {
        self.grade
    }

    /// The deeds, in the order of the input.
    pub fn deeds(&self) -> &[DeedSummary] {
        &self.report.deeds
    }

    /// The report, for whoever wants to see what was checked.
    pub const fn report(&self) -> &Report {
        &self.report
    }

    /// The report alone, which proves nothing.
    pub fn into_report(self) -> Report {
        self.report
    }
}

/// Leaves a check out, as somebody would who forgot to run it.
#[cfg(test)]
pub(crate) mod left_out {
    use std::cell::Cell;

    use crate::verify::checks::CheckId;

    thread_local! {
        static LEFT_OUT: Cell<Option<CheckId>> = const { Cell::new(None) };
    }

    pub(super) fn is(id: CheckId) -> bool {
        LEFT_OUT.get() == Some(id)
    }

    /// Does the work on this thread with the check left out.
    pub(crate) fn during<T>(id: CheckId, work: impl FnOnce() -> T) -> T {
        LEFT_OUT.set(Some(id));
        let done = work();
        LEFT_OUT.set(None);
        done
    }
}

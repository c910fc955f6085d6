//! A verdict with its reasons, and how the checks come to it.

use std::collections::BTreeSet;

use model::{Digest, Level, Lsn, Verdict, WitnessMethod, WitnessReason};
use serde_json::Value;

use crate::{Evidence, Found, detail, sentence};

/// What the witness found.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// How much evidence the verdict rests on.
    pub level: Level,
    /// How much was asked for.
    pub required_level: Level,
    /// What was found.
    pub verdict: Verdict,
    /// Where the evidence came from.
    pub method: WitnessMethod,
    /// The finding as one sentence.
    pub summary: String,
    /// Why it is no better; empty for `VERIFIED`.
    pub reasons: Vec<WitnessReason>,
    /// The evidence, piece by piece; none where it is the report alone.
    pub sources: Vec<Source>,
    /// The whole finding, with each check and how it went.
    pub detail: Value,
}

impl Finding {
    /// The digest of the detail's canonical form.
    pub fn detail_digest(&self) -> Digest {
        crypto::sha256(crypto::json::canonical(&self.detail))
    }
}

/// A piece of evidence.
#[derive(Debug, Clone, PartialEq)]
pub enum Source {
    /// What a separate reader found.
    ReadBack {
        /// The rows or the resource, as they were found.
        evidence: Value,
    },
    /// What the change log tells.
    ChangeLog {
        /// The transaction, told by its digest and counts, or how far the log was read without one.
        evidence: Value,
        /// Where it begins in the log.
        from: Option<Lsn>,
        /// Where it ends in the log.
        to: Lsn,
    },
}

/// What the checks found, in the order in which they ran.
#[derive(Debug, Default)]
pub(crate) struct Problems {
    checks: Vec<Check>,
    // What the last check found so far.
    open: BTreeSet<WitnessReason>,
}

/// One thing that was looked at.
#[derive(Debug)]
pub(crate) struct Check {
    pub(crate) name: &'static str,
    pub(crate) reasons: Vec<WitnessReason>,
}

impl Problems {
    /// Notes what the check of this name finds from now on.
    pub(crate) fn check(&mut self, name: &'static str) -> &mut Self {
        self.checks.push(Check { name, reasons: Vec::new() });
        self.open.clear();
        self
    }

    /// Notes one more reason of the last check, once.
    pub(crate) fn add(&mut self, reason: WitnessReason) {
        if self.open.insert(reason)
            && let Some(last) = self.checks.last_mut()
        {
            last.reasons.push(reason);
        }
    }

    /// Notes the reason where the check fails.
    pub(crate) fn add_if(&mut self, fails: bool, reason: WitnessReason) {
        if fails {
            self.add(reason);
        }
    }

    /// Every check.
    pub(crate) fn checks(&self) -> &[Check] {
        &self.checks
    }

    /// What they come to together.
    pub(crate) fn verdict(&self) -> Verdict {
        let reasons = self.checks.iter().flat_map(|check| &check.reasons);
        let verdicts = reasons.map(|reason| sentence::verdict(*reason));
        verdicts.max_by_key(|verdict| severity(*verdict)).unwrap_or(Verdict::Verified)
    }

    /// Every reason once, those of a mismatch first.
    fn reasons(&self) -> Vec<WitnessReason> {
        let mut all: Vec<_> = Vec::new();
        for reason in self.checks.iter().flat_map(|check| &check.reasons) {
            if !all.contains(reason) {
                all.push(*reason);
            }
        }
        all.sort_by_key(|reason| std::cmp::Reverse(severity(sentence::verdict(*reason))));
        all
    }
}

/// The finding that the checks come to.
pub(crate) fn of(
    evidence: &Evidence<'_>,
    (level, method): (Level, WitnessMethod),
    found: Found,
) -> Finding {
    let reasons = found.problems.reasons();
    let worst = reasons.first().copied();
    let verdict = found.problems.verdict();
    let summary = sentence::summary((level, evidence.outcome), worst, &found);
    let detail = detail::of(evidence, (level, verdict), &found);
    Finding {
        level,
        required_level: evidence.required_level,
        verdict,
        method,
        summary,
        reasons,
        sources: found.sources,
        detail,
    }
}

fn severity(verdict: Verdict) -> u8 {
    match verdict {
        Verdict::Verified => 0,
        Verdict::Unverifiable => 1,
        Verdict::Mismatch => 2,
    }
}

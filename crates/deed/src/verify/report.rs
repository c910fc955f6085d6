//! What a verifier tells: plain data, for showing. What it proves is [`Verified`](super::Verified).

use std::fmt;

use model::{DeedId, Digest, OrgId, Timestamp};
use serde::Serialize;

use super::checks::{Check, CheckStatus};
use crate::{
    archived::ArchivedDeeds,
    text::{LogOrigin, Thumbprint},
};

/// What the check came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Every check that is required ran and passed.
    Valid,
    /// A check failed.
    Invalid,
    /// Nothing failed, and something could not be checked, or was not.
    Undecidable,
    /// The input is no deed.
    Malformed,
}

/// How much was shown of deeds that are valid, the least first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Grade {
    /// The deeds are signed.
    Signed,
    /// And they follow each other in their log without a gap.
    Chained,
    /// And their log holds what a checkpoint from before vouched for.
    Checkpointed,
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Report {
    /// What the check came to.
    pub verdict: Verdict,
    /// How much was shown; only of deeds that are valid.
    pub grade: Option<Grade>,
    /// Every check that ran, in the order of the list in `docs/deed-format.md`.
    pub checks: Vec<Check>,
    /// The deeds that could be read, in the order of the input.
    pub deeds: Vec<DeedSummary>,
    /// The deeds that are archived, in the order of the input.
    pub archived: Vec<ArchivedSummary>,
}

impl fmt::Display for Report {
    /// Writes the verdict and the first check that did not pass, in one line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.verdict {
            Verdict::Valid => "valid",
            Verdict::Invalid => "invalid",
            Verdict::Undecidable => "undecidable",
            Verdict::Malformed => "malformed",
        })?;
        let worst = self.checks.iter().map(|check| check.status).max();
        let bad =
            |check: &&Check| check.status != CheckStatus::Passed && Some(check.status) == worst;
        match self.checks.iter().find(bad) {
            Some(Check { id, detail, .. }) => write!(f, ": `{}`: {detail}", id.as_str()),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Report {}

/// What a deed is, for a reader of the report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DeedSummary {
    /// Its id.
    pub id: DeedId,
    /// Its kind.
    pub kind: &'static str,
    /// Its org.
    pub org: OrgId,
    /// Whether it is no test.
    pub livemode: bool,
    /// Its log.
    pub log: LogOrigin,
    /// Its place in the log.
    pub seq: u64,
    /// When it was sealed.
    pub issued_at: Timestamp,
    /// Its digest.
    pub digest: Digest,
    /// The key that it names.
    pub key_id: Thumbprint,
    /// What it is about, as `<type> <id>`.
    pub subject: String,
    /// Whether the signed intent that it names came with it; nothing where it names none.
    pub intent: Option<IntentShown>,
}

/// Deeds that the input says to be archived: nothing of them was looked at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ArchivedSummary {
    /// The place of the first of them.
    pub from: u64,
    /// The place behind the last of them.
    pub to: u64,
    /// The name of the partition that they are in.
    pub partition: String,
    /// Whether a checkpoint vouches for their digests. It never does in a report that is not valid.
    pub proved: bool,
}

impl ArchivedSummary {
    /// What is said of archived deeds where checkpoints vouch for a tree of this size.
    pub(super) fn of(deeds: &ArchivedDeeds, vouched: u64) -> Self {
        let ArchivedDeeds { from, to, partition, .. } = deeds;
        Self { from: *from, to: *to, partition: partition.clone(), proved: *to <= vouched }
    }
}

/// Whether a signed intent came with the deed that names it. That it holds is a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum IntentShown {
    /// It did.
    Shown,
    /// It did not: what the agent signed is known by its digest alone.
    NotShown,
}

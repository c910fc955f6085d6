//! Checks deeds offline: bytes and keys in, a report out. No clock, no network, no panic.
//!
//! A verdict never says more than was shown: what could not be checked makes it undecidable, and
//! how much was shown is the grade.

mod checks;
mod deed;
mod input;
mod segment;

use model::{DeedId, Digest, OrgId, Timestamp};
use serde::Serialize;

pub use checks::{Check, CheckId, CheckStatus};

use crate::{
    body::Body,
    keys::KeySet,
    text::{LogOrigin, Thumbprint},
};
use checks::Checks;

/// What the verifier takes for granted.
#[derive(Debug, Clone, Default)]
pub struct Trust {
    /// The published keys.
    pub keys: Option<KeySet>,
    /// A checkpoint that was kept from before, as a signed note.
    pub known_checkpoint: Option<String>,
    /// How many deeds the log must have.
    pub expected_size: Option<u64>,
}

/// What the check came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Every check that applies passed.
    Valid,
    /// A check failed.
    Invalid,
    /// Nothing failed, and something could not be checked.
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
pub struct Report {
    /// What the check came to.
    pub verdict: Verdict,
    /// How much was shown; only of deeds that are valid.
    pub grade: Option<Grade>,
    /// Every check that ran, in the order of the list in `docs/deed-format.md`.
    pub checks: Vec<Check>,
    /// The deeds that could be read, in the order of the input.
    pub deeds: Vec<DeedSummary>,
}

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
}

/// Checks a deed in its API form, a bare DSSE envelope, or JSON lines of either.
pub fn verify(input: &[u8], trust: &Trust) -> Report {
    let mut checks = Checks::default();
    let items = match input::read(input) {
        Ok(items) => items,
        Err(why) => {
            checks.fail(CheckId::Input, why);
            return Report {
                verdict: Verdict::Malformed,
                grade: None,
                checks: checks.into_list(),
                deeds: Vec::new(),
            };
        }
    };
    checks.pass(CheckId::Input);
    let read: Vec<_> =
        items.iter().map(|item| deed::check(item, trust.keys.as_ref(), &mut checks)).collect();
    let whole: Option<Vec<_>> = read.iter().cloned().collect();
    if let Some(links) = whole {
        segment::check(&links, trust, &mut checks);
    }
    let deeds = read.into_iter().flatten().map(|link| link.summary()).collect();
    checks.into_report(deeds)
}

/// A deed's place in its log.
#[derive(Clone)]
struct Link {
    body: Body,
    digest: Digest,
}

impl Link {
    fn summary(&self) -> DeedSummary {
        let Body { id, kind, org, livemode, log, seq, issued_at, key_id, subject, .. } = &self.body;
        DeedSummary {
            id: *id,
            kind: kind.as_str(),
            org: *org,
            livemode: *livemode,
            log: log.clone(),
            seq: *seq,
            issued_at: *issued_at,
            digest: self.digest,
            key_id: key_id.clone(),
            subject: format!("{} {}", subject.kind, subject.id),
        }
    }
}

//! Checks deeds offline: bytes and keys in, a report out. No clock, no network, no panic.
//!
//! A verdict never says more than was shown: what could not be checked makes it undecidable, and
//! how much was shown is the grade.

mod checks;
mod compare;
mod deed;
mod evidence;
mod input;
mod segment;

use model::{DeedId, Digest, OrgId, Timestamp};
use serde::Serialize;

pub use checks::{Check, CheckId, CheckStatus};
pub use compare::{Comparison, compare};
pub use input::envelopes;

use crate::{
    body::Body,
    keys::KeySet,
    parallel,
    text::{LogOrigin, Thumbprint},
};
use checks::Checks;
use input::{Input, Item};

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

/// Checks a deed in its API form, a bare DSSE envelope, JSON lines of either, or a file of
/// evidence.
pub fn verify(input: &[u8], trust: &Trust) -> Report {
    let mut checks = Checks::default();
    let read = match input::read(input) {
        Ok(Input::Deeds(items)) => check_deeds(&items, trust, &mut checks),
        Ok(Input::Evidence(form, items)) => evidence::check(&form, items, trust, &mut checks),
        Err(why) => {
            checks.fail(CheckId::Input, why);
            return checks.into_malformed();
        }
    };
    checks.pass(CheckId::Input);
    checks.into_report(read.iter().map(Link::summary).collect())
}

fn check_deeds(items: &[Item], trust: &Trust, checks: &mut Checks) -> Vec<Link> {
    let links = check_each(items, trust.keys.as_ref(), checks);
    if links.len() == items.len() {
        segment::check(&links, trust, checks);
    }
    links
}

/// Checks each deed by itself and returns those that could be read.
fn check_each(items: &[Item], keys: Option<&KeySet>, checks: &mut Checks) -> Vec<Link> {
    let parts = parallel::parts(items, |part| {
        let mut checks = Checks::default();
        let check = |item| deed::check(item, &mut checks).map(|link| (item, link));
        let read: Vec<_> = part.iter().filter_map(check).collect();
        // Signatures come last and in one go, which keeps the curve's code in the cache.
        for (item, link) in &read {
            deed::check_signature(item, &link.body, keys, &mut checks);
        }
        (read.into_iter().map(|(_, link)| link).collect::<Vec<_>>(), checks)
    });
    let mut links = Vec::with_capacity(items.len());
    for (part, found) in parts {
        links.extend(part);
        checks.absorb(found);
    }
    links
}

/// A deed's place in its log.
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

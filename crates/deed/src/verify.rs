//! Checks deeds offline: bytes and keys in, a proof or a report out. No clock, no network, no panic.
//!
//! A verdict never says more than was shown: what could not be checked makes it undecidable, and
//! so does a required check that did not run. How much was shown is the grade.

mod archived;
mod checks;
mod compare;
mod deed;
mod evidence;
mod findings;
mod input;
mod intents;
mod link;
mod progress;
mod report;
mod required;
mod segment;
mod stored;
mod trust;

pub use checks::{Check, CheckId, CheckStatus};
pub use compare::{Comparison, compare};
pub use findings::Verified;
pub use input::envelopes;
pub use progress::Progress;
pub use report::{ArchivedSummary, DeedSummary, Grade, IntentShown, Report, Verdict};
pub use stored::{Position, Stored, StoredError, VerifiedDeed, verify_stored};
pub use trust::Trust;

use std::collections::BTreeSet;

#[cfg(test)]
pub(crate) use {findings::left_out, required::REQUIRED};

use findings::{Account, Findings};
use input::Input;

/// Checks a deed in its API form, a bare DSSE envelope, JSON lines of either, or a file of
/// evidence.
///
/// What is not valid comes back as the report that says why.
pub fn verify(input: &[u8], trust: &Trust) -> Result<Verified, Box<Report>> {
    verify_telling(input, trust, &mut |_| {})
}

/// Checks like [`verify`] and tells between some thousand deeds and the next how far it has come.
pub fn verify_telling(
    input: &[u8],
    trust: &Trust,
    tell: &mut dyn FnMut(Progress),
) -> Result<Verified, Box<Report>> {
    let (mut account, mut found) = (Account::default(), Findings::default());
    let Some(read) = found.run(CheckId::Input, || input::read(input, tell)) else {
        account.settle(required::Of::Input.checks(), found);
        return Err(Box::new(account.malformed()));
    };
    let links = match &read {
        Input::Deeds(items, archived) => {
            let links = deed::each(items, trust.keys.as_ref(), &mut account, tell);
            if links.len() == items.len() {
                account.note_archived(segment::check(&links, archived, trust, &mut found));
            }
            links
        }
        Input::Evidence(form, items) => {
            evidence::check(form, items, trust, (&mut account, &mut found))
        }
    };
    account.settle(required::of_input(&read, &links, trust), found);
    let signed = match &read {
        Input::Deeds(_, _) => BTreeSet::new(),
        Input::Evidence(form, _) => form.intents.iter().map(|shown| shown.deed).collect(),
    };
    account.close(links.iter().map(|link| link.summary(&signed)).collect())
}

/// Checks like [`verify`] and returns the report, also of what is valid: for showing, not for
/// deciding.
///
/// ```
#[doc = include_str!("doc/shop.md")]
/// let deed = sealer.seal(&mut log, stopped(), org, at)?;
/// // Nobody knows whose signature it is: nothing failed, and nothing is shown.
/// let report = examine(&lines(&[deed]), &Trust::default());
/// assert_eq!(report.verdict, Verdict::Undecidable);
/// assert!(report.to_string().starts_with("undecidable: `key`: "));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn examine(input: &[u8], trust: &Trust) -> Report {
    verify(input, trust).map_or_else(|report| *report, Verified::into_report)
}

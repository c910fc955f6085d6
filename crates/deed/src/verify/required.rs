//! Which checks a valid verdict needs: a table, and for each thing that came in its rows.
//!
//! The table stands in `docs/deed-format.md` and, for other verifiers, in
//! `docs/verifiers/rules.json`; tests hold the three to each other.

use std::ops::{BitOr, BitOrAssign, Sub};

use super::{
    checks::CheckId,
    input::{Input, Item},
    link::Link,
    trust::Trust,
};
use crate::content::Content;

/// What a row of the table is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Of {
    /// Whatever comes in.
    Input,
    /// Each deed.
    Deed,
    /// Each deed in its API form.
    Form,
    /// Each deed with disclosures, and the disclosures of a file of evidence.
    Disclosures,
    /// An input of several deeds.
    Several,
    /// Several deeds sent as lines.
    Chain,
    /// Deeds, no evidence, from the first of their log on.
    Beginning,
    /// An input with an amendment.
    Amendment,
    /// Lines of which some stand for archived deeds.
    Archived,
    /// A file of evidence.
    Evidence,
    /// A file of evidence with signed intents.
    Intents,
    /// An input that is held to a known checkpoint.
    Checkpoint,
    /// An input that is held to an expected size.
    Size,
    /// Each deed that is read back from its log's own store.
    Stored,
}

/// The checks that a valid verdict needs, by what they are required of, and that in words.
pub(crate) const REQUIRED: &[(Of, &str, &[CheckId])] = {
    use CheckId as C;
    &[
        (Of::Input, "whatever comes in", &[C::Input]),
        (
            Of::Deed,
            "each deed",
            &[
                C::Type,
                C::Canonical,
                C::Shape,
                C::Honesty,
                C::KeyId,
                C::Key,
                C::Window,
                C::Revoked,
                C::Signature,
            ],
        ),
        (Of::Form, "each deed in its API form, besides", &[C::Form, C::Digest]),
        (Of::Disclosures, "each deed or file with disclosures", &[C::Disclosures]),
        (Of::Several, "an input of several deeds", &[C::Log, C::Time, C::Unique]),
        (Of::Chain, "several deeds sent as lines, besides", &[C::Sequence, C::Prev]),
        (Of::Beginning, "deeds, no evidence, of which the first has `seq` 0", &[C::Prev]),
        (Of::Amendment, "an input with an amendment", &[C::Amends]),
        (Of::Archived, "lines with archived deeds, besides", &[C::Sequence, C::Prev, C::Archived]),
        (Of::Evidence, "a file of evidence", &[C::Manifest, C::Inclusion]),
        (Of::Intents, "a file of evidence with intents, besides", &[C::Intents]),
        (Of::Checkpoint, "an input held to a known checkpoint", &[C::Checkpoint, C::Root]),
        (Of::Size, "an input held to an expected size", &[C::Size]),
        (
            Of::Stored,
            "each deed that the service reads back from its store, besides",
            &[C::Digest, C::Log, C::Sequence, C::Prev, C::Time],
        ),
    ]
};

/// A set of checks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct CheckSet(u32);

impl CheckSet {
    const fn with(self, check: CheckId) -> Self {
        Self(self.0 | 1 << check as u32)
    }

    pub(super) fn insert(&mut self, check: CheckId) {
        *self = self.with(check);
    }

    pub(super) fn contains(self, check: CheckId) -> bool {
        self.with(check) == self
    }

    /// The checks of the set, in the order of the list.
    pub(super) fn iter(self) -> impl Iterator<Item = CheckId> {
        CheckId::ALL.iter().copied().filter(move |check| self.contains(*check))
    }
}

impl BitOr for CheckSet {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitOrAssign for CheckSet {
    fn bitor_assign(&mut self, other: Self) {
        *self = *self | other;
    }
}

impl Sub for CheckSet {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }
}

impl Of {
    /// The checks of the rows about this.
    pub(super) fn checks(self) -> CheckSet {
        let rows = REQUIRED.iter().filter(|(of, _, _)| *of == self);
        rows.flat_map(|(_, _, checks)| *checks).fold(CheckSet::default(), |set, id| set.with(*id))
    }
}

/// The checks of what holds.
fn all(asked: &[(Of, bool)]) -> CheckSet {
    let asked = asked.iter().filter(|(_, holds)| *holds);
    asked.fold(CheckSet::default(), |set, (of, _)| set | of.checks())
}

/// What a deed must pass by itself.
pub(super) fn of_deed(item: &Item) -> CheckSet {
    all(&[
        (Of::Deed, true),
        (Of::Form, item.form.is_some()),
        (Of::Disclosures, !item.disclosures.is_empty()),
    ])
}

/// What the input must pass as a whole, besides what each of its deeds must.
pub(super) fn of_input(input: &Input, links: &[Link], trust: &Trust) -> CheckSet {
    let (several, amends) =
        (links.len() > 1, |link: &Link| matches!(link.body.content, Content::Amendment(_)));
    let begins = links.first().is_some_and(|first| first.body.seq == 0);
    let (evidence, archived) = match input {
        Input::Deeds(_, archived) => (None, !archived.is_empty()),
        Input::Evidence(form, _) => (Some(form), false),
    };
    let signed = evidence.is_some_and(|form| !form.intents.is_empty());
    let disclosed = evidence.is_some_and(|form| !form.disclosures.is_empty());
    all(&[
        (Of::Input, true),
        (Of::Disclosures, disclosed),
        (Of::Several, several),
        (Of::Chain, several && evidence.is_none()),
        (Of::Beginning, begins && evidence.is_none()),
        (Of::Amendment, links.iter().any(amends)),
        (Of::Archived, archived),
        (Of::Evidence, evidence.is_some()),
        (Of::Intents, signed),
        (Of::Checkpoint, trust.known_checkpoint.is_some()),
        (Of::Size, trust.expected_size.is_some()),
    ])
}

//! A deed's place in its log, and how it must fit the one before.

use std::collections::BTreeSet;

use model::{DeedId, Digest, OrgId, Timestamp};

use super::{
    checks::ensure,
    report::{DeedSummary, IntentShown},
};
use crate::{
    archived::ArchivedDeeds, body::Body, chain::genesis_digest, content::Content, text::LogOrigin,
};

/// What one line of a log stands for: a deed, or deeds that are archived.
pub(super) enum Stretch<'a> {
    Deed(&'a Link),
    Archived(&'a ArchivedDeeds),
}

impl<'a> Stretch<'a> {
    /// The lines in their order, where each archived part stands behind so many of the deeds.
    pub(super) fn of(links: &'a [Link], archived: &'a [(usize, ArchivedDeeds)]) -> Vec<Self> {
        let mut all = Vec::with_capacity(links.len() + archived.len());
        let mut archived = archived.iter().peekable();
        for (place, link) in links.iter().enumerate() {
            while let Some((_, deeds)) = archived.next_if(|(behind, _)| *behind <= place) {
                all.push(Self::Archived(deeds));
            }
            all.push(Self::Deed(link));
        }
        all.extend(archived.map(|(_, deeds)| Self::Archived(deeds)));
        all
    }

    /// The place of its first deed.
    pub(super) fn from(&self) -> u64 {
        match self {
            Self::Deed(link) => link.body.seq,
            Self::Archived(deeds) => deeds.from,
        }
    }

    /// The place behind its last deed.
    pub(super) fn end(&self) -> u64 {
        match self {
            Self::Deed(link) => link.body.seq + 1,
            Self::Archived(deeds) => deeds.to,
        }
    }

    /// The digest of its last deed.
    fn last(&self) -> &Digest {
        match self {
            Self::Deed(link) => &link.digest,
            Self::Archived(deeds) => &deeds.last,
        }
    }

    pub(super) fn stands_behind(&self, before: &Self) -> Result<(), String> {
        match (before, self) {
            (Self::Deed(before), Self::Deed(link)) => link.stands_after(before.body.seq),
            _ => ensure(self.from() == before.end(), || {
                format!("deed {} follows deed {}", self.from(), before.end() - 1)
            }),
        }
    }

    /// What an archived deed names as the one before it is not to be seen.
    pub(super) fn names(&self, before: &Self) -> Result<(), String> {
        match self {
            Self::Deed(link) => link.names(before.last()),
            Self::Archived(_) => Ok(()),
        }
    }
}

/// A deed that could be read, in its place.
pub(super) struct Link {
    pub(super) body: Body,
    pub(super) digest: Digest,
}

impl Link {
    /// The deed in the report, where the intents of these deeds came with them.
    pub(super) fn summary(&self, signed: &BTreeSet<DeedId>) -> DeedSummary {
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
            intent: self.names_intent().then(|| {
                if signed.contains(id) { IntentShown::Shown } else { IntentShown::NotShown }
            }),
        }
    }

    fn names_intent(&self) -> bool {
        match &self.body.content {
            Content::Action(action) => action.intent.jws.is_some(),
            Content::Admin(_) | Content::Amendment(_) => false,
        }
    }

    pub(super) fn starts_right(&self) -> Result<(), String> {
        ensure(self.body.prev == genesis_digest(&self.body.log), || {
            "deed 0: `prev` is not the genesis digest of its log".to_owned()
        })
    }

    pub(super) fn is_of(&self, log: &LogOrigin, org: OrgId) -> Result<(), String> {
        ensure((log, org) == (&self.body.log, self.body.org), || {
            format!("deed {} is of another log or org than the previous deed", self.body.seq)
        })
    }

    pub(super) fn stands_after(&self, last: u64) -> Result<(), String> {
        let next = self.body.seq;
        ensure(next == last + 1, || format!("deed {next} follows deed {last}"))
    }

    pub(super) fn names(&self, before: &Digest) -> Result<(), String> {
        ensure(self.body.prev == *before, || {
            format!("deed {}: `prev` is not the digest of the deed before", self.body.seq)
        })
    }

    pub(super) fn is_issued_since(&self, before: Timestamp) -> Result<(), String> {
        ensure(before <= self.body.issued_at, || {
            format!("deed {} was issued before the one that it follows", self.body.seq)
        })
    }
}

//! A deed's place in its log, and how it must fit the one before.

use std::collections::BTreeSet;

use model::{DeedId, Digest, OrgId, Timestamp};

use super::{
    checks::ensure,
    report::{DeedSummary, IntentShown},
};
use crate::{body::Body, chain::genesis_digest, content::Content, text::LogOrigin};

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
            format!("deed {} is of another log or org than the one before", self.body.seq)
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

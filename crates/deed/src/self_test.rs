//! The self-test that a service runs before it seals anything: one specimen of each kind, sealed
//! and then checked as a stranger would.

use std::{
    fmt::Write,
    sync::atomic::{AtomicU8, Ordering},
};

use model::{Entropy, Mint, OrgId, Timestamp};

use crate::{
    body::BodyError,
    chain::ChainHead,
    content::Amended,
    form,
    seal::{SealError, Sealed, Sealer},
    specimen::{self, Specimen},
    verify::{self, Grade, Trust},
};

const NO_SPECIMEN: SealError = SealError::SelfTest("the specimens");

impl Sealer {
    /// Seals a specimen of each kind with the keys of this moment and verifies the log that they
    /// make, and that both ways to the canonical form agree on every body.
    pub fn self_test(&self, at: Timestamp) -> Result<(), SealError> {
        let counter = Counter(AtomicU8::new(0));
        let mint = Mint::new(at, &counter);
        let log = specimen::log(&mint).ok_or(NO_SPECIMEN)?;
        let mut desk =
            Desk { sealer: self, org: specimen::org(&mint), head: ChainHead::genesis(log) };
        let mut lines = String::new();
        let action = specimen::action(&mint).ok_or(NO_SPECIMEN)?;
        let subject = action.0.subject.clone();
        let first = desk.seal(action, at, &mut lines)?;
        desk.seal(specimen::admin(&mint), at, &mut lines)?;
        let amends = Amended { id: first.id, digest: first.digest, seq: first.seq };
        let amendment = specimen::amendment(&mint, amends, subject).ok_or(NO_SPECIMEN)?;
        desk.seal(amendment, at, &mut lines)?;
        let trust = Trust {
            keys: Some(self.registered().as_ref().clone()),
            known_checkpoint: Some(self.checkpoint(&desk.head, at)?),
            expected_size: Some(3),
        };
        match verify::verify(lines.as_bytes(), &trust) {
            Ok(verified) if verified.grade() == Grade::Checkpointed => Ok(()),
            Ok(_) | Err(_) => Err(SealError::SelfTest("the verifier")),
        }
    }
}

/// Seals specimens one after the other.
struct Desk<'a> {
    sealer: &'a Sealer,
    org: OrgId,
    head: ChainHead,
}

impl Desk<'_> {
    fn seal(
        &mut self,
        (draft, disclosures): Specimen,
        at: Timestamp,
        lines: &mut String,
    ) -> Result<Sealed, SealError> {
        let sealed = self.sealer.seal(&mut self.head, draft, self.org, at)?;
        let value = crypto::json::parse(sealed.body.as_bytes())
            .map_err(|error| BodyError::Json(error.to_string()))?;
        if crypto::json::canonical_generally(&value) != sealed.body.as_bytes() {
            return Err(SealError::SelfTest("the canonical form"));
        }
        let form = form::api_form(&sealed.body, &sealed.signature, &disclosures)?;
        // Writing to a string cannot fail.
        let _ = writeln!(lines, "{form}");
        Ok(sealed)
    }
}

/// Distinct bytes without randomness.
struct Counter(AtomicU8);

impl Entropy for Counter {
    fn fill(&self, buffer: &mut [u8]) {
        buffer.fill(self.0.fetch_add(1, Ordering::Relaxed));
    }
}

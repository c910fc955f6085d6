//! The self-test that a service runs before it seals anything: one deed of each kind with every
//! member filled, sealed and then checked as a stranger would.

use std::fmt::Write;

use model::{OrgId, Timestamp};
use serde::Deserialize;

use crate::{
    body::{Body, error::BodyError},
    chain::ChainHead,
    commitment::Disclosure,
    content::{Amended, Content, Draft},
    form,
    seal::{SealError, Sealer},
    verify::{Grade, Trust, verify},
};

/// The deeds, one a line; a test writes them.
const DEEDS: &str = include_str!("self_test/deeds.jsonl");

/// One deed as the list has it.
#[derive(Deserialize)]
struct Listed {
    body: Body,
    disclosures: Vec<String>,
}

impl Sealer {
    /// Seals a deed of each kind with the keys of this moment and verifies the log that they make,
    /// and that both ways to the canonical form agree on every body.
    pub fn self_test(&self, at: Timestamp) -> Result<(), SealError> {
        let listed = DEEDS.lines().map(serde_json::from_str).collect::<Result<Vec<Listed>, _>>();
        let listed = listed.map_err(|_| SealError::SelfTest("the list of deeds"))?;
        let first = listed.first().ok_or(SealError::SelfTest("the list of deeds"))?;
        let mut desk = Desk {
            sealer: self,
            org: first.body.org,
            head: ChainHead::genesis(first.body.log.clone()),
            amended: None,
        };
        let (mut lines, many) = (String::new(), listed.len() as u64);
        for deed in listed {
            let form = desk.seal(deed, at)?;
            // Writing to a string cannot fail.
            let _ = writeln!(lines, "{form}");
        }
        let trust = Trust {
            keys: Some(self.registered().as_ref().clone()),
            known_checkpoint: Some(self.checkpoint(&desk.head, at)?),
            expected_size: Some(many),
        };
        match verify(lines.as_bytes(), &trust) {
            Ok(verified) if verified.grade() == Grade::Checkpointed => Ok(()),
            Ok(_) | Err(_) => Err(SealError::SelfTest("the verifier")),
        }
    }
}

/// Seals the deeds one after the other.
struct Desk<'a> {
    sealer: &'a Sealer,
    org: OrgId,
    head: ChainHead,
    // The log's first deed, which the amendment amends as it was sealed now.
    amended: Option<Amended>,
}

impl Desk<'_> {
    fn seal(&mut self, deed: Listed, at: Timestamp) -> Result<serde_json::Value, SealError> {
        let Body { id, livemode, actor, subject, mut content, .. } = deed.body;
        if let (Content::Amendment(amendment), Some(amended)) = (&mut content, self.amended) {
            amendment.amends = amended;
        }
        let draft = Draft { id, livemode, actor, subject, content };
        let sealed = self.sealer.seal(&mut self.head, draft, self.org, at)?;
        self.amended.get_or_insert_with(|| Amended::from(&sealed));
        let value = crypto::json::parse(sealed.body.as_bytes())
            .map_err(|error| BodyError::Json(error.to_string()))?;
        if crypto::json::canonical_generally(&value) != sealed.body.as_bytes() {
            return Err(SealError::SelfTest("the canonical form"));
        }
        let opened = deed.disclosures.into_iter().map(Disclosure::from_text);
        let opened = opened.collect::<Result<Vec<_>, _>>();
        let opened = opened.map_err(|_| SealError::SelfTest("the list of deeds"))?;
        Ok(form::api_form(&sealed.body, &sealed.signature, &opened)?)
    }
}

//! Checks the deeds of a log in the log's own store, one after the other, by the rules that hold
//! for a deed anywhere.

use model::{Digest, OrgId, Timestamp};

use super::{
    checks::{CheckId, ensure},
    deed,
    findings::Findings,
    input::Item,
    link::Link,
    required::Of,
};
use crate::{body::Body, dsse::DEED_TYPE, keys::KeySet, text::LogOrigin};

/// A deed as a store keeps it.
#[derive(Debug, Clone, Copy)]
pub struct Stored<'a> {
    /// The bytes that were signed.
    pub body: &'a str,
    /// Their digest, as it is kept beside them.
    pub digest: Digest,
    /// The key that signed, as it is kept beside them.
    pub key_id: &'a str,
    /// The signature.
    pub signature: &'a [u8; 64],
}

/// Where a deed must stand.
#[derive(Debug, Clone, Copy)]
pub struct Position<'a> {
    /// The org.
    pub org: OrgId,
    /// The log.
    pub log: &'a LogOrigin,
    /// The place in it.
    pub seq: u64,
    /// The digest and the time of the deed before; absent for the first of the log.
    pub before: Option<(Digest, Timestamp)>,
}

/// A deed that holds in its place: every check that is required of a stored deed ran and passed.
///
/// [`verify_stored`] alone makes one.
#[derive(Debug)]
pub struct VerifiedDeed {
    // Invariant: made by `verify_stored` alone.
    body: Body,
}

impl VerifiedDeed {
    /// What the deed says.
    pub const fn body(&self) -> &Body {
        &self.body
    }
}

/// A stored deed that does not hold.
#[derive(Debug, thiserror::Error)]
#[error("`{}`: {why}", check.as_str())]
#[non_exhaustive]
pub struct StoredError {
    /// The first check that did not pass.
    pub check: CheckId,
    /// Why.
    pub why: String,
    /// What the deed says, where it can be read.
    pub body: Option<Box<Body>>,
}

/// Checks a stored deed against its place and the published keys.
///
/// It reads no deed but this one. That no id stands twice and that amendments fit what they amend
/// is for [`verify`](super::verify), which sees a log as a whole.
///
/// ```
#[doc = include_str!("../doc/shop.md")]
/// let deed = sealer.seal(&mut log, stopped(), org, at)?;
/// let (body, key_id) = (deed.body.as_str(), deed.key_id.as_str());
/// let stored = Stored { body, digest: deed.digest, key_id, signature: &deed.signature };
/// let place = Position { org, log: log.log(), seq: 0, before: None };
/// let verified = verify_stored(&stored, &place, &sealer.registered())?;
/// assert_eq!(verified.body().id, deed.id);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn verify_stored(
    stored: &Stored<'_>,
    place: &Position<'_>,
    keys: &KeySet,
) -> Result<VerifiedDeed, StoredError> {
    let item = Item {
        payload: stored.body.as_bytes().to_vec(),
        payload_type: DEED_TYPE.to_owned(),
        key_id: stored.key_id.to_owned(),
        signature: stored.signature.to_vec(),
        form: None,
        disclosures: Vec::new(),
    };
    let mut found = Findings::default();
    found.run(CheckId::Digest, || {
        let digest = crypto::sha256(stored.body);
        ensure(digest == stored.digest, || {
            format!("expected the digest `{digest}`, got `{}`", stored.digest)
        })
    });
    let link = deed::check(&item, &mut found);
    if let Some(link) = &link {
        check_place(link, place, &mut found);
        deed::check_signature(&item, &link.body, Some(keys), &mut found);
    }
    let body = link.map(|link| link.body);
    match (found.unmet(Of::Deed.checks() | Of::Stored.checks()), body) {
        (None, Some(body)) => Ok(VerifiedDeed { body }),
        (Some((check, why)), body) => {
            // Which deed it is, the caller knows.
            let named = body.as_ref().map(|body| format!("deed {}: ", body.seq));
            let why = why.strip_prefix(&named.unwrap_or_default()).unwrap_or(&why).to_owned();
            Err(StoredError { check, why, body: body.map(Box::new) })
        }
        // What was not read has not passed the check of its shape either.
        (None, None) => Err(StoredError { check: CheckId::Shape, why: String::new(), body: None }),
    }
}

fn check_place(link: &Link, place: &Position<'_>, found: &mut Findings) {
    let Position { org, log, seq, before } = place;
    found.run(CheckId::Log, || link.is_of(log, *org));
    found.run(CheckId::Sequence, || {
        ensure(link.body.seq == *seq, || format!("deed {} is stored at {seq}", link.body.seq))
    });
    found.run(CheckId::Prev, || match before {
        Some((digest, _)) => link.names(digest),
        None => link.starts_right(),
    });
    found.run(CheckId::Time, || match before {
        Some((_, since)) => link.is_issued_since(*since),
        None => Ok(()),
    });
}

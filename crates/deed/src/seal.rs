//! Sealing: a draft gets its place in a log, a signature, and a check of both.
//!
//! Whatever is wrong, nothing is sealed: the key must be registered and in its time, and every
//! deed is verified with the public key before it leaves.

use std::sync::{Arc, PoisonError, RwLock};

use model::{DeedId, DeedKind, Digest, OrgId, Timestamp};

use crate::{
    body::{Body, BodyError, Format},
    chain::ChainHead,
    checkpoint::Checkpoint,
    commitment::Disclosure,
    content::{Amended, Content, Draft},
    dsse::{self, Envelope},
    form,
    honesty::{self, HonestyError},
    key_file::{PrivateKey, SealKeys},
    keys::{KeySet, KeySetError, Purpose, SealKey},
    note::NoteError,
    parallel,
    text::Thumbprint,
    tree::Node,
};

/// Why nothing was sealed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SealError {
    /// No loaded key is registered and in its time.
    #[error("no loaded {purpose} key is registered and active at {at}", purpose = .purpose.as_str())]
    NoKey {
        /// What was to be signed.
        purpose: Purpose,
        /// When.
        at: Timestamp,
    },
    /// The time lies before the log's last deed.
    #[error("a deed of {at} cannot follow one of {last}")]
    Backdated {
        /// The new deed's time.
        at: Timestamp,
        /// The last deed's time.
        last: Timestamp,
    },
    /// The deed claims what it may not.
    #[error(transparent)]
    Dishonest(#[from] HonestyError),
    /// The body cannot be written.
    #[error(transparent)]
    Body(#[from] BodyError),
    /// A checkpoint cannot be written.
    #[error(transparent)]
    Note(#[from] NoteError),
    /// There is nothing to show.
    #[error("expected at least one deed to make evidence of")]
    NoExhibits,
    /// What was signed does not verify: the machine is broken.
    #[error("the deed that was just signed does not verify: {0}")]
    SelfCheck(&'static str),
    /// A deed of the self-test did not seal and verify as it must.
    #[error("the self-test of sealing failed at {0}")]
    SelfTest(&'static str),
}

/// A sealed deed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sealed {
    /// The deed's id.
    pub id: DeedId,
    /// Its kind.
    pub kind: DeedKind,
    /// Its place in the log, from 0.
    pub seq: u64,
    /// When it was sealed.
    pub issued_at: Timestamp,
    /// The exact bytes that were signed.
    pub body: String,
    /// SHA-256 of the body.
    pub digest: Digest,
    /// The signature over the body's DSSE frame.
    pub signature: [u8; 64],
    /// The key that signed.
    pub key_id: Thumbprint,
    /// The nodes of the log's tree that are complete with this deed, to be stored.
    pub new_nodes: Vec<Node>,
}

impl Sealed {
    /// The deed in the form in which the API hands it out, with what opens its commitments.
    pub fn form(&self, disclosures: &[Disclosure]) -> Result<serde_json::Value, BodyError> {
        form::api_form(&self.body, &self.signature, disclosures)
    }

    /// The deed as a bare DSSE envelope.
    pub fn envelope(&self) -> Envelope {
        Envelope::new(dsse::DEED_TYPE, &self.body, (&self.key_id, &self.signature))
    }
}

impl From<&Sealed> for Amended {
    fn from(deed: &Sealed) -> Self {
        Self { digest: deed.digest, id: deed.id, seq: deed.seq }
    }
}

/// The seal keys at work. They may be exchanged while others seal: each deed is sealed and checked
/// with one state of them.
#[derive(Debug)]
pub struct Sealer {
    at_work: RwLock<Arc<AtWork>>,
}

/// Private keys and what is published of all keys, as they stand together.
#[derive(Debug, Clone)]
struct AtWork {
    keys: Arc<Vec<PrivateKey>>,
    registered: Arc<KeySet>,
}

impl Sealer {
    /// The sealer with these private keys; only those that are registered will sign.
    pub fn new(keys: SealKeys, registered: KeySet) -> Self {
        let (keys, registered) = (Arc::new(keys.into_keys()), Arc::new(registered));
        Self { at_work: RwLock::new(Arc::new(AtWork { keys, registered })) }
    }

    /// The sealer whose own keys are the only registered ones, from this moment on.
    pub fn alone(keys: SealKeys, since: Timestamp) -> Result<Self, KeySetError> {
        let registered = keys.key_set(since)?;
        Ok(Self::new(keys, registered))
    }

    /// Puts the keys of another sealer to work in place of these.
    pub fn replace(&self, other: &Self) {
        self.put(other.now());
    }

    /// Goes by this set of registered keys from now on, with the same private keys.
    pub fn register(&self, registered: KeySet) {
        let keys = Arc::clone(&self.now().keys);
        self.put(Arc::new(AtWork { keys, registered: Arc::new(registered) }));
    }

    /// Whether a loaded key other than this one will count at that time.
    pub fn has_another(&self, than: &SealKey, at: Timestamp) -> bool {
        self.now().signers(than.purpose, at).any(|key| key.kid != than.kid())
    }

    fn now(&self) -> Arc<AtWork> {
        // Whoever panicked while holding the lock had not begun to write.
        Arc::clone(&self.at_work.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn put(&self, other: Arc<AtWork>) {
        *self.at_work.write().unwrap_or_else(PoisonError::into_inner) = other;
    }

    /// Seals the draft as the log's next deed and moves the head on.
    ///
    /// The head stays where it was when nothing is sealed.
    pub fn seal(
        &self,
        head: &mut ChainHead,
        draft: Draft,
        org: OrgId,
        issued_at: Timestamp,
    ) -> Result<Sealed, SealError> {
        let at_work = self.now();
        let signer = at_work.signer(Purpose::Deed, issued_at)?;
        let (next, deed) = place(head, draft, org, (issued_at, &signer.kid))?;
        let signature = at_work.sign(&deed, signer)?;
        *head = next;
        Ok(deed.signed(signature))
    }

    /// Seals the drafts as the log's next deeds, all or none, and moves the head on.
    ///
    /// A deed names the body of the one before and not its signature, so that signatures, which
    /// cost the most by far, are made on all cores.
    ///
    /// ```
    #[doc = include_str!("doc/shop.md")]
    /// let drafts = vec![stopped(), stopped(), stopped()];
    /// let deeds = sealer.seal_all(&mut log, drafts, org, at)?;
    /// assert_eq!(verify(&lines(&deeds), &trust)?.grade(), Grade::Chained);
    /// // One that is missing in the middle is missed.
    /// let cut = [deeds[0].clone(), deeds[2].clone()];
    /// assert_eq!(verify(&lines(&cut), &trust).unwrap_err().verdict, Verdict::Invalid);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn seal_all(
        &self,
        head: &mut ChainHead,
        drafts: Vec<Draft>,
        org: OrgId,
        issued_at: Timestamp,
    ) -> Result<Vec<Sealed>, SealError> {
        let at_work = self.now();
        let signer = at_work.signer(Purpose::Deed, issued_at)?;
        let mut last = head.clone();
        let mut deeds = Vec::with_capacity(drafts.len());
        for draft in drafts {
            let (next, deed) = place(&last, draft, org, (issued_at, &signer.kid))?;
            last = next;
            deeds.push(deed);
        }
        let sign = |deed: &Unsigned| at_work.sign(deed, signer);
        let signatures = parallel::parts(&deeds, |part| part.iter().map(sign).collect::<Vec<_>>());
        let pairs = deeds.into_iter().zip(signatures.into_iter().flatten());
        let sealed = pairs.map(|(deed, signature)| Ok(deed.signed(signature?)));
        let sealed = sealed.collect::<Result<Vec<_>, SealError>>()?;
        *head = last;
        Ok(sealed)
    }

    /// The head's checkpoint as a note signed with the key of this moment.
    ///
    /// ```
    #[doc = include_str!("doc/shop.md")]
    /// let mut deeds = sealer.seal_all(&mut log, vec![stopped(), stopped()], org, at)?;
    /// let kept = sealer.checkpoint(&log, at)?;
    /// deeds.push(sealer.seal(&mut log, stopped(), org, at)?);
    /// let trust = Trust { known_checkpoint: Some(kept), ..trust };
    /// assert_eq!(verify(&lines(&deeds), &trust)?.grade(), Grade::Checkpointed);
    /// // A chain whose end was cut off is still a chain; the checkpoint tells.
    /// assert!(verify(&lines(&deeds[..1]), &trust).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn checkpoint(&self, head: &ChainHead, at: Timestamp) -> Result<String, SealError> {
        let at_work = self.now();
        let key = &at_work.signer(Purpose::Checkpoint, at)?.key;
        let checkpoint = Checkpoint::of(head);
        let note = checkpoint.sign(key)?;
        match Checkpoint::open_with(&note, &at_work.registered) {
            Ok(opened) if opened == checkpoint => Ok(note),
            Ok(_) | Err(_) => Err(SealError::SelfCheck("the checkpoint")),
        }
    }

    /// The registered keys.
    pub fn registered(&self) -> Arc<KeySet> {
        Arc::clone(&self.now().registered)
    }

    /// Signs the payload under its type with the deed key of this moment, which the payload names.
    pub(crate) fn sign(
        &self,
        payload_type: &str,
        at: Timestamp,
        payload: impl FnOnce(&Thumbprint) -> Result<String, SealError>,
    ) -> Result<Envelope, SealError> {
        let at_work = self.now();
        let signer = at_work.signer(Purpose::Deed, at)?;
        let text = payload(&signer.kid)?;
        let signature = signer.key.sign(&dsse::pae(payload_type, text.as_bytes()));
        Ok(Envelope::new(payload_type, &text, (&signer.kid, &signature)))
    }
}

impl AtWork {
    /// The keys that are loaded, registered, and in their time.
    fn signers(&self, purpose: Purpose, at: Timestamp) -> impl Iterator<Item = &PrivateKey> {
        self.keys.iter().filter(move |key| {
            self.registered.find(&key.kid).is_some_and(|entry| entry.admits(purpose, at).is_ok())
        })
    }

    /// The newest of them.
    fn signer(&self, purpose: Purpose, at: Timestamp) -> Result<&PrivateKey, SealError> {
        let activated_at =
            |key: &&PrivateKey| self.registered.find(&key.kid).map(|entry| entry.activated_at);
        self.signers(purpose, at).max_by_key(activated_at).ok_or(SealError::NoKey { purpose, at })
    }

    /// Signs the deed, and checks with public means alone what is about to leave.
    fn sign(&self, deed: &Unsigned, signer: &PrivateKey) -> Result<[u8; 64], SealError> {
        let framed = dsse::pae(dsse::DEED_TYPE, deed.body.as_bytes());
        let signature = signer.key.sign(&framed);
        let key = self.registered.find(&deed.key_id).ok_or(SealError::SelfCheck("the key"))?;
        if !key.public.verifies(&framed, &signature) {
            return Err(SealError::SelfCheck("the signature"));
        }
        if crypto::sha256(&deed.body) != deed.digest {
            return Err(SealError::SelfCheck("the digest"));
        }
        Ok(signature)
    }
}

/// A deed in its place, to be signed.
struct Unsigned {
    id: DeedId,
    kind: DeedKind,
    seq: u64,
    issued_at: Timestamp,
    body: String,
    digest: Digest,
    key_id: Thumbprint,
    new_nodes: Vec<Node>,
}

impl Unsigned {
    fn signed(self, signature: [u8; 64]) -> Sealed {
        let Self { id, kind, seq, issued_at, body, digest, key_id, new_nodes } = self;
        Sealed { id, kind, seq, issued_at, body, digest, signature, key_id, new_nodes }
    }
}

/// The draft as the log's next deed, for this key to sign, and the head after it.
fn place(
    head: &ChainHead,
    draft: Draft,
    org: OrgId,
    (issued_at, key_id): (Timestamp, &Thumbprint),
) -> Result<(ChainHead, Unsigned), SealError> {
    if issued_at < head.issued_at() {
        return Err(SealError::Backdated { at: issued_at, last: head.issued_at() });
    }
    check_draft(&draft, head.size())?;
    let (id, kind, seq) = (draft.id, draft.kind(), head.size());
    let body = Body {
        format: Format::V1,
        id,
        kind,
        org,
        livemode: draft.livemode,
        log: head.log().clone(),
        seq,
        prev: *head.last(),
        issued_at,
        key_id: key_id.clone(),
        actor: draft.actor,
        subject: draft.subject,
        content: draft.content,
    }
    .write()?;
    let digest = crypto::sha256(&body);
    let (next, new_nodes) = head.advance(digest, issued_at);
    let key_id = key_id.clone();
    Ok((next, Unsigned { id, kind, seq, issued_at, body, digest, key_id, new_nodes }))
}

fn check_draft(draft: &Draft, seq: u64) -> Result<(), HonestyError> {
    honesty::check(&draft.actor, &draft.subject, &draft.content)?;
    match &draft.content {
        Content::Amendment(amendment) => honesty::amends_earlier(&amendment.amends, seq),
        Content::Action(_) | Content::Admin(_) => Ok(()),
    }
}

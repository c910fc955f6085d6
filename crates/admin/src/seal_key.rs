//! The public halves of the seal keys, from registration to retirement or revocation, and the set
//! that a verifier trusts.
//!
//! A key must be registered before anything is sealed with it, so the set is kept beside the
//! ledgers: first the set changes, then the deed about it is sealed in the operator's own log.
//! Whoever is cut off between the two asks again, and the deed follows.

use std::time::Duration;

use act::{Changed, Fact, Record};
use deed::{KeySet, SealKey, SealKeys, Standing, Subject, Thumbprint, Word};
use ledger::Needs;
use model::{EventType, Timestamp};
use serde_json::json;

use crate::{Admin, ChangeError, Deployment, OPERATOR_ORG, SealKeyError, SealKeyStore};

/// How long a further key is published before it counts: readers of the key set may keep an old
/// copy for six minutes.
pub const PUBLISHED_BEFORE: Duration = Duration::from_mins(10);

/// How long before a key retires the set must say so, for every instance to know: each reads the
/// set several times in this span.
pub const RETIRED_AFTER: Duration = Duration::from_secs(15);

/// When a further key begins to count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Activation {
    /// Once every reader of the key set had time to see it.
    Ahead,
    /// At once, for when an older key was lost: a reader with an old copy of the set cannot decide
    /// about a new deed until the copy ends.
    AtOnce,
}

/// Why a key is revoked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Revocation {
    /// Why, as a word, such as `key_compromise`.
    pub reason: Word,
    /// Since when somebody else may have had it, where that is known.
    pub compromised_since: Option<Timestamp>,
}

/// The registered keys as they are after a registration, or would be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Registered {
    /// Every key.
    pub set: KeySet,
    /// The keys that were not registered before, or not for this time, to be sealed by
    /// [`Deployment::seal_key_registered`].
    pub new: Vec<SealKey>,
}

/// Registers the loaded keys that are not registered yet, as [`propose_seal_keys`] has them.
pub async fn register_seal_keys(
    store: &dyn SealKeyStore,
    loaded: &SealKeys,
    when: (Timestamp, Activation),
) -> Result<Registered, SealKeyError> {
    let Registered { new, .. } = propose_seal_keys(store, loaded, when).await?;
    put_seal_keys(store, &new).await?;
    Ok(Registered { set: KeySet::new(store.seal_keys().await?)?, new })
}

/// Writes proposed keys into the set, for good.
pub async fn put_seal_keys(store: &dyn SealKeyStore, new: &[SealKey]) -> Result<(), SealKeyError> {
    for key in new {
        store.put_seal_key(key).await?;
    }
    Ok(())
}

/// What registering the loaded keys would come to; nothing is written.
///
/// The first key of a purpose counts from `now` on. A further one is introduced by a loaded older
/// key of its purpose, if one still counts. What is to count at once may be registered already, as
/// long as it does not count yet.
pub async fn propose_seal_keys(
    store: &dyn SealKeyStore,
    loaded: &SealKeys,
    (now, activation): (Timestamp, Activation),
) -> Result<Registered, SealKeyError> {
    let known = KeySet::new(store.seal_keys().await?)?;
    let activated_at = match activation {
        Activation::Ahead => now + PUBLISHED_BEFORE,
        Activation::AtOnce => now,
    };
    let new: Vec<SealKey> = loaded
        .keys()
        .filter(|(_, private)| {
            known.find(&deed::thumbprint(private.public())).is_none_or(|key| match activation {
                Activation::Ahead => false,
                // What does not count yet has signed nothing, so it may as well count now.
                Activation::AtOnce => key.standing(now) == Standing::Published,
            })
        })
        .map(|(purpose, private)| {
            let first = SealKey::new(*private.public(), purpose, now);
            unregistered(&known, loaded, (first, activated_at))
        })
        .collect();
    // Nothing is written that would spoil the set for every reader.
    let kept = known.keys().iter().filter(|key| new.iter().all(|new| new.kid() != key.kid()));
    let set = KeySet::new(kept.chain(&new).cloned().collect())?;
    Ok(Registered { set, new })
}

/// The key as it is to be registered beside those that are known.
fn unregistered(
    known: &KeySet,
    loaded: &SealKeys,
    (first, activated_at): (SealKey, Timestamp),
) -> SealKey {
    let SealKey { public, purpose, activated_at: now, .. } = first;
    if !known.keys().iter().any(|key| key.purpose == purpose) {
        return first;
    }
    // The set lists keys by their activation, and an introduction is by one that stands before.
    let newest = known.keys().iter().map(|key| key.activated_at).filter(|at| *at <= now).max();
    let after = newest.map_or(activated_at, |newest| newest + Duration::from_millis(1));
    let further = SealKey::new(public, purpose, activated_at.max(after));
    let counts = |public| {
        let older = known.find(&deed::thumbprint(public));
        older.is_some_and(|older| older.admits(purpose, now).is_ok())
    };
    match loaded.keys().find(|(_, private)| counts(private.public())) {
        Some((_, older)) => further.introduced(older),
        None => further,
    }
}

impl Admin {
    /// Every registered seal key, or an error when any of them cannot be used: a part of
    /// the set is never given out.
    pub async fn key_set(&self) -> Result<KeySet, SealKeyError> {
        Ok(KeySet::new(self.parts.store.seal_keys().await?)?)
    }
}

impl Deployment<'_> {
    /// Seals in the operator's own log that a key was registered.
    pub async fn seal_key_registered(&self, key: SealKey) -> Result<Changed<SealKey>, ChangeError> {
        self.seal_change(EventType::SealKeyRegistered, key).await
    }

    /// Lets a key count for nothing that is sealed from `at` on; what it sealed before stays
    /// valid.
    pub async fn retire_seal_key(
        &self,
        kid: &Thumbprint,
        at: Timestamp,
    ) -> Result<Changed<SealKey>, SealKeyError> {
        let (key, now) = (self.seal_key(kid).await?, self.admin.parts.clock.now());
        let over = key.retired_at.is_some_and(|retired_at| retired_at <= now);
        if key.revoked_at.is_some() || over && key.retired_at != Some(at) {
            return Err(SealKeyError::Ended(kid.clone()));
        }
        let earliest = (now + RETIRED_AFTER).max(key.activated_at);
        if at < earliest && key.retired_at != Some(at) {
            return Err(SealKeyError::TooSoon { earliest, got: at });
        }
        self.change_key(EventType::SealKeyRetired, at, SealKey { retired_at: Some(at), ..key })
            .await
    }

    /// Lets a key count for nothing, not even for what it sealed before.
    pub async fn revoke_seal_key(
        &self,
        kid: &Thumbprint,
        why: Revocation,
    ) -> Result<Changed<SealKey>, SealKeyError> {
        let (key, now) = (self.seal_key(kid).await?, self.admin.parts.clock.now());
        let revoked = SealKey {
            // The first word about a key stands.
            revoked_at: key.revoked_at.or(Some(now)),
            revocation_reason: key.revocation_reason.clone().or(Some(why.reason)),
            compromised_since: key.compromised_since.or(why.compromised_since),
            ..key
        };
        self.change_key(EventType::SealKeyRevoked, now, revoked).await
    }

    async fn seal_key(&self, kid: &Thumbprint) -> Result<SealKey, SealKeyError> {
        let set = self.admin.key_set().await?;
        set.find(kid).cloned().ok_or_else(|| SealKeyError::Unknown(kid.clone()))
    }

    /// Changes the set and then seals that, unless nothing could be sealed without the key.
    async fn change_key(
        &self,
        event: EventType,
        at: Timestamp,
        key: SealKey,
    ) -> Result<Changed<SealKey>, SealKeyError> {
        let sealer = self.admin.parts.ledger.sealer();
        if !sealer.has_another(&key, at) {
            return Err(SealKeyError::Last(key.kid()));
        }
        self.admin.parts.store.put_seal_key(&key).await?;
        // The deed about a revocation must not be sealed with the revoked key.
        sealer.register(self.admin.key_set().await?);
        self.seal_change(event, key).await.map_err(SealKeyError::NotSealed)
    }

    async fn seal_change(
        &self,
        event: EventType,
        key: SealKey,
    ) -> Result<Changed<SealKey>, ChangeError> {
        self.ensure_operator_org().await?;
        self.org(OPERATOR_ORG)
            .turn(Needs::default(), None, move |_, record| Ok(changed(record, event, &key)))
            .await
    }
}

/// Adds the deed about a seal key, which is kept where it belongs to no org.
pub(crate) fn changed(
    record: &mut Record<'_>,
    event: EventType,
    key: &SealKey,
) -> Changed<SealKey> {
    let kid = key.kid();
    let deed = record.seal(Fact {
        event,
        subject: Subject::seal_key(kid.clone()),
        before: None,
        after: None,
        data: vec![
            ("purpose", json!(key.purpose)),
            ("activated_at", json!(key.activated_at)),
            ("introduced_by", json!(key.introduced_by.as_ref().map(|old| &old.kid))),
            ("retired_at", json!(key.retired_at)),
            ("revoked_at", json!(key.revoked_at)),
            ("revocation_reason", json!(key.revocation_reason)),
            ("compromised_since", json!(key.compromised_since)),
        ],
        object: json!({ "object": "seal_key", "id": kid }),
    });
    Changed { object: key.clone(), deed }
}

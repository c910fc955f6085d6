//! Registering the public halves of the seal keys, and the set that a verifier trusts.
//!
//! A key must be registered before anything is sealed with it, so registration is no turn of a
//! ledger; the deed about it follows in the operator's own log.

use std::time::Duration;

use deed::{KeySet, SealKey, SealKeys};
use model::Timestamp;

use crate::{Admin, By, ChangeError, Changed, OPERATOR_ORG, SealKeyError, SealKeyStore};

/// How long a further key is published before it counts: readers of the key set may keep an old
/// copy for six minutes.
pub const PUBLISHED_BEFORE: Duration = Duration::from_mins(10);

/// The registered keys after a registration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Registered {
    /// Every key.
    pub set: KeySet,
    /// The keys that were not registered before, to be told by [`Admin::seal_key_registered`].
    pub new: Vec<SealKey>,
}

/// Registers the loaded keys that are not registered yet.
///
/// The first key of a purpose counts from `now` on. A further one counts [`PUBLISHED_BEFORE`]
/// later and is introduced by a loaded older key of its purpose, if one still counts.
pub async fn register_seal_keys(
    store: &dyn SealKeyStore,
    loaded: &SealKeys,
    now: Timestamp,
) -> Result<Registered, SealKeyError> {
    let known = KeySet::new(store.seal_keys().await?)?;
    let new: Vec<SealKey> = loaded
        .keys()
        .filter(|(_, private)| known.find(&deed::thumbprint(private.public())).is_none())
        .map(|(purpose, private)| {
            unregistered(&known, loaded, SealKey::new(*private.public(), purpose, now))
        })
        .collect();
    // Nothing is written that would spoil the set for every reader.
    KeySet::new([known.keys(), &new].concat())?;
    for key in &new {
        store.put_seal_key(key).await?;
    }
    Ok(Registered { set: KeySet::new(store.seal_keys().await?)?, new })
}

/// Returns the key as it is to be registered beside those that are known.
fn unregistered(known: &KeySet, loaded: &SealKeys, first: SealKey) -> SealKey {
    let SealKey { public, purpose, activated_at: now, .. } = first;
    if !known.keys().iter().any(|key| key.purpose == purpose) {
        return first;
    }
    let further = SealKey::new(public, purpose, now + PUBLISHED_BEFORE);
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
    /// Returns every registered seal key, or an error when any of them cannot be used: a part of
    /// the set is never given out.
    pub async fn key_set(&self) -> Result<KeySet, SealKeyError> {
        Ok(KeySet::new(self.parts.store.seal_keys().await?)?)
    }

    /// Seals in the operator's own log that a key was registered.
    pub async fn seal_key_registered(&self, key: SealKey) -> Result<Changed<SealKey>, ChangeError> {
        self.ensure_operator_org().await?;
        let operator = self.in_org(OPERATOR_ORG, By::Operator);
        operator
            .turn(ledger::Needs::default(), None, move |_, record| Ok(record.seal_key(&key)))
            .await
    }
}

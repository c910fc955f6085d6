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
/// later and is introduced by a loaded older key of its purpose.
pub async fn register_seal_keys(
    store: &dyn SealKeyStore,
    loaded: &SealKeys,
    now: Timestamp,
) -> Result<Registered, SealKeyError> {
    let mut set = KeySet::new(store.seal_keys().await?)?;
    let mut new = Vec::new();
    for (purpose, private) in loaded.keys() {
        let kid = deed::thumbprint(private.public());
        if set.find(&kid).is_some() {
            continue;
        }
        let key = unregistered(&set, loaded, SealKey::new(*private.public(), purpose, now));
        // The whole set is checked before anything is written.
        set = KeySet::new([set.keys(), std::slice::from_ref(&key)].concat())?;
        new.push(key);
    }
    for key in &new {
        store.put_seal_key(key).await?;
    }
    Ok(Registered { set, new })
}

/// Returns the key as it is to be registered beside those of the set.
fn unregistered(set: &KeySet, loaded: &SealKeys, first: SealKey) -> SealKey {
    let purpose = first.purpose;
    if !set.keys().iter().any(|key| key.purpose == purpose) {
        return first;
    }
    let SealKey { public, activated_at, .. } = first;
    let further = SealKey::new(public, purpose, activated_at + PUBLISHED_BEFORE);
    let older = loaded.keys().find(|(other, private)| {
        *other == purpose && set.find(&deed::thumbprint(private.public())).is_some()
    });
    match older {
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

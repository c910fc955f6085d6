//! The public seal keys: what `/.well-known/service/keys.json` lists and a verifier trusts.
//!
//! The list has one written form, so that its entity tag only changes when a key does. A key's id is
//! its RFC 7638 thumbprint, computed again by every reader.

mod form;
mod key;

use base64::{Engine, engine::general_purpose::STANDARD};

pub use key::{
    INTRODUCTION_TYPE, Introduction, KeySetError, KeyUseError, Purpose, SealKey, Standing,
    thumbprint,
};

use crate::{exact, text::Thumbprint};
use form::{KeyForm, SetForm, SetObject};

/// Every seal key that a deployment ever registered, oldest first.
///
/// ```
#[doc = include_str!("doc/shop.md")]
/// // A new key comes with the word of the one before, for whoever trusts that one.
/// let (old, new) = (SigningKey::from_seed(&[1; 32])?, SigningKey::from_seed(&[3; 32])?);
/// let first = SealKey::new(*old.public(), Purpose::Deed, at);
/// let next = SealKey::new(*new.public(), Purpose::Deed, at).introduced(&old);
/// let published = KeySet::new(vec![first, next])?.to_json();
/// assert_eq!(KeySet::parse(published.as_bytes())?.keys().len(), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct KeySet {
    // Invariant: no key stands twice, and every introduction is by an earlier key and holds.
    keys: Vec<SealKey>,
    // Invariant: the id of each key, at the same place.
    kids: Vec<Thumbprint>,
}

impl KeySet {
    /// The set of these keys, oldest first.
    pub fn new(keys: Vec<SealKey>) -> Result<Self, KeySetError> {
        let mut set = Self::default();
        for key in keys {
            let kid = key.kid();
            if set.find(&kid).is_some() {
                return Err(KeySetError::Twice(kid));
            }
            if !set.vouches_for(&key) {
                return Err(KeySetError::Introduction(kid));
            }
            set.keys.push(key);
            set.kids.push(kid);
        }
        Ok(set)
    }

    /// Reads the list as [`KeySet::to_json`] writes it, in any spacing.
    pub fn parse(text: &[u8]) -> Result<Self, KeySetError> {
        let form = |error: String| KeySetError::Form(error);
        let value = crypto::json::parse(text).map_err(|error| form(error.to_string()))?;
        let set: SetForm = exact::from_value(value).map_err(form)?;
        Self::new(set.keys.into_iter().map(KeyForm::read).collect::<Result<_, _>>()?)
    }

    /// The published text.
    pub fn to_json(&self) -> String {
        let keys = self.keys.iter().map(KeyForm::of).collect();
        let form = SetForm { object: SetObject::SealKeySet, keys };
        // A form of strings and nulls always has a JSON value.
        serde_json::to_value(form).unwrap_or_default().to_string()
    }

    /// The published text's entity tag, quotes included.
    pub fn etag(&self) -> String {
        format!("\"{}\"", crypto::sha256(self.to_json()))
    }

    /// The keys, oldest first.
    pub fn keys(&self) -> &[SealKey] {
        &self.keys
    }

    /// The key with this id.
    pub fn find(&self, kid: &Thumbprint) -> Option<&SealKey> {
        let place = self.kids.iter().position(|known| known == kid)?;
        self.keys.get(place)
    }

    fn vouches_for(&self, key: &SealKey) -> bool {
        let Some(introduction) = &key.introduced_by else { return true };
        let older = self.find(&introduction.kid).filter(|older| older.purpose == key.purpose);
        let signature = STANDARD.decode(&introduction.signature);
        match (older, signature) {
            (Some(older), Ok(signature)) => older.public.verifies(&key.introduction(), &signature),
            (None, _) | (_, Err(_)) => false,
        }
    }
}

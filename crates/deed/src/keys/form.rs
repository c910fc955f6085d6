//! The key set as it is published: a JWK set with members of our own.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use crypto::ed25519::PublicKey;
use model::Timestamp;
use serde::{Deserialize, Serialize};

use super::key::{Introduction, KeySetError, Purpose, SealKey, thumbprint};
use crate::text::{Thumbprint, Word};

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SetForm {
    pub(super) object: SetObject,
    pub(super) keys: Vec<KeyForm>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum SetObject {
    SealKeySet,
}

#[derive(Serialize, Deserialize)]
enum KeyType {
    #[serde(rename = "OKP")]
    Okp,
}

#[derive(Serialize, Deserialize)]
enum Curve {
    Ed25519,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Use {
    Sig,
}

/// One key as a JWK with members of our own; every member is always there.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct KeyForm {
    kty: KeyType,
    crv: Curve,
    alg: Curve,
    #[serde(rename = "use")]
    usage: Use,
    kid: Thumbprint,
    x: String,
    purpose: Purpose,
    activated_at: Timestamp,
    retired_at: Option<Timestamp>,
    revoked_at: Option<Timestamp>,
    revocation_reason: Option<Word>,
    compromised_since: Option<Timestamp>,
    introduced_by: Option<Introduction>,
}

impl KeyForm {
    pub(super) fn of(key: &SealKey) -> Self {
        Self {
            kty: KeyType::Okp,
            crv: Curve::Ed25519,
            alg: Curve::Ed25519,
            usage: Use::Sig,
            kid: key.kid(),
            x: URL_SAFE_NO_PAD.encode(key.public.as_bytes()),
            purpose: key.purpose,
            activated_at: key.activated_at,
            retired_at: key.retired_at,
            revoked_at: key.revoked_at,
            revocation_reason: key.revocation_reason.clone(),
            compromised_since: key.compromised_since,
            introduced_by: key.introduced_by.clone(),
        }
    }

    pub(super) fn read(self) -> Result<SealKey, KeySetError> {
        let why = |why: String| KeySetError::Key { kid: self.kid.clone(), why };
        let x = URL_SAFE_NO_PAD.decode(&self.x).map_err(|_| why("`x` is no base64url".into()))?;
        let public = PublicKey::from_bytes(&x).map_err(|error| why(error.to_string()))?;
        if thumbprint(&public) != self.kid {
            return Err(KeySetError::Thumbprint(self.kid));
        }
        Ok(SealKey {
            public,
            purpose: self.purpose,
            activated_at: self.activated_at,
            retired_at: self.retired_at,
            revoked_at: self.revoked_at,
            revocation_reason: self.revocation_reason,
            compromised_since: self.compromised_since,
            introduced_by: self.introduced_by,
        })
    }
}

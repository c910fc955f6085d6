//! Keys that sign intents, and the proof that somebody has one.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use crypto::ed25519::{PublicKey, SigningKey};
use serde_json::json;

use crate::{ALG, Claims, TYP};

/// A public key by its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Key {
    /// Its RFC 7638 thumbprint.
    pub kid: String,
    /// The key.
    pub public: PublicKey,
}

impl From<PublicKey> for Key {
    fn from(public: PublicKey) -> Self {
        Self { kid: thumbprint(&public), public }
    }
}

/// The key's RFC 7638 thumbprint, by which intents name it.
pub fn thumbprint(key: &PublicKey) -> String {
    let x = encode(key.as_bytes());
    let digest = crypto::sha256(format!(r#"{{"crv":"Ed25519","kty":"OKP","x":"{x}"}}"#));
    encode(digest.as_bytes())
}

/// What whoever adds a key to an agent signs with it.
pub fn proof_message(agent: &str, key: &PublicKey) -> String {
    format!("service-intent-key-v1:{agent}:{}", encode(key.as_bytes()))
}

/// Whether the proof, in base64url, is this key's for this agent.
pub fn proves(agent: &str, key: &PublicKey, proof: &str) -> bool {
    let proof = URL_SAFE_NO_PAD.decode(proof);
    proof.is_ok_and(|proof| key.verifies(proof_message(agent, key).as_bytes(), &proof))
}

/// The intent of these claims.
pub fn sign(claims: &Claims, key: &SigningKey) -> String {
    let header = json!({ "alg": ALG, "kid": thumbprint(key.public()), "typ": TYP });
    sign_raw(&crypto::json::canonical(&header), &crypto::json::canonical(&json!(claims)), key)
}

/// The compact JWS of these bytes, whatever they are.
pub(crate) fn sign_raw(header: &[u8], payload: &[u8], key: &SigningKey) -> String {
    let signed = format!("{}.{}", encode(header), encode(payload));
    let signature = encode(&key.sign(signed.as_bytes()));
    format!("{signed}.{signature}")
}

pub(crate) fn encode(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

//! Signatures as Standard Webhooks has them: `v1,` and base64 of an HMAC-SHA-256 over id, moment and
//! body, one for each secret that counts.

use base64::{Engine, engine::general_purpose::STANDARD};
use crypto::hmac_sha256;

use crate::SigningSecret;

/// The value of `webhook-signature` of a delivery, sent at this second of Unix time.
pub fn signature(secrets: &[SigningSecret], (id, timestamp): (&str, i64), body: &[u8]) -> String {
    let mut signed = format!("{id}.{timestamp}.").into_bytes();
    signed.extend_from_slice(body);
    let one = |secret: &SigningSecret| {
        format!("v1,{}", STANDARD.encode(hmac_sha256(secret.bytes(), &signed)))
    };
    secrets.iter().map(one).collect::<Vec<_>>().join(" ")
}

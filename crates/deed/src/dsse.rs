//! The signed frame: DSSE version 1, one signature.

use base64::{Engine, engine::general_purpose::STANDARD};
use serde::{Deserialize, Serialize};

use crate::text::Thumbprint;

/// The payload type of a deed.
pub const DEED_TYPE: &str = "application/vnd.service.deed.v1+json";

/// The bytes that are signed: DSSE's pre-authentication encoding.
///
/// The payload's type is among them, so that no signature counts for another kind of record.
pub fn pae(payload_type: &str, payload: &[u8]) -> Vec<u8> {
    let head = format!("DSSEv1 {} {payload_type} {} ", payload_type.len(), payload.len());
    let mut framed = Vec::with_capacity(head.len() + payload.len());
    framed.extend_from_slice(head.as_bytes());
    framed.extend_from_slice(payload);
    framed
}

/// A signed payload as DSSE tools exchange it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Envelope {
    /// The exact payload, in base64.
    pub payload: String,
    /// What the payload is.
    #[serde(rename = "payloadType")]
    pub payload_type: String,
    /// The signatures; here always one.
    pub signatures: Vec<EnvelopeSignature>,
}

/// One signature of an [`Envelope`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EnvelopeSignature {
    /// The key that signed.
    pub keyid: Thumbprint,
    /// The signature, in base64.
    pub sig: String,
}

impl Envelope {
    /// The envelope of a payload that this key signed.
    pub fn new(payload_type: &str, payload: &str, signed: (&Thumbprint, &[u8; 64])) -> Self {
        let (keyid, signature) = signed;
        Self {
            payload: STANDARD.encode(payload),
            payload_type: payload_type.to_owned(),
            signatures: vec![EnvelopeSignature {
                keyid: keyid.clone(),
                sig: STANDARD.encode(signature),
            }],
        }
    }
}

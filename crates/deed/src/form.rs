//! The API's form of a deed: the exact signed bytes, and beside them what people want to read.
//!
//! Only `payload` counts. Every other member repeats it or the frame, and a verifier checks that
//! it does.

use base64::{Engine, engine::general_purpose::STANDARD};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    body::{Body, BodyError},
    commitment::Disclosure,
    dsse::DEED_TYPE,
};

/// The API's form of a deed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ApiForm {
    pub(crate) object: Object,
    pub(crate) id: String,
    pub(crate) kind: String,
    pub(crate) body: Value,
    pub(crate) payload_type: String,
    pub(crate) payload: String,
    pub(crate) digest: String,
    pub(crate) signature: FormSignature,
    pub(crate) log: FormLog,
    pub(crate) disclosures: Vec<String>,
}

/// The word that every deed object begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Object {
    Deed,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FormSignature {
    pub(crate) alg: Algorithm,
    pub(crate) key_id: String,
    pub(crate) value: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Algorithm {
    Ed25519,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FormLog {
    pub(crate) origin: String,
    pub(crate) index: u64,
}

/// The API's form of a sealed deed, with the payloads that may still be shown.
///
/// The body is read strictly, so a row that somebody changed is an error and not an answer.
pub fn api_form(
    body: &str,
    signature: &[u8; 64],
    disclosures: &[Disclosure],
) -> Result<Value, BodyError> {
    let read = Body::read(body.as_bytes())?;
    let shape = |error: serde_json::Error| BodyError::Shape(error.to_string());
    let form = ApiForm {
        object: Object::Deed,
        id: read.id.to_string(),
        kind: read.kind.to_string(),
        body: serde_json::from_str(body).map_err(shape)?,
        payload_type: DEED_TYPE.to_owned(),
        payload: STANDARD.encode(body),
        digest: crypto::sha256(body).to_string(),
        signature: FormSignature {
            alg: Algorithm::Ed25519,
            key_id: read.key_id.to_string(),
            value: STANDARD.encode(signature),
        },
        log: FormLog { origin: read.log.to_string(), index: read.seq },
        disclosures: disclosures.iter().map(|open| STANDARD.encode(open.text())).collect(),
    };
    serde_json::to_value(form).map_err(shape)
}

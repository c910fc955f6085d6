//! Reads the input's outer form: one deed or lines of deeds, each in API form or bare DSSE.

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::Value;

use crate::{
    dsse::{Envelope, EnvelopeSignature},
    form::ApiForm,
};

/// One deed as it came in: the frame's parts, nothing of which has been checked.
#[derive(Debug, Clone)]
pub(super) struct Item {
    pub(super) payload: Vec<u8>,
    pub(super) payload_type: String,
    pub(super) key_id: String,
    pub(super) signature: Vec<u8>,
    /// The API form, when it came in one.
    pub(super) form: Option<ApiForm>,
}

/// Returns the deeds of the input, at least one, or says why it is none.
pub(super) fn read(input: &[u8]) -> Result<Vec<Item>, String> {
    let text = std::str::from_utf8(input).map_err(|_| "the input is not UTF-8".to_owned())?;
    if let Ok(value) = crypto::json::parse(text.as_bytes()) {
        return Ok(vec![item(value)?]);
    }
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let items = lines
        .map(|(number, line)| {
            let at = |why: String| format!("line {}: {why}", number + 1);
            let value = crypto::json::parse(line.as_bytes()).map_err(|e| at(e.to_string()))?;
            item(value).map_err(at)
        })
        .collect::<Result<Vec<_>, _>>()?;
    if items.is_empty() { Err("the input is empty".to_owned()) } else { Ok(items) }
}

fn item(value: Value) -> Result<Item, String> {
    if value.get("object").is_some() {
        let form: ApiForm = serde_json::from_value(value)
            .map_err(|error| format!("expected a deed in its API form: {error}"))?;
        return Ok(Item {
            payload: base64("payload", &form.payload)?,
            payload_type: form.payload_type.clone(),
            key_id: form.signature.key_id.clone(),
            signature: base64("signature.value", &form.signature.value)?,
            form: Some(form),
        });
    }
    let envelope: Envelope = serde_json::from_value(value)
        .map_err(|error| format!("expected a deed in its API form or a DSSE envelope: {error}"))?;
    let [EnvelopeSignature { keyid, sig }] = envelope.signatures.as_slice() else {
        return Err("expected a DSSE envelope with one signature".to_owned());
    };
    Ok(Item {
        payload: base64("payload", &envelope.payload)?,
        payload_type: envelope.payload_type,
        key_id: keyid.to_string(),
        signature: base64("sig", sig)?,
        form: None,
    })
}

fn base64(member: &str, text: &str) -> Result<Vec<u8>, String> {
    STANDARD.decode(text).map_err(|error| format!("`{member}` is no base64: {error}"))
}

//! What a signer of somebody else is held to: the published calls to sign.

use serde::Deserialize;
use serde_json::Value;

use crate::{Claims, VECTORS, form::Parts};

/// A call for a signer to sign or to refuse.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct ToSign {
    /// The vector's name.
    pub name: String,
    /// What a signer is given.
    pub sign: Value,
    /// What must come out; nothing where the call is to be refused.
    pub intent: Option<String>,
}

/// The published calls to sign.
pub fn to_sign() -> Result<Vec<ToSign>, serde_json::Error> {
    #[derive(Deserialize)]
    struct Published {
        signing: Vec<ToSign>,
    }
    serde_json::from_str(VECTORS).map(|Published { signing }| signing)
}

/// What a text says as an intent, to be read by a person: header and payload, where it has both.
pub fn readable(text: &str) -> String {
    let Some(parts) = Parts::of(text) else { return format!("{text:?}") };
    let shown = |part: &[u8]| String::from_utf8_lossy(part).into_owned();
    let (header, payload) = (shown(&parts.header), shown(&parts.payload));
    let signature = text.rsplit_once('.').map_or("", |(_, signature)| signature);
    format!("header {header} payload {payload} signature {signature}")
}

/// The nonce that a text claims as an intent, which nothing is believed of yet.
pub fn nonce_of(text: &str) -> Option<String> {
    Claims::read(&Parts::of(text)?.payload).ok().map(|claims| claims.jti)
}

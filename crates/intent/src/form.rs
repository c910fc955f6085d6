//! The outer form: size, three parts, the header.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde::Deserialize;

/// The most bytes of an intent.
pub const MAX_LEN: usize = 4096;
/// The signature algorithm.
pub const ALG: &str = "Ed25519";
/// The type that an intent's header names.
pub const TYP: &str = "service-intent+jwt";

/// The name that Ed25519 had in JOSE before RFC 9864.
const OLD_ALG: &str = "EdDSA";

/// What a header must be.
pub(crate) const HEADER: &str =
    r#"strict JSON with exactly alg "Ed25519", kid and typ "service-intent+jwt""#;

/// An intent taken apart: nothing of it is believed yet.
pub(crate) struct Parts<'a> {
    pub(crate) signed: &'a str,
    pub(crate) header: Vec<u8>,
    pub(crate) payload: Vec<u8>,
    pub(crate) signature: Vec<u8>,
}

impl<'a> Parts<'a> {
    pub(crate) fn of(text: &'a str) -> Option<Self> {
        let (signed, signature) = text.rsplit_once('.')?;
        let (header, payload) = signed.split_once('.')?;
        // The decoder takes neither dots nor padding nor another spelling of the last bits.
        let part = |text: &str| URL_SAFE_NO_PAD.decode(text).ok().filter(|part| !part.is_empty());
        let (header, payload, signature) = (part(header)?, part(payload)?, part(signature)?);
        Some(Self { signed, header, payload, signature })
    }
}

/// Whether the text is a compact JWS that is not too long.
pub fn is_compact(text: &str) -> bool {
    text.len() <= MAX_LEN && Parts::of(text).is_some()
}

/// The name of the key that the text says it was signed with.
pub fn kid_of(text: &str) -> Option<String> {
    let text = (text.len() <= MAX_LEN).then_some(text)?;
    kid(&Parts::of(text)?.header).ok()
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    alg: String,
    kid: String,
    typ: String,
}

/// The key's name out of a header that is as it must be, or what is wrong.
pub(crate) fn kid(header: &[u8]) -> Result<String, String> {
    let plain = |error: &dyn std::fmt::Display| error.to_string().replace('`', "");
    let value = crypto::json::parse(header).map_err(|error| plain(&error))?;
    let header: Header = serde_json::from_value(value).map_err(|error| plain(&error))?;
    if header.alg != ALG && header.alg != OLD_ALG {
        return Err(format!("`alg` {:?}", header.alg));
    }
    if header.typ != TYP {
        return Err(format!("`typ` {:?}", header.typ));
    }
    Ok(header.kid)
}

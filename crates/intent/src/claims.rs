//! What an intent says.

use model::Digest;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The most bytes of a purpose.
pub const PURPOSE_MAX: usize = 256;

/// The claims that stand in every intent, with null where there is nothing to name.
const ALWAYS: [&str; 11] =
    ["aud", "sub", "tool", "req", "mode", "obo", "ses", "idem", "iat", "exp", "jti"];

/// What a payload must be.
pub(crate) const PAYLOAD: &str = "strict JSON with exactly the claims aud, sub, tool, req, mode, \
    obo, ses, idem, iat, exp, jti (22 to 64 characters of base64url) and, if at all, tdg and \
    purpose (at most 256 bytes)";

/// What an intent says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claims {
    /// The base URL of the service that it is for.
    pub aud: String,
    /// The agent's id.
    pub sub: String,
    /// The tool, as the call names it.
    pub tool: String,
    /// SHA-256 of the canonical form of `{"args": …, "tool": …}`.
    pub req: Digest,
    /// Who runs the tool: `gateway` or `proxy`.
    pub mode: String,
    /// Whom the call is on behalf of.
    pub obo: Option<String>,
    /// The session that the call belongs to.
    pub ses: Option<String>,
    /// The call's idempotency key.
    pub idem: Option<String>,
    /// When it was made, in Unix seconds.
    pub iat: i64,
    /// When it is over, in Unix seconds.
    pub exp: i64,
    /// The nonce: at least 128 random bits.
    pub jti: String,
    /// The digest of the tool's definition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tdg: Option<Digest>,
    /// What the agent says that it wants.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub purpose: Option<String>,
}

impl Claims {
    /// The claims of a payload that has exactly those, or what is wrong.
    pub(crate) fn read(payload: &[u8]) -> Result<Self, String> {
        let value = crypto::json::parse(payload).map_err(|error| error.to_string())?;
        if let Some(missing) = ALWAYS.iter().find(|name| value.get(name).is_none()) {
            return Err(format!("no `{missing}`"));
        }
        let is_null = |name: &&&str| value.get(**name).is_some_and(Value::is_null);
        if let Some(null) = ["tdg", "purpose"].iter().find(is_null) {
            return Err(format!("`{null}` null"));
        }
        let claims: Self = serde_json::from_value(value).map_err(|error| error.to_string())?;
        let symbol = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        if !(22..=64).contains(&claims.jti.len()) || !claims.jti.bytes().all(symbol) {
            return Err(format!("`jti` {:?}", claims.jti));
        }
        if claims.iat < 0 || claims.exp < 0 {
            return Err("a time before 1970".to_owned());
        }
        if claims.purpose.as_ref().is_some_and(|purpose| purpose.len() > PURPOSE_MAX) {
            return Err("a longer `purpose`".to_owned());
        }
        Ok(claims)
    }
}

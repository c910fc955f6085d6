//! A call as a signer is given it, and the intent that comes out.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use crypto::{Secret, ed25519::SigningKey};
use model::{AgentId, Digest, Entropy, Mode, Timestamp};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{Claims, LIFETIME, MAX_LEN, sign};

/// The seconds that an intent lives where nothing else is asked for.
const LIFE: i64 = 60;

/// A call that cannot be signed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{member}`: {problem}")]
pub struct RequestError {
    /// The member of the request that is wrong.
    pub member: &'static str,
    /// What is wrong with it.
    pub problem: String,
}

impl RequestError {
    fn new(member: &'static str, problem: impl ToString) -> Self {
        Self { member, problem: problem.to_string() }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Request {
    private_key: Option<Secret<String>>,
    audience: String,
    agent: AgentId,
    tool: String,
    args: String,
    mode: Mode,
    on_behalf_of: Option<String>,
    session: Option<String>,
    idempotency_key: Option<String>,
    iat: Option<i64>,
    exp: Option<i64>,
    jti: Option<String>,
    tool_digest: Option<Digest>,
    purpose: Option<String>,
}

/// The key of this seed, the 32 bytes in base64url.
pub fn key_of_seed(seed: &Secret<String>) -> Option<SigningKey> {
    let bytes = Secret::new(URL_SAFE_NO_PAD.decode(seed.expose()).ok()?);
    let seed = Secret::new(<[u8; 32]>::try_from(bytes.expose().as_slice()).ok()?);
    SigningKey::from_seed(seed.expose()).ok()
}

/// The intent of the call that the text describes as JSON, by this key or by the one that stands
/// there. What could hold at no moment is not signed.
pub fn sign_request(
    text: &[u8],
    key: Option<SigningKey>,
    (now, entropy): (Timestamp, &dyn Entropy),
) -> Result<String, RequestError> {
    let whole = |problem: &dyn ToString| RequestError::new("the call", problem.to_string());
    let value = crypto::json::parse(text).map_err(|error| whole(&error))?;
    let request: Request = serde_json::from_value(value).map_err(|error| whole(&error))?;
    let key = key_for(key, request.private_key.as_ref())?;
    let intent = sign(&claims(request, (now, entropy))?, &key);
    if intent.len() > MAX_LEN {
        let problem = format!("the intent would have {} bytes, of {MAX_LEN}", intent.len());
        return Err(RequestError::new("the call", problem));
    }
    Ok(intent)
}

fn key_for(
    named: Option<SigningKey>,
    told: Option<&Secret<String>>,
) -> Result<SigningKey, RequestError> {
    let wrong = |problem| RequestError::new("private_key", problem);
    match (named, told) {
        (Some(key), None) => Ok(key),
        (None, Some(seed)) => {
            key_of_seed(seed).ok_or_else(|| wrong("expected the 32 bytes of a seed in base64url"))
        }
        (Some(_), Some(_)) => Err(wrong("a key was named in addition; leave one of them out")),
        (None, None) => Err(wrong("is missing, and no key was named")),
    }
}

fn claims(
    request: Request,
    (now, entropy): (Timestamp, &dyn Entropy),
) -> Result<Claims, RequestError> {
    let args = crypto::json::parse(request.args.as_bytes());
    let args = args.map_err(|error| RequestError::new("args", error))?;
    if !args.is_object() {
        return Err(RequestError::new("args", "expected the text of a JSON object"));
    }
    if request.audience.ends_with('/') || !request.audience.starts_with("http") {
        let expected = "expected the base URL of the service, without a slash at its end";
        return Err(RequestError::new("audience", expected));
    }
    let iat = request.iat.unwrap_or_else(|| now.unix_millis().div_euclid(1000));
    let exp = request.exp.unwrap_or_else(|| iat.saturating_add(LIFE));
    if !(1..=LIFETIME).contains(&exp.saturating_sub(iat)) {
        return Err(RequestError::new("exp", format!("expected 1 to {LIFETIME} behind `iat`")));
    }
    let bound = json!({ "args": args, "tool": request.tool });
    let claims = Claims {
        aud: request.audience,
        sub: request.agent.to_string(),
        tool: request.tool,
        req: crypto::sha256(crypto::json::canonical(&bound)),
        mode: request.mode.to_string(),
        obo: request.on_behalf_of,
        ses: request.session,
        idem: request.idempotency_key,
        iat,
        exp,
        jti: request.jti.unwrap_or_else(|| nonce(entropy)),
        tdg: request.tool_digest,
        purpose: request.purpose,
    };
    let payload: Value = json!(claims);
    Claims::read(&crypto::json::canonical(&payload))
        .map_err(|problem| RequestError::new("the claims", problem))
}

fn nonce(entropy: &dyn Entropy) -> String {
    let mut bytes = [0; 16];
    entropy.fill(&mut bytes);
    URL_SAFE_NO_PAD.encode(bytes)
}

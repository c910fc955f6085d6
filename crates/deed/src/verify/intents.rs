//! The check of the signed intents in a file of evidence: each is the one that its deed names, holds
//! under the agent's own key, and speaks of the call that the deed records.
//!
//! What a deed only commits to is compared as far as the file opens it: a digest of arguments that
//! nobody shows can be held to nothing.

use std::collections::{BTreeMap, BTreeSet};

use base64::{
    Engine,
    engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD},
};
use crypto::ed25519::PublicKey;
use model::{DeedId, Digest, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    checks::{CheckId, ensure},
    findings::{Findings, Unmet},
    link::Link,
};
use crate::{
    commitment::{Commitment, Disclosure, Path},
    content::{ActionContent, Actor, Content, Jws, Tool},
    evidence::{EvidenceForm, IntentForm},
    exact,
    keys::thumbprint,
};

/// The one algorithm of this version.
const ALG: &str = "Ed25519";
/// What headers call it: by its name, or by the one that it had before RFC 9864.
const ALGS: [&str; 2] = [ALG, "EdDSA"];
const TYP: &str = "service-intent+jwt";
/// The most bytes of an intent, and of the purpose in it.
const MAX_LEN: usize = 4096;
const MAX_PURPOSE: usize = 256;
/// The seconds by which the agent's clock may be ahead, and the most that an intent lives.
const LEEWAY: i64 = 60;
const LIFETIME: i64 = 300;

/// Runs the check for each intent of a file whose deeds could be read.
pub(super) fn check(form: &EvidenceForm, links: &[Link], found: &mut Findings) {
    let mut seen = BTreeSet::new();
    for shown in &form.intents {
        found.run(CheckId::Intents, || {
            let link = links.iter().find(|link| link.body.id == shown.deed);
            let link = link.filter(|_| seen.insert(shown.deed)).ok_or_else(|| {
                format!("an intent is for `{}`, no deed of the file, or there twice", shown.deed)
            })?;
            one(shown, link, &opened(form, shown.deed)?).map_err(|unmet| unmet.of(link))
        });
    }
}

impl Unmet {
    fn of(self, link: &Link) -> Self {
        let named = |why: String| format!("deed {}: {why}", link.body.seq);
        match self {
            Self::Fails(why) => Self::Fails(named(why)),
            Self::Open(why) => Self::Open(named(why)),
        }
    }
}

/// The values that the file opens of this deed, as they stand, by their places.
fn opened(form: &EvidenceForm, deed: DeedId) -> Result<BTreeMap<String, String>, String> {
    let entry = form.disclosures.iter().find(|entry| entry.deed == deed);
    let texts = entry.map(|entry| entry.disclosures.as_slice()).unwrap_or_default();
    let read = |base64: &String| {
        let text = STANDARD.decode(base64).ok().and_then(|bytes| String::from_utf8(bytes).ok());
        let open = text.and_then(|text| Disclosure::from_text(text).ok());
        let open = open.ok_or_else(|| "a disclosure cannot be read".to_owned())?;
        Ok((open.path().as_str().to_owned(), open.value().to_owned()))
    };
    texts.iter().map(read).collect()
}

/// The intent is the one that the deed names, and of its call.
fn one(shown: &IntentForm, link: &Link, opened: &BTreeMap<String, String>) -> Result<(), Unmet> {
    let Content::Action(action) = &link.body.content else {
        return Err(Unmet::Fails("what is no action has no intent".to_owned()));
    };
    let Some(named) = &action.intent.jws else {
        return Err(Unmet::Fails("the deed names no intent".to_owned()));
    };
    if named.alg.as_str() != ALG {
        let why = format!("the intent's algorithm `{}` is not known here", named.alg);
        return Err(Unmet::Open(why));
    }
    let claims = signed(shown, named)?;
    is_for(&claims, link, action, opened)?;
    Ok(is_timely(&claims, action.received_at)?)
}

/// What the intent says, if it is the one that the deed names and its key's.
fn signed(shown: &IntentForm, named: &Jws) -> Result<Claims, String> {
    let text = &shown.jws;
    ensure(text.len() <= MAX_LEN && crypto::sha256(text) == named.digest, || {
        "the intent is not the one whose digest the deed has".to_owned()
    })?;
    let point = unbase64(&shown.public_key).ok_or("`public_key` is no base64url")?;
    let key = PublicKey::from_bytes(&point).map_err(|error| error.to_string())?;
    let kid = thumbprint(&key);
    ensure(kid.as_str() == named.key_id.as_str(), || {
        format!("the deed names the key `{}`, and `{kid}` is shown", named.key_id)
    })?;
    let no_jws = || "the intent is not three parts of base64url".to_owned();
    let (signed, signature) = text.rsplit_once('.').ok_or_else(no_jws)?;
    let (header, payload) = signed.split_once('.').ok_or_else(no_jws)?;
    let [header, payload, signature] = [header, payload, signature].map(unbase64);
    let header: Header = read(&header.ok_or_else(no_jws)?)?;
    let fits = ALGS.contains(&&*header.alg) && header.typ == TYP && header.kid == kid.as_str();
    ensure(fits, || "the intent's header is not that of an intent by this key".to_owned())?;
    ensure(key.verifies(signed.as_bytes(), &signature.ok_or_else(no_jws)?), || {
        format!("the intent's signature is not that of `{kid}`")
    })?;
    let claims: Claims = read(&payload.ok_or_else(no_jws)?)?;
    ensure(claims.is_well_formed(), || "a claim is not in its form".to_owned())?;
    Ok(claims)
}

fn unbase64(text: &str) -> Option<Vec<u8>> {
    URL_SAFE_NO_PAD.decode(text).ok().filter(|bytes| !bytes.is_empty())
}

fn read<T: Serialize + for<'a> Deserialize<'a>>(bytes: &[u8]) -> Result<T, String> {
    exact::from_value(crypto::json::parse(bytes).map_err(|error| error.to_string())?)
}

/// The header of an intent; a member more would be another kind of header.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    alg: String,
    kid: String,
    typ: String,
}

/// What an intent says. The audience and the idempotency key stand in no deed.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Claims {
    aud: String,
    exp: i64,
    iat: i64,
    idem: Option<String>,
    jti: String,
    mode: String,
    obo: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    purpose: Option<String>,
    req: Digest,
    ses: Option<String>,
    sub: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tdg: Option<Digest>,
    tool: String,
}

impl Claims {
    fn is_well_formed(&self) -> bool {
        let symbol = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        (22..=64).contains(&self.jti.len())
            && self.jti.bytes().all(symbol)
            && self.iat >= 0
            && self.exp >= 0
            && self.purpose.as_ref().is_none_or(|purpose| purpose.len() <= MAX_PURPOSE)
    }

    /// The digest of the call with these arguments, in their RFC 8785 form.
    fn request(&self, args: &str) -> Digest {
        crypto::sha256(format!(r#"{{"args":{args},"tool":{}}}"#, spelled(&self.tool)))
    }
}

/// The text in its RFC 8785 form.
fn spelled(text: &str) -> String {
    String::from_utf8(crypto::json::canonical(&Value::from(text))).unwrap_or_default()
}

/// The claims say of the call what the deed says of it, or commits to as far as that is shown.
fn is_for(
    claims: &Claims,
    link: &Link,
    action: &ActionContent,
    opened: &BTreeMap<String, String>,
) -> Result<(), String> {
    let opens = |path: Path, is: &dyn Fn(&str) -> bool| {
        opened.get(path.as_str()).is_none_or(|value| is(value))
    };
    let hidden = |claim: &Option<String>, place: Option<&Commitment>, path: Path| match claim {
        None => place.is_none(),
        Some(text) => place.is_some() && opens(path, &|value| value == spelled(text)),
    };
    let tool = match &action.tool {
        Tool::Named(name) => name.to_string() == claims.tool,
        Tool::NoName(_) => opens(Path::TOOL, &|value| value == spelled(&claims.tool)),
    };
    let pairs = [
        ("sub", matches!(&link.body.actor, Actor::Agent(id) if id.to_string() == claims.sub)),
        ("mode", claims.mode == action.mode.to_string()),
        ("tool", tool),
        ("tdg", claims.tdg.is_none() || claims.tdg == action.tool_digest),
        ("obo", hidden(&claims.obo, action.on_behalf_of.as_ref(), Path::ON_BEHALF_OF)),
        ("ses", hidden(&claims.ses, action.session.as_ref(), Path::SESSION)),
        ("req", opens(Path::REQUEST, &|args| claims.request(args) == claims.req)),
    ];
    let differs = pairs.iter().find(|(_, same)| !same);
    differs.map_or(Ok(()), |(claim, _)| {
        Err(format!("the intent's `{claim}` is not that of the call in the deed"))
    })
}

/// The intent could be used when the call came in.
fn is_timely(claims: &Claims, received_at: Timestamp) -> Result<(), String> {
    let now = received_at.unix_millis().div_euclid(1000);
    let lives = (1..=LIFETIME).contains(&claims.exp.saturating_sub(claims.iat));
    ensure(claims.iat <= now.saturating_add(LEEWAY) && now < claims.exp && lives, || {
        format!("the intent was not in its time at {received_at}")
    })
}

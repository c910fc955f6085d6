//! Signed intents alone: one checked for its call, beside the bare verification of its signature.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use crypto::ed25519::{PublicKey, SigningKey};
use intent::{Call, Claims, Key, verify};
use model::{Digest, Timestamp};
use serde_json::{Value, json};

use crate::{
    Failure,
    deeds::{best, micros, ratio},
    options::{Scale, Size},
};

/// How many intents are checked, each with a nonce of its own.
const INTENTS: Size<u32> = Size { full: 1_000, smoke: 10 };
/// The moment at which they are.
const NOW: i64 = 1_800_000_000;
const AUDIENCE: &str = "https://chancery.example";
const AGENT: &str = "agt_01j0000000000000000000000a";
const TOOL: &str = "shop.refunds.create";

/// Runs everything and prints one table.
pub(crate) fn run(scale: Scale) -> Result<(), Failure> {
    let count = INTENTS.at(scale);
    let pair = SigningKey::from_seed(&[7; 32])?;
    let args = arguments();
    let request = digest(&args);
    let texts: Vec<_> = (0..count).map(|n| intent::sign(&claims(request, n), &pair)).collect();
    let signed = texts.iter().map(|text| parts(text)).collect::<Result<Vec<_>, _>>()?;
    let keys = [Key::from(*pair.public())];
    let holds = |text: &String, request| {
        verify(text, &keys, &call(request), Timestamp::from_unix_millis(NOW * 1000)).is_ok()
    };
    assert!(!holds(&texts[0], digest(&json!({}))), "an intent is for its own call");

    let bare = best(1, || assert!(signed.iter().all(|part| part.verifies(pair.public()))));
    let whole = best(1, || assert!(texts.iter().all(|text| holds(text, request))));
    let with_request = best(1, || assert!(texts.iter().all(|text| holds(text, digest(&args)))));
    let [bare, whole, with_request] = [bare, whole, with_request].map(|time| time / count);

    println!("| what | figure | compared with | ratio | aim |");
    println!("|---|---|---|---|---|");
    let size = texts[0].len();
    for (what, time, aim) in [
        (format!("verify an intent of {size} bytes for its call"), whole, "1.5 x"),
        ("the same, with the digest of 1 KB of arguments".to_owned(), with_request, ""),
    ] {
        let (figure, beside, share) = (micros(time), micros(bare), ratio(time, bare));
        println!("| {what} | {figure} | bare Ed25519 by ring: {beside} | {share:.2} x | {aim} |");
    }
    Ok(())
}

fn arguments() -> Value {
    json!({ "amount": 20, "currency": "EUR", "order": "4711", "note": "n".repeat(950) })
}

fn digest(args: &Value) -> Digest {
    crypto::sha256(crypto::json::canonical(&json!({ "args": args, "tool": TOOL })))
}

fn claims(request: Digest, n: u32) -> Claims {
    Claims {
        aud: AUDIENCE.to_owned(),
        sub: AGENT.to_owned(),
        tool: TOOL.to_owned(),
        req: request,
        mode: "gateway".to_owned(),
        obo: Some("ann@example.com".to_owned()),
        ses: Some("session-1".to_owned()),
        idem: Some("refund-4711".to_owned()),
        iat: NOW,
        exp: NOW + 60,
        jti: format!("{n:A>22}"),
        tdg: None,
        purpose: None,
    }
}

fn call(request: Digest) -> Call<'static> {
    Call {
        audience: AUDIENCE,
        agent: AGENT,
        tool: TOOL,
        request,
        mode: "gateway",
        on_behalf_of: Some("ann@example.com"),
        session: Some("session-1"),
        idempotency_key: Some("refund-4711"),
        tool_digest: None,
    }
}

/// What a signature is over, and the signature.
struct Signed<'a> {
    text: &'a str,
    signature: Vec<u8>,
}

impl Signed<'_> {
    fn verifies(&self, key: &PublicKey) -> bool {
        key.verifies(self.text.as_bytes(), &self.signature)
    }
}

fn parts(text: &str) -> Result<Signed<'_>, Failure> {
    let (text, signature) = text.rsplit_once('.').ok_or("no compact JWS")?;
    Ok(Signed { text, signature: URL_SAFE_NO_PAD.decode(signature)? })
}

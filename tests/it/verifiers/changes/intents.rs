//! Changes of what agents signed, signed again with the published test key (RFC 8032, 7.1, test 3),
//! and named by their deeds mostly.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use crypto::ed25519::SigningKey;
use serde_json::{Value, json};

use super::super::random::Random;
use super::{
    signed::{Change, DEED_TYPE, payload, read},
    text,
};

const SEED: &str = "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7";
/// What stands in the place of a claim or a member of the header.
const VALUES: &[&str] = &[
    "null",
    "1",
    "-1",
    "1.0",
    "1.5",
    "1e3",
    "\"\"",
    "\"x\"",
    "\"EdDSA\"",
    "\"none\"",
    "[]",
    "{}",
    "true",
    "\"proxy\"",
    "\"\\u00e9\"",
    "\"\\ud800\"",
    "9007199254740992",
    "1790856000",
    "1790856060",
];
const MEMBERS: &[&str] = &[
    "alg", "kid", "typ", "aud", "sub", "tool", "req", "mode", "obo", "ses", "idem", "iat", "exp",
    "jti", "tdg", "purpose", "jwk",
];

fn key() -> SigningKey {
    let byte = |at: usize| u8::from_str_radix(SEED.get(at * 2..at * 2 + 2).unwrap(), 16).unwrap();
    SigningKey::from_seed(&std::array::from_fn(byte)).unwrap()
}

impl Change<'_> {
    /// Changes one of the intents of a file, or which deed it is for.
    pub(super) fn intent(&self, file: &mut Value, random: &mut Random) {
        let count = file["intents"].as_array().map_or(0, Vec::len);
        let place = random.below(count.max(1));
        let Some(shown) = file["intents"].get_mut(place) else { return };
        if random.chance(15) {
            return self.words.change(shown, random);
        }
        let Some(jws) = shown["jws"].as_str().and_then(|jws| changed(jws, random)) else { return };
        shown["jws"] = json!(jws);
        let deed = shown["deed"].clone();
        if random.chance(85) {
            self.name(file, &deed, &jws, random);
        }
    }

    /// Makes the deed name this intent, and the list this deed.
    fn name(&self, file: &mut Value, deed: &Value, jws: &str, random: &mut Random) {
        let bodies: Vec<_> = file["deeds"].as_array().into_iter().flatten().map(body).collect();
        let place =
            bodies.iter().position(|body| body.as_ref().is_some_and(|it| it["id"] == *deed));
        let Some((place, mut body)) = place.and_then(|place| Some((place, bodies[place].clone()?)))
        else {
            return;
        };
        let Some(named) = body.pointer_mut("/action/intent/jws/digest") else { return };
        *named = json!(crypto::sha256(jws));
        let text = body.to_string().into_bytes();
        self.put(&mut file["deeds"][place], (DEED_TYPE, &text), random);
        self.list(file, place, random);
    }
}

fn body(form: &Value) -> Option<Value> {
    payload(form).and_then(|text| read(&text))
}

/// The intent with something of it changed, and signed again in most cases.
fn changed(jws: &str, random: &mut Random) -> Option<String> {
    if random.chance(10) {
        let mut bytes = jws.as_bytes().to_vec();
        text::change(&mut bytes, random);
        return String::from_utf8(bytes).ok();
    }
    let mut parts: Vec<_> = jws.split('.').map(str::to_owned).collect();
    let part = random.below(2);
    let mut bytes = URL_SAFE_NO_PAD.decode(parts.get(part)?).ok()?;
    match random.below(100) {
        0..15 => text::change(&mut bytes, random),
        15..30 => {}
        _ => bytes = reworded(&bytes, random)?,
    }
    parts[part] = URL_SAFE_NO_PAD.encode(&bytes);
    let signed = parts.get(..2)?.join(".");
    let signature = if random.chance(92) {
        URL_SAFE_NO_PAD.encode(key().sign(signed.as_bytes()))
    } else {
        parts.get(2)?.clone()
    };
    Some(format!("{signed}.{signature}"))
}

/// A header or claims with a member put in, changed or taken away; as text, since a value may be one
/// that no strict reader takes.
fn reworded(bytes: &[u8], random: &mut Random) -> Option<Vec<u8>> {
    let Value::Object(mut members) = read(bytes)? else { return None };
    let name = match members.keys().cloned().collect::<Vec<_>>() {
        own if !own.is_empty() && random.chance(80) => random.pick(&own).clone(),
        _ => (*random.pick(MEMBERS)).to_owned(),
    };
    let old = members.remove(&name);
    let comma = if members.is_empty() { "" } else { "," };
    let rest = Value::Object(members).to_string();
    let value = match (random.below(10), old.and_then(|old| old.as_i64())) {
        (0, _) => return Some(rest.into_bytes()),
        (1..6, Some(time)) => (time - 400 + i64::try_from(random.below(800)).ok()?).to_string(),
        _ => (*random.pick(VALUES)).to_owned(),
    };
    let rest = rest.strip_prefix('{')?;
    Some(format!("{{\"{name}\":{value}{comma}{rest}").into_bytes())
}

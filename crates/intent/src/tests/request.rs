//! Calls as a signer is given them.

use crypto::SystemEntropy;
use model::Timestamp;
use serde_json::{Value, json};

use super::vectors::{NOW, agents_key};
use crate::{kid_of, sign_request, thumbprint, to_sign};

fn signed(request: &Value) -> Result<String, String> {
    let (now, entropy) = (Timestamp::from_unix_millis(NOW * 1000), SystemEntropy::new());
    let text = request.to_string();
    sign_request(text.as_bytes(), None, (now, &entropy)).map_err(|error| error.to_string())
}

fn first() -> Value {
    to_sign().unwrap().swap_remove(0).sign
}

#[test]
fn every_published_call_is_signed_to_the_byte_or_refused() {
    for case in to_sign().unwrap() {
        assert_eq!(signed(&case.sign).ok(), case.intent, "{}", case.name);
    }
}

#[test]
fn what_is_wrong_with_a_call_is_told_by_its_member() {
    let cases = [
        ("private_key", json!("short"), "`private_key`: expected the 32 bytes"),
        ("private_key", Value::Null, "`private_key`: is missing"),
        ("args", json!("[1]"), "`args`: expected the text of a JSON object"),
        ("args", json!("{\"a\":1,\"a\":2}"), "`args`: "),
        ("args", json!({}), "`the call`: invalid type: map, expected a string"),
        ("audience", json!("https://x.example/"), "`audience`: expected the base URL"),
        ("agent", json!("agt_1"), "`the call`: "),
        ("mode", json!("either"), "`the call`: "),
        ("exp", json!(NOW + 301), "`exp`: expected 1 to 300 behind `iat`"),
        ("exp", json!(i64::MIN), "`the call`: "),
        ("jti", json!("short"), "`the claims`: `jti`"),
        ("purpose", json!("x".repeat(257)), "`the claims`: a longer `purpose`"),
        ("session", json!("x".repeat(4000)), "`the call`: the intent would have"),
        ("other", json!(1), "`the call`: unknown field `other`"),
    ];
    for (member, value, told) in cases {
        let mut request = first();
        request[member] = value;
        let error = signed(&request).unwrap_err();
        assert!(error.starts_with(told), "{member}: {error}");
    }
}

/// A key that is named beside the call signs, and the seed stands in no error.
#[test]
fn a_named_key_signs_and_two_keys_are_one_too_many() {
    let (now, entropy) = (Timestamp::from_unix_millis(NOW * 1000), SystemEntropy::new());
    let by_key = |request: &Value| {
        sign_request(request.to_string().as_bytes(), Some(agents_key()), (now, &entropy))
    };
    let mut request = first();
    let seed = request["private_key"].as_str().unwrap().to_owned();
    let error = by_key(&request).unwrap_err().to_string();
    assert!(error.starts_with("`private_key`: a key was named") && !error.contains(&seed));
    for member in ["private_key", "iat", "exp", "jti"] {
        request.as_object_mut().unwrap().remove(member);
    }
    let (one, other) = (by_key(&request).unwrap(), by_key(&request).unwrap());
    assert_ne!(one, other);
    assert_eq!(kid_of(&one), Some(thumbprint(agents_key().public())));
}

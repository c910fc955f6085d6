//! No input makes a check panic, both ways of checking agree, and without the key nothing holds.
#![no_main]

use crypto::ed25519::SigningKey;
use intent::{Call, Check, Key, examine, is_compact, kid_of, verify};
use libfuzzer_sys::fuzz_target;
use model::Timestamp;

fuzz_target!(|text: &str| {
    let key = SigningKey::from_seed(&[7; 32]).expect("a key");
    let mut keys = vec![Key::from(*key.public())];
    // Under whatever name the input gives the key, so that the later checks are reached.
    keys.extend(kid_of(text).map(|kid| Key { kid, public: *key.public() }));
    let call = Call {
        audience: "https://chancery.example.com",
        agent: "agt_01jd8m3q4r5s6t7v8w9x0y1z2a",
        tool: "shop.refunds.create",
        request: crypto::sha256("request"),
        mode: "gateway",
        on_behalf_of: None,
        session: None,
        idempotency_key: None,
        tool_digest: None,
    };
    let now = Timestamp::from_unix_millis(1_795_000_000_000);
    let report = examine(text, &keys, &call, now);
    let first = report.checks.iter().find(|checked| !checked.ok).map(|checked| checked.check);
    assert_eq!(verify(text, &keys, &call, now).err().map(|error| error.check), first);
    assert!(report.verified.is_none());
    let beyond = |check: Check| first.is_some_and(|first| first > check);
    assert_eq!(is_compact(text), beyond(Check::Form));
    assert_eq!(kid_of(text).is_some(), beyond(Check::Header));
});

//! A body that is read is written as the very same bytes, by both ways to RFC 8785, and the quick
//! way of reading takes nothing that the step by step one would not.
#![no_main]

use deed::Body;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    if let Ok(body) = Body::read(data) {
        assert_eq!(body.write().expect("a body that was read").as_bytes(), data);
        let value = crypto::json::parse(data).expect("strict JSON");
        assert_eq!(crypto::json::canonical_generally(&value), data);
        let stepwise: Body = serde_json::from_value(value).expect("a body that was read");
        assert_eq!(stepwise, body);
        assert_eq!(body.kind, body.content.kind());
    }
    if let Ok(value) = crypto::json::parse(data) {
        let canonical = crypto::json::canonical(&value);
        assert_eq!(canonical, crypto::json::canonical_generally(&value));
        assert_eq!(crypto::json::parse(&canonical).as_ref(), Ok(&value));
    }
});

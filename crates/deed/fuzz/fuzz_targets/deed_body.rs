//! A body that is read is written as the very same bytes, by both ways to RFC 8785.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    if let Ok(body) = deed::Body::read(data) {
        assert_eq!(body.write().expect("a body that was read").as_bytes(), data);
        let value = crypto::json::parse(data).expect("strict JSON");
        assert_eq!(crypto::json::canonical_generally(&value), data);
    }
    if let Ok(value) = crypto::json::parse(data) {
        let canonical = crypto::json::canonical(&value);
        assert_eq!(crypto::json::parse(&canonical).as_ref(), Ok(&value));
    }
});

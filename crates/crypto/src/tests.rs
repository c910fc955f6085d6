use model::Entropy;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

mod published;

struct Counting;

impl Counting {
    fn bytes() -> [u8; 32] {
        let mut bytes = [0; 32];
        Self.fill(&mut bytes);
        bytes
    }
}

impl Entropy for Counting {
    fn fill(&self, buffer: &mut [u8]) {
        (0_u8..).zip(buffer).for_each(|(count, byte)| *byte = count);
    }
}

fn ring(keys: &[u8]) -> vault::Ring {
    use base64::{Engine, engine::general_purpose::STANDARD};
    let text: Vec<_> = keys.iter().map(|byte| STANDARD.encode([*byte; 32])).collect();
    vault::Ring::parse(&Secret::new(text.join(","))).unwrap()
}

#[test]
fn a_secret_never_prints() {
    assert_eq!(format!("{:?}", Secret::new("hunter2".to_owned())), "[redacted]");
}

#[test]
fn hashes_match_published_answers() {
    let digest = sha256("abc").to_string();
    assert_eq!(digest, "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    // RFC 4231, test case 2.
    let mac = hmac_sha256(b"Jefe", b"what do ya want for nothing?");
    assert_eq!(mac[..4], [0x5b, 0xdc, 0xc1, 0x46]);
}

#[test]
fn a_generated_key_reads_back() {
    let document = ed25519::SigningKey::generate(&Counting);
    let key = ed25519::SigningKey::from_pkcs8(document.expose()).unwrap();
    let same = ed25519::SigningKey::from_seed(&Counting::bytes()).unwrap();
    assert_eq!(key.public(), same.public());
    assert_eq!(ed25519::SigningKey::from_pkcs8(b"no").unwrap_err(), ed25519::KeyError::NotPkcs8);
}

#[test]
fn weak_public_keys_are_refused_with_either_sign() {
    let identity = hex("0100000000000000000000000000000000000000000000000000000000000000");
    let mut signed = identity.clone();
    signed[31] |= 0x80;
    for weak in [identity, signed, hex(&format!("ed{}7f", "ff".repeat(30)))] {
        assert_eq!(ed25519::PublicKey::from_bytes(&weak), Err(ed25519::KeyError::Weak));
    }
    assert_eq!(ed25519::PublicKey::from_bytes(&[1; 31]), Err(ed25519::KeyError::Length));
}

#[test]
fn the_strict_parser_refuses_what_a_digest_could_confuse() {
    let deep = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
    for (text, why) in [
        (r#"{"a":1,"a":2}"#, "the key `a` appears twice"),
        (r#"{"a":1,"\u0061":2}"#, "the key `a` appears twice"),
        (r#"[{"b":{"a":1,"a":1}}]"#, "appears twice"),
        ("9007199254740993", "2^53-1"),
        ("-9007199254740992", "2^53-1"),
        ("18446744073709551616", "2^53-1"),
        ("1e16", "2^53-1"),
        ("1e400", "out of range"),
        (r#""a\u0000b""#, "NUL"),
        (r#"{"\u0000":1}"#, "NUL"),
        (r#""\ud800""#, "hex escape"),
        (&deep(33), "deeper than 32"),
        ("1 2", "trailing"),
        ("\u{feff}1", "expected value"),
        ("", "EOF"),
        ("NaN", "expected value"),
    ] {
        let error = json::parse(text.as_bytes()).unwrap_err().to_string();
        assert!(error.contains(why), "{text}: {error}");
    }
    assert!(json::parse(deep(32).as_bytes()).is_ok());
    assert!(json::parse(&[b'"', 0xff, b'"']).is_err());
}

#[test]
fn numbers_are_normalised() {
    for (text, value) in [
        ("1.0", json!(1)),
        ("-0", json!(0)),
        ("-0.0", json!(0)),
        ("1e3", json!(1000)),
        ("0.5", json!(0.5)),
    ] {
        assert_eq!(json::parse(text.as_bytes()).unwrap(), value, "{text}");
    }
    assert_eq!(json::parse(b"9007199254740991").unwrap(), json!(9_007_199_254_740_991_i64));
}

#[test]
fn a_result_keeps_every_number_digit_for_digit() {
    #[rustfmt::skip]
    let cases = [
        (r#"{"id": 9007199254740993}"#,            json!({ "id": "9007199254740993" })),
        ("-9223372036854775808",                   json!("-9223372036854775808")),
        ("18446744073709551616 ",                  json!("18446744073709551616")),
        ("1e400",                                  json!("1e400")),
        ("1e-400",                                 json!("1e-400")),
        ("0.12345678901234567890",                 json!("0.12345678901234567890")),
        (r#"{"a\"1e999": [1e999, "1e999\\", 1e999]}"#, json!({ "a\"1e999": ["1e999", "1e999\\", "1e999"] })),
    ];
    for (text, held) in cases {
        let exact = json::Exact::parse(text.as_bytes()).unwrap();
        assert_eq!((&**exact.canonical().value(), exact.stands_as_text()), (&held, true));
        assert_eq!(json::parse(exact.canonical().text().as_bytes()), Ok(held), "{text}");
    }
    for text in ["9007199254740991", "[1.0, 1e3, 0.1, 2.50, -0, 1E-7, 5e-324]", r#"{"a":"1e21"}"#] {
        let exact = json::Exact::parse(text.as_bytes()).unwrap();
        assert!(!exact.stands_as_text(), "{text}");
        assert_eq!(**exact.canonical().value(), json::parse(text.as_bytes()).unwrap());
    }
    let made = json!([1e21, 9_007_199_254_740_993_i64, u64::MAX, 2.0, 0.5]);
    let exact = json::Exact::from(made);
    let held = json!([1e21, "9007199254740993", "18446744073709551615", 2, 0.5]);
    assert_eq!((&**exact.canonical().value(), exact.stands_as_text()), (&held, true));
}

#[test]
fn a_result_of_doubles_has_its_rfc_8785_form_however_large_they_are() {
    #[rustfmt::skip]
    let cases = [
        ("1e21",                         "1e+21"),
        ("1000000000000000000000",       "1e+21"),
        ("[6.02214076e23, 602214076E15]","[6.02214076e+23,6.02214076e+23]"),
        ("-1.7976931348623157e308",      "-1.7976931348623157e+308"),
        (r#"{"b":1e20,"a":-1e300}"#,     r#"{"a":-1e+300,"b":100000000000000000000}"#),
        // What a double prints as, zeros behind its 17 digits.
        ("123456789012345680000",        "123456789012345680000"),
        ("9007199254740992",             "9007199254740992"),
        ("-9007199254740994.0",          "-9007199254740994"),
        ("9007199254740994",             "9007199254740994"),
        ("1234567890123456800",          "1234567890123456800"),
        ("1.2345678901234568e18",        "1234567890123456800"),
        ("10000000000000000000",         "10000000000000000000"),
        ("1e20",                         "100000000000000000000"),
    ];
    for (text, form) in cases {
        let exact = json::Exact::parse(text.as_bytes()).unwrap();
        assert_eq!((exact.canonical().text().as_str(), exact.stands_as_text()), (form, false));
        assert!(exact.has_digest(sha256(form)), "{text}");
        let value: Value = serde_json::from_str(text).unwrap();
        assert_eq!(json::canonical_generally(&value), form.as_bytes(), "any RFC 8785 library");
        assert_eq!(json::Exact::from(value), exact, "a tool that made the same value");
        // Whoever prints the value, for an address or a person, prints the digits of the form.
        let read: Value = serde_json::from_str(form).unwrap();
        assert_eq!(**exact.canonical().value(), read, "{text}");
        assert_eq!(json::Exact::parse(form.as_bytes()).unwrap(), exact, "what is kept, read again");
        assert!(json::parse(text.as_bytes()).is_err(), "nothing is decided on it");
    }
}

#[test]
fn a_result_in_a_form_that_is_not_read_is_held_as_its_text() {
    let deep = |levels: usize| "[".repeat(levels) + &"]".repeat(levels);
    for text in [
        r#"{"note":"a\u0000b","n":1e21}"#,
        r#"[{"\u0000": 1}]"#,
        r#""a\ud800""#,
        r#"{"a":1,"\u0061":2}"#,
        &deep(33),
        // Deep enough to end a thread whose stack followed it.
        &deep(200_000),
    ] {
        let exact = json::Exact::parse(format!(" {text}\n").as_bytes()).unwrap();
        assert_eq!(
            (exact.canonical().value().as_str(), exact.stands_as_text()),
            (Some(text), true)
        );
        let held = json::parse(exact.canonical().text().as_bytes());
        assert_eq!(held.as_ref(), Ok(&**exact.canonical().value()), "the strict parser reads it");
        assert!(exact.has_digest(sha256(text)), "of the text that was sent");
        assert!(exact.has_digest(exact.canonical().digest()));
        assert!(!exact.has_digest(sha256("other")));
    }
    let exact = json::Exact::parse(br#"{"b": "\u0000", "a": 1.0}"#).unwrap();
    assert!(exact.has_digest(sha256(r#"{"a":1,"b":"\u0000"}"#)), "of its RFC 8785 form");
    let nested = (0..33).fold(json!(1e21), |inner, _| json!([inner]));
    for (made, held) in [
        (json!({ "\0": 9_007_199_254_740_993_i64 }), r#"{"\u0000":9007199254740993}"#.to_owned()),
        (json!(["\0"]), r#"["\u0000"]"#.to_owned()),
        (nested, format!("{}1e+21{}", "[".repeat(33), "]".repeat(33))),
    ] {
        let exact = json::Exact::from(made);
        assert_eq!(
            (exact.canonical().value().as_str(), exact.stands_as_text()),
            (Some(&*held), true)
        );
    }
}

#[test]
fn a_result_has_the_digest_of_what_was_sent_and_of_what_is_held() {
    let exact = json::Exact::parse(br#"{"b": 9007199254740993, "a": 1.0}"#).unwrap();
    for known in [r#"{"a":1,"b":9007199254740992}"#, r#"{"a":1,"b":"9007199254740993"}"#] {
        assert!(exact.has_digest(sha256(known)), "{known}");
    }
    assert!(!exact.has_digest(sha256(r#"{"a":1,"b":9007199254740993}"#)));
}

#[test]
fn a_result_that_is_no_json_is_refused_whatever_its_numbers_are() {
    for text in [
        "{1e21: 1}",
        "{1e21 : 1}",
        "1e21 1",
        "1e21e5",
        "1e",
        "01e21",
        "tru1e21",
        "1e21\"a\"",
        "[1e21",
        "\"1e21",
        "1e21x",
        "--1e21",
        "+1e21",
        ".1e21",
        "",
    ] {
        assert!(json::Exact::parse(text.as_bytes()).is_err(), "{text}");
    }
    assert!(json::Exact::parse(&[b'"', 0xff, b'"']).is_err());
    let refused = json::Exact::parse(b"[1e21,\"\xe9\"]").unwrap_err();
    assert!(refused.to_string().contains("unicode"), "{refused}");
}

#[test]
fn canonical_bytes_match_rfc_8785() {
    // The example of RFC 8785, section 3.2.4, less its number beyond 2^53.
    let value: Value = serde_json::from_str(
        r#"{"numbers":[1E30,4.50,2e-3,0.000000000000000000000000001],"string":"\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/","literals":[null,true,false]}"#,
    )
    .unwrap();
    assert_eq!(
        String::from_utf8(json::canonical(&value)).unwrap(),
        "{\"literals\":[null,true,false],\"numbers\":[1e+30,4.5,0.002,1e-27],\"string\":\"€$\\u000f\\nA'B\\\"\\\\\\\\\\\"/\"}"
    );
}

#[test]
fn a_ciphertext_opens_only_in_its_own_place() {
    let old = ring(&[1]);
    let sealed = old.seal(b"org/con/password", b"hunter2", &Counting).unwrap();
    let rotated = ring(&[2, 1]);
    assert_eq!(rotated.open(b"org/con/password", &sealed).unwrap().expose(), b"hunter2");
    let refused = rotated.open(b"org/other/password", &sealed);
    assert_eq!(refused.unwrap_err(), vault::VaultError::Refused);
    assert_eq!(ring(&[2]).open(b"", &sealed).unwrap_err(), vault::VaultError::UnknownKey);
    for at in 9..sealed.len() {
        let mut changed = sealed.clone();
        changed[at] ^= 1;
        assert!(rotated.open(b"org/con/password", &changed).is_err(), "byte {at}");
    }
    assert!(rotated.open(b"org/con/password", &sealed[..10]).is_err());
}

#[test]
fn a_ring_is_one_to_four_keys_of_32_bytes() {
    for bad in ["", "AAAA", "not base64"] {
        assert!(vault::Ring::parse(&Secret::new(bad.to_owned())).is_err(), "{bad}");
    }
    let five = [1, 2, 3, 4, 5].map(|_| "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=").join(",");
    assert!(vault::Ring::parse(&Secret::new(five)).is_err());
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-json::MAX_INTEGER..=json::MAX_INTEGER).prop_map(Value::from),
        (-1e15..1e15).prop_map(|number: f64| Value::from(number)),
        "[^\0]{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 40, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::btree_map("[^\0]{0,8}", inner, 0..6)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn parsing_canonical_bytes_gives_the_value_back(value in any_json()) {
        let bytes = json::canonical(&value);
        let parsed = json::parse(&bytes).unwrap();
        prop_assert_eq!(json::canonical(&parsed), bytes.clone());
        prop_assert_eq!(json::parse(&json::canonical(&parsed)).unwrap(), parsed);
    }

    #[test]
    fn canonical_bytes_of_any_value_are_those_of_the_full_writer(
        value in any_json(),
        keys in prop::collection::vec("[a\"\\\\/\u{1}\u{1f}\u{7f}é\u{d7ff}\u{e000}\u{ffff}\u{10000}]{0,3}", 0..5),
    ) {
        let keyed: serde_json::Map<_, _> =
            keys.into_iter().map(|key| (key.clone(), Value::from(vec![key]))).collect();
        for value in [value, Value::Object(keyed)] {
            prop_assert_eq!(json::canonical(&value), serde_json_canonicalizer::to_vec(&value).unwrap());
        }
    }

    #[test]
    fn every_double_is_a_result_in_its_rfc_8785_form(bits in any::<u64>()) {
        let double = f64::from_bits(bits);
        prop_assume!(double.is_finite());
        let form = json::canonical_generally(&Value::from(double));
        let exact = json::Exact::parse(&form).unwrap();
        prop_assert_eq!((exact.canonical().text().as_bytes(), exact.stands_as_text()), (&*form, false));
    }

    #[test]
    fn what_the_strict_parser_reads_is_a_result_as_it_stands(value in any_json()) {
        let text = json::canonical(&value);
        let exact = json::Exact::parse(&text).unwrap();
        prop_assert!(!exact.stands_as_text());
        prop_assert_eq!(exact.canonical().text().as_bytes(), text);
    }

    #[test]
    fn no_bytes_make_the_parser_panic(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
        let _ = json::parse(&bytes);
        let _ = json::Exact::parse(&bytes);
    }

    #[test]
    fn a_text_is_a_result_exactly_if_it_is_json(text in "[\\[\\]{}:,\"\\\\ 019e+.tr-]{0,12}") {
        let is_json = serde_json::from_str::<serde::de::IgnoredAny>(&text).is_ok();
        prop_assert_eq!(json::Exact::parse(text.as_bytes()).is_ok(), is_json);
    }
}

fn hex(text: &str) -> Vec<u8> {
    text.as_bytes()
        .chunks(2)
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap())
        .collect()
}

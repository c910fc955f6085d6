//! Signatures and secrets, beside the published example of Standard Webhooks.

use delivery::{SigningSecret, signature};

#[test]
fn the_published_example_is_signed_as_it_is_there() {
    let secret = SigningSecret::parse("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
    let signed = ("msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330);
    let body = br#"{"test": 2432232314}"#;
    let expected = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";
    assert_eq!(signature(std::slice::from_ref(&secret), signed, body), expected);
    let both = signature(&[secret.clone(), secret], signed, body);
    assert_eq!(both, format!("{expected} {expected}"));
}

#[test]
fn a_secret_is_read_in_the_form_that_it_is_shown_in_and_in_no_other() {
    let text = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    assert_eq!(SigningSecret::parse(text).unwrap().text().expose(), text);
    for wrong in ["", "whsec_", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_AAAA", "whsec_!"] {
        assert_eq!(SigningSecret::parse(wrong), None, "{wrong}");
    }
}

//! The published key set and the seal key file.

use std::time::Duration;

use super::support::{
    CHECKPOINT_SEED, Counting, DEED_SEED, hex, key_file, key_set, moment, private_keys, public_keys,
};
use crate::{KeyFileError, KeySet, KeySetError, KeyUseError, Purpose, SealKey, SealKeys};

/// A key set of one key as text.
pub(super) fn published(x: &str, kid: &str) -> String {
    format!(
        r#"{{"object":"seal_key_set","keys":[{{"kty":"OKP","crv":"Ed25519","alg":"Ed25519","use":"sig","kid":"{kid}","x":"{x}","purpose":"deed","activated_at":"2026-10-01T12:00:00.000Z","retired_at":null,"revoked_at":null,"revocation_reason":null,"compromised_since":null,"introduced_by":null}}]}}"#
    )
}

const X: &str = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo";
const KID: &str = "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k";

#[test]
fn a_key_set_reads_back_as_it_was_published() {
    let set = key_set();
    assert_eq!(KeySet::parse(set.to_json().as_bytes()), Ok(set.clone()));
    assert_eq!(set.etag(), key_set().etag());
    assert_eq!(set.etag().len(), 2 + 7 + 64);
    assert!(KeySet::parse(published(X, KID).as_bytes()).is_ok());
}

#[test]
fn a_key_set_is_read_strictly() {
    let good = published(X, KID);
    let swapped = KID.replace("kPrK", "kPrL");
    for (bad, why) in [
        (published(X, &swapped), "thumbprint"),
        (published("11qY", KID), "32 bytes"),
        (good.replace("\"use\":\"sig\",", ""), "missing field `use`"),
        (good.replace("\"use\"", "\"usage\""), "unknown field `usage`"),
        (good.replace("\"alg\":\"Ed25519\"", "\"alg\":\"HS256\""), "HS256"),
        (good.replace("\"alg\":\"Ed25519\"", "\"alg\":\"none\""), "none"),
        (good.replace("12:00:00.000Z", "12:00:00Z"), "RFC 3339"),
        (good.replace("\"object\":\"seal_key_set\",", ""), "missing field `object`"),
        (good.replace("\"kty\"", "\"kty\":\"OKP\",\"kty\""), "appears twice"),
        (good.replace("\"purpose\":\"deed\"", "\"purpose\":\"all\""), "unknown variant `all`"),
        ("[]".to_owned(), "expected a seal key set"),
    ] {
        let error = KeySet::parse(bad.as_bytes()).unwrap_err().to_string();
        assert!(error.contains(why), "{error}\n{bad}");
    }
}

#[test]
fn a_key_that_stands_twice_is_refused() {
    let key = public_keys().remove(0);
    let kid = key.kid();
    assert_eq!(KeySet::new(vec![key.clone(), key]), Err(KeySetError::Twice(kid)));
}

#[test]
fn a_key_counts_from_its_activation_until_just_before_its_retirement() {
    let mut key = public_keys().remove(0);
    let (from, until) = (key.activated_at, key.activated_at + Duration::from_mins(1));
    key.retired_at = Some(until);
    let tick = Duration::from_millis(1);
    assert_eq!(key.admits(Purpose::Deed, from.before(tick)), Err(KeyUseError::NotYetActive));
    assert_eq!(key.admits(Purpose::Deed, from), Ok(()));
    assert_eq!(key.admits(Purpose::Deed, until.before(tick)), Ok(()));
    assert_eq!(key.admits(Purpose::Deed, until), Err(KeyUseError::Retired));
    assert_eq!(key.admits(Purpose::Checkpoint, from), Err(KeyUseError::OtherPurpose));
    key.revoked_at = Some(until);
    assert_eq!(key.admits(Purpose::Deed, from), Err(KeyUseError::Revoked));
}

#[test]
fn an_old_key_introduces_a_new_one_of_its_purpose_only() {
    let keys = private_keys();
    let mut signers = keys.keys();
    let (_, deed) = signers.next().unwrap();
    let (_, checkpoint) = signers.next().unwrap();
    let new = SealKeys::from_pem(SealKeys::generate_pem(&Counting::default()).expose()).unwrap();
    let public = *new.keys().next().unwrap().1.public();
    let new = SealKey::new(public, Purpose::Deed, moment());
    let kid = new.kid();
    let with = |key: SealKey| KeySet::new([public_keys(), vec![key]].concat());
    let introduced = with(new.clone().introduced(deed)).unwrap();
    assert_eq!(KeySet::parse(introduced.to_json().as_bytes()), Ok(introduced));
    assert_eq!(
        with(new.clone().introduced(checkpoint)),
        Err(KeySetError::Introduction(kid.clone()))
    );
    let mut later = new.clone().introduced(deed);
    later.activated_at = moment() + Duration::from_secs(1);
    assert_eq!(with(later), Err(KeySetError::Introduction(kid.clone())));
    assert_eq!(
        KeySet::new(vec![new.introduced(deed)]),
        Err(KeySetError::Introduction(kid)),
        "the older key must be there"
    );
}

#[test]
fn a_generated_key_file_reads_back() {
    let file = SealKeys::generate_pem(&Counting::default());
    let keys = SealKeys::from_pem(file.expose()).unwrap();
    let purposes: Vec<_> = keys.keys().map(|(purpose, _)| purpose).collect();
    assert_eq!(purposes, [Purpose::Deed, Purpose::Checkpoint]);
    let publics: Vec<_> = keys.keys().map(|(_, key)| *key.public()).collect();
    assert_ne!(publics[0], publics[1]);
}

#[test]
fn a_key_file_of_version_2_documents_is_read() {
    // RFC 8410, section 10.3: the second example, with the public key and an attribute.
    let version_2 = "purpose: deed\n\
        -----BEGIN PRIVATE KEY-----\n\
        MHICAQEwBQYDK2VwBCIEINTuctv5E1hK1bbY8fdp+K06/nwoy/HU++CXqI9EdVhC\n\
        oB8wHQYKKoZIhvcNAQkJFDEPDA1DdXJkbGUgQ2hhaXJzgSEAGb9ECWmEzf6FQbrB\n\
        Z9w7lshQhqowtrbLDFw4rXAxZuE=\n\
        -----END PRIVATE KEY-----\n";
    let file = format!("{version_2}{}", key_file(&[(Purpose::Checkpoint, CHECKPOINT_SEED)]));
    let keys = SealKeys::from_pem(&file).unwrap();
    let public = *keys.keys().next().unwrap().1.public();
    assert_eq!(
        public.as_bytes().as_slice(),
        hex("19bf44096984cdfe8541bac167dc3b96c85086aa30b6b6cb0c5c38ad703166e1")
    );
}

#[test]
fn a_bad_key_file_is_refused_with_its_line() {
    let good = key_file(&[(Purpose::Deed, DEED_SEED), (Purpose::Checkpoint, CHECKPOINT_SEED)]);
    assert!(SealKeys::from_pem(&format!("# our keys\n\n{good}")).is_ok());
    let cases = [
        (good.replace("purpose: deed\n", ""), "line 1 "),
        (good.replace("purpose: deed", "purpose: Deed"), "line 1 "),
        (good.replace("PRIVATE", "PUBLIC"), "line 2 "),
        (good.replace("MC4C", "MC4D"), "ends at line 4: expected a PKCS#8"),
        (good.chars().take(60).collect(), "ends inside a block"),
        (key_file(&[(Purpose::Deed, DEED_SEED)]), "no key with `purpose: checkpoint`"),
        (String::new(), "no key with `purpose: deed`"),
    ];
    for (bad, why) in cases {
        let error = SealKeys::from_pem(&bad).unwrap_err();
        assert!(error.to_string().contains(why), "{error}");
        assert!(!error.to_string().contains("MC4C"), "{error}");
    }
    assert_eq!(SealKeys::from_pem("").unwrap_err(), KeyFileError::Missing(Purpose::Deed));
}

mod fuzz;
mod request;
mod vectors;

use crypto::ed25519::PublicKey;
use model::Timestamp;

use crate::*;

#[test]
fn a_proof_is_good_for_one_key_and_one_agent() {
    let (one, other) = (vectors::agents_key(), vectors::others_key());
    let proof = key::encode(&one.sign(proof_message(vectors::AGENT, one.public()).as_bytes()));
    assert!(proves(vectors::AGENT, one.public(), &proof));
    assert!(!proves(vectors::OTHER_AGENT, one.public(), &proof));
    assert!(!proves(vectors::AGENT, other.public(), &proof));
    assert!(!proves(vectors::AGENT, one.public(), proof.split_at(1).1));
}

#[test]
fn a_weak_key_is_none() {
    assert!(PublicKey::from_bytes(&[0; 32]).is_err());
}

#[test]
fn an_intent_that_held_is_over_when_its_end_comes() {
    let text = sign(&vectors::claims(), &vectors::agents_key());
    let now = |seconds| Timestamp::from_unix_millis((vectors::NOW + seconds) * 1000);
    let keys = [Key::from(*vectors::agents_key().public())];
    let verified = verify(&text, &keys, &vectors::call(), now(0)).unwrap();
    assert_eq!(verified.is_timely(now(59)), Ok(()));
    assert_eq!(verified.is_timely(now(60)).unwrap_err().check, Check::ExpiresAt);
    assert_eq!(verified.digest, crypto::sha256(&text));
}

#[test]
fn the_thumbprint_is_that_of_rfc_8037() {
    let seed = "nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A";
    let key = vectors::key(seed);
    assert_eq!(thumbprint(key.public()), "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k");
}

/// A report tells of each check that was made, and of all of them where the form is right.
#[test]
fn a_report_has_what_each_check_expected_and_got() {
    let mut claims = vectors::claims();
    (claims.tool, claims.obo) = ("shop.orders.read".to_owned(), None);
    let text = sign(&claims, &vectors::agents_key());
    let keys = [Key::from(*vectors::agents_key().public())];
    let now = Timestamp::from_unix_millis(vectors::NOW * 1000);
    let report = examine(&text, &keys, &vectors::call(), now);
    let failed: Vec<_> = report.checks.iter().filter(|checked| !checked.ok).collect();
    let told: Vec<_> = failed
        .iter()
        .map(|checked| (checked.check, checked.expected.as_str(), checked.got.as_str()))
        .collect();
    let tool = (Check::Tool, "shop.refunds.create", "shop.orders.read");
    assert_eq!(told, [tool, (Check::OnBehalfOf, "ann@example.com", "null")]);
    assert_eq!((report.checks.len(), report.verified), (17, None));
}

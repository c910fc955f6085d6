//! What the sealer makes, and when it makes nothing.

use std::time::Duration;

use model::Mint;
use serde_json::{Value, json};

use super::support::{Counting, Log, moment, private_keys, public_keys, sealer};
use crate::{
    Body, ChainHead, Commitment, Content, Disclosure, KeySet, KeySetError, Path, Purpose,
    SealError, Sealer, Word, commit, genesis_digest, specimen,
};

#[test]
fn the_self_test_passes_with_good_keys_and_fails_without() {
    assert_eq!(sealer().self_test(moment()), Ok(()));
    let none = Sealer::new(private_keys(), KeySet::default());
    assert_eq!(
        none.self_test(moment()),
        Err(SealError::NoKey { purpose: Purpose::Deed, at: moment() })
    );
}

#[test]
fn each_deed_names_the_one_before_and_its_place() {
    let log = Log::of(3);
    let bodies: Vec<_> =
        log.sealed.iter().map(|deed| Body::read(deed.body.as_bytes()).unwrap()).collect();
    assert_eq!(bodies[0].prev, genesis_digest(&bodies[0].log));
    assert_eq!(bodies[1].prev, log.sealed[0].digest);
    assert_eq!(bodies[2].prev, log.sealed[1].digest);
    assert_eq!(bodies.iter().map(|body| body.seq).collect::<Vec<_>>(), [0, 1, 2]);
    assert_eq!(log.head.last(), &log.sealed[2].digest);
}

#[test]
fn a_head_restored_from_its_parts_goes_on_the_same() {
    let mut log = Log::of(5);
    let frontier = crate::tree::Frontier::from_bytes(5, &log.head.frontier().to_bytes()).unwrap();
    let restored = ChainHead::restore(
        log.head.log().clone(),
        *log.head.last(),
        log.head.issued_at(),
        frontier,
    );
    assert_eq!(restored, log.head);
    log.seal(specimen::admin).unwrap();
    assert_eq!(restored.advance(log.sealed[5].digest, log.sealed[5].issued_at).0, log.head);
}

#[test]
fn a_refused_draft_leaves_the_head_where_it_was() {
    let mut log = Log::of(2);
    let before = log.head.clone();
    let refused = log.seal_action(|draft| draft.subject.kind = Word::of("agent"));
    assert!(matches!(refused, Err(SealError::Dishonest(_))), "{refused:?}");
    assert_eq!(log.head, before);
}

#[test]
fn a_deed_is_not_sealed_before_the_one_it_follows() {
    let mut log = Log::of(2);
    let (draft, _) = specimen::admin(&Mint::new(moment(), &Counting::default()));
    let at = log.head.issued_at().before(Duration::from_millis(1));
    let refused = log.sealer.seal(&mut log.head, draft.clone(), log.org, at);
    assert_eq!(refused, Err(SealError::Backdated { at, last: log.head.issued_at() }));
    assert!(log.sealer.seal(&mut log.head, draft, log.org, log.sealed[1].issued_at).is_ok());
}

#[test]
fn only_a_registered_key_in_its_time_seals() {
    let mut keys = public_keys();
    keys[0].retired_at = Some(moment());
    let retired = Sealer::new(private_keys(), KeySet::new(keys.clone()).unwrap());
    let mut log = Log { sealer: retired, ..Log::new() };
    assert_eq!(
        log.seal(specimen::admin),
        Err(SealError::NoKey { purpose: Purpose::Deed, at: moment() })
    );
    keys[0].retired_at = None;
    keys[0].purpose = Purpose::Checkpoint;
    log.sealer = Sealer::new(private_keys(), KeySet::new(keys).unwrap());
    assert!(matches!(log.seal(specimen::admin), Err(SealError::NoKey { .. })));
    log.sealer = sealer();
    assert!(log.seal(specimen::admin).is_ok());
}

#[test]
fn the_newest_active_key_seals() -> Result<(), KeySetError> {
    use super::support::{CHECKPOINT_SEED, DEED_SEED, key_file};
    let third = "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7";
    let file = key_file(&[
        (Purpose::Deed, DEED_SEED),
        (Purpose::Deed, third),
        (Purpose::Checkpoint, CHECKPOINT_SEED),
    ]);
    let keys = crate::SealKeys::from_pem(&file).unwrap();
    let (_, newer) = keys.keys().nth(1).unwrap();
    let mut public = public_keys();
    let since = moment() + Duration::from_secs(2);
    public.push(crate::SealKey::new(*newer.public(), Purpose::Deed, since));
    let kids: Vec<_> = public.iter().map(crate::SealKey::kid).collect();
    let mut log = Log { sealer: Sealer::new(keys, KeySet::new(public)?), ..Log::new() };
    for _ in 0..4 {
        log.seal(specimen::admin).unwrap();
    }
    let used: Vec<_> = log.sealed.iter().map(|deed| &deed.key_id).collect();
    assert_eq!(used, [&kids[0], &kids[0], &kids[2], &kids[2]]);
    Ok(())
}

#[test]
fn admin_facts_outside_the_profile_are_not_sealed() {
    let with = |data: Value| {
        let mut log = Log::new();
        log.seal(|mint| {
            let (mut draft, opened) = specimen::admin(mint);
            if let Content::Admin(admin) = &mut draft.content {
                admin.data = [("fact".to_owned(), data)].into_iter().collect();
            }
            (draft, opened)
        })
    };
    assert!(with(json!({"count": 3})).is_ok());
    for bad in [
        json!(1.5),
        json!(9_007_199_254_740_992_i64),
        json!(u64::MAX),
        json!({"Key": 1}),
        json!({"a b": 1}),
        json!({"": 1}),
        json!([[[[[[[[1]]]]]]]]),
    ] {
        assert!(matches!(with(bad.clone()), Err(SealError::Body(_))), "{bad}");
    }
    let big = with(json!("x".repeat(5000)));
    assert!(matches!(big, Err(SealError::Dishonest(fault)) if fault.rule == "data_bounded"));
}

#[test]
fn a_disclosure_opens_its_commitment_and_no_other() {
    let entropy = Counting::default();
    let mint = Mint::new(moment(), &entropy);
    let (commitment, open) = commit(&mint, Path::REQUEST, &json!({"b": [1, "\",\""], "a": null}));
    assert_eq!(open.value(), r#"{"a":null,"b":[1,"\",\""]}"#);
    assert_eq!(commitment.size, open.value().len() as u64);
    assert_eq!(Disclosure::from_text(open.text()).unwrap().commitment(), commitment);
    let (again, _) = commit(&mint, Path::REQUEST, &json!({"b": [1, "\",\""], "a": null}));
    assert_ne!(again.commit, commitment.commit, "every commitment has a salt of its own");
    let forged = open.text().replace("action.request", "action.session");
    assert_ne!(Disclosure::from_text(forged).unwrap().commitment(), commitment);
    for bad in ["", "[]", "[\"\",\"a\",1]", "[\"AAAA\",\"a\",1]", "x"] {
        assert!(Disclosure::from_text(bad.to_owned()).is_err(), "{bad}");
    }
}

#[test]
fn a_disclosure_does_not_show_its_value_in_debug() {
    let entropy = Counting::default();
    let mint = Mint::new(moment(), &entropy);
    let (_, open) = commit(&mint, Path::REQUEST, &json!("the secret"));
    assert!(!format!("{open:?}").contains("secret"));
}

#[test]
fn no_candidate_opens_a_commitment_without_its_salt() {
    let entropy = Counting::default();
    let mint = Mint::new(moment(), &entropy);
    let (Commitment { commit: digest, .. }, _) = commit(&mint, Path::SESSION, &json!(true));
    for candidate in ["true", "false", "null", "\"action.session\"", "[\"action.session\",true]"] {
        assert_ne!(crypto::sha256(candidate), digest);
        assert_ne!(crypto::sha256(format!("[\"\",\"action.session\",{candidate}]")), digest);
    }
}

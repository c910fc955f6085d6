//! Attacks on what deeds are made of, each by what the attacker does. Those on single bytes,
//! places and times are in `tampering`, `verifying` and the published vectors.

use base64::{Engine, engine::general_purpose::STANDARD};
use model::Mint;
use serde_json::{Value, json};

use super::{
    evidence::{evidence, story},
    support::{Counting, Log, faults, key_set, moment, private_keys, public_keys, trust},
    verifying::forge,
};
use crate::{
    Checkpoint, DEED_TYPE, EVIDENCE_TYPE, INTRODUCTION_TYPE, KeySet, Path, Purpose, SealKey,
    SealKeys, commit, note, pae,
    tree::{Tree, TreeHead},
    verify::{CheckId, Trust, Verdict, verify},
};

fn found(input: &str, trust: &Trust) -> (Verdict, Vec<CheckId>) {
    let report = verify(input.as_bytes(), trust);
    (report.verdict, faults(&report))
}

#[test]
fn a_key_swapped_in_the_key_set_under_its_old_name_spoils_the_set() {
    let stranger = SealKeys::generate_pem(&Counting::default());
    let stranger = SealKeys::from_pem(stranger.expose()).unwrap();
    let (_, key) = stranger.keys().next().unwrap();
    let x = serde_json::to_value(SealKey::new(*key.public(), Purpose::Deed, moment()).kid());
    let mut set: Value = serde_json::from_str(&key_set().to_json()).unwrap();
    let mut swapped = set.clone();
    let other = base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(key.public().as_bytes());
    swapped["keys"][0]["x"] = json!(other);
    assert!(KeySet::parse(swapped.to_string().as_bytes()).is_err(), "the name is not the key's");
    // Renamed as well, it is a set of somebody else: the body names a key that is not in it.
    set["keys"][0]["x"] = json!(other);
    set["keys"][0]["kid"] = x.unwrap();
    let keys = KeySet::parse(set.to_string().as_bytes()).unwrap();
    let log = Log::of(1);
    let trust = Trust { keys: Some(keys), ..Trust::default() };
    assert_eq!(found(&log.lines(), &trust), (Verdict::Undecidable, vec![CheckId::Key]));
    let mut form = log.forms[0].clone();
    form["signature"]["key_id"] = set["keys"][0]["kid"].clone();
    let (verdict, ids) = found(&form.to_string(), &trust);
    assert_eq!(verdict, Verdict::Invalid);
    assert!(ids.contains(&CheckId::KeyId), "{ids:?}");
}

#[test]
fn a_signature_made_for_one_record_counts_for_no_other() {
    let log = story();
    let body = &log.sealed[0].body;
    let keys = private_keys();
    let deed_key = keys.keys().find(|(purpose, _)| *purpose == Purpose::Deed).unwrap().1;
    for (told, made) in
        [(DEED_TYPE, EVIDENCE_TYPE), (DEED_TYPE, INTRODUCTION_TYPE), (EVIDENCE_TYPE, DEED_TYPE)]
    {
        let signature = deed_key.sign(&pae(made, body.as_bytes()));
        assert!(!deed_key.public().verifies(&pae(told, body.as_bytes()), &signature));
    }
    // A list of evidence as a deed, and a deed as the list.
    let file = evidence(&log, &[0], &[]);
    let list = STANDARD.decode(file["manifest"]["payload"].as_str().unwrap()).unwrap();
    let list = String::from_utf8(list).unwrap();
    let (verdict, ids) = found(&forge(&list, EVIDENCE_TYPE), &trust());
    assert_eq!(verdict, Verdict::Invalid);
    assert!(ids.contains(&CheckId::Type), "{ids:?}");
    let mut swapped = file.clone();
    swapped["manifest"] = file["deeds"][0].clone();
    let (verdict, ids) = found(&swapped.to_string(), &trust());
    assert_eq!((verdict, ids), (Verdict::Invalid, vec![CheckId::Manifest]));
    // A deed key does not sign checkpoints, whatever it signed.
    let signed = note::sign(&format!("{body}\n"), log.head.log().as_str(), deed_key).unwrap();
    assert!(Checkpoint::open_with(&signed, &key_set()).is_err());
    let forged = Checkpoint::of(&log.head).sign(deed_key).unwrap();
    assert!(Checkpoint::open_with(&forged, &key_set()).is_err());
}

#[test]
fn texts_that_look_alike_are_told_apart_and_kept_as_they_are() {
    let entropy = Counting::default();
    let mint = Mint::new(moment(), &entropy);
    let alike = [
        ("caf\u{e9}", "cafe\u{301}"),
        ("admin", "\u{202e}nimda"),
        ("a b", "a\u{a0}b"),
        ("a\nb", "a\u{2028}b"),
        ("x", "x\u{7f}"),
    ];
    for (one, other) in alike {
        assert_ne!(crypto::json::canonical(&json!(one)), crypto::json::canonical(&json!(other)));
        for text in [one, other] {
            let (_, open) = commit(&mint, Path::SESSION, &json!(text));
            let back: Value = serde_json::from_str(open.value()).unwrap();
            assert_eq!(back, json!(text), "no character is exchanged for another");
        }
    }
}

#[test]
fn a_chain_and_a_tree_that_disagree_are_found() {
    let log = Log::of(5);
    let keys = private_keys();
    let key = keys.keys().find(|(purpose, _)| *purpose == Purpose::Checkpoint).unwrap().1;
    // The holder of the keys signs a tree in which one deed in the middle is another.
    let mut digests: Vec<_> = log.sealed.iter().map(|deed| deed.digest).collect();
    digests[2] = crypto::sha256("another deed");
    let root = Tree::of(digests).root_at(5).unwrap();
    let tree = TreeHead { size: 5, root };
    let note = Checkpoint { log: log.head.log().clone(), tree }.sign(key).unwrap();
    let kept = Trust { known_checkpoint: Some(note), ..trust() };
    assert_eq!(found(&log.lines(), &trust()).0, Verdict::Valid, "the chain by itself holds");
    assert_eq!(found(&log.lines(), &kept), (Verdict::Invalid, vec![CheckId::Root]));
}

#[test]
fn a_size_or_root_is_read_from_what_is_signed_only() {
    let log = story();
    let file = evidence(&log, &[0, 1], &[]);
    for (from, to) in [("index 0\n", "index 1\n"), ("index 0\n", "index 9\n")] {
        let mut changed = file.clone();
        let proof = file["proofs"][0].as_str().unwrap().replace(from, to);
        changed["proofs"][0] = json!(proof);
        let (verdict, ids) = found(&changed.to_string(), &trust());
        assert_eq!((verdict, ids), (Verdict::Invalid, vec![CheckId::Inclusion]));
    }
    let proof = file["proofs"][0].as_str().unwrap();
    let smaller = proof.replace("\n7\n", "\n6\n");
    assert_ne!(proof, smaller);
    let mut changed = file.clone();
    changed["proofs"][0] = json!(smaller);
    let (verdict, ids) = found(&changed.to_string(), &trust());
    assert_eq!((verdict, ids), (Verdict::Invalid, vec![CheckId::Inclusion]));
}

#[test]
fn a_key_revoked_after_the_fact_takes_its_deeds_with_it() {
    let log = Log::of(2);
    let mut keys = public_keys();
    keys[0].revoked_at = Some(moment() + std::time::Duration::from_hours(24));
    let trust = Trust { keys: Some(KeySet::new(keys).unwrap()), ..Trust::default() };
    assert_eq!(found(&log.lines(), &trust), (Verdict::Invalid, vec![CheckId::Revoked]));
}

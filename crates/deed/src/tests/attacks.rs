//! Attacks on what deeds are made of, each by what the attacker does. Those on single bytes,
//! places and times are in `tampering`, `verifying` and the published vectors.

use base64::{Engine, engine::general_purpose::STANDARD};
use model::Mint;
use serde_json::{Value, json};

use super::{
    evidence::{evidence, story},
    support::{Counting, Log, faults, key_set, lines, moment, private_keys, public_keys, trust},
    verifying::forge,
};
use crate::{
    Checkpoint, DEED_TYPE, EVIDENCE_TYPE, INTRODUCTION_TYPE, KeySet, Path, Purpose, SealKey,
    SealKeys, commit, note, pae, specimen,
    tree::{Tree, TreeHead, inclusion, leaf_hash, verify_inclusion},
    verify::{CheckId, Grade, Trust, Verdict, examine},
};

fn found(input: &str, trust: &Trust) -> (Verdict, Vec<CheckId>) {
    let report = examine(input.as_bytes(), trust);
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

/// The lengths of the logs whose tails are cut: across several sizes of subtrees.
const LENGTH: usize = 9;

/// A log and the checkpoint of each of its sizes.
fn log_and_checkpoints() -> (Log, Vec<String>) {
    let mut log = Log::new();
    let mut notes = vec![log.checkpoint()];
    for _ in 0..LENGTH {
        log.seal(specimen::admin).unwrap();
        notes.push(log.checkpoint());
    }
    (log, notes)
}

/// Holds a log that was cut behind `cut` deeds against every checkpoint of what it was: those of
/// deeds that are no more find it, those of deeds that still stand vouch for it.
fn against_every_checkpoint(shown: &str, cut: usize, notes: &[String]) {
    let bare = examine(shown.as_bytes(), &trust());
    assert_eq!(bare.verdict, Verdict::Valid, "a chain alone shows nothing: cut behind {cut}");
    for (size, note) in notes.iter().enumerate().skip(1) {
        let kept = Trust { known_checkpoint: Some(note.clone()), ..trust() };
        let report = examine(shown.as_bytes(), &kept);
        if size > cut {
            // One deed alone need not be a log that was cut; nothing vouches for it either.
            let is_log = shown.lines().count() > 1;
            let verdict = if is_log { Verdict::Invalid } else { Verdict::Undecidable };
            let found = (report.verdict, faults(&report));
            assert_eq!(found, (verdict, vec![CheckId::Root]), "cut {cut}, kept {size}");
        } else {
            assert_eq!(report.grade, Some(Grade::Checkpointed), "cut {cut}, kept {size}");
        }
    }
}

#[test]
fn a_cut_tail_is_valid_by_itself_and_caught_by_any_one_checkpoint_of_what_is_gone() {
    let (log, notes) = log_and_checkpoints();
    for cut in 1..LENGTH {
        against_every_checkpoint(&lines(&log.forms[..cut]), cut, &notes);
    }
}

#[test]
fn a_tail_cut_and_regrown_is_valid_by_itself_and_caught_by_any_one_checkpoint_of_what_is_gone() {
    let (log, notes) = log_and_checkpoints();
    for cut in 1..LENGTH {
        for length in [LENGTH, LENGTH + 3] {
            let mut other = Log::of(cut as u64);
            // The other history draws other bytes from here on.
            other.entropy = Counting::from(1 << 20);
            (cut..length).for_each(|_| drop(other.seal(specimen::admin).unwrap()));
            assert_eq!(other.forms[..cut], log.forms[..cut]);
            assert_ne!(other.forms[cut], log.forms[cut]);
            against_every_checkpoint(&other.lines(), cut, &notes);
        }
    }
}

#[test]
fn no_other_algorithm_and_no_key_inside_the_message_counts() {
    let log = Log::of(1);
    let stranger = SealKeys::from_pem(SealKeys::generate_pem(&Counting::from(7)).expose()).unwrap();
    let (_, key) = stranger.keys().next().unwrap();
    let signature = key.sign(&pae(DEED_TYPE, log.sealed[0].body.as_bytes()));
    let x = base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(key.public().as_bytes());
    let jwk = json!({ "kty": "OKP", "crv": "Ed25519", "x": x });
    let algorithms = [
        "none",
        "None",
        "",
        "HS256",
        "HS512",
        "RS256",
        "PS256",
        "ES256",
        "ES384",
        "EdDSA",
        "ed25519",
        "Ed448",
        "Ed25519ph",
    ];
    let algorithms = algorithms.map(|alg| ("alg", json!(alg)));
    let carried = [
        ("jwk", jwk),
        ("jku", json!("https://example.com/keys.json")),
        ("x5c", json!(["MIIB"])),
        ("x5u", json!("https://example.com/cert.pem")),
        ("crit", json!(["exp"])),
        ("kid", json!("mine")),
        ("zip", json!("DEF")),
        ("b64", json!(false)),
    ];
    for (member, value) in algorithms.into_iter().chain(carried) {
        for signed_by_stranger in [None, Some(STANDARD.encode(signature))] {
            let mut form = log.forms[0].clone();
            form["signature"][member] = value.clone();
            if let Some(signature) = signed_by_stranger {
                form["signature"]["value"] = json!(signature);
            }
            let (verdict, _) = found(&form.to_string(), &trust());
            assert_ne!(verdict, Verdict::Valid, "{member}: {value}");
        }
        let mut form = log.forms[0].clone();
        form[member] = value.clone();
        assert_ne!(found(&form.to_string(), &trust()).0, Verdict::Valid, "{member} beside it");
    }
}

#[test]
fn a_proof_too_short_too_long_or_of_another_size_shows_nothing() {
    let digests: Vec<_> = (0..24_u64).map(|it| crypto::sha256(it.to_be_bytes())).collect();
    let tree = Tree::of(digests.iter().copied());
    for size in 1..=24 {
        let head = TreeHead { size, root: tree.root_at(size).unwrap() };
        for (index, digest) in (0..size).zip(&digests) {
            let leaf = leaf_hash(digest.as_bytes());
            let proof = inclusion(&tree, index, size).unwrap();
            assert!(verify_inclusion(leaf, index, &proof, &head));
            let longer = [proof.clone(), vec![*digest]].concat();
            assert!(!verify_inclusion(leaf, index, &longer, &head));
            let (mut first_gone, mut last_gone) = (proof.clone(), proof.clone());
            if last_gone.pop().is_some() {
                first_gone.remove(0);
                assert!(!verify_inclusion(leaf, index, &last_gone, &head), "{index} of {size}");
                assert!(!verify_inclusion(leaf, index, &first_gone, &head), "{index} of {size}");
            }
            for other in (1..=24).filter(|other| *other != size) {
                let other = TreeHead { size: other, root: tree.root_at(other).unwrap() };
                assert!(!verify_inclusion(leaf, index, &proof, &other), "{size} as {other:?}");
            }
        }
    }
}

#[test]
fn of_a_million_candidates_none_opens_a_commitment_whose_salt_is_gone() {
    let entropy = Counting::default();
    let mint = Mint::new(moment(), &entropy);
    let value = |amount: u32| format!("{{\"amount\":{amount},\"approve\":true}}");
    let secret: Value = serde_json::from_str(&value(123_456)).unwrap();
    let (commitment, open) = commit(&mint, Path::REQUEST, &secret);
    let (_, beside) = commit(&mint, Path::SESSION, &json!("kept"));
    // What somebody may put in the salt's place: nothing, zeroes, the salt of another value.
    let zeroes = "A".repeat(43);
    let beside = beside.text();
    let known = beside.split('"').nth(1).unwrap();
    let salted = ["", &zeroes, known].map(|salt| format!("[\"{salt}\",\"action.request\","));
    let mut tried = 0;
    for amount in 0..250_000 {
        let value = value(amount);
        assert_ne!(crypto::sha256(&value), commitment.commit);
        for salted in &salted {
            let guess = [salted.as_bytes(), value.as_bytes(), b"]"].concat();
            assert_ne!(crypto::sha256(guess), commitment.commit);
        }
        tried += 1 + salted.len();
    }
    assert_eq!(tried, 1_000_000);
    // With its salt the very same candidate opens it.
    let text = open.text();
    let salt = text.split('"').nth(1).unwrap();
    let opened = format!("[\"{salt}\",\"action.request\",{}]", value(123_456));
    assert_eq!(crypto::sha256(opened), commitment.commit);
}

#[test]
fn input_that_is_made_to_cost_work_is_refused_at_a_bound_that_is_told() {
    let said = |input: &str| {
        let report = examine(input.as_bytes(), &trust());
        assert_ne!(report.verdict, Verdict::Valid);
        report.checks.iter().map(|check| check.detail.as_str()).collect::<String>()
    };
    let deep = said(&format!("{{\"object\":{}", "[".repeat(1_000_000)));
    assert!(deep.contains("nested deeper than 32 levels"), "{deep}");
    let body = &Log::of(1).sealed[0].body;
    let deep = body.replace("\"seq\":0", &format!("\"seq\":{}0{}", "[".repeat(20), "]".repeat(20)));
    let deep = said(&forge(&deep, DEED_TYPE));
    assert!(deep.contains("nested too deep"), "{deep}");
    let long = body.replace("\"seq\":0", &format!("\"seq\":\"{}\"", "x".repeat(16 * 1024)));
    let long = said(&forge(&long, DEED_TYPE));
    assert!(long.contains("longer than 16384 bytes"), "{long}");
    let many = "{\"object\":\"deed\",".to_owned() + &"\"a\":1,".repeat(100_000) + "\"a\":1}";
    assert!(said(&many).contains("appears twice"));
}

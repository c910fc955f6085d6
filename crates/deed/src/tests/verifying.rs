//! What the verifier says of good deeds, and of good deeds without the means to decide.

use std::time::Duration;

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::{Value, json};

use super::support::{
    Log, amendment_of, faults, key_set, lines, moment, private_keys, public_keys, trust,
};
use crate::{
    DEED_TYPE, Envelope, KeySet, Purpose, Sealer, pae, parallel, specimen,
    verify::{CheckId, Grade, Progress, Trust, Verdict, examine, verify_telling},
};

/// A log with a deed of each kind.
fn full_log() -> Log {
    let mut log = Log::new();
    let first = log.seal(|mint| specimen::action(mint).unwrap()).unwrap();
    log.seal(specimen::admin).unwrap();
    log.seal(amendment_of(&first)).unwrap();
    log
}

fn envelope(deed: &crate::Sealed) -> String {
    let envelope = Envelope::new(DEED_TYPE, &deed.body, (&deed.key_id, &deed.signature));
    serde_json::to_string(&envelope).unwrap()
}

/// Signs any payload with the deed key, as only a broken service would.
pub(super) fn forge(payload: &str, payload_type: &str) -> String {
    let keys = private_keys();
    let (_, key) = keys.keys().next().unwrap();
    let signature = key.sign(&pae(payload_type, payload.as_bytes()));
    let kid = crate::thumbprint(key.public());
    let envelope = Envelope::new(payload_type, payload, (&kid, &signature));
    serde_json::to_string(&envelope).unwrap()
}

#[test]
fn one_deed_of_each_kind_is_valid_in_both_forms() {
    let log = full_log();
    for (form, sealed) in log.forms.iter().zip(&log.sealed) {
        let report = examine(form.to_string().as_bytes(), &trust());
        assert_eq!((report.verdict, report.grade), (Verdict::Valid, Some(Grade::Signed)));
        assert_eq!(report.deeds[0].id, sealed.id);
        let report = examine(envelope(sealed).as_bytes(), &trust());
        assert_eq!(report.verdict, Verdict::Valid, "{report:?}");
    }
}

#[test]
fn a_whole_log_is_chained_and_a_checkpoint_raises_its_grade() {
    let log = full_log();
    let chained = examine(log.lines().as_bytes(), &trust());
    assert_eq!((chained.verdict, chained.grade), (Verdict::Valid, Some(Grade::Chained)));
    let known_checkpoint = Some(log.checkpoint());
    let trust = Trust { known_checkpoint, expected_size: Some(3), ..trust() };
    let report = examine(log.lines().as_bytes(), &trust);
    assert_eq!((report.verdict, report.grade), (Verdict::Valid, Some(Grade::Checkpointed)));
    let mixed: String = log.sealed.iter().map(|deed| envelope(deed) + "\n").collect();
    assert_eq!(examine(mixed.as_bytes(), &trust).grade, Some(Grade::Checkpointed));
}

#[test]
fn an_older_checkpoint_still_vouches_for_the_log_that_grew() {
    let mut log = Log::of(5);
    let known_checkpoint = Some(log.checkpoint());
    for _ in 0..4 {
        log.seal(specimen::admin).unwrap();
    }
    let report = examine(log.lines().as_bytes(), &Trust { known_checkpoint, ..trust() });
    assert_eq!(report.grade, Some(Grade::Checkpointed));
}

#[test]
fn a_part_of_a_log_is_chained_and_a_checkpoint_cannot_be_compared_with_it() {
    let log = Log::of(6);
    let part = lines(&log.forms[2..5]);
    assert_eq!(examine(part.as_bytes(), &trust()).grade, Some(Grade::Chained));
    let with = Trust { known_checkpoint: Some(log.checkpoint()), ..trust() };
    let report = examine(part.as_bytes(), &with);
    assert_eq!((report.verdict, faults(&report)), (Verdict::Undecidable, vec![CheckId::Root]));
}

#[test]
fn without_the_key_nothing_is_decided() {
    let log = Log::of(1);
    let text = log.lines();
    let none = examine(text.as_bytes(), &Trust::default());
    assert_eq!((none.verdict, faults(&none)), (Verdict::Undecidable, vec![CheckId::Key]));
    let other = Trust { keys: Some(KeySet::default()), ..Trust::default() };
    assert_eq!(examine(text.as_bytes(), &other).verdict, Verdict::Undecidable);
    assert_eq!(none.deeds.len(), 1, "what was read is still told");
}

#[test]
fn a_key_outside_its_time_or_revoked_makes_a_deed_invalid() {
    let log = Log::of(1);
    let with = |change: &dyn Fn(&mut crate::SealKey)| {
        let mut keys = public_keys();
        change(&mut keys[0]);
        let keys = Some(KeySet::new(keys).unwrap());
        examine(log.lines().as_bytes(), &Trust { keys, ..Trust::default() })
    };
    let tick = Duration::from_millis(1);
    assert_eq!(with(&|key| key.activated_at = moment()).verdict, Verdict::Valid);
    let early = with(&|key| key.activated_at = moment() + tick);
    assert_eq!((early.verdict, faults(&early)), (Verdict::Invalid, vec![CheckId::Window]));
    assert_eq!(with(&|key| key.retired_at = Some(moment() + tick)).verdict, Verdict::Valid);
    let retired = with(&|key| key.retired_at = Some(moment()));
    assert_eq!(faults(&retired), [CheckId::Window]);
    let revoked = with(&|key| key.revoked_at = Some(moment() + tick));
    assert_eq!((revoked.verdict, faults(&revoked)), (Verdict::Invalid, vec![CheckId::Revoked]));
    let purpose = with(&|key| key.purpose = Purpose::Checkpoint);
    assert_eq!(faults(&purpose), [CheckId::Window]);
}

#[test]
fn pruned_payloads_leave_a_valid_deed() {
    let log = full_log();
    let mut form = log.forms[0].clone();
    form["disclosures"] = json!([]);
    assert_eq!(examine(form.to_string().as_bytes(), &trust()).verdict, Verdict::Valid);
    let mut one = log.forms[0].clone();
    one["disclosures"].as_array_mut().unwrap().truncate(1);
    assert_eq!(examine(one.to_string().as_bytes(), &trust()).verdict, Verdict::Valid);
}

#[test]
fn a_disclosure_that_opens_something_else_is_found() {
    let log = full_log();
    let verdict = |change: &dyn Fn(&mut Vec<Value>)| {
        let mut form = log.forms[0].clone();
        change(form["disclosures"].as_array_mut().unwrap());
        let report = examine(form.to_string().as_bytes(), &trust());
        (report.verdict, faults(&report))
    };
    let bad = (Verdict::Invalid, vec![CheckId::Disclosures]);
    let twice = |all: &mut Vec<Value>| all.push(all[0].clone());
    assert_eq!(verdict(&twice), bad);
    let other = log.forms[1]["disclosures"][0].clone();
    assert_eq!(verdict(&|all| all.push(other.clone())), bad);
    let changed = |all: &mut Vec<Value>| {
        let text = STANDARD.decode(all[1].as_str().unwrap()).unwrap();
        let text = String::from_utf8(text).unwrap().replace("12.5", "92.5");
        all[1] = json!(STANDARD.encode(text));
    };
    assert_eq!(verdict(&changed), bad);
    assert_eq!(verdict(&|all| all[0] = json!("AAAA")), bad);
}

#[test]
fn a_newer_kind_or_format_is_undecidable_and_not_invalid() {
    let body = Log::of(1).sealed[0].body.clone();
    for newer in [
        body.replace("\"kind\":\"admin\"", "\"kind\":\"session\""),
        body.replace("service.deed.v1", "service.deed.v2"),
    ] {
        assert_ne!(newer, body);
        let report = examine(forge(&newer, DEED_TYPE).as_bytes(), &trust());
        assert_eq!((report.verdict, faults(&report)), (Verdict::Undecidable, vec![CheckId::Shape]));
    }
}

#[test]
fn a_checkpoint_by_a_stranger_or_a_revoked_key_does_not_count() {
    let log = Log::of(2);
    let with = |keys: KeySet, known: &str| {
        let trust = Trust {
            keys: Some(keys),
            known_checkpoint: Some(known.to_owned()),
            expected_size: None,
        };
        let report = examine(log.lines().as_bytes(), &trust);
        (report.verdict, faults(&report))
    };
    let note = log.checkpoint();
    let bad = (Verdict::Invalid, vec![CheckId::Checkpoint]);
    let mut keys = public_keys();
    keys[1].revoked_at = Some(moment());
    assert_eq!(with(KeySet::new(keys).unwrap(), &note), bad);
    let mut keys = public_keys();
    keys[1].purpose = Purpose::Deed;
    assert_eq!(with(KeySet::new(keys).unwrap(), &note), bad);
    assert_eq!(with(key_set(), &note.replace("\n2\n", "\n1\n")), bad);
    assert_eq!(with(key_set(), &note.replace("\n2\n", "\n02\n")), bad);
    assert_eq!(with(key_set(), ""), bad);
    let mut elsewhere = Log::new();
    elsewhere.head = crate::ChainHead::genesis(
        log.head.log().as_str().replace("specimen.example", "other.example").parse().unwrap(),
    );
    elsewhere.seal(specimen::admin).unwrap();
    let other_log = with(key_set(), &elsewhere.checkpoint());
    assert_eq!(other_log, (Verdict::Invalid, vec![CheckId::Root]));
}

#[test]
fn a_checkpoint_of_an_empty_log_raises_no_grade() {
    let note = Log::new().checkpoint();
    let log = Log::of(2);
    let report =
        examine(log.lines().as_bytes(), &Trust { known_checkpoint: Some(note), ..trust() });
    assert_eq!((report.verdict, report.grade), (Verdict::Valid, Some(Grade::Chained)));
}

#[test]
fn what_amendments_leave_of_an_action_must_be_honest() {
    let amended = |change: &dyn Fn(&mut crate::Changes)| {
        let mut log = Log::new();
        let first = log.seal(|mint| specimen::action(mint).unwrap()).unwrap();
        for only_the_last in [false, true] {
            log.seal(|mint| {
                let (mut draft, _) = amendment_of(&first)(mint);
                if let crate::Content::Amendment(amendment) = &mut draft.content {
                    amendment.n = 1 + u32::from(only_the_last);
                    if only_the_last {
                        change(&mut amendment.changes);
                    }
                }
                (draft, vec![])
            })
            .unwrap();
        }
        let report = examine(log.lines().as_bytes(), &trust());
        (report.verdict, faults(&report))
    };
    let unknown = |changes: &mut crate::Changes| {
        changes.witness = None;
        if let Some(execution) = &mut changes.execution {
            execution.status = model::ExecutionStatus::Unknown;
        }
    };
    assert_eq!(amended(&|_| ()).0, Verdict::Valid);
    assert_eq!(amended(&|changes| changes.execution = None).0, Verdict::Valid);
    // By itself the change is honest; beside the finding that still stands it is not.
    assert_eq!(amended(&unknown), (Verdict::Invalid, vec![CheckId::Amends]));
}

#[test]
fn a_note_may_carry_signatures_of_strangers() {
    let log = Log::of(2);
    let note = log.checkpoint() + "\u{2014} witness.example AAAAAAAAAAAA\n";
    let trust = Trust { known_checkpoint: Some(note), ..trust() };
    assert_eq!(examine(log.lines().as_bytes(), &trust).grade, Some(Grade::Checkpointed));
}

#[test]
fn what_is_no_deed_is_malformed() {
    let mut form = Log::of(1).forms.remove(0);
    form["more"] = json!(1);
    let envelope = forge("{}", DEED_TYPE);
    let two = envelope.replace("[{", "[{\"keyid\":\"\",\"sig\":\"\"},{");
    for bad in [
        "",
        "\n\n",
        "{}",
        "[]",
        "null",
        "\u{feff}{}",
        "{\"object\":\"deed\"}",
        "{\"a\":1,\"a\":1}",
        &form.to_string(),
        &two,
        "deed",
    ] {
        assert_eq!(examine(bad.as_bytes(), &trust()).verdict, Verdict::Malformed, "{bad}");
    }
    assert_eq!(examine(&[0xff, 0xfe], &trust()).verdict, Verdict::Malformed);
    let garbage = Log::of(1).lines() + "{}\n";
    assert_eq!(examine(garbage.as_bytes(), &trust()).verdict, Verdict::Malformed);
}

#[test]
fn a_sealer_of_another_deployment_is_a_stranger() {
    let mut log = Log::of(1);
    let file = crate::SealKeys::generate_pem(&super::support::Counting::default());
    let keys = crate::SealKeys::from_pem(file.expose()).unwrap();
    let since = moment();
    let public: Vec<_> = keys
        .keys()
        .map(|(purpose, key)| crate::SealKey::new(*key.public(), purpose, since))
        .collect();
    log.sealer = Sealer::new(keys, KeySet::new(public).unwrap());
    log.seal(specimen::admin).unwrap();
    let report = examine(log.lines().as_bytes(), &trust());
    assert_eq!((report.verdict, faults(&report)), (Verdict::Undecidable, vec![CheckId::Key]));
}

#[test]
fn a_long_verification_tells_how_far_it_has_come() {
    let all = parallel::BLOCK + 2;
    let text = Log::of(1).lines().repeat(all);
    let mut told = Vec::new();
    verify_telling(text.as_bytes(), &trust(), &mut |so_far| told.push(so_far)).unwrap_err();
    let steps = [all - 2, all];
    let read = steps.map(|done| Progress::Read { done, all });
    let checked = steps.map(|done| Progress::Checked { done, all });
    assert_eq!(told, [read, checked].concat());
}

//! A check that is not run is missed: each is left out once, and what was valid no longer is.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{
    support::{Log, faults, key_set},
    vectors::{published, trust},
};
use crate::{
    specimen,
    verify::{
        CheckId, CheckStatus, Grade, Position, REQUIRED, Report, Stored, StoredError, Verdict,
        VerifiedDeed, examine, left_out, verify, verify_stored,
    },
};

fn without(check: CheckId, case: &Value) -> Report {
    let trust = trust(case);
    left_out::during(check, || examine(case["input"].as_str().unwrap().as_bytes(), &trust))
}

fn is_about(case: &Value, member: &str, name: &str) -> bool {
    case[member].as_array().unwrap().contains(&json!(name))
}

#[test]
fn without_one_of_its_checks_nothing_is_valid_and_the_check_is_named() {
    let valid = published("valid.jsonl");
    let mut missed = BTreeSet::new();
    for (case, check) in
        valid.iter().flat_map(|case| CheckId::ALL.iter().map(move |id| (case, *id)))
    {
        let whole = examine(case["input"].as_str().unwrap().as_bytes(), &trust(case));
        let cut = without(check, case);
        let name = &case["name"];
        if whole.checks.iter().any(|ran| ran.id == check) {
            assert_eq!(cut.verdict, Verdict::Undecidable, "{name} without {check:?}");
            assert_eq!(cut.grade, None, "{name} without {check:?}");
            assert!(faults(&cut).contains(&check), "{name} without {check:?}: {cut:?}");
            missed.insert(check);
        } else {
            assert_eq!(cut, whole, "{name} never needed {check:?}");
        }
    }
    assert_eq!(missed, CheckId::ALL.iter().copied().collect(), "each is needed by some vector");
}

#[test]
fn without_the_check_that_refuses_it_a_refused_vector_comes_out_otherwise_and_never_valid() {
    let refused = published("refused.jsonl");
    for check in CheckId::ALL {
        let mut differ = 0;
        for case in refused.iter().filter(|case| is_about(case, "checks", check.as_str())) {
            let cut = without(*check, case);
            assert_ne!(cut.verdict, Verdict::Valid, "{} without {check:?}", case["name"]);
            differ += usize::from(json!(cut.verdict) != case["verdict"]);
        }
        // What is no deed stays none, whoever says so.
        assert!(differ > 0 || *check == CheckId::Input, "no vector shows that {check:?} is gone");
    }
}

#[test]
fn what_is_required_of_a_stored_deed_is_missed_too() {
    let mut log = Log::of(1);
    log.seal(|mint| specimen::action(mint).unwrap()).unwrap();
    let (first, second) = (&log.sealed[0], &log.sealed[1]);
    let follow = |seq: u64| -> Result<VerifiedDeed, StoredError> {
        let deed = &log.sealed[usize::try_from(seq).unwrap()];
        let (body, key_id) = (deed.body.as_str(), deed.key_id.as_str());
        let stored = Stored { body, digest: deed.digest, key_id, signature: &deed.signature };
        let before = (seq > 0).then_some((first.digest, first.issued_at));
        let place = Position { org: log.org, log: log.head.log(), seq, before };
        verify_stored(&stored, &place, &key_set())
    };
    assert_eq!(follow(0).unwrap().body().id, first.id);
    assert_eq!(follow(1).unwrap().body().id, second.id);
    let of_stored = |rows: &[&str]| -> Vec<CheckId> {
        let rows = REQUIRED.iter().filter(|(of, _, _)| rows.contains(&format!("{of:?}").as_str()));
        rows.flat_map(|(_, _, checks)| checks.iter().copied()).collect()
    };
    for check in of_stored(&["Deed", "Stored"]) {
        for seq in 0..2 {
            let error = left_out::during(check, || follow(seq)).unwrap_err();
            assert_eq!(error.check, check, "{error}");
        }
    }
}

#[test]
fn a_valid_verdict_comes_with_a_value_that_only_the_verifier_makes() {
    let case = &published("valid.jsonl")[0];
    let verified = verify(case["input"].as_str().unwrap().as_bytes(), &trust(case)).unwrap();
    assert!(verified.grade() >= Grade::Signed);
    assert_eq!(verified.report().verdict, Verdict::Valid);
    assert_eq!(verified.deeds(), verified.report().deeds);
    let ran: Vec<_> = verified.report().checks.iter().map(|check| check.status).collect();
    assert!(ran.iter().all(|status| *status == CheckStatus::Passed), "{ran:?}");
    let refused = verify(b"{}", &trust(case)).unwrap_err();
    assert_eq!(refused.verdict, Verdict::Malformed);
    assert!(refused.to_string().starts_with("malformed: `input`: "), "{refused}");
}

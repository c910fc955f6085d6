//! Files of evidence, proofs as text, and two histories side by side.

use serde_json::{Value, json};

use super::support::{Log, amendment_of, faults, lines, trust};
use crate::{
    Checkpoint, Exhibit, Exhibits, specimen,
    tree::{TlogProof, Tree, consistency, inclusion},
    verify::{CheckId, Comparison, Grade, Trust, Verdict, compare, examine, verify},
};

/// A log of an action, two amendments of it, and admin deeds around them.
pub(super) fn story() -> Log {
    let mut log = Log::of(2);
    let action = log.seal(|mint| specimen::action(mint).unwrap()).unwrap();
    for n in 1..=2 {
        log.seal(specimen::admin).unwrap();
        log.seal(|mint| {
            let (mut draft, opened) = amendment_of(&action)(mint);
            if let crate::Content::Amendment(amendment) = &mut draft.content {
                amendment.n = n;
            }
            (draft, opened)
        })
        .unwrap();
    }
    log
}

/// Evidence of these deeds of the log, with proofs from these sizes.
pub(super) fn evidence(log: &Log, seqs: &[u64], from: &[u64]) -> Value {
    let tree = Tree::of(log.sealed.iter().map(|deed| deed.digest));
    let size = tree.size();
    let deeds = seqs.iter().map(|seq| {
        let place = usize::try_from(*seq).unwrap();
        let deed = &log.sealed[place];
        Exhibit {
            body: deed.body.clone(),
            signature: deed.signature,
            path: inclusion(&tree, *seq, size).unwrap(),
            disclosures: log.opened[place].clone(),
            intent: log.intents[place].clone(),
        }
    });
    let exhibits = Exhibits {
        deeds: deeds.collect(),
        checkpoint: log.checkpoint(),
        consistency: from
            .iter()
            .map(|old| (*old, consistency(&tree, *old, size).unwrap()))
            .collect(),
    };
    serde_json::from_str(&log.sealer.evidence(&exhibits, log.now()).unwrap()).unwrap()
}

fn check(form: &Value, trust: &Trust) -> (Verdict, Vec<CheckId>) {
    let report = examine(form.to_string().as_bytes(), trust);
    (report.verdict, faults(&report))
}

#[test]
fn evidence_of_some_deeds_is_valid_by_itself() {
    let log = story();
    let form = evidence(&log, &[2, 4, 6], &[]);
    let report = examine(form.to_string().as_bytes(), &trust());
    assert_eq!((report.verdict, report.grade), (Verdict::Valid, Some(Grade::Signed)));
    assert_eq!(report.deeds.iter().map(|deed| deed.seq).collect::<Vec<_>>(), [2, 4, 6]);
}

#[test]
fn a_known_checkpoint_raises_the_grade_of_evidence_that_leads_to_it() {
    let mut log = Log::of(3);
    let known_checkpoint = Some(log.checkpoint());
    for _ in 0..4 {
        log.seal(specimen::admin).unwrap();
    }
    let trust = Trust { known_checkpoint, expected_size: Some(7), ..trust() };
    let report = examine(evidence(&log, &[5], &[1, 3]).to_string().as_bytes(), &trust);
    assert_eq!(report.grade, Some(Grade::Checkpointed), "{report:?}");
    let without = check(&evidence(&log, &[5], &[1]), &trust);
    assert_eq!(without, (Verdict::Undecidable, vec![CheckId::Root]));
    let mut other = Log::of(2);
    other.entropy = super::support::Counting::default();
    for _ in 0..5 {
        other.seal(specimen::admin).unwrap();
    }
    let forked = check(&evidence(&other, &[5], &[3]), &trust);
    assert_eq!(forked, (Verdict::Invalid, vec![CheckId::Root]));
}

#[test]
fn the_keys_in_the_file_alone_prove_nothing() {
    let form = evidence(&story(), &[2], &[]);
    assert_eq!(check(&form, &Trust::default()), (Verdict::Undecidable, vec![CheckId::Key]));
    let mut changed = form.clone();
    changed["keys"]["keys"] = json!([]);
    assert_eq!(check(&changed, &Trust::default()).0, Verdict::Undecidable);
    changed["keys"] = json!(1);
    assert_eq!(check(&changed, &Trust::default()), (Verdict::Invalid, vec![CheckId::Key]));
    assert_eq!(check(&changed, &trust()).0, Verdict::Valid, "who brings keys needs none");
}

#[test]
fn a_deed_taken_out_of_evidence_or_put_in_is_found() {
    let log = story();
    let form = evidence(&log, &[2, 4, 6], &[]);
    let mut fewer = form.clone();
    for member in ["deeds", "proofs"] {
        fewer[member].as_array_mut().unwrap().remove(1);
    }
    let found = check(&fewer, &trust());
    assert_eq!(found, (Verdict::Invalid, vec![CheckId::Disclosures, CheckId::Manifest]));
    let mut more = form.clone();
    let other = evidence(&log, &[3], &[]);
    for member in ["deeds", "proofs"] {
        more[member].as_array_mut().unwrap().insert(1, other[member][0].clone());
    }
    assert_eq!(check(&more, &trust()), (Verdict::Invalid, vec![CheckId::Manifest]));
    let mut swapped = form.clone();
    swapped["deeds"].as_array_mut().unwrap().swap(0, 1);
    assert_eq!(check(&swapped, &trust()).0, Verdict::Invalid);
    let gap = evidence(&log, &[2, 6], &[]);
    assert_eq!(check(&gap, &trust()), (Verdict::Invalid, vec![CheckId::Manifest]));
}

#[test]
fn a_changed_proof_list_or_disclosure_of_evidence_is_found() {
    let log = story();
    let form = evidence(&log, &[2, 4], &[]);
    let other = evidence(&log, &[3, 4], &[]);
    let changed = |pointer: &str, value: Value| {
        let mut form = form.clone();
        *form.pointer_mut(pointer).unwrap() = value;
        check(&form, &trust())
    };
    let inclusion = (Verdict::Invalid, vec![CheckId::Inclusion]);
    assert_eq!(changed("/proofs/0", other["proofs"][0].clone()), inclusion);
    assert_eq!(changed("/proofs/0", json!("")), inclusion);
    assert_eq!(changed("/proofs", json!([])), inclusion);
    let manifest = (Verdict::Invalid, vec![CheckId::Manifest]);
    assert_eq!(changed("/manifest", form["deeds"][0].clone()), manifest);
    assert_eq!(changed("/manifest/signatures", json!([])), manifest);
    assert_eq!(changed("/manifest/payload", other["manifest"]["payload"].clone()), manifest);
    let signature = other["manifest"]["signatures"].clone();
    assert_eq!(changed("/manifest/signatures", signature), manifest);
    let twice = json!([form["disclosures"][0], form["disclosures"][0]]);
    let disclosures = (Verdict::Invalid, vec![CheckId::Disclosures]);
    assert_eq!(changed("/disclosures", twice), disclosures);
    assert_eq!(changed("/disclosures/0/deed", form["disclosures"][1]["deed"].clone()), disclosures);
    assert_eq!(changed("/disclosures", json!([])).0, Verdict::Valid, "pruned");
    assert_eq!(changed("/deeds", json!([])).0, Verdict::Malformed);
    assert_eq!(changed("/object", json!("deed")).0, Verdict::Malformed);
}

#[test]
fn a_proof_has_one_text_and_reads_back() {
    let log = Log::of(5);
    let tree = Tree::of(log.sealed.iter().map(|deed| deed.digest));
    let checkpoint = Checkpoint::of(&log.head);
    for (index, deed) in (0_u64..).zip(&log.sealed) {
        let path = inclusion(&tree, index, 5).unwrap();
        let proof = TlogProof { index, path, checkpoint: log.checkpoint() };
        let text = proof.to_text();
        assert_eq!(TlogProof::parse(&text), Ok(proof.clone()));
        assert!(proof.shows(&deed.digest, &checkpoint.tree));
        let elsewhere = TlogProof { index: (index + 1) % 5, ..proof };
        assert!(!elsewhere.shows(&deed.digest, &checkpoint.tree));
        for bad in [
            text.replace("index ", "index 0"),
            text.replace("index", "extra AA==\nindex"),
            text.replace("@v1", "@v2"),
            text.replace("\n\n", "\n"),
            text.replace('\n', "\r\n"),
        ] {
            assert!(TlogProof::parse(&bad).is_err(), "{bad}");
        }
    }
}

#[test]
fn two_histories_agree_fork_or_are_apart() {
    let (log, mut other) = (Log::of(5), Log::of(3));
    let compared = |left: &[Value], right: &[Value]| {
        let valid = |forms| verify(lines(forms).as_bytes(), &trust()).unwrap();
        compare(&valid(left), &valid(right))
    };
    assert_eq!(compared(&log.forms, &other.forms), Comparison::Agree { shared: 3 });
    assert_eq!(compared(&log.forms[..2], &other.forms[2..]), Comparison::Apart);
    other.entropy = super::support::Counting::default();
    other.seal(specimen::admin).unwrap();
    let fork =
        Comparison::Forked { seq: 3, left: log.sealed[3].digest, right: other.sealed[3].digest };
    assert_eq!(compared(&log.forms, &other.forms), fork);
}

#[test]
fn two_checkpoints_of_one_size_contradict_each_other() {
    let (log, mut other) = (Log::of(4), Log::of(3));
    let older = Checkpoint::of(&other.head);
    other.entropy = super::support::Counting::default();
    other.seal(specimen::admin).unwrap();
    let (left, right) = (Checkpoint::of(&log.head), Checkpoint::of(&other.head));
    assert!(left.contradicts(&right) && !left.contradicts(&left) && !left.contradicts(&older));
    let tree = Tree::of(log.sealed.iter().map(|deed| deed.digest));
    let proof = consistency(&tree, 3, 4).unwrap();
    assert!(left.grew_from(&older, &proof) && !right.grew_from(&older, &proof));
}

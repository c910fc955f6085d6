//! Each honesty rule refuses what breaks it, at the sealer.

use model::{
    ApprovalStatus, Attestation, DecisionCode, DecisionOutcome, ExecutionStatus, IntentMode, KeyId,
    Level, Mint, Mode, Status, Verdict, WitnessMethod,
};

use super::support::{Counting, Log, amendment_of, moment};
use crate::{
    ActionContent, Actor, Content, Draft, Ending, IntentStatus, SealError, SourceKind, Tool, Vote,
    Witness, specimen,
};

fn action(draft: &mut Draft) -> &mut ActionContent {
    match &mut draft.content {
        Content::Action(action) => action,
        Content::Admin(_) | Content::Amendment(_) => panic!("the specimen is an action"),
    }
}

fn run(draft: &mut Draft) -> &mut crate::Run {
    match &mut action(draft).ending {
        Ending::Ran(run) => run,
        Ending::Denied | Ending::Cancelled => panic!("the specimen ran"),
    }
}

/// The rule that refused the changed specimen; empty when it was sealed.
fn broken(change: impl FnOnce(&mut Draft)) -> &'static str {
    match Log::new().seal_action(change) {
        Ok(_) => "",
        Err(SealError::Dishonest(fault)) => fault.rule,
        Err(other) => panic!("{other}"),
    }
}

fn deny(draft: &mut Draft) {
    let action = action(draft);
    action.decision.outcome = DecisionOutcome::Deny;
    action.decision.code = Some(DecisionCode::PolicyDenied);
    action.approval = None;
    action.ending = Ending::Denied;
}

fn allow(draft: &mut Draft) {
    let action = action(draft);
    action.decision.outcome = DecisionOutcome::Allow;
    action.decision.code = None;
    action.approval = None;
}

fn approval(draft: &mut Draft, status: ApprovalStatus, ending: Ending) {
    let action = action(draft);
    action.ending = ending;
    if let Some(approval) = &mut action.approval {
        approval.status = status;
        approval.decisions.clear();
    }
}

/// Makes the run one that the edge claims.
fn at_the_edge(draft: &mut Draft) {
    action(draft).mode = Mode::Proxy;
    let run = run(draft);
    run.execution.attestation = Some(Attestation::EdgeClaimed);
    to_l0(&mut run.witness, WitnessMethod::EdgeReported);
}

fn to_l0(witness: &mut Witness, method: WitnessMethod) {
    witness.level = Level::L0;
    witness.method = method;
    witness.sources.clear();
}

#[test]
fn honest_endings_are_sealed() {
    assert_eq!(broken(|_| ()), "");
    assert_eq!(broken(deny), "");
    assert_eq!(broken(allow), "");
    assert_eq!(broken(at_the_edge), "");
    for status in [ApprovalStatus::Expired, ApprovalStatus::Voided] {
        assert_eq!(broken(|draft| approval(draft, status, Ending::Denied)), "");
    }
    let cancelled = ApprovalStatus::Cancelled;
    assert_eq!(broken(|draft| approval(draft, cancelled, Ending::Cancelled)), "");
    assert_eq!(
        broken(|draft| {
            at_the_edge(draft);
            let run = run(draft);
            run.execution.attestation = None;
            run.execution.status = ExecutionStatus::Unknown;
            run.execution.result = None;
            run.witness.method = WitnessMethod::None;
            run.witness.verdict = Verdict::Unverifiable;
        }),
        ""
    );
}

#[test]
fn a_decision_and_an_ending_must_fit() {
    assert_eq!(broken(|d| action(d).decision.outcome = DecisionOutcome::Deny), "deny_ends");
    assert_eq!(broken(|d| action(d).decision.outcome = DecisionOutcome::Allow), "allow_runs");
    assert_eq!(broken(|d| action(d).approval = None), "approval_asked");
    assert_eq!(broken(|d| action(d).decision.rule_id = None), "rule_named");
    assert_eq!(
        broken(|d| {
            allow(d);
            action(d).decision.code = Some(DecisionCode::ToolUnknown);
        }),
        "unknown_tool_denied"
    );
    assert_eq!(
        broken(|d| {
            let action = action(d);
            action.tool = Tool::NoName(action.request);
        }),
        "no_name_denied"
    );
}

#[test]
fn an_approval_and_an_ending_must_fit() {
    for status in [
        ApprovalStatus::Pending,
        ApprovalStatus::Denied,
        ApprovalStatus::Expired,
        ApprovalStatus::Cancelled,
        ApprovalStatus::Voided,
    ] {
        let ran = |d: &mut Draft| {
            let ending = action(d).ending.clone();
            approval(d, status, ending);
        };
        assert_eq!(broken(ran), "approval_fits_ending", "{status}");
    }
    let approved = ApprovalStatus::Approved;
    assert_eq!(broken(|d| approval(d, approved, Ending::Denied)), "approval_fits_ending");
    let denied = ApprovalStatus::Denied;
    assert_eq!(broken(|d| approval(d, denied, Ending::Denied)), "person_decided");
    assert_eq!(
        broken(|d| action(d).approval.as_mut().unwrap().decisions.clear()),
        "person_decided"
    );
    assert_eq!(
        broken(|d| {
            action(d).approval.as_mut().unwrap().decisions[0].decision = Vote::Deny;
        }),
        "person_decided"
    );
}

#[test]
fn a_run_claims_no_more_than_its_evidence() {
    let unknown = |d: &mut Draft| run(d).execution.status = ExecutionStatus::Unknown;
    assert_eq!(broken(unknown), "unknown_unverifiable");
    assert_eq!(broken(|d| run(d).execution.status = ExecutionStatus::Running), "run_ended");
    let error = |d: &mut Draft| run(d).execution.error_code = Some(crate::Word::of("tool_error"));
    assert_eq!(broken(error), "success_without_error");
    assert_eq!(broken(|d| run(d).execution.attestation = None), "unattested_unknown");
    assert_eq!(
        broken(|d| {
            let execution = &mut run(d).execution;
            execution.result_digest = execution.result;
        }),
        "one_result"
    );
    assert_eq!(broken(|d| run(d).witness.sources.clear()), "verified_by_evidence");
    let read_back = |d: &mut Draft| run(d).witness.sources[0].kind = SourceKind::ReadBack;
    assert_eq!(broken(read_back), "verified_by_evidence");
    assert_eq!(broken(|d| run(d).witness.level = Level::L1), "method_fits_level");
    assert_eq!(broken(|d| run(d).witness.method = WitnessMethod::Reported), "method_fits_level");
    assert_eq!(
        broken(|d| to_l0(&mut run(d).witness, WitnessMethod::None)),
        "nothing_verifies_nothing"
    );
    assert_eq!(
        broken(|d| to_l0(&mut run(d).witness, WitnessMethod::EdgeReported)),
        "method_fits_attestation"
    );
}

#[test]
fn an_edge_claim_stays_at_l0_and_with_the_edge() {
    assert_eq!(
        broken(|d| {
            action(d).mode = Mode::Proxy;
            run(d).execution.attestation = Some(Attestation::EdgeClaimed);
        }),
        "edge_claim_l0"
    );
    assert_eq!(broken(|d| action(d).mode = Mode::Proxy), "mode_fits_attestation");
    assert_eq!(
        broken(|d| {
            at_the_edge(d);
            action(d).mode = Mode::Gateway;
        }),
        "mode_fits_attestation"
    );
}

#[test]
fn an_intent_is_told_as_it_was_found() {
    let changed = |mode, status, signed: Option<()>| {
        broken(|d| {
            let intent = &mut action(d).intent;
            (intent.mode, intent.status) = (mode, status);
            if signed.is_none() {
                intent.jws = None;
            }
        })
    };
    assert_eq!(changed(IntentMode::Optional, IntentStatus::Absent, None), "");
    assert_eq!(changed(IntentMode::Off, IntentStatus::Ignored, None), "");
    assert_eq!(changed(IntentMode::Optional, IntentStatus::Verified, Some(())), "");
    for (mode, status, signed) in [
        (IntentMode::Required, IntentStatus::Absent, None),
        (IntentMode::Optional, IntentStatus::Absent, Some(())),
        (IntentMode::Optional, IntentStatus::Verified, None),
        (IntentMode::Off, IntentStatus::Verified, Some(())),
        (IntentMode::Optional, IntentStatus::Ignored, None),
    ] {
        assert_eq!(changed(mode, status, signed), "intent_fits_mode", "{mode} {status:?}");
    }
}

#[test]
fn an_action_is_an_agents_and_its_deed_is_about_it() {
    let key = Mint::new(moment(), &Counting::default()).id(KeyId::from_uuid);
    assert_eq!(broken(|d| d.actor = Actor::ApiKey(key)), "agent_on_action");
    assert_eq!(broken(|d| d.subject = crate::Subject::api_key(key)), "agent_on_action");
}

#[test]
fn an_amendment_amends_something_earlier() {
    let mut log = Log::of(2);
    let broken = |log: &mut Log, change: &dyn Fn(&mut crate::AmendmentContent)| {
        let amendment = amendment_of(&log.sealed[0]);
        let outcome = log.seal(|mint| {
            let (mut draft, opened) = amendment(mint);
            if let Content::Amendment(amendment) = &mut draft.content {
                change(amendment);
            }
            (draft, opened)
        });
        match outcome {
            Ok(_) => "",
            Err(SealError::Dishonest(fault)) => fault.rule,
            Err(other) => panic!("{other}"),
        }
    };
    assert_eq!(broken(&mut log, &|_| ()), "");
    assert_eq!(broken(&mut log, &|a| a.n = 0), "counted");
    assert_eq!(broken(&mut log, &|a| a.amends.seq = 3), "amends_earlier");
    assert_eq!(
        broken(&mut log, &|a| {
            a.changes.execution = None;
            a.changes.witness = None;
        }),
        "something_changed"
    );
    assert_eq!(
        broken(&mut log, &|a| {
            a.changes.execution.as_mut().unwrap().status = ExecutionStatus::Running;
        }),
        "run_ended"
    );
}

#[test]
fn a_status_follows_from_the_ending() {
    let mut log = Log::new();
    let (mut draft, _) = { specimen::action(&Mint::new(moment(), &Counting::default())).unwrap() };
    assert_eq!(action(&mut draft).ending.status(), Status::Executed);
    run(&mut draft).execution.status = ExecutionStatus::Unknown;
    assert_eq!(action(&mut draft).ending.status(), Status::Executed);
    run(&mut draft).execution.status = ExecutionStatus::Failed;
    assert_eq!(action(&mut draft).ending.status(), Status::Failed);
    let sealed = log.seal_action(deny).unwrap();
    assert!(sealed.body.contains(r#""execution":null"#));
    assert!(sealed.body.contains(r#""status":"denied""#));
    assert!(sealed.body.contains(r#""witness":null"#));
}

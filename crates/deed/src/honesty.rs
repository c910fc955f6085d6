//! What a deed may not claim: the rules that no shape enforces by itself.
//!
//! The sealer refuses to sign what breaks one, and the verifier refuses to believe it.

use model::{
    ApprovalStatus, Attestation, DecisionCode, DecisionOutcome, DecisionSource, ExecutionStatus,
    IntentMode, Level, Mode, Verdict, WitnessMethod,
};

use crate::content::{
    ActionContent, Actor, AdminContent, Amended, AmendmentContent, Changes, Content, Ending,
    Execution, Intent, IntentStatus, SourceKind, Subject, Tool, Vote, Witness,
};

/// The most bytes of an admin deed's `data`.
pub const MAX_DATA: usize = 4 * 1024;

/// A claim that a deed may not make.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the deed breaks the rule `{rule}`: {sentence}")]
pub struct HonestyError {
    /// The rule's name.
    pub rule: &'static str,
    /// The rule.
    pub sentence: &'static str,
}

/// The first rule that a deed with these members breaks.
pub(crate) fn check(
    actor: &Actor,
    subject: &Subject,
    content: &Content,
) -> Result<(), HonestyError> {
    match content {
        Content::Action(action) => {
            first_broken(ACTION, action)?;
            let run = action.ending.run();
            run.map_or(Ok(()), |run| attested(action.mode, &run.execution))?;
            if !matches!(actor, Actor::Agent(_)) || *subject != Subject::action(action.id) {
                return Err(AGENT_ON_ACTION);
            }
            run.map_or(Ok(()), |run| check_run(Some(&run.execution), Some(&run.witness)))
        }
        Content::Admin(admin) => first_broken(ADMIN, admin),
        Content::Amendment(amendment) => {
            first_broken(AMENDMENT, amendment)?;
            check_run(amendment.changes.execution.as_ref(), amendment.changes.witness.as_ref())
        }
    }
}

/// Every rule's name and sentence, in the order in which they are checked.
pub fn honesty_rules() -> Vec<(&'static str, &'static str)> {
    fn named<T>(rules: &[Rule<T>]) -> impl Iterator<Item = (&'static str, &'static str)> {
        rules.iter().map(|(rule, sentence, _)| (*rule, *sentence))
    }
    let alone = |fault: HonestyError| (fault.rule, fault.sentence);
    named(ACTION)
        .chain([alone(MODE_FITS_ATTESTATION), alone(AGENT_ON_ACTION)])
        .chain(named(EXECUTION))
        .chain(named(WITNESS))
        .chain(RUN.iter().map(|(rule, sentence, _)| (*rule, *sentence)))
        .chain(named(ADMIN))
        .chain(named(AMENDMENT))
        .chain([alone(AMENDS_EARLIER)])
        .collect()
}

/// An error if the run was attested by whoever runs nothing in this mode.
pub(crate) fn attested(mode: Mode, execution: &Execution) -> Result<(), HonestyError> {
    let other = match mode {
        Mode::Gateway => Attestation::EdgeClaimed,
        Mode::Proxy => Attestation::GatewayExecuted,
    };
    if execution.attestation == Some(other) { Err(MODE_FITS_ATTESTATION) } else { Ok(()) }
}

/// The first rule that a run and what the witness made of it break, by themselves and
/// together.
pub(crate) fn check_run(
    execution: Option<&Execution>,
    witness: Option<&Witness>,
) -> Result<(), HonestyError> {
    execution.map_or(Ok(()), |execution| first_broken(EXECUTION, execution))?;
    witness.map_or(Ok(()), |witness| first_broken(WITNESS, witness))?;
    match (execution, witness) {
        (Some(execution), Some(witness)) => RUN.iter().try_for_each(|(rule, sentence, holds)| {
            if holds(execution, witness) { Ok(()) } else { Err(HonestyError { rule, sentence }) }
        }),
        (Some(_) | None, None) | (None, Some(_)) => Ok(()),
    }
}

/// A rule's name, its sentence, and whether it holds.
type Rule<T> = (&'static str, &'static str, fn(&T) -> bool);
type RunRule = (&'static str, &'static str, fn(&Execution, &Witness) -> bool);

#[rustfmt::skip]
const ACTION: &[Rule<ActionContent>] = &[
    ("deny_ends", "a denied call did not run and asked nobody", |a| {
        a.decision.outcome != DecisionOutcome::Deny
            || (a.ending == Ending::Denied && a.approval.is_none())
    }),
    ("allow_runs", "an allowed call ran and asked nobody", |a| {
        a.decision.outcome != DecisionOutcome::Allow
            || (matches!(a.ending, Ending::Ran(_)) && a.approval.is_none())
    }),
    ("approval_asked", "a call that needed a person's yes has an approval", |a| {
        a.decision.outcome != DecisionOutcome::RequireApproval || a.approval.is_some()
    }),
    ("approval_fits_ending", "what ran was approved, and what was not approved did not run", |a| {
        a.approval.as_ref().is_none_or(|approval| approval_fits(approval.status, &a.ending))
    }),
    ("person_decided", "an approval given or refused names a person who did so", |a| {
        a.approval.as_ref().is_none_or(|approval| match approval.status {
            ApprovalStatus::Approved => {
                approval.decisions.iter().any(|vote| vote.decision == Vote::Approve)
                    && approval.decisions.iter().all(|vote| vote.decision == Vote::Approve)
            }
            ApprovalStatus::Denied => {
                approval.decisions.iter().any(|vote| vote.decision == Vote::Deny)
            }
            ApprovalStatus::Pending | ApprovalStatus::Expired | ApprovalStatus::Cancelled
            | ApprovalStatus::Voided => true,
        })
    }),
    ("rule_named", "a decision by a rule names the rule", |a| {
        a.decision.source != DecisionSource::Rule || a.decision.rule_id.is_some()
    }),
    ("no_name_denied", "what is no tool name is denied as an unknown tool", |a| {
        matches!(a.tool, Tool::Named(_)) || a.decision.code == Some(DecisionCode::ToolUnknown)
    }),
    ("unknown_tool_denied", "an unknown tool is denied", |a| {
        a.decision.code != Some(DecisionCode::ToolUnknown)
            || a.decision.outcome == DecisionOutcome::Deny
    }),
    ("intent_fits_mode", "a verified intent has its signature, and the mode's demand is met", |a| {
        intent_fits(&a.intent)
    }),
];

#[rustfmt::skip]
const EXECUTION: &[Rule<Execution>] = &[
    ("run_ended", "a sealed run is not running", |e| e.status != ExecutionStatus::Running),
    ("success_without_error", "a run that succeeded has no error", |e| {
        e.status != ExecutionStatus::Succeeded
            || (e.error_code.is_none() && e.error_message.is_none())
    }),
    ("unattested_unknown", "a run that nobody attests is unknown and has no result", |e| {
        e.attestation.is_some() || (e.status == ExecutionStatus::Unknown && !has_result(e))
    }),
    ("one_result", "a result and a digest in its place exclude each other", |e| {
        e.result.is_none() || e.result_digest.is_none()
    }),
];

#[rustfmt::skip]
const WITNESS: &[Rule<Witness>] = &[
    ("method_fits_level", "a level is reached by its own methods only", |w| match w.method {
        WitnessMethod::Reported | WitnessMethod::EdgeReported | WitnessMethod::None => {
            w.level == Level::L0
        }
        WitnessMethod::ReadBack => w.level == Level::L1,
        WitnessMethod::ChangeLog | WitnessMethod::UndoFootprint => w.level == Level::L2,
    }),
    ("verified_by_evidence", "VERIFIED above L0 has evidence of its level's kind", |w| {
        let has = |kind| w.sources.iter().any(|source| source.kind == kind);
        w.verdict != Verdict::Verified || match w.level {
            Level::L0 => true,
            Level::L1 => has(SourceKind::ReadBack),
            Level::L2 => has(SourceKind::ChangeLog),
        }
    }),
    ("nothing_verifies_nothing", "without a method the verdict is UNVERIFIABLE", |w| {
        w.method != WitnessMethod::None || w.verdict == Verdict::Unverifiable
    }),
];

#[rustfmt::skip]
const RUN: &[RunRule] = &[
    ("unknown_unverifiable", "an unknown run is UNVERIFIABLE", |e, w| {
        e.status != ExecutionStatus::Unknown || w.verdict == Verdict::Unverifiable
    }),
    ("edge_claim_l0", "what only the edge claims stays at L0", |e, w| {
        e.attestation == Some(Attestation::GatewayExecuted) || w.level == Level::L0
    }),
    ("method_fits_attestation", "a report is attributed to the party that made it", |e, w| {
        match w.method {
            WitnessMethod::Reported => e.attestation == Some(Attestation::GatewayExecuted),
            WitnessMethod::EdgeReported => e.attestation == Some(Attestation::EdgeClaimed),
            WitnessMethod::ReadBack | WitnessMethod::ChangeLog | WitnessMethod::UndoFootprint
            | WitnessMethod::None => true,
        }
    }),
];

#[rustfmt::skip]
const ADMIN: &[Rule<AdminContent>] = &[
    ("data_bounded", "the facts in clear are at most 4 KiB", |a| {
        serde_json::to_string(&a.data).is_ok_and(|data| data.len() <= MAX_DATA)
    }),
];

#[rustfmt::skip]
const AMENDMENT: &[Rule<AmendmentContent>] = &[
    ("counted", "amendments are counted from 1", |a| a.n >= 1),
    ("something_changed", "an amendment changes something", |AmendmentContent { changes, .. }| {
        let Changes { execution, witness } = changes;
        execution.is_some() || witness.is_some()
    }),
];

/// Whether the amended deed lies before the amendment in its log.
pub(crate) fn amends_earlier(amended: &Amended, seq: u64) -> Result<(), HonestyError> {
    if amended.seq < seq { Ok(()) } else { Err(AMENDS_EARLIER) }
}

fn approval_fits(status: ApprovalStatus, ending: &Ending) -> bool {
    match status {
        ApprovalStatus::Approved => matches!(ending, Ending::Ran(_)),
        ApprovalStatus::Denied | ApprovalStatus::Expired | ApprovalStatus::Voided => {
            *ending == Ending::Denied
        }
        ApprovalStatus::Cancelled => *ending == Ending::Cancelled,
        ApprovalStatus::Pending => false,
    }
}

fn intent_fits(intent: &Intent) -> bool {
    let signed = intent.jws.is_some();
    let found = match intent.status {
        IntentStatus::Verified => signed && intent.mode != IntentMode::Off,
        IntentStatus::Ignored => !signed && intent.mode == IntentMode::Off,
        IntentStatus::Absent => !signed,
    };
    found && (intent.mode != IntentMode::Required || intent.status == IntentStatus::Verified)
}

fn has_result(execution: &Execution) -> bool {
    execution.result.is_some() || execution.result_digest.is_some()
}

fn first_broken<T>(rules: &[Rule<T>], about: &T) -> Result<(), HonestyError> {
    rules.iter().try_for_each(|(rule, sentence, holds)| {
        if holds(about) { Ok(()) } else { Err(HonestyError { rule, sentence }) }
    })
}

const AGENT_ON_ACTION: HonestyError = HonestyError {
    rule: "agent_on_action",
    sentence: "an agent acts, and the action is the subject",
};
const MODE_FITS_ATTESTATION: HonestyError = HonestyError {
    rule: "mode_fits_attestation",
    sentence: "the service attests its own runs only, the edge its own",
};
const AMENDS_EARLIER: HonestyError = HonestyError {
    rule: "amends_earlier",
    sentence: "an amendment comes after the deed that it amends",
};

//! Turns an action that has ended into the deed that says so, and what became known later into its
//! amendment.

use std::sync::Arc;

use crypto::json::Canonical;
use deed::{
    ActionContent, Actor, Amended, AmendmentContent, AmendmentReason, Changes, Content, Disclosure,
    Draft, Ending, Ident, Path, Run, SourceKind, Subject, Word, commit, commit_canonical,
};
use ledger::{
    DeedEntry,
    record::{Action, Amendment, Answer, Execution, Witness},
};
use model::{DeedId, Lsn, Mint, Status};
use serde_json::{Value, json};
use witness::{Finding, Source};

/// What a result leaves in the deed: itself, or its digest where only that is kept.
#[derive(Debug, Clone)]
pub(crate) enum KeptResult {
    Whole(Canonical),
    DigestOnly(model::Digest),
}

/// Collects commitments and what opens them.
struct Commitments<'m> {
    mint: &'m Mint<'m>,
    disclosures: Vec<Disclosure>,
}

impl Commitments<'_> {
    fn of(&mut self, path: Path, value: &Value) -> deed::Commitment {
        let (commitment, disclosure) = commit(self.mint, path, value);
        self.disclosures.push(disclosure);
        commitment
    }

    fn of_canonical(&mut self, path: Path, value: &Canonical) -> deed::Commitment {
        let (commitment, disclosure) = commit_canonical(self.mint, path, Arc::clone(value.text()));
        self.disclosures.push(disclosure);
        commitment
    }

    fn of_text(&mut self, path: Path, text: Option<&String>) -> Option<deed::Commitment> {
        text.map(|text| self.of(path, &Value::from(text.as_str())))
    }
}

/// Names the deed in the action and returns what is to be sealed.
pub(crate) fn seal(action: &mut Action, mint: &Mint<'_>) -> DeedEntry {
    let entry = deed_of(action, None, None, mint);
    action.deed = Some(entry.draft.id);
    entry
}

/// The deed of an action as it stands, with its result and what the witness found.
pub(crate) fn deed_of(
    action: &Action,
    result: Option<&KeptResult>,
    finding: Option<&Finding>,
    mint: &Mint<'_>,
) -> DeedEntry {
    let mut commitments = Commitments { mint, disclosures: Vec::new() };
    let content = content(action, result, finding, &mut commitments);
    DeedEntry {
        draft: Draft {
            id: mint.id(DeedId::from_uuid),
            livemode: action.livemode,
            actor: Actor::Agent(action.agent.id),
            subject: Subject::action(action.id),
            content: Content::Action(Box::new(content)),
        },
        disclosures: commitments.disclosures,
        agent: Some(action.agent.id),
        action: Some(action.id),
    }
}

/// The deed of what became known of an action by this finding, once its deed was sealed. A run of which
/// something else is known than was sealed has no result: nobody saw its end.
pub(crate) fn amendment_of(
    action: &Action,
    (amendment, amends): (&Amendment, Amended),
    finding: &Finding,
    mint: &Mint<'_>,
) -> DeedEntry {
    let mut commitments = Commitments { mint, disclosures: Vec::new() };
    let execution = amendment.execution.as_ref();
    let content = AmendmentContent {
        amends,
        n: 1,
        reason: AmendmentReason::LateEvidence,
        changes: Changes {
            execution: execution.map(|run| ran(run, None, (&IN_AMENDMENT, &mut commitments))),
            witness: Some(found(
                &amendment.witness,
                Some(finding),
                (&IN_AMENDMENT, &mut commitments),
            )),
        },
    };
    let actor = Actor::System(Word::of("service"));
    let draft = Draft::amendment(amendment.deed, actor, action.id, content);
    DeedEntry {
        draft: if action.livemode { draft } else { draft.of_a_test() },
        disclosures: commitments.disclosures,
        agent: Some(action.agent.id),
        action: Some(action.id),
    }
}

/// Where a run's commitments stand in a deed.
struct Places {
    error_message: Path,
    result: Path,
    result_digest: Path,
    detail: Path,
    evidence: fn(usize) -> Path,
}

const IN_ACTION: Places = Places {
    error_message: Path::ERROR_MESSAGE,
    result: Path::RESULT,
    result_digest: Path::RESULT_DIGEST,
    detail: Path::WITNESS_DETAIL,
    evidence: Path::evidence,
};

const IN_AMENDMENT: Places = Places {
    error_message: Path::AMENDED_ERROR_MESSAGE,
    result: Path::AMENDED_RESULT,
    result_digest: Path::AMENDED_RESULT_DIGEST,
    detail: Path::AMENDED_WITNESS_DETAIL,
    evidence: Path::amended_evidence,
};

fn content(
    action: &Action,
    result: Option<&KeptResult>,
    finding: Option<&Finding>,
    commitments: &mut Commitments<'_>,
) -> ActionContent {
    let tool = match action.tool.parse() {
        Ok(name) => deed::Tool::Named(name),
        Err(_) => deed::Tool::NoName(commitments.of(Path::TOOL, &json!(action.tool))),
    };
    let client = action.client.as_ref().map(|client| {
        let value = json!({ "name": client.name, "version": client.version });
        commitments.of(Path::CLIENT, &value)
    });
    ActionContent {
        id: action.id,
        mode: action.mode,
        tool,
        tool_digest: action.tool_digest,
        connector: connector(action),
        side_effect: action.side_effect,
        received_at: action.created_at,
        transport: action.transport.as_deref().and_then(|text| text.parse().ok()),
        client,
        request: action.request,
        on_behalf_of: commitments.of_text(Path::ON_BEHALF_OF, action.on_behalf_of.as_ref()),
        session: commitments.of_text(Path::SESSION, action.session.as_ref()),
        intent: intent(action),
        decision: decision(action, commitments),
        approval: action.approval.as_ref().map(|approval| deed::Approval {
            id: approval.id,
            status: approval.status,
            decisions: approval.decisions.iter().map(vote).collect(),
            context: approval.context,
        }),
        ending: ending(action, result, finding, commitments),
        cost: cost(action),
        undo: None,
    }
}

fn vote(answer: &Answer) -> deed::ApprovalVote {
    let &Answer { by, decision, assurance, at, .. } = answer;
    deed::ApprovalVote { by: by.into(), decision, assurance, at }
}

fn intent(action: &Action) -> deed::Intent {
    let jws = action.signed.as_ref().and_then(|signed| {
        let (alg, key_id) = (intent::ALG.parse().ok()?, signed.kid.parse().ok()?);
        Some(deed::Jws { alg, digest: signed.digest, key_id })
    });
    deed::Intent { mode: action.intent_mode, status: action.intent, jws }
}

fn connector(action: &Action) -> Option<deed::Connector> {
    let connector = action.connector.as_ref()?;
    Some(deed::Connector { id: connector.id, kind: connector.kind.parse().ok()? })
}

fn cost(action: &Action) -> Option<deed::Cost> {
    let cost = action.cost.as_ref()?;
    Some(deed::Cost { amount: cost.amount.parse().ok()?, currency: cost.currency.parse().ok()? })
}

fn decision(action: &Action, commitments: &mut Commitments<'_>) -> deed::Decision {
    let decision = &action.decision;
    let rule = |id: &Option<String>| id.as_deref().and_then(|id| id.parse::<Ident>().ok());
    deed::Decision {
        outcome: decision.outcome,
        code: decision.code,
        source: decision.source,
        rule_id: rule(&decision.rule_id),
        reason: commitments.of_text(Path::DECISION_REASON, decision.message.as_ref()),
        policy: decision.policy,
        policy_version: decision.policy_version,
        policy_digest: decision.policy_digest,
        shadow: decision.shadow.as_ref().map(|shadow| deed::Shadow {
            outcome: shadow.outcome,
            rule_id: rule(&shadow.rule_id),
            policy_version: shadow.policy_version,
        }),
    }
}

fn ending(
    action: &Action,
    result: Option<&KeptResult>,
    finding: Option<&Finding>,
    commitments: &mut Commitments<'_>,
) -> Ending {
    let (Some(execution), Some(witness)) = (&action.execution, &action.witness) else {
        let cancelled = action.status == Status::Cancelled;
        return if cancelled { Ending::Cancelled } else { Ending::Denied };
    };
    Ending::Ran(Box::new(Run {
        execution: ran(execution, result, (&IN_ACTION, commitments)),
        witness: found(witness, finding, (&IN_ACTION, commitments)),
    }))
}

/// The run, with its result.
fn ran(
    execution: &Execution,
    result: Option<&KeptResult>,
    (places, commitments): (&Places, &mut Commitments<'_>),
) -> deed::Execution {
    let error = execution.error_message.as_ref();
    let (whole, digest) = match result {
        Some(KeptResult::Whole(value)) => (Some(value), None),
        Some(KeptResult::DigestOnly(digest)) => (None, Some(json!(digest))),
        None => (None, None),
    };
    deed::Execution {
        status: execution.status,
        attestation: execution.attestation,
        started_at: execution.started_at,
        finished_at: execution.finished_at,
        error_code: execution.error_code.as_ref().and_then(word),
        error_message: commitments.of_text(places.error_message.clone(), error),
        result: whole.map(|value| commitments.of_canonical(places.result.clone(), value)),
        result_digest: digest.map(|value| commitments.of(places.result_digest.clone(), &value)),
        lossy_numbers: execution.lossy_numbers,
    }
}

/// What the witness found, with its evidence.
fn found(
    witness: &Witness,
    finding: Option<&Finding>,
    (places, commitments): (&Places, &mut Commitments<'_>),
) -> deed::Witness {
    let detail = finding.map_or(&Value::Null, |finding| &finding.detail);
    deed::Witness {
        level: witness.level,
        required_level: witness.required_level,
        verdict: witness.verdict,
        method: witness.method,
        witnessed_at: witness.witnessed_at,
        detail: commitments.of(places.detail.clone(), detail),
        sources: finding.map(|finding| sources(finding, (places, commitments))).unwrap_or_default(),
    }
}

/// The evidence, piece by piece.
fn sources(
    finding: &Finding,
    (places, commitments): (&Places, &mut Commitments<'_>),
) -> Vec<deed::Source> {
    let lsn = |place: Lsn| place.to_string().parse().ok();
    let source = |(index, source): (usize, &Source)| {
        let path = (places.evidence)(index);
        match source {
            Source::ReadBack { evidence } => deed::Source {
                evidence: commitments.of(path, evidence),
                lsn_from: None,
                lsn_to: None,
                kind: SourceKind::ReadBack,
            },
            Source::ChangeLog { evidence, from, to } => deed::Source {
                evidence: commitments.of(path, evidence),
                lsn_from: from.and_then(lsn),
                lsn_to: lsn(*to),
                kind: SourceKind::ChangeLog,
            },
        }
    };
    finding.sources.iter().enumerate().map(source).collect()
}

fn word(code: &model::ErrorCode) -> Option<Word> {
    code.as_str().parse().ok()
}

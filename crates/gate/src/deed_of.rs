//! Turns an action that has ended into the deed that says so.

use std::sync::Arc;

use crypto::json::Canonical;
use deed::{
    ActionContent, Actor, Content, Disclosure, Draft, Ending, Ident, Path, Run, Subject, Word,
    commit, commit_canonical,
};
use ledger::{
    DeedEntry,
    record::{Action, Answer},
};
use model::{DeedId, Mint, Status};
use serde_json::{Value, json};

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

/// The deed of an action as it stands, with its result and the witness's whole detail.
pub(crate) fn deed_of(
    action: &Action,
    result: Option<&KeptResult>,
    detail: Option<&Value>,
    mint: &Mint<'_>,
) -> DeedEntry {
    let mut commitments = Commitments { mint, disclosures: Vec::new() };
    let content = content(action, result, detail, &mut commitments);
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

fn content(
    action: &Action,
    result: Option<&KeptResult>,
    detail: Option<&Value>,
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
        ending: ending(action, result, detail, commitments),
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
    detail: Option<&Value>,
    commitments: &mut Commitments<'_>,
) -> Ending {
    let (Some(execution), Some(witness)) = (&action.execution, &action.witness) else {
        let cancelled = action.status == Status::Cancelled;
        return if cancelled { Ending::Cancelled } else { Ending::Denied };
    };
    let error = execution.error_message.as_ref();
    let (whole, digest) = match result {
        Some(KeptResult::Whole(value)) => (Some(value), None),
        Some(KeptResult::DigestOnly(digest)) => (None, Some(json!(digest))),
        None => (None, None),
    };
    Ending::Ran(Box::new(Run {
        execution: deed::Execution {
            status: execution.status,
            attestation: execution.attestation,
            started_at: execution.started_at,
            finished_at: execution.finished_at,
            error_code: execution.error_code.as_ref().and_then(word),
            error_message: commitments.of_text(Path::ERROR_MESSAGE, error),
            result: whole.map(|value| commitments.of_canonical(Path::RESULT, value)),
            result_digest: digest.map(|value| commitments.of(Path::RESULT_DIGEST, &value)),
            lossy_numbers: execution.lossy_numbers,
        },
        witness: deed::Witness {
            level: witness.level,
            required_level: witness.required_level,
            verdict: witness.verdict,
            method: witness.method,
            witnessed_at: witness.witnessed_at,
            detail: commitments.of(Path::WITNESS_DETAIL, detail.unwrap_or(&Value::Null)),
            sources: Vec::new(),
        },
    }))
}

fn word(code: &model::ErrorCode) -> Option<Word> {
    code.as_str().parse().ok()
}

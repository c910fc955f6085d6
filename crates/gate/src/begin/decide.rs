//! Decides one call on a snapshot: Stop, tool, policy, budgets, in this order.

use std::sync::Arc;

use ledger::{
    LoadedPolicy, Snapshot,
    record::{BudgetUse, ConnectorStatus, Cost, Decision, PolicyMode, Shadow},
};
use model::{AgentStatus, DecisionCode, DecisionOutcome, DecisionSource, Timestamp};
use policy::{ApprovalClause, CallFacts};

use super::budget;
use crate::{Submission, resolve::Resolved};

/// What a call's decision came to.
pub(super) struct Verdict {
    pub(super) decision: Decision,
    pub(super) approval: Option<Arc<ApprovalClause>>,
    /// The counters as they stand with this call in them.
    pub(super) budgets: Vec<BudgetUse>,
    /// This call's own part of those counters.
    pub(super) charged: Vec<BudgetUse>,
    pub(super) cost: Option<Cost>,
}

/// Returns the decision, nothing when the org has no enforced policy at all.
pub(super) fn decide(
    call: &Submission,
    resolved: &Resolved,
    snapshot: &Snapshot,
) -> Option<Verdict> {
    let enforced = snapshot.policy(PolicyMode::Enforce)?;
    let shadow = shadow(call, resolved, snapshot);
    if let Some((code, source)) = builtin(call, resolved, snapshot) {
        let refusal = refused(code, source);
        return Some(verdict(enforced, refusal, shadow));
    }
    let Some(compiled) = enforced.policy.as_deref() else {
        let (code, source) = (DecisionCode::PolicyUnavailable, DecisionSource::Builtin);
        return Some(verdict(enforced, refused(code, source), shadow));
    };
    let decision = ask(compiled, call, resolved, snapshot)?;
    let charges = if decision.outcome == DecisionOutcome::Deny {
        Vec::new()
    } else {
        decision.charges.clone()
    };
    let scope = budget::scope(call, snapshot, enforced.active.policy);
    match budget::admit(&charges, scope, snapshot) {
        Ok(admitted) => {
            let mut verdict = verdict(enforced, decision, shadow);
            verdict.budgets = admitted.counters;
            verdict.charged = admitted.charged;
            verdict.cost = admitted.cost;
            Some(verdict)
        }
        Err(retry_at) => {
            let (code, source) = (DecisionCode::BudgetExceeded, DecisionSource::Budget);
            let refusal = refused(code, source);
            let mut verdict = verdict(enforced, refusal, shadow);
            verdict.decision.retry_at = Some(retry_at);
            Some(verdict)
        }
    }
}

/// Returns the counters that the call's decision will look at.
pub(super) fn budgets(
    call: &Submission,
    resolved: &Resolved,
    snapshot: &Snapshot,
) -> Vec<(String, Timestamp)> {
    let Some(enforced) = snapshot.policy(PolicyMode::Enforce) else { return Vec::new() };
    let Some(compiled) = enforced.policy.as_deref() else { return Vec::new() };
    let Some(decision) = ask(compiled, call, resolved, snapshot) else { return Vec::new() };
    let scope = budget::scope(call, snapshot, enforced.active.policy);
    decision.charges.iter().map(|charge| (scope.key(charge), charge.window_start)).collect()
}

/// Returns what refuses the call before any policy is asked.
fn builtin(
    call: &Submission,
    resolved: &Resolved,
    snapshot: &Snapshot,
) -> Option<(DecisionCode, DecisionSource)> {
    let org_stopped = snapshot.org().is_some_and(|org| org.stop.is_some());
    if org_stopped {
        return Some((DecisionCode::OrgStopped, DecisionSource::Stop));
    }
    match snapshot.agent(call.agent).map(|agent| agent.status(snapshot.now())) {
        // An archived agent's key is refused before this; a stop is the stricter reading.
        None | Some(AgentStatus::Archived | AgentStatus::Stopped) => {
            return Some((DecisionCode::AgentStopped, DecisionSource::Stop));
        }
        Some(AgentStatus::Suspended) => {
            return Some((DecisionCode::AgentSuspended, DecisionSource::Stop));
        }
        Some(AgentStatus::Active) => {}
    }
    let livemode = snapshot.key(call.key).is_some_and(|key| key.livemode);
    match resolved {
        Resolved::Unknown => Some((DecisionCode::ToolUnknown, DecisionSource::Builtin)),
        // The service's own tools serve both modes; a connector serves the one it was made for.
        Resolved::Served(served) if served.connector.id.is_some() && served.test == livemode => {
            Some((DecisionCode::ToolUnknown, DecisionSource::Builtin))
        }
        Resolved::Served(served) => {
            let disabled = served.connector.id.is_some_and(|id| {
                snapshot.connector(id).is_none_or(|row| row.status == ConnectorStatus::Disabled)
            });
            disabled.then_some((DecisionCode::ConnectorDisabled, DecisionSource::Builtin))
        }
        Resolved::AtEdge { .. } => None,
    }
}

/// Returns the decision that no policy made.
fn refused(code: DecisionCode, source: DecisionSource) -> policy::Decision {
    policy::Decision {
        outcome: DecisionOutcome::Deny,
        code: Some(code),
        source,
        rule_id: None,
        reason: None,
        approval: None,
        charges: Vec::new(),
        failure: None,
    }
}

/// Asks one policy; nothing when agent or org are not there.
fn ask(
    compiled: &policy::Policy,
    call: &Submission,
    resolved: &Resolved,
    snapshot: &Snapshot,
) -> Option<policy::Decision> {
    let agent = snapshot.agent(call.agent)?;
    let org = snapshot.org()?;
    let agent =
        policy::Agent { id: agent.id, name: agent.name.clone(), labels: agent.labels.clone() };
    let facts = CallFacts {
        tool: &call.tool,
        connector: resolved.connector().map(|connector| connector.name.as_str()),
        mode: call.mode,
        transport: call.transport.as_deref(),
        session: call.session.as_deref(),
        on_behalf_of: call.on_behalf_of.as_deref(),
        livemode: snapshot.key(call.key).is_some_and(|key| key.livemode),
        side_effect: resolved.side_effect(),
        intent: None,
        tool_changed: resolved.changed(),
    };
    let call = policy::Call {
        args: &call.args,
        agent: &agent,
        call: facts,
        now: snapshot.now(),
        zone: &org.time_zone,
    };
    Some(policy::decide(compiled, &call))
}

/// Returns what the shadow version would have decided; its failures never touch the call.
fn shadow(call: &Submission, resolved: &Resolved, snapshot: &Snapshot) -> Option<Shadow> {
    let loaded = snapshot.policy(PolicyMode::Shadow)?;
    let decision = ask(loaded.policy.as_deref()?, call, resolved, snapshot)?;
    Some(Shadow {
        outcome: decision.outcome,
        code: decision.code,
        rule_id: decision.rule_id.map(|id| id.to_string()),
        policy: loaded.active.policy,
        policy_version: loaded.active.version,
    })
}

fn verdict(enforced: &LoadedPolicy, asked: policy::Decision, shadow: Option<Shadow>) -> Verdict {
    let message = match (&asked.reason, asked.code) {
        (Some(reason), _) => Some(reason.to_string()),
        (None, Some(code)) => Some(sentence(code).to_owned()),
        (None, None) => None,
    };
    let decision = Decision {
        outcome: asked.outcome,
        code: asked.code,
        source: asked.source,
        rule_id: asked.rule_id.map(|id| id.to_string()),
        reason: asked.reason.map(|reason| reason.to_string()),
        message,
        policy: enforced.active.policy,
        policy_version: enforced.active.version,
        policy_digest: enforced.active.digest,
        retry_at: None,
        shadow,
    };
    Verdict {
        decision,
        approval: asked.approval,
        budgets: Vec::new(),
        charged: Vec::new(),
        cost: None,
    }
}

/// Returns what a decision says when its rule has no sentence of its own.
fn sentence(code: DecisionCode) -> &'static str {
    match code {
        DecisionCode::ApprovalRequired => "A person must approve this call.",
        DecisionCode::PolicyDenied => "A rule of the policy denies this call.",
        DecisionCode::DefaultDenied => "No rule of the policy allows this call.",
        DecisionCode::BudgetExceeded => "A budget for these calls is used up.",
        DecisionCode::AgentStopped => "This agent is stopped.",
        DecisionCode::AgentSuspended => "This agent is suspended.",
        DecisionCode::OrgStopped => "Every agent of this org is stopped.",
        DecisionCode::ToolUnknown => "No connector serves a tool of this name.",
        DecisionCode::ToolChanged => "The tool's definition is not the one that was accepted.",
        DecisionCode::ConnectorDisabled => "The tool's connector is disabled.",
        DecisionCode::PolicyUnavailable => "The policy could not be evaluated for this call.",
    }
}

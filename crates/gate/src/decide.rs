//! Decides one call on a snapshot: Stop, tool, policy, budgets, in this order.

use std::sync::Arc;

use ledger::{
    LoadedPolicy, Snapshot,
    record::{Agent, BudgetUse, Cost, Decision, Org, PolicyMode, Shadow},
};
use model::{
    AgentId, AgentStatus, DecisionCode, DecisionOutcome, DecisionSource, Timestamp, ToolName,
};
use policy::{ApprovalClause, Call};

use crate::{
    case::Case,
    resolved::{Resolved, is_disabled, runs_in},
};

mod budget;

use budget::Admitted;
pub(crate) use budget::{release, swapped};

/// What the decision of a case came to.
#[derive(Debug, Clone, PartialEq)]
pub struct Verdict {
    /// What was decided.
    pub decision: Decision,
    /// Who must say yes, where a person must.
    pub approval: Option<Arc<ApprovalClause>>,
    /// The counters as they stand with this call in them.
    pub budgets: Vec<BudgetUse>,
    /// This call's own part of those counters.
    pub charged: Vec<BudgetUse>,
    /// What the call is charged.
    pub cost: Option<Cost>,
    /// Whether a budget of the enforced version is near its limit with this call in it.
    pub budget_near: bool,
}

/// Decides a call on a snapshot; `None` if the org has no enforced policy at all.
///
/// A Stop comes before the policy, since it must hold whatever the policy has become, and no rule is
/// asked about a tool that nothing can run. Budgets come last, so that only a call that would run
/// otherwise is counted.
pub fn decide(case: &Case, snapshot: &Snapshot) -> Option<Verdict> {
    decide_anew(case, snapshot, &[])
}

/// Decides a call again that holds these parts of budgets already: it is charged anew, and not twice.
pub(crate) fn decide_anew(case: &Case, snapshot: &Snapshot, held: &[BudgetUse]) -> Option<Verdict> {
    let ground = (snapshot, held);
    let enforced = snapshot.policy(PolicyMode::Enforce)?;
    let call = case.at(snapshot);
    let builtin = builtin(case, snapshot);
    let mut decided = match builtin {
        Some((code, source)) => verdict(enforced, policy::Decision::refused(code, source)),
        None => by_policy(case, (enforced, call.as_ref()?), ground),
    };
    if let Some((shadow, mut admitted)) = call.and_then(|call| shadow(case, &call, ground)) {
        decided.decision.shadow = Some(shadow);
        // What no policy was asked about would not have run by any policy.
        if builtin.is_none() {
            decided.budgets.append(&mut admitted.counters);
            decided.charged.append(&mut admitted.charged);
        }
    }
    Some(decided)
}

/// What the enforced policy says, its budgets included.
fn by_policy(
    case: &Case,
    (enforced, call): (&LoadedPolicy, &Call),
    ground: (&Snapshot, &[BudgetUse]),
) -> Verdict {
    // A policy that cannot be read may hold the rule that denies this call, so nothing is let
    // through without it.
    let Some(compiled) = &enforced.policy else {
        let (code, source) = (DecisionCode::PolicyUnavailable, DecisionSource::Builtin);
        return verdict(enforced, policy::Decision::refused(code, source));
    };
    let decision = case.ask(compiled, call);
    if decision.outcome != DecisionOutcome::Deny && case.is_to_be_accepted() {
        let (code, source) = (DecisionCode::ToolChanged, DecisionSource::Builtin);
        return verdict(enforced, policy::Decision::refused(code, source));
    }
    let scope = budget::scope(call, &enforced.active);
    match budget::admit(&decision, scope, ground) {
        Ok(admitted) => Verdict {
            budgets: admitted.counters,
            charged: admitted.charged,
            cost: admitted.cost,
            budget_near: admitted.is_near,
            ..verdict(enforced, decision)
        },
        Err(charge) => {
            let (code, source) = (DecisionCode::BudgetExceeded, DecisionSource::Budget);
            let mut verdict = verdict(enforced, policy::Decision::refused(code, source));
            // The deed commits to the sentence, so it has all that there is to know.
            verdict.decision.message = Some(charge.refusal());
            verdict.decision.retry_at = Some(charge.window_end);
            verdict.decision.budget = Some(Box::new(budget::spent(charge)));
            verdict
        }
    }
}

/// The counters that the decision will look at, those of the shadow version included.
pub(crate) fn budgets(case: &Case, snapshot: &Snapshot) -> Vec<(String, Timestamp)> {
    let Some(call) = case.at(snapshot) else { return Vec::new() };
    let mut counters = Vec::new();
    for loaded in PolicyMode::ALL.into_iter().filter_map(|mode| snapshot.policy(mode)) {
        let scope = budget::scope(&call, &loaded.active);
        if let Some(compiled) = &loaded.policy {
            let decision = case.ask(compiled, &call);
            let taken = decision.charges.iter();
            counters.extend(taken.map(|charge| (scope.key(charge), charge.window_start)));
        }
    }
    counters
}

/// Whether the enforced version has a person look at the call.
pub(crate) fn asks_people(case: &Case, snapshot: &Snapshot) -> bool {
    let enforced = snapshot.policy(PolicyMode::Enforce).and_then(|loaded| loaded.policy.as_ref());
    let (Some(enforced), Some(call)) = (enforced, case.at(snapshot)) else { return false };
    case.ask(enforced, &call).outcome == DecisionOutcome::RequireApproval
}

/// What refuses the call before any policy is asked.
fn builtin(case: &Case, snapshot: &Snapshot) -> Option<(DecisionCode, DecisionSource)> {
    let call = case.call();
    if let Some(code) = held(call.agent.id, snapshot) {
        // A deed names no tool where there is no name, so such a call is refused for that whoever
        // sends it.
        return Some(match call.tool.parse::<ToolName>() {
            Ok(_) => (code, DecisionSource::Stop),
            Err(_) => (DecisionCode::ToolUnknown, DecisionSource::Builtin),
        });
    }
    let (livemode, mode) = (call.facts.livemode, call.facts.mode);
    let agent = snapshot.agent(call.agent.id);
    match case.resolved() {
        Resolved::Unknown => Some((DecisionCode::ToolUnknown, DecisionSource::Builtin)),
        _ if !agent.is_some_and(|agent| agent.modes.contains(&mode)) => {
            Some((DecisionCode::PolicyDenied, DecisionSource::Builtin))
        }
        Resolved::Served(served) if !runs_in(served, livemode) => {
            Some((DecisionCode::ToolUnknown, DecisionSource::Builtin))
        }
        Resolved::Served(served) => is_disabled(served, snapshot)
            .then_some((DecisionCode::ConnectorDisabled, DecisionSource::Builtin)),
        Resolved::AtEdge { .. } => None,
    }
}

/// What holds the agent, by a Stop or for a time.
pub(crate) fn held(agent: AgentId, snapshot: &Snapshot) -> Option<DecisionCode> {
    hold((snapshot.org(), snapshot.agent(agent)), snapshot.now())
}

/// What holds an agent of an org at this moment, by these rows of both.
pub(crate) fn hold(
    (org, agent): (Option<&Org>, Option<&Agent>),
    now: Timestamp,
) -> Option<DecisionCode> {
    if org.is_some_and(|org| org.stop.is_some()) {
        return Some(DecisionCode::OrgStopped);
    }
    match agent.map(|agent| agent.status(now)) {
        // An archived agent's key is refused before this; a stop is the stricter reading.
        None | Some(AgentStatus::Archived | AgentStatus::Stopped) => {
            Some(DecisionCode::AgentStopped)
        }
        Some(AgentStatus::Suspended) => Some(DecisionCode::AgentSuspended),
        Some(AgentStatus::Active) => None,
    }
}

/// What the shadow version would have decided and taken from its own counters; its failures
/// never touch the call.
fn shadow(
    case: &Case,
    call: &Call,
    ground: (&Snapshot, &[BudgetUse]),
) -> Option<(Shadow, Admitted)> {
    let loaded = ground.0.policy(PolicyMode::Shadow)?;
    let decision = case.ask(loaded.policy.as_ref()?, call);
    let scope = budget::scope(call, &loaded.active);
    let admitted = budget::admit(&decision, scope, ground).ok();
    let (decision, admitted) = if let Some(admitted) = admitted {
        (decision, admitted)
    } else {
        let (code, source) = (DecisionCode::BudgetExceeded, DecisionSource::Budget);
        (policy::Decision::refused(code, source), Admitted::default())
    };
    let shadow = Shadow {
        outcome: decision.outcome,
        code: decision.code,
        rule_id: decision.rule_id.map(|id| id.to_string()),
        policy: loaded.active.policy,
        policy_version: loaded.active.version,
    };
    Some((shadow, admitted))
}

fn verdict(enforced: &LoadedPolicy, asked: policy::Decision) -> Verdict {
    let message = match (&asked.reason, asked.code) {
        (Some(reason), _) => Some(reason.to_string()),
        (None, Some(code)) => Some(sentence(code, asked.source).to_owned()),
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
        budget: None,
        shadow: None,
    };
    Verdict {
        decision,
        approval: asked.approval,
        budgets: Vec::new(),
        charged: Vec::new(),
        cost: None,
        budget_near: false,
    }
}

/// What a decision says when its rule has no sentence of its own.
fn sentence(code: DecisionCode, source: DecisionSource) -> &'static str {
    match code {
        DecisionCode::ApprovalRequired => "A person must approve this call.",
        DecisionCode::PolicyDenied if source == DecisionSource::Builtin => {
            "This agent may not run calls in this mode."
        }
        DecisionCode::PolicyDenied => "A rule of the policy denies this call.",
        DecisionCode::DefaultDenied => "No rule of the policy allows this call.",
        DecisionCode::BudgetExceeded => "A budget for these calls is used up.",
        DecisionCode::AgentStopped => "This agent is stopped.",
        DecisionCode::AgentSuspended => "This agent is suspended or has expired.",
        DecisionCode::OrgStopped => "Every agent of this org is stopped.",
        DecisionCode::ToolUnknown => "No connector serves a tool with this name.",
        DecisionCode::ToolChanged => "The tool's definition is not the one that was accepted.",
        DecisionCode::ConnectorDisabled => "The tool's connector is disabled.",
        DecisionCode::PolicyUnavailable => "The policy could not be evaluated for this call.",
    }
}

//! An action as responses show it.

use ledger::record::{
    Action, Amendment, Approval, ConnectorRef, Cost, Decision, Execution, PolicyMode, Shadow,
    SpentBudget, Witness,
};
use model::{
    ActionId, AgentId, ApprovalId, ApprovalStatus, ConnectorId, DecisionCode, DecisionOutcome,
    DecisionSource, DeedId, Digest, ErrorCode, ExecutionStatus, Level, Mode, PolicyId,
    PolicyVersionId, State, Status, Timestamp, Verdict, VoidReason, WitnessMethod,
};
use serde::Serialize;
use serde_json::Value;

/// An action.
#[derive(Debug, Serialize)]
pub(crate) struct ActionView<'a> {
    object: &'static str,
    id: ActionId,
    created_at: Timestamp,
    livemode: bool,
    agent: AgentView<'a>,
    tool: &'a str,
    connector: Option<ConnectorView<'a>>,
    mode: Mode,
    state: State,
    status: Status,
    on_behalf_of: Option<&'a str>,
    session: Option<&'a str>,
    decision: DecisionView<'a>,
    policy: PolicyView<'a>,
    approval: Option<ApprovalView>,
    execution: Option<ExecutionView<'a>>,
    witness: Option<WitnessView<'a>>,
    cost: Option<CostView<'a>>,
    request_digest: Digest,
    result_digest: Option<Digest>,
    payload_pruned_at: Option<Timestamp>,
    deed: Option<DeedId>,
    next_action: Option<NextView>,
    #[serde(skip_serializing_if = "Option::is_none")]
    amendment: Option<AmendmentView<'a>>,
}

#[derive(Debug, Serialize)]
struct AmendmentView<'a> {
    deed: DeedId,
    amended_at: Timestamp,
    execution: Option<ExecutionView<'a>>,
    witness: WitnessView<'a>,
}

#[derive(Debug, Serialize)]
struct AgentView<'a> {
    id: AgentId,
    name: &'a str,
}

#[derive(Debug, Serialize)]
struct ConnectorView<'a> {
    id: Option<ConnectorId>,
    name: &'a str,
    r#type: &'a str,
}

#[derive(Debug, Serialize)]
struct DecisionView<'a> {
    outcome: DecisionOutcome,
    code: Option<DecisionCode>,
    source: DecisionSource,
    rule_id: Option<&'a str>,
    reason: Option<&'a str>,
    message: Option<&'a str>,
    policy: PolicyId,
    policy_version: PolicyVersionId,
    budget: Option<SpentView<'a>>,
    shadow: Option<ShadowView<'a>>,
}

#[derive(Debug, Serialize)]
struct SpentView<'a> {
    id: &'a str,
    limit: &'a str,
    unit: Option<&'a str>,
    window: &'a str,
    resets_at: Timestamp,
}

#[derive(Debug, Serialize)]
struct ShadowView<'a> {
    outcome: DecisionOutcome,
    code: Option<DecisionCode>,
    rule_id: Option<&'a str>,
    policy: PolicyId,
    policy_version: PolicyVersionId,
}

#[derive(Debug, Serialize)]
struct PolicyView<'a> {
    id: PolicyId,
    version_id: PolicyVersionId,
    mode: &'static str,
    decision: DecisionOutcome,
    rule_id: Option<&'a str>,
}

#[derive(Debug, Serialize)]
struct ApprovalView {
    id: ApprovalId,
    status: ApprovalStatus,
    expires_at: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    void_reason: Option<VoidReason>,
}

#[derive(Debug, Serialize)]
struct ExecutionView<'a> {
    status: ExecutionStatus,
    started_at: Option<Timestamp>,
    finished_at: Option<Timestamp>,
    latency_ms: Option<u64>,
    error_code: Option<&'a ErrorCode>,
    error_message: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rows_changed: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<&'a Value>,
}

#[derive(Debug, Serialize)]
struct WitnessView<'a> {
    object: &'static str,
    level: Level,
    verdict: Verdict,
    method: WitnessMethod,
    required_level: Level,
    summary: &'a str,
    reasons: &'a [String],
    witnessed_at: Timestamp,
    detail_digest: Digest,
    #[serde(skip_serializing_if = "Option::is_none")]
    detail: Option<Value>,
}

#[derive(Debug, Serialize)]
struct CostView<'a> {
    amount: Value,
    currency: &'a str,
}

#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum NextView {
    ExecuteAtEdge { report_url: String, deadline: Timestamp },
    AwaitApproval { approval: ApprovalId, expires_at: Timestamp, poll_url: String },
}

impl<'a> From<&'a Action> for ActionView<'a> {
    fn from(action: &'a Action) -> Self {
        Self {
            object: "action",
            id: action.id,
            created_at: action.created_at,
            livemode: action.livemode,
            agent: AgentView { id: action.agent.id, name: &action.agent.name },
            tool: &action.tool,
            connector: action.connector.as_ref().map(connector),
            mode: action.mode,
            state: action.state,
            status: action.status,
            on_behalf_of: action.on_behalf_of.as_deref(),
            session: action.session.as_deref(),
            decision: decision(&action.decision),
            policy: policy(&action.decision),
            approval: action.approval.as_ref().map(approval),
            execution: action.execution.as_ref().map(execution),
            witness: action.witness.as_ref().map(witness),
            cost: action.cost.as_ref().map(cost),
            request_digest: action.request_digest,
            result_digest: action.result_digest,
            payload_pruned_at: action.payload_pruned_at,
            deed: action.deed,
            next_action: next(action),
            amendment: action.amendment.as_deref().map(amendment),
        }
    }
}

impl<'a> ActionView<'a> {
    /// The view with the tool's result, for the answering response alone.
    pub(crate) fn with_result(mut self, result: Option<&'a Value>) -> Self {
        if let Some(execution) = &mut self.execution {
            execution.result = result;
        }
        self
    }

    /// The view with the witness's whole detail, and that of what it found later.
    pub(super) fn with_witness_detail(mut self, detail: Value, later: Value) -> Self {
        if let Some(witness) = &mut self.witness {
            witness.detail = Some(detail);
        }
        if let Some(amendment) = &mut self.amendment {
            amendment.witness.detail = Some(later);
        }
        self
    }

    /// The view without a reference that reads like an e-mail address, for streams.
    pub(crate) fn without_addresses(mut self) -> Self {
        self.on_behalf_of = self.on_behalf_of.filter(|reference| !reference.contains('@'));
        self
    }
}

fn connector(connector: &ConnectorRef) -> ConnectorView<'_> {
    ConnectorView { id: connector.id, name: &connector.name, r#type: &connector.kind }
}

fn decision(decision: &Decision) -> DecisionView<'_> {
    DecisionView {
        outcome: decision.outcome,
        code: decision.code,
        source: decision.source,
        rule_id: decision.rule_id.as_deref(),
        reason: decision.reason.as_deref(),
        message: decision.message.as_deref(),
        policy: decision.policy,
        policy_version: decision.policy_version,
        budget: decision.budget.as_deref().map(spent),
        shadow: decision.shadow.as_ref().map(shadow),
    }
}

fn spent(budget: &SpentBudget) -> SpentView<'_> {
    SpentView {
        id: &budget.id,
        limit: &budget.limit,
        unit: budget.unit.as_deref(),
        window: &budget.window,
        resets_at: budget.resets_at,
    }
}

fn shadow(shadow: &Shadow) -> ShadowView<'_> {
    ShadowView {
        outcome: shadow.outcome,
        code: shadow.code,
        rule_id: shadow.rule_id.as_deref(),
        policy: shadow.policy,
        policy_version: shadow.policy_version,
    }
}

fn policy(decision: &Decision) -> PolicyView<'_> {
    PolicyView {
        id: decision.policy,
        version_id: decision.policy_version,
        mode: PolicyMode::Enforce.as_str(),
        decision: decision.outcome,
        rule_id: decision.rule_id.as_deref(),
    }
}

fn approval(approval: &Approval) -> ApprovalView {
    let Approval { id, status, expires_at, void_reason, .. } = *approval;
    ApprovalView { id, status, expires_at, void_reason }
}

fn execution(execution: &Execution) -> ExecutionView<'_> {
    let span = execution.started_at.zip(execution.finished_at);
    let latency = span.map(|(started, finished)| finished.since(started).as_millis());
    ExecutionView {
        status: execution.status,
        started_at: execution.started_at,
        finished_at: execution.finished_at,
        latency_ms: latency.and_then(|millis| millis.try_into().ok()),
        error_code: execution.error_code.as_ref(),
        error_message: execution.error_message.as_deref(),
        rows_changed: execution.rows_changed,
        result: None,
    }
}

fn witness(witness: &Witness) -> WitnessView<'_> {
    WitnessView {
        object: "witness",
        level: witness.level,
        verdict: witness.verdict,
        method: witness.method,
        required_level: witness.required_level,
        summary: &witness.summary,
        reasons: &witness.reasons,
        witnessed_at: witness.witnessed_at,
        detail_digest: witness.detail_digest,
        detail: None,
    }
}

fn amendment(amendment: &Amendment) -> AmendmentView<'_> {
    AmendmentView {
        deed: amendment.deed,
        amended_at: amendment.amended_at,
        execution: amendment.execution.as_ref().map(execution),
        witness: witness(&amendment.witness),
    }
}

fn cost(cost: &Cost) -> CostView<'_> {
    let whole = cost.amount.parse::<i64>().map(Value::from);
    let number = whole.ok().or_else(|| cost.amount.parse::<f64>().ok().map(Value::from));
    CostView { amount: number.unwrap_or(Value::Null), currency: &cost.currency }
}

fn next(action: &Action) -> Option<NextView> {
    match action.status {
        Status::Authorized => action.deadline.map(|deadline| NextView::ExecuteAtEdge {
            report_url: format!("/v1/actions/{}/result", action.id),
            deadline,
        }),
        Status::PendingApproval => {
            action.approval.as_ref().map(|approval| NextView::AwaitApproval {
                approval: approval.id,
                expires_at: approval.expires_at,
                poll_url: format!("/v1/actions/{}?wait=25", action.id),
            })
        }
        Status::Executed
        | Status::Failed
        | Status::Processing
        | Status::Denied
        | Status::Cancelled => None,
    }
}

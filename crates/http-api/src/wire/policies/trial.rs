//! What is said of documents, tests and calls that nobody made.

use admin::{BudgetState, DryRun, Linted};
use model::{Digest, PolicyId, PolicyVersionId, Timestamp};
use policy::{
    Answer, ApprovalClause, Call, CaseResult, Certainty, ChargeKind, Diff, Finding, Report, Side,
    Step,
};
use serde::Serialize;
use serde_json::{Map, Value, json};

/// What is to be said of a document.
#[derive(Debug, Serialize)]
pub(crate) struct LintView {
    object: &'static str,
    valid: bool,
    digest: Option<Digest>,
    lint: Value,
}

impl From<&Linted> for LintView {
    fn from(linted: &Linted) -> Self {
        Self {
            object: "policy_lint",
            valid: linted.is_valid(),
            digest: linted.digest(),
            lint: findings(linted.findings()),
        }
    }
}

/// Returns findings, each with its place.
pub(crate) fn findings(findings: &[Finding]) -> Value {
    let shown = findings.iter().map(|finding| {
        json!({
            "severity": finding.severity.as_str(),
            "code": finding.code.as_str(),
            "rule": finding.rule,
            "path": finding.path,
            "line": finding.line,
            "column": finding.column,
            "message": finding.message,
            "example": finding.example.as_deref().map(example),
        })
    });
    shown.collect()
}

/// A call that shows what is meant.
fn example(call: &Call) -> Value {
    let facts = &call.facts;
    json!({
        "agent": { "name": call.agent.name, "labels": call.agent.labels },
        "tool": call.tool,
        "args": *call.args,
        "mode": facts.mode,
        "transport": facts.transport,
        "session": facts.session,
        "on_behalf_of": facts.on_behalf_of,
        "side_effect": facts.side_effect,
        "livemode": facts.livemode,
        "tool_changed": facts.tool_changed,
        "at": call.now,
    })
}

/// What one version decides differently from another.
#[derive(Debug, Serialize)]
pub(crate) struct DiffView {
    object: &'static str,
    version: PolicyVersionId,
    against: PolicyVersionId,
    certainty: &'static str,
    changes: Value,
}

impl DiffView {
    /// What the version decides differently from the one that it is held against.
    pub(crate) fn of(version: PolicyVersionId, against: PolicyVersionId, diff: &Diff) -> Self {
        let certainty = match diff.certainty {
            Certainty::Proven => "proven",
            Certainty::NotProven => "not_proven",
        };
        let changes = diff.changes.iter().map(|change| {
            json!({
                "kind": change.kind.as_str(),
                "before": side(&change.before),
                "after": side(&change.after),
                "example": example(&change.example),
            })
        });
        Self { object: "policy_diff", version, against, certainty, changes: changes.collect() }
    }
}

fn side(side: &Side) -> Value {
    let Side { outcome, code, rule_id } = side;
    json!({ "outcome": outcome, "code": code, "rule_id": rule_id.as_deref() })
}

/// What came of a file of tests.
#[derive(Debug, Serialize)]
pub(crate) struct TestRunView {
    object: &'static str,
    passed: usize,
    failed: usize,
    results: Value,
    uncovered_rules: Vec<String>,
}

impl From<Report> for TestRunView {
    fn from(report: Report) -> Self {
        let failed = report.failed();
        Self {
            object: "policy_test_run",
            passed: report.results.len().saturating_sub(failed),
            failed,
            results: case_results(&report.results),
            uncovered_rules: report.untested,
        }
    }
}

/// What came of each case.
pub(crate) fn case_results(results: &[CaseResult]) -> Value {
    let shown = results.iter().map(|result| {
        json!({
            "name": result.name,
            "passed": result.differences.is_empty(),
            "differences": result.differences,
        })
    });
    shown.collect()
}

/// What would come of a call.
#[derive(Debug, Serialize)]
pub(crate) struct DryRunView {
    object: &'static str,
    policy: Option<PolicyId>,
    policy_version: Option<PolicyVersionId>,
    policy_digest: Digest,
    at: Timestamp,
    decision: Value,
    trace: Value,
    budgets: Value,
    approval: Value,
    visibility: Value,
}

impl From<&DryRun> for DryRunView {
    fn from(run: &DryRun) -> Self {
        let DryRun { decision, explanation, .. } = run;
        let steps: Vec<_> = explanation.steps.iter().map(step).collect();
        Self {
            object: "policy_dry_run",
            policy: run.version.map(|(policy, _)| policy),
            policy_version: run.version.map(|(_, version)| version),
            policy_digest: run.digest,
            at: run.now,
            decision: json!({
                "outcome": decision.outcome,
                "code": decision.code,
                "source": decision.source,
                "rule_id": decision.rule_id.as_deref(),
                "reason": decision.reason.as_deref(),
                "failure": decision.failure,
            }),
            trace: json!({ "not_covering": explanation.not_covering, "steps": steps }),
            budgets: run.budgets.iter().map(budget).collect(),
            approval: decision.approval.as_deref().map_or(Value::Null, approval),
            visibility: json!({ "visibility": run.visibility.0, "rule_id": run.visibility.1 }),
        }
    }
}

fn step(step: &Step) -> Value {
    let (answer, part, compared, outcome) = match &step.answer {
        Answer::False { part, compared } => ("false", Some(part), compared.as_slice(), None),
        Answer::Failed { failure } => ("failed", Some(failure), [].as_slice(), None),
        Answer::Decided { outcome } => ("decided", None, [].as_slice(), Some(outcome)),
    };
    json!({
        "rule_id": &*step.rule_id,
        "answer": answer,
        "part": part,
        "compared": compared,
        "outcome": outcome,
    })
}

fn budget(state: &BudgetState) -> Value {
    let charge = &state.charge;
    let per: Map<String, Value> =
        charge.per.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
    let unit = match &charge.kind {
        ChargeKind::Count => None,
        ChargeKind::Cost { unit } => Some(unit),
    };
    json!({
        "id": charge.budget,
        "per": per,
        "window": charge.window.as_str(),
        "window_start": charge.window_start,
        "window_end": charge.window_end,
        "unit": unit,
        "used": state.used.to_string(),
        "amount": charge.amount.to_string(),
        "limit": charge.limit.to_string(),
        "would_admit": state.would_admit,
    })
}

fn approval(clause: &ApprovalClause) -> Value {
    let exclude: Vec<_> = clause.exclude.iter().map(|excluded| excluded.as_str()).collect();
    json!({
        "from": clause.from,
        "count": clause.count,
        "expires_in_s": clause.expires_in.map(|span| span.as_secs()),
        "exclude": exclude,
        "show": clause.show,
        "estimate": clause.estimate,
    })
}

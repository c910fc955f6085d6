//! What people are asked, as responses show it and requests answer it.

use deed::Vote;
use gate::{ActionDetail, ApprovalFilter, Barred};
use ledger::record::{Action, Approval, Member, Voided};
use model::{
    ActionId, AgentId, ApprovalId, ApprovalStatus, Assurance, DeedId, Digest, MemberId, Mode,
    PolicyVersionId, Role, SideEffect, Timestamp, VoidReason,
};
use policy::Excluded;
use serde::Serialize;
use serde_json::Value;
use web::{ApiError, Call, Fields, Param, Query, Word};

use super::filter::{Moment, tool};

/// The parameters of the list.
pub(crate) const LIST: &[Param] = &[
    Param::One("status"),
    Param::One("agent"),
    Param::One("tool"),
    Param::One("mine"),
    Param::One("created_at[gte]"),
    Param::One("created_at[lt]"),
    Param::One("limit"),
    Param::One("cursor"),
];

/// The warning that the agent names no member for whom it acts.
const EXCLUDES_NOBODY: &str = "excludes_nobody";
/// The most characters of a note.
const MAX_NOTE: usize = 280;

/// What the question is to whoever looks at it.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Viewing {
    /// Nothing that could be answered: an agent looks.
    Agent,
    /// Nothing that could be answered: an org key looks, or somebody who is no member any more.
    Onlooker,
    /// A member looks, who may answer unless something bars them.
    Person(Option<Barred>),
    /// A member looks who may answer, but no yes is taken while a Stop holds what waits.
    Held,
    /// A member looks who may answer, but by a session alone, and they show none.
    NoSession,
}

/// A question.
#[derive(Debug, Serialize)]
pub(crate) struct ApprovalView<'a> {
    object: &'static str,
    id: Option<ApprovalId>,
    action: ActionId,
    agent: AgentView<'a>,
    tool: &'a str,
    tool_digest: Option<Digest>,
    mode: Mode,
    side_effect: Option<SideEffect>,
    status: Option<ApprovalStatus>,
    requested_at: Timestamp,
    expires_at: Option<Timestamp>,
    rule_id: Option<&'a str>,
    policy_version: PolicyVersionId,
    required: u8,
    approvers: &'a [String],
    excluded: Vec<&'static str>,
    assurance: Option<Assurance>,
    decisions: Vec<DecisionView<'a>>,
    context_digest: Option<Digest>,
    request_digest: Digest,
    decided_at: Option<Timestamp>,
    void_reason: Option<VoidReason>,
    /// Shown to people and org keys: the reason is written for them.
    #[serde(skip_serializing_if = "Option::is_none")]
    voided: Option<&'a Voided>,
    may_decide: bool,
    why_not: Option<&'static str>,
    deed: Option<DeedId>,
}

#[derive(Debug, Serialize)]
struct AgentView<'a> {
    id: AgentId,
    name: &'a str,
}

#[derive(Debug, Serialize)]
struct DecisionView<'a> {
    by: MemberId,
    decision: Vote,
    assurance: Assurance,
    at: Timestamp,
    note: Option<&'a str>,
}

/// A question with what is shown of it.
#[derive(Debug, Serialize)]
pub(crate) struct ApprovalDetail<'a> {
    #[serde(flatten)]
    view: ApprovalView<'a>,
    context: Option<Value>,
    estimate: Option<EstimateView>,
    warnings: Vec<&'static str>,
    eligible: Vec<EligibleView>,
}

/// What the tool said beforehand that the call would change.
#[derive(Debug, Serialize)]
struct EstimateView {
    rows: Option<u64>,
    tables: Vec<Value>,
    sample: Vec<Value>,
    complete: bool,
}

#[derive(Debug, Serialize)]
struct EligibleView {
    id: MemberId,
    role: Role,
}

impl<'a> ApprovalView<'a> {
    pub(crate) fn of(action: &'a Action, viewing: Viewing) -> Self {
        let approval = action.approval.as_ref();
        let why_not = approval.and_then(|approval| why_not(approval, viewing));
        Self {
            object: "approval",
            id: approval.map(|it| it.id),
            action: action.id,
            agent: AgentView { id: action.agent.id, name: &action.agent.name },
            tool: &action.tool,
            tool_digest: action.tool_digest,
            mode: action.mode,
            side_effect: action.side_effect,
            status: approval.map(|it| it.status),
            requested_at: action.created_at,
            expires_at: approval.map(|it| it.expires_at),
            rule_id: action.decision.rule_id.as_deref(),
            policy_version: action.decision.policy_version,
            required: approval.map_or(1, |it| it.count),
            approvers: approval.map(|it| it.from.as_slice()).unwrap_or_default(),
            excluded: excluded(approval),
            assurance: approval.and_then(|it| it.assurance),
            decisions: decisions(approval),
            context_digest: approval.and_then(|it| it.context_digest),
            request_digest: action.request_digest,
            decided_at: approval.and_then(|it| it.decided_at),
            void_reason: approval.and_then(|it| it.void_reason),
            voided: approval
                .and_then(|it| it.voided.as_ref())
                .filter(|_| !matches!(viewing, Viewing::Agent)),
            may_decide: why_not.is_none() && approval.is_some(),
            why_not,
            deed: action.deed,
        }
    }
}

fn excluded(approval: Option<&Approval>) -> Vec<&'static str> {
    let all = approval.into_iter().flat_map(|it| it.exclude.iter().copied());
    all.map(Excluded::as_str).collect()
}

fn decisions(approval: Option<&Approval>) -> Vec<DecisionView<'_>> {
    let all = approval.into_iter().flat_map(|it| &it.decisions);
    all.map(|answer| DecisionView {
        by: answer.by,
        decision: answer.decision,
        assurance: answer.assurance,
        at: answer.at,
        note: answer.note.as_deref(),
    })
    .collect()
}

/// The code with which an answer of whoever looks would be refused.
fn why_not(approval: &Approval, viewing: Viewing) -> Option<&'static str> {
    match (approval.status, viewing) {
        (_, Viewing::Agent) => Some("insufficient_scope"),
        (_, Viewing::Onlooker) => Some("person_required"),
        (ApprovalStatus::Pending, Viewing::Person(barred)) => barred.map(|barred| match barred {
            Barred::NotAnApprover => "not_an_approver",
            Barred::Excluded => "self_approval",
            Barred::Answered => "conflict",
        }),
        (ApprovalStatus::Pending, Viewing::Held) => Some("conflict"),
        (ApprovalStatus::Pending, Viewing::NoSession) => Some("reauthentication_required"),
        (ApprovalStatus::Expired, Viewing::Person(_) | Viewing::Held | Viewing::NoSession) => {
            Some("approval_expired")
        }
        (
            ApprovalStatus::Approved
            | ApprovalStatus::Denied
            | ApprovalStatus::Cancelled
            | ApprovalStatus::Voided,
            Viewing::Person(_) | Viewing::Held | Viewing::NoSession,
        ) => Some("approval_decided"),
    }
}

impl<'a> ApprovalDetail<'a> {
    /// The view with what people are shown, where a person looks.
    pub(crate) fn of(view: ApprovalView<'a>, detail: &ActionDetail, is_person: bool) -> Self {
        let shown = |opens: &&deed::Disclosure| opens.path().as_str() == "action.approval.context";
        let opened = detail.disclosures.iter().find(shown);
        let context = opened.and_then(|opens| serde_json::from_str(opens.value()).ok());
        let warnings = context.as_ref().map(warnings).unwrap_or_default();
        let context = context.filter(|_| is_person);
        let estimate = context.as_ref().and_then(EstimateView::of);
        Self { view, context, estimate, warnings, eligible: Vec::new() }
    }

    /// The view as an agent is shown it: without what would tell it whose addresses are members'.
    pub(crate) fn for_agent(mut self) -> Self {
        self.warnings.retain(|word| *word != EXCLUDES_NOBODY);
        self
    }

    /// The view with these members, who may answer.
    pub(crate) fn with_eligible(mut self, members: &[Member]) -> Self {
        let view = |member: &Member| EligibleView { id: member.id, role: member.role };
        self.eligible = members.iter().map(view).collect();
        self
    }
}

impl EstimateView {
    /// The estimate that people are shown, where there is one. Older questions know its rows alone.
    fn of(context: &Value) -> Option<Self> {
        let shown = context.get("estimate").filter(|it| it["status"] == "given")?;
        let list = |name: &str| shown[name].as_array().cloned().unwrap_or_default();
        Some(Self {
            rows: shown["changes"].as_u64(),
            tables: list("tables"),
            sample: list("rows"),
            complete: shown["complete"].as_bool().unwrap_or(true),
        })
    }
}

/// What a person should know before a yes, as far as what they are shown tells.
fn warnings(context: &Value) -> Vec<&'static str> {
    let said = |word: &str| {
        context["warnings"].as_array().is_some_and(|all| all.iter().any(|it| it == word))
    };
    [
        ("irreversible", said("destructive")),
        (EXCLUDES_NOBODY, said(EXCLUDES_NOBODY)),
        ("budget_near", said("budget_near")),
        ("tool_changed", said("tool_changed")),
        ("tool_new", said("tool_new")),
        ("estimate_missing", said("estimate_absent")),
        ("estimate_large", said("estimate_large")),
        ("hidden_fields", said("args_not_whole")),
        ("misleading_text", misleads(context)),
        ("first_use", said("first_use")),
        ("off_hours", said("off_hours")),
    ]
    .into_iter()
    .filter_map(|(word, holds)| holds.then_some(word))
    .collect()
}

/// Whether a text in it, or a name, has letters that are not seen or that turn what stands beside
/// them, or a name has letters of scripts that no language mixes.
fn misleads(value: &Value) -> bool {
    let is_unseen = |text: &str| text.chars().any(model::is_unseen);
    match value {
        Value::String(text) => is_unseen(text),
        Value::Array(items) => items.iter().any(misleads),
        Value::Object(members) => members
            .iter()
            .any(|(name, value)| is_unseen(name) || pages::mixes_scripts(name) || misleads(value)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// What the list is asked for, its page aside, and whether for the asker's own alone.
pub(crate) fn approval_filter(query: &Query) -> Result<(ApprovalFilter, bool), ApiError> {
    let moment = |name| query.parse::<Moment>(name).map(|read| read.map(|Moment(time)| time));
    let filter = ApprovalFilter {
        statuses: query.list("status")?,
        agent: query.parse("agent")?,
        tool: tool(query)?,
        waits_for: None,
        from: moment("created_at[gte]")?,
        to: moment("created_at[lt]")?,
    };
    Ok((filter, query.flag("mine")?))
}

/// Reads the body of an answer: the digest of what was shown, and a note.
pub(crate) fn answer_of(call: &Call) -> Result<(Digest, Option<String>), ApiError> {
    let mut fields = call.fields()?;
    let Word(shown) = fields.required::<Word<Digest>>("context_digest")?;
    let note = note(&mut fields)?;
    fields.finish()?;
    Ok((shown, note))
}

/// What somebody says about their answer.
pub(super) fn note(fields: &mut Fields) -> Result<Option<String>, ApiError> {
    let note: Option<String> = fields.optional("note")?;
    let fits = |note: &String| (1..=MAX_NOTE).contains(&note.chars().count());
    if note.as_ref().is_some_and(|note| !fits(note)) {
        return Err(fields.error("note", format!("expected 1 to {MAX_NOTE} characters")));
    }
    Ok(note)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_estimate_is_shown_as_it_was_frozen_and_an_older_one_by_its_rows() {
        let view = |estimate: Value| json!(EstimateView::of(&json!({ "estimate": estimate })));
        let tables = json!([{ "name": "orders", "op": "update", "rows": 3 }]);
        let frozen = json!({
            "status": "given", "changes": 3, "tables": tables, "complete": false,
            "rows": [{ "id": 1 }],
        });
        let shown =
            json!({ "rows": 3, "tables": tables, "sample": [{ "id": 1 }], "complete": false });
        assert_eq!(view(frozen), shown);
        let older = json!({ "status": "given", "rows": [{ "id": 1 }] });
        let shown =
            json!({ "rows": null, "tables": [], "sample": [{ "id": 1 }], "complete": true });
        assert_eq!(view(older), shown);
        assert_eq!(view(json!({ "status": "absent", "why": "late" })), Value::Null);
    }
}

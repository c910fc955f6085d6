//! Reads `rules` and `default`.

use std::{sync::Arc, time::Duration};

use model::DecisionOutcome;

use super::{
    ApprovalClause, Fallback, MAX_RULES, Rule, approval,
    place::Path,
    reader::{Field, Fields, Reader},
};
use crate::{
    error::Code,
    expr,
    tree::{Mark, Node},
};

/// The keys of a rule.
pub(crate) const KEYS: [&str; 6] = ["id", "match", "when", "outcome", "reason", "approval"];
/// The keys of `default`.
pub(crate) const DEFAULT_KEYS: [&str; 3] = ["outcome", "reason", "approval"];

pub(super) const OUTCOMES: [(&str, DecisionOutcome); 3] = [
    (DecisionOutcome::Allow.as_str(), DecisionOutcome::Allow),
    (DecisionOutcome::Deny.as_str(), DecisionOutcome::Deny),
    (DecisionOutcome::RequireApproval.as_str(), DecisionOutcome::RequireApproval),
];

/// Reads the rules in the document's order.
pub(super) fn rules(
    reader: &mut Reader<'_>,
    field: Option<Field<'_>>,
    expires_in: Option<Duration>,
) -> Vec<Rule> {
    let Some(field) = field else { return Vec::new() };
    let Some(items) = reader.list(&field) else { return Vec::new() };
    if items.len() > MAX_RULES {
        let message = format!("expected at most {MAX_RULES} rules, found {}", items.len());
        reader.push(Code::TooLarge, field.node.at, &field.path, message);
        return Vec::new();
    }
    let mut rules: Vec<Rule> = Vec::new();
    for (place, node) in items.iter().enumerate() {
        let path = Path::Item(&field.path, place);
        rules.extend(rule(reader, (node, &path), expires_in));
        reader.set_owner(None);
    }
    let ids: Vec<(&str, Mark)> = rules.iter().map(|rule| (&*rule.id, rule.at)).collect();
    reader.unique(ids.into_iter(), &field.path);
    rules
}

fn rule(
    reader: &mut Reader<'_>,
    (node, path): (&Node, &Path<'_>),
    expires_in: Option<Duration>,
) -> Option<Rule> {
    let fields = reader.map(node, path, &KEYS)?;
    let id = fields.need(reader, "id");
    let id = reader.id(id);
    reader.set_owner(id.as_deref());
    let globs = fields.need(reader, "match");
    let globs = reader.globs(globs);
    let when = reader.expression(fields.find("when"), expr::condition);
    let ending = ending(reader, &fields);
    let (outcome, approval) = ending?;
    let reason = reader.reason(fields.find("reason")).map(Arc::from);
    let show_at = approval.as_ref().map(|clause| clause.show_at.clone()).unwrap_or_default();
    let asks = ApprovalClause::of(outcome, approval, expires_in);
    Some(Rule { id: id?.into(), globs: globs?, when, outcome, reason, asks, at: node.at, show_at })
}

/// Reads `default`.
pub(super) fn fallback(
    reader: &mut Reader<'_>,
    field: Field<'_>,
    expires_in: Option<Duration>,
) -> Option<Fallback> {
    let fields = reader.map(field.node, &field.path, &DEFAULT_KEYS)?;
    let reason = reader.reason(fields.find("reason")).map(Arc::from);
    let (outcome, approval) = ending(reader, &fields)?;
    Some(Fallback { outcome, reason, asks: ApprovalClause::of(outcome, approval, expires_in) })
}

/// Reads the outcome and the approval that only one of the outcomes takes.
fn ending(
    reader: &mut Reader<'_>,
    fields: &Fields<'_>,
) -> Option<(DecisionOutcome, Option<super::Clause>)> {
    let outcome = fields.need(reader, "outcome");
    let outcome = outcome.and_then(|field| reader.word(&field, &OUTCOMES));
    let approval = fields.find("approval");
    if let (Some(field), Some(DecisionOutcome::Allow | DecisionOutcome::Deny)) =
        (&approval, outcome)
    {
        let message =
            "expected no `approval` with this outcome; only `require_approval` accepts one";
        reader.push(Code::BadValue, field.node.at, &field.path, message);
    }
    let clause = approval.and_then(|field| approval::clause(reader, &field));
    outcome.map(|outcome| (outcome, clause))
}

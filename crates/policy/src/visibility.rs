//! Whether an agent is shown a tool, from the policy's structure alone: no arguments, no budgets,
//! no Stop.

use model::{DecisionOutcome, Visibility};

use crate::policy::Policy;

/// Whether the policy might allow a call of the tool, and the rule that says so.
///
/// The first rule that covers the tool decides: hidden when it denies without a condition, visible
/// otherwise. Where no rule covers the tool the default decides.
///
/// ```
/// use policy::{Policy, Visibility, visibility};
///
/// let policy = Policy::compile(
///     "{ schema: 1, default: { outcome: deny },
///        rules: [{ id: some, match: 'crm.*', when: args.id > 0, outcome: allow }] }",
/// )?;
/// assert_eq!(visibility(&policy, "crm.read"), (Visibility::Visible, Some("some")));
/// assert_eq!(visibility(&policy, "pay.refund"), (Visibility::Hidden, None));
/// # Ok::<(), policy::DocumentError>(())
/// ```
pub fn visibility<'p>(policy: &'p Policy, tool: &str) -> (Visibility, Option<&'p str>) {
    let document = &policy.document;
    let candidates = policy.tools.candidates(document, tool);
    match candidates.first().and_then(|place| document.rules.get(place)) {
        Some(rule) if rule.when.is_none() => (shown(rule.outcome), Some(&rule.id)),
        Some(rule) => (Visibility::Visible, Some(&rule.id)),
        None => (shown(document.default.outcome), None),
    }
}

const fn shown(outcome: DecisionOutcome) -> Visibility {
    match outcome {
        DecisionOutcome::Allow | DecisionOutcome::RequireApproval => Visibility::Visible,
        DecisionOutcome::Deny => Visibility::Hidden,
    }
}

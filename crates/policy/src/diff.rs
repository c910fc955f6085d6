//! What two versions decide differently, each difference with a call that both have decided.
//!
//! Rules, conditions and the default are compared. Budgets, and who must approve, are not.

mod end;
mod pairs;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use model::{DecisionCode, DecisionOutcome};

use crate::{
    call::Call,
    catalog::Catalog,
    decide::decide,
    document::{Cost, Document, Measure},
    effort::{Effort, EffortError},
    policy::Policy,
    prove::{Answer, Goal, Judgement, Prover, first},
};
use end::End;
use pairs::pairs;

/// The work that all questions of one comparison may take, in cubes.
const MAX_CUBES: usize = 100_000;
/// The most differences that are told.
const MAX_CHANGES: usize = 100;

/// What two versions decide differently.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diff {
    /// The differences by kind; for each kind and pair of rules there is one.
    pub changes: Vec<Change>,
    /// Whether there may be more.
    pub certainty: Certainty,
}

/// Whether a comparison is complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Certainty {
    /// For every rule that changed it is proved which kinds of differences it makes.
    Proven,
    /// There may be differences that were not found.
    NotProven,
}

/// How a decision differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum ChangeKind {
    /// Denied before, allowed without a person now.
    NewlyAllowed,
    /// Waited for a person before, allowed without one now.
    WithoutApproval,
    /// Allowed or denied before, waits for a person now.
    WithApproval,
    /// Not denied before, denied now.
    NewlyDenied,
}

impl ChangeKind {
    /// The values in order.
    pub const ALL: [Self; 4] =
        [Self::NewlyAllowed, Self::WithoutApproval, Self::WithApproval, Self::NewlyDenied];

    /// The word that answers and reports carry.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NewlyAllowed => "newly_allowed",
            Self::WithoutApproval => "without_approval",
            Self::WithApproval => "with_approval",
            Self::NewlyDenied => "newly_denied",
        }
    }

    /// How the second outcome differs from the first; nothing where it does not.
    const fn between(before: DecisionOutcome, after: DecisionOutcome) -> Option<Self> {
        match (before, after) {
            (DecisionOutcome::Allow, DecisionOutcome::Allow)
            | (DecisionOutcome::Deny, DecisionOutcome::Deny)
            | (DecisionOutcome::RequireApproval, DecisionOutcome::RequireApproval) => None,
            (DecisionOutcome::Deny, DecisionOutcome::Allow) => Some(Self::NewlyAllowed),
            (DecisionOutcome::RequireApproval, DecisionOutcome::Allow) => {
                Some(Self::WithoutApproval)
            }
            (_, DecisionOutcome::RequireApproval) => Some(Self::WithApproval),
            (_, DecisionOutcome::Deny) => Some(Self::NewlyDenied),
        }
    }
}

/// One difference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// How the decision differs.
    pub kind: ChangeKind,
    /// What the first version says of the example.
    pub before: Side,
    /// What the second version says of it.
    pub after: Side,
    /// A call that both versions have decided so.
    pub example: Call,
}

/// What the rules of one version say of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Side {
    /// Whether the call may run.
    pub outcome: DecisionOutcome,
    /// Why it is not a plain allow.
    pub code: Option<DecisionCode>,
    /// The rule that decided, or whose condition has no value; nothing for the default.
    pub rule_id: Option<Arc<str>>,
}

/// Compares two versions: what the second decides differently from the first.
///
/// ```
/// use policy::{ChangeKind, Policy, Unknown, decide, diff};
///
/// let version = |limit: u32| {
///     Policy::compile(&format!(
///         "{{ schema: 1, default: {{ outcome: deny }},
///            rules: [{{ id: small, match: pay.refund, when: args.amount <= {limit}, outcome: allow }}] }}"
///     ))
/// };
/// let (before, after) = (version(50)?, version(60)?);
/// let diff = diff(&before, &after, &Unknown);
/// let [change] = &diff.changes[..] else { panic!() };
/// assert_eq!(change.kind, ChangeKind::NewlyAllowed);
/// // Both versions have decided the example: an amount above 50 and not above 60.
/// assert_eq!(decide(&after, &change.example).rule_id.as_deref(), Some("small"));
/// # Ok::<(), policy::DocumentError>(())
/// ```
pub fn diff(before: &Policy, after: &Policy, catalog: &dyn Catalog) -> Diff {
    compared((before, after), catalog, &Effort::unbounded())
}

/// Compares two versions, where that takes no more than this effort.
pub fn diff_within(
    before: &Policy,
    after: &Policy,
    catalog: &dyn Catalog,
    effort: &Effort,
) -> Result<Diff, EffortError> {
    let diff = compared((before, after), catalog, effort);
    effort.check().map(|()| diff)
}

/// What was found until the effort ended.
fn compared((before, after): (&Policy, &Policy), catalog: &dyn Catalog, effort: &Effort) -> Diff {
    let tools = catalog.tools();
    let mut prover = Prover::new(&tools, MAX_CUBES, effort);
    let mut diff = Diff { changes: Vec::new(), certainty: Certainty::Proven };
    for (one, other) in pairs(&before.document, &after.document) {
        let Some(kind) =
            ChangeKind::between(one.outcome(&before.document), other.outcome(&after.document))
        else {
            continue;
        };
        if diff.has(kind, &one, &other) {
            continue;
        }
        if diff.changes.len() >= MAX_CHANGES || prover.is_ended() {
            diff.certainty = Certainty::NotProven;
            break;
        }
        let question = Question { before, after, one, other, kind };
        match question.ask(&mut prover) {
            Answer::Example(example) => diff.changes.push(change(before, after, *example)),
            Answer::Never(_) => {}
            Answer::NotProven => diff.certainty = Certainty::NotProven,
        }
    }
    diff.changes.sort_by_key(|change| change.kind);
    diff
}

impl Diff {
    /// Whether a change of this kind between the two ends is told already.
    fn has(&self, kind: ChangeKind, one: &End<'_>, other: &End<'_>) -> bool {
        self.changes.iter().any(|change| {
            change.kind == kind
                && change.before.rule_id.as_deref() == one.rule_id()
                && change.after.rule_id.as_deref() == other.rule_id()
        })
    }
}

fn change(before: &Policy, after: &Policy, example: Call) -> Change {
    let side = |policy: &Policy| {
        let end = End::from(first(policy, &example));
        let outcome = end.outcome(&policy.document);
        let code = match (end, outcome) {
            (End::Fails(..), _) => Some(DecisionCode::PolicyUnavailable),
            (_, DecisionOutcome::Allow) => None,
            (_, DecisionOutcome::RequireApproval) => Some(DecisionCode::ApprovalRequired),
            (End::Decides(..), DecisionOutcome::Deny) => Some(DecisionCode::PolicyDenied),
            (End::Default, DecisionOutcome::Deny) => Some(DecisionCode::DefaultDenied),
        };
        Side { outcome, code, rule_id: end.rule_id().map(Arc::from) }
    };
    let (before, after) = (side(before), side(after));
    // Both sides differ, or the judge would not have taken the example.
    let kind = ChangeKind::between(before.outcome, after.outcome);
    Change { kind: kind.unwrap_or(ChangeKind::NewlyDenied), before, after, example }
}

/// Whether there is a call that ends here in one version and there in the other.
struct Question<'p> {
    before: &'p Policy,
    after: &'p Policy,
    one: End<'p>,
    other: End<'p>,
    kind: ChangeKind,
}

impl<'p> Question<'p> {
    fn ask(&self, prover: &mut Prover<'p>) -> Answer<'p> {
        let goals: Vec<Goal<'p>> =
            [self.one, self.other].into_iter().flat_map(End::goals).collect();
        let costs = costs(&self.before.document).chain(costs(&self.after.document));
        let costs: Vec<Goal<'p>> = costs.map(Goal::Charged).collect();
        if !costs.is_empty() {
            // An example whose cost can be told is the better one.
            let with_costs = goals.iter().cloned().chain(costs).collect();
            let answer = prover.ask(with_costs, |sample| {
                let outcome = |policy: &Policy| decide(policy, sample).outcome;
                let kind = ChangeKind::between(outcome(self.before), outcome(self.after));
                if kind == Some(self.kind) { self.judge(sample) } else { Judgement::No }
            });
            if let Answer::Example(_) = answer {
                return answer;
            }
        }
        prover.ask(goals, |sample| self.judge(sample))
    }

    fn judge(&self, call: &Call) -> Judgement<'p> {
        let (one, other) = (first(self.before, call), first(self.after, call));
        let outcomes = (
            End::from(one).outcome(&self.before.document),
            End::from(other).outcome(&self.after.document),
        );
        if ChangeKind::between(outcomes.0, outcomes.1) == Some(self.kind) {
            return Judgement::Yes;
        }
        let taker = self.one.taken_by(one).or_else(|| self.other.taken_by(other));
        taker.map_or(Judgement::No, Judgement::TakenBy)
    }
}

fn costs(document: &Document) -> impl Iterator<Item = &Cost> {
    document.budgets.iter().filter_map(|budget| match &budget.measure {
        Measure::Count(_) => None,
        Measure::Cost(cost) => Some(&**cost),
    })
}

//! What a version would have said of calls that were decided before. Reads nothing by itself: the
//! records are handed in, in the order in which they were committed.
//!
//! Budgets are counted again from the first record on, as the version would have counted them; what
//! was taken before the first record is not known.

use std::collections::{BTreeMap, HashMap};

use model::{DecisionCode, DecisionOutcome};

use crate::{budget::Charge, call::Call, counters::Counters, decide::decide, policy::Policy};

/// One thing that happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Record {
    /// A call was decided.
    Decided(Box<Recorded>),
    /// What an action had taken from budgets was given back, since it did not run.
    Released {
        /// The action's id.
        action: String,
    },
}

/// A call that was decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recorded {
    /// The action's id.
    pub action: String,
    /// The call as it was then, with the agent's labels and the moment of that time.
    pub call: Result<Call, NotReplayable>,
    /// What was decided.
    pub outcome: DecisionOutcome,
    /// Why it was not a plain allow.
    pub code: Option<DecisionCode>,
}

/// Why a call cannot be decided again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum NotReplayable {
    /// Its arguments are no longer kept.
    PayloadPruned,
    /// What was known of the agent then was not kept.
    AttributesMissing,
    /// No policy decided it: a Stop, an unknown tool, a disabled connector.
    NotByPolicy,
}

impl NotReplayable {
    /// The values in order.
    pub const ALL: [Self; 3] = [Self::PayloadPruned, Self::AttributesMissing, Self::NotByPolicy];

    /// The word that answers and reports carry.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::PayloadPruned => "payload_pruned",
            Self::AttributesMissing => "attributes_missing",
            Self::NotByPolicy => "not_by_policy",
        }
    }
}

/// What a version says of a call that was decided before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ReplayAnswer {
    /// The same as then.
    Unchanged,
    /// It would allow what was not allowed then.
    WouldAllow,
    /// It would deny what was not denied then.
    WouldDeny,
    /// It would ask a person where none was asked then.
    WouldRequireApproval,
    /// That cannot be told.
    NotReplayable(NotReplayable),
}

impl ReplayAnswer {
    /// The word that answers and reports carry; a reason comes with it only for
    /// `not_replayable`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Unchanged => "unchanged",
            Self::WouldAllow => "would_allow",
            Self::WouldDeny => "would_deny",
            Self::WouldRequireApproval => "would_require_approval",
            Self::NotReplayable(_) => "not_replayable",
        }
    }
}

/// How many of the calls could be decided again.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Coverage {
    /// Calls that were decided again.
    pub replayed: u64,
    /// Calls that could not be, by the reason.
    pub not_replayable: BTreeMap<NotReplayable, u64>,
}

/// What a version would have said.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Replay {
    /// How much the rest speaks of; worth reading first.
    pub coverage: Coverage,
    /// How many calls have each answer.
    pub counts: BTreeMap<ReplayAnswer, u64>,
    /// The action and the answer of each call, in order.
    pub results: Vec<(String, ReplayAnswer)>,
}

impl Replay {
    /// How many calls would have been decided differently.
    pub fn differences(&self) -> u64 {
        let answers = self.counts.iter();
        let differs = answers.filter(|(answer, _)| match answer {
            ReplayAnswer::Unchanged | ReplayAnswer::NotReplayable(_) => false,
            ReplayAnswer::WouldAllow
            | ReplayAnswer::WouldDeny
            | ReplayAnswer::WouldRequireApproval => true,
        });
        differs.map(|(_, count)| count).sum()
    }
}

/// Asks the version what it would have said of the recorded calls.
///
/// ```
/// use policy::{
///     Agent, Call, DecisionOutcome, Policy, Record, Recorded, ReplayAnswer, Timestamp, replay,
/// };
///
/// let agent = Agent::new("agt_00000000000000000000000001".parse()?);
/// let then = Recorded {
///     action: "act_1".to_owned(),
///     call: Ok(Call::new("crm.delete", agent, Timestamp::EPOCH)),
///     outcome: DecisionOutcome::Allow,
///     code: None,
/// };
/// let stricter = Policy::compile("{ schema: 1, default: { outcome: deny } }")?;
/// let replay = replay(&stricter, &[Record::Decided(Box::new(then))]);
/// assert_eq!(replay.results, [("act_1".to_owned(), ReplayAnswer::WouldDeny)]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn replay(policy: &Policy, records: &[Record]) -> Replay {
    let mut replay = Replay::default();
    let mut counters = Counters::default();
    let mut taken: HashMap<&str, Vec<Charge>> = HashMap::new();
    for record in records {
        let recorded = match record {
            Record::Decided(recorded) => recorded,
            Record::Released { action } => {
                let charges = taken.remove(action.as_str());
                counters.release(&charges.unwrap_or_default());
                continue;
            }
        };
        let answer = match &recorded.call {
            Ok(call) => {
                let decision = counters.admit(decide(policy, call));
                let answer = compare(recorded.outcome, decision.outcome);
                if !decision.charges.is_empty() {
                    taken.insert(&recorded.action, decision.charges);
                }
                replay.coverage.replayed += 1;
                answer
            }
            Err(reason) => {
                *replay.coverage.not_replayable.entry(*reason).or_default() += 1;
                ReplayAnswer::NotReplayable(*reason)
            }
        };
        *replay.counts.entry(answer).or_default() += 1;
        replay.results.push((recorded.action.clone(), answer));
    }
    replay
}

fn compare(then: DecisionOutcome, now: DecisionOutcome) -> ReplayAnswer {
    match now {
        _ if now == then => ReplayAnswer::Unchanged,
        DecisionOutcome::Allow => ReplayAnswer::WouldAllow,
        DecisionOutcome::Deny => ReplayAnswer::WouldDeny,
        DecisionOutcome::RequireApproval => ReplayAnswer::WouldRequireApproval,
    }
}

//! Policies: making them and their versions, testing them, and letting one decide.
//!
//! Every change is a turn with its admin deed; what is only asked (lint, tests, a dry run) records
//! nothing.

pub(crate) mod activation;
mod dry_run;
pub(crate) mod manage;
pub(crate) mod proposal;
mod reading;
mod replaying;
pub(crate) mod suites;
pub(crate) mod versions;

pub use activation::{Activated, Activation};
pub use dry_run::{BudgetState, Counters, DryCall, DryRun};
pub use manage::{NewPolicy, PolicyEdit};
pub use proposal::ProposalStanding;
pub use reading::{ActivePolicies, Page};
pub use replaying::{History, recorded_call};
pub use suites::{Failing, Tested, Trial, Untested, bounded_effort};
pub use versions::{KnownOrg, Linted, NewVersion, Text, diff, lint};

use model::{PolicyId, PolicyVersionId};
use serde_json::{Value, json};

/// What somebody who changes something believes to stand there now.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Expected<T> {
    /// They do not say.
    #[default]
    Anything,
    /// Exactly this, or else nothing is changed.
    Exactly(T),
}

impl<T: PartialEq> Expected<T> {
    /// Whether what stands there is not what was expected.
    pub(crate) fn is_not(&self, found: &T) -> bool {
        match self {
            Self::Anything => false,
            Self::Exactly(expected) => expected != found,
        }
    }
}

/// The version that somebody believes to be the latest or the active one; none is a belief too.
pub type ExpectedVersion = Expected<Option<PolicyVersionId>>;

/// A policy as an event shows it: ids and words.
fn thin(policy: PolicyId, version: Value, mode: Value) -> Value {
    json!({ "object": "policy", "id": policy, "version": version, "mode": mode })
}

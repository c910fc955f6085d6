//! Decides what an agent's call may do: a policy document, its expression language and the
//! evaluation of one call. It does no IO, has no clock, and keeps no counters.
//!
//! A [`Policy`] is read from YAML or JSON once and shared between threads; [`decide`] then answers
//! for one [`Call`]. The first rule that covers the tool and whose condition holds decides, else
//! the document's `default`. A condition that cannot be evaluated denies the call. Budgets leave
//! the decision as [`Charge`]s for whoever keeps the counters. `docs/policy-language.md` tells how
//! documents are written.
//!
//! Around that stand [`lint`] (what a document does not mean to say, proved and with examples),
//! [`diff`] (what two versions decide differently), [`replay`] (what a version would have said of
//! recorded calls), [`explain`] (how a decision came about), [`visibility`] (whether an agent sees a
//! tool) and [`read_suite`] (tests that authors write).
//!
//! ```
//! use policy::{Agent, Call, CallFacts, Policy, decide};
//!
//! let policy = Policy::compile(
//!     "{ schema: 1, default: { outcome: deny },
//!        rules: [{ id: small, match: pay.refund, when: args.amount <= 50, outcome: allow }] }",
//! )?;
//! let agent = Agent {
//!     id: "agt_00000000000000000000000001".parse()?,
//!     name: "support".into(),
//!     labels: Default::default(),
//! };
//! let call = CallFacts::new("pay.refund", model::Mode::Gateway);
//! let args = serde_json::json!({ "amount": 20 });
//! let now = model::Timestamp::EPOCH;
//! let decision = decide(&policy, &Call { args: &args, agent: &agent, call, now, zone: Call::UTC });
//! assert_eq!(decision.outcome, model::DecisionOutcome::Allow);
//! assert_eq!(decision.rule_id.as_deref(), Some("small"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod budget;
mod call;
#[cfg(feature = "prover")]
mod catalog;
mod counters;
mod decide;
#[cfg(feature = "prover")]
mod diff;
mod document;
mod error;
mod expr;
mod glob;
#[cfg(feature = "prover")]
mod lint;
mod policy;
#[cfg(feature = "prover")]
mod prove;
mod replay;
mod sample;
mod suite;
mod tools;
mod trace;
mod tree;
mod visibility;

pub use budget::{Charge, ChargeKind};
pub use call::{Agent, Call, CallFacts};
#[cfg(feature = "prover")]
pub use catalog::{Approver, Catalog, Directory, KnownTool, Unknown};
pub use decide::{Decision, decide};
#[cfg(feature = "prover")]
pub use diff::{Certainty, Change, ChangeKind, Diff, Side, diff};
pub use document::{
    ApprovalClause, Document, Excluded, MAX_BYTES, MAX_EXPRESSION_NODES, MAX_RULES, Window, parse,
};
pub use error::{Code, DocumentError, Finding, Severity};
pub use expr::{Decimal, DecimalError};
pub use glob::{Glob, GlobError};
#[cfg(feature = "prover")]
pub use lint::lint;
pub use policy::Policy;
pub use replay::{Coverage, NotReplayable, Record, Recorded, Replay, ReplayAnswer, replay};
pub use sample::Sample;
pub use suite::{CaseResult, Report, Suite, read_suite};
pub use trace::{Answer, Explanation, Show, Step, explain};
pub use visibility::visibility;

/// The policy that an org starts with.
pub const STARTER: &str = include_str!("../policies/starter.yaml");

#[cfg(test)]
mod tests;

//! Decides what an agent's call may do: a policy document, its expression language and the
//! evaluation of one call. It does no IO, has no clock, and keeps no state of its own.
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
//! use policy::{Agent, Call, DecisionOutcome, Policy, Timestamp, decide, json};
//!
//! let policy = Policy::compile(
//!     "{ schema: 1, default: { outcome: deny },
//!        rules: [{ id: small, match: pay.refund, when: args.amount <= 50, outcome: allow }] }",
//! )?;
//! let agent = Agent::new("agt_00000000000000000000000001".parse()?);
//! let call = Call::new("pay.refund", agent, Timestamp::EPOCH).with_args(json!({ "amount": 20 }));
//! let decision = decide(&policy, &call);
//! assert_eq!(decision.outcome, DecisionOutcome::Allow);
//! assert_eq!(decision.rule_id.as_deref(), Some("small"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Words of others
//!
//! Ids, times and the closed lists of words come from the crate `model`, JSON from `serde_json`.
//! What the functions here take and give of them is exported again, so that a program needs to name
//! no other crate.
//!
//! # Features
//!
//! `prover`, on by default, is `lint`, `diff` and what proves them. Deciding needs none of it.

mod budget;
mod call;
#[cfg(feature = "prover")]
mod catalog;
mod counters;
mod decide;
#[cfg(feature = "prover")]
mod diff;
mod document;
mod effort;
mod error;
mod expr;
mod glob;
#[cfg(feature = "prover")]
mod lint;
mod policy;
#[cfg(feature = "prover")]
mod prove;
mod replay;
mod suite;
mod tools;
mod trace;
mod tree;
mod visibility;

pub use budget::{Charge, ChargeKind, RunningBudget};
pub use call::{Agent, Call, CallFacts};
#[cfg(feature = "prover")]
pub use catalog::{Approver, Catalog, Directory, KnownTool, Unknown};
pub use counters::Counters;
pub use decide::{Decision, decide};
#[cfg(feature = "prover")]
pub use diff::{Certainty, Change, ChangeKind, Diff, Side, diff, diff_within};
pub use document::{
    ApprovalClause, Document, Excluded, MAX_BYTES, MAX_EXPRESSION_NODES, MAX_RULES, Window,
    read::parse,
};
pub use effort::{Effort, EffortError};
pub use error::{Code, DocumentError, Finding, Severity};
pub use expr::{Decimal, DecimalError};
pub use glob::{Glob, GlobError};
#[cfg(feature = "prover")]
pub use lint::{lint, lint_within};
pub use policy::Policy;
pub use replay::{Coverage, NotReplayable, Record, Recorded, Replay, ReplayAnswer, replay};
pub use suite::{CaseResult, Report, Suite, read::read_suite};
pub use trace::{Answer, Explanation, Show, Step, explain};
pub use visibility::visibility;

pub use model::{
    AgentId, Assurance, DecisionCode, DecisionOutcome, DecisionSource, Digest, IdError, Mode, Role,
    SideEffect, Timestamp, TimestampError, Visibility,
};
pub use serde_json::{Value, json};

/// The policy that an org starts with.
pub const STARTER: &str = include_str!("../policies/starter.yaml");

#[cfg(test)]
mod tests;

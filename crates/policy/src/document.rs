//! A policy document as its author means it: every value read, every expression parsed.
//!
//! Reading collects everything that is wrong; a [`Document`] exists only when nothing is.

pub(crate) mod approval;
pub(crate) mod budget;
pub(crate) mod place;
pub(crate) mod read;
pub(crate) mod reader;
pub(crate) mod rules;

use std::{fmt, sync::Arc, time::Duration};

use model::{Assurance, DecisionOutcome};
use serde_json::Value;

use crate::{
    expr::{Decimal, Expr, Failure, Parsed},
    glob::Glob,
    tree::Mark,
};

/// The longest document, in bytes.
pub const MAX_BYTES: usize = 1 << 20;
/// The most rules of a document; budgets have the same limit.
pub const MAX_RULES: usize = 5_000;
/// The most nodes of all expressions of a document together.
pub const MAX_EXPRESSION_NODES: usize = 200_000;

/// A policy document that can be used.
#[derive(Clone)]
pub struct Document {
    pub(crate) default: Fallback,
    pub(crate) rules: Vec<Rule>,
    pub(crate) budgets: Vec<Budget>,
    /// The text, for the places of findings; a policy that only decides does not keep it.
    pub(crate) text: String,
    /// The document's data; its canonical form is what the digest covers.
    pub(crate) json: Value,
}

/// What happens to a call that no rule covers.
#[derive(Debug, Clone)]
pub(crate) struct Fallback {
    pub(crate) outcome: DecisionOutcome,
    pub(crate) reason: Option<Arc<str>>,
    /// Who must say yes, when somebody must.
    pub(crate) asks: Option<Arc<ApprovalClause>>,
}

/// One rule.
#[derive(Debug, Clone)]
pub(crate) struct Rule {
    pub(crate) id: Arc<str>,
    pub(crate) globs: Vec<Glob>,
    pub(crate) when: Option<Source>,
    pub(crate) outcome: DecisionOutcome,
    pub(crate) reason: Option<Arc<str>>,
    /// Who must say yes, when somebody must.
    pub(crate) asks: Option<Arc<ApprovalClause>>,
    /// Where the rule stands, for findings about it as a whole.
    pub(crate) at: Mark,
    /// Where the fields stand that people are shown.
    #[cfg_attr(not(feature = "prover"), expect(dead_code, reason = "only `lint` points at them"))]
    pub(crate) show_at: Vec<Mark>,
}

/// An expression and the text that it was read from.
#[derive(Clone)]
pub(crate) struct Source {
    pub(crate) text: String,
    pub(crate) parsed: Parsed,
    /// Where the text stands in the document.
    #[cfg_attr(not(feature = "prover"), expect(dead_code, reason = "only `lint` points at it"))]
    pub(crate) at: Mark,
}

/// Who must say yes to a call, and what they are shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApprovalClause {
    /// `role:…` and `member:…`; empty for everyone who may approve at all.
    pub from: Vec<String>,
    /// How many different people.
    pub count: u8,
    /// How long they have, when the rule or the policy says.
    pub expires_in: Option<Duration>,
    /// Who may not although `from` names them.
    pub exclude: Vec<Excluded>,
    /// The fields of the arguments that they are shown.
    pub show: Vec<String>,
    /// Whether the connector is asked what the call would do.
    pub estimate: bool,
    /// How they must show who they are.
    pub assurance: Option<Assurance>,
}

/// Who must say yes, as a rule writes it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Clause {
    pub(crate) from: Vec<String>,
    pub(crate) count: Option<u8>,
    pub(crate) expires_in: Option<Duration>,
    pub(crate) exclude: Option<Vec<Excluded>>,
    pub(crate) show: Vec<String>,
    pub(crate) show_at: Vec<Mark>,
    pub(crate) estimate: bool,
    pub(crate) assurance: Option<Assurance>,
}

/// A person who may not approve although a rule's `from` names them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Excluded {
    /// The person that the agent acts for.
    OnBehalfOf,
    /// The person who owns the agent.
    AgentOwner,
    /// The person who wrote the policy version.
    PolicyAuthor,
}

impl Excluded {
    /// The values in order.
    pub const ALL: [Self; 3] = [Self::OnBehalfOf, Self::AgentOwner, Self::PolicyAuthor];

    /// The word that documents use.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::OnBehalfOf => "on_behalf_of",
            Self::AgentOwner => "agent_owner",
            Self::PolicyAuthor => "policy_author",
        }
    }
}

/// A budget over the calls that its patterns cover.
#[derive(Debug, Clone)]
pub(crate) struct Budget {
    pub(crate) id: String,
    pub(crate) globs: Vec<Glob>,
    pub(crate) per: Vec<Per>,
    pub(crate) window: Window,
    pub(crate) measure: Measure,
    /// Where the budget stands.
    pub(crate) at: Mark,
}

/// How long a budget adds up before it starts anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Window {
    /// A minute of the clock.
    Minute,
    /// An hour of the clock.
    Hour,
    /// A day of the calendar.
    Day,
    /// A week of the calendar, from Monday.
    Week,
    /// A month of the calendar.
    Month,
}

impl Window {
    /// The values in order.
    pub const ALL: [Self; 5] = [Self::Minute, Self::Hour, Self::Day, Self::Week, Self::Month];

    /// The word that documents use.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Minute => "minute",
            Self::Hour => "hour",
            Self::Day => "day",
            Self::Week => "week",
            Self::Month => "month",
        }
    }
}

/// What a budget counts apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Per {
    Org,
    Agent,
    OnBehalfOf,
    Session,
    Connector,
    Tool,
}

impl Per {
    pub(crate) const ALL: [Self; 6] =
        [Self::Org, Self::Agent, Self::OnBehalfOf, Self::Session, Self::Connector, Self::Tool];

    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Org => "org",
            Self::Agent => "agent",
            Self::OnBehalfOf => "on_behalf_of",
            Self::Session => "session",
            Self::Connector => "connector",
            Self::Tool => "tool",
        }
    }
}

/// What a budget adds up.
#[derive(Debug, Clone)]
pub(crate) enum Measure {
    /// Calls, up to this many.
    Count(u64),
    /// What the calls cost.
    Cost(Box<Cost>),
}

/// How much a call costs, and how much all calls of a window may.
#[derive(Debug, Clone)]
pub(crate) struct Cost {
    pub(crate) amount: Source,
    /// What tells the call's currency, which must be the unit; without it the unit is taken for
    /// granted.
    pub(crate) currency: Option<Source>,
    pub(crate) limit: Decimal,
    pub(crate) unit: String,
}

impl Document {
    /// All expressions, to change.
    pub(crate) fn sources_mut(&mut self) -> impl Iterator<Item = &mut Source> {
        let conditions = self.rules.iter_mut().filter_map(|rule| rule.when.as_mut());
        let costs = self.budgets.iter_mut().filter_map(|budget| match &mut budget.measure {
            Measure::Count(_) => None,
            Measure::Cost(cost) => Some(&mut **cost),
        });
        conditions.chain(
            costs.flat_map(|cost| [Some(&mut cost.amount), cost.currency.as_mut()]).flatten(),
        )
    }
}

impl Budget {
    /// Whether one of the budget's patterns covers the tool.
    pub(crate) fn covers(&self, tool: &str) -> bool {
        self.globs.iter().any(|glob| glob.is_match(tool))
    }
}

impl Source {
    pub(crate) fn expr(&self) -> &Expr {
        &self.parsed.expr
    }

    /// Says what failed: the part of the expression and the cause.
    pub(crate) fn in_words(&self, failure: &Failure<'_>) -> String {
        let part = self.text.get(failure.span.start..failure.span.end).unwrap_or(&self.text);
        format!("`{part}`: {}", failure.cause)
    }
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Debug for Document {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Document")
            .field("rules", &self.rules.len())
            .field("budgets", &self.budgets.len())
            .finish_non_exhaustive()
    }
}

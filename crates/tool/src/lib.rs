//! The port through which the Gate sees a tool: its definition, an estimate, one run, and what
//! became of a run that nobody saw the end of.
//!
//! Adapters live in `connectors`; nothing here talks to the world.

use std::{fmt, sync::Arc, time::Duration};

use async_trait::async_trait;
use model::{
    ActionId, Digest, Footprint, Level, OrgId, Outcome, ReadBack, ReadBackGap, Report, SideEffect,
};
use serde_json::Value;

/// What an agent and the policy know of a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct Definition {
    /// The whole name, `<connector>.<tool>`.
    pub name: model::ToolName,
    /// A short title for people.
    pub title: String,
    /// What the tool does, for agents.
    pub description: String,
    /// What it does to the world.
    pub side_effect: SideEffect,
    /// JSON Schema of its arguments.
    pub input_schema: Schema,
    /// The most that one run may change; absent for tools that change nothing.
    pub footprint: Option<Footprint>,
    /// The evidence that a call of this tool needs.
    pub required_level: Level,
    /// Where its calls go, such as host, database and users; absent for tools that the service or an
    /// agent's edge runs itself. People are shown it, agents are not.
    pub target: Option<Arc<Value>>,
    /// SHA-256 of everything that defines the tool, its statement and its target included.
    pub digest: Digest,
}

/// The JSON Schema of a tool's arguments with its digest, which every decision about the tool is
/// recorded with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Schema {
    // Invariant: `digest` is that of the value's canonical form.
    value: Arc<Value>,
    digest: Digest,
}

impl Schema {
    /// The schema.
    pub fn value(&self) -> &Arc<Value> {
        &self.value
    }

    /// SHA-256 of its canonical form.
    pub fn digest(&self) -> Digest {
        self.digest
    }
}

impl From<Value> for Schema {
    fn from(value: Value) -> Self {
        let digest = crypto::sha256(crypto::json::canonical(&value));
        Self { value: Arc::new(value), digest }
    }
}

/// One run of a tool, authorised and recorded.
#[derive(Debug, Clone, Copy)]
pub struct Run<'a> {
    /// The org that the action belongs to.
    pub org: OrgId,
    /// The action that the run belongs to.
    pub action: ActionId,
    /// The action's request digest, which a database write carries into its transaction.
    pub request_digest: Digest,
    /// The arguments that were digested and decided on.
    pub args: &'a Value,
    /// The place that the tool named when the run was permitted; it runs there or not at all.
    pub place: Option<&'a str>,
    /// How much evidence the call needs: above L0 the tool measures what it did.
    pub level: Level,
    /// How long the run may take; past it the outcome is unknown.
    pub time_limit: Duration,
}

/// What a connector says that a call would do.
#[derive(Debug, Clone, PartialEq)]
pub enum Estimate {
    /// Rows that tell of the effect, in the tool's own form.
    Given(Estimated),
    /// The tool has no way to tell.
    NotOffered,
    /// It did not answer in time.
    Late,
    /// It could not answer, which the log tells.
    Failed,
}

/// The rows of an estimate.
#[derive(Debug, Clone, PartialEq)]
pub struct Estimated {
    /// The rows, as many as are told.
    pub rows: Vec<Value>,
    /// Whether those are all.
    pub is_whole: bool,
}

/// What a run that succeeded says of itself, for somebody else to look at.
#[derive(Debug, Clone, Copy)]
pub struct Claim<'a> {
    /// The arguments that it ran with.
    pub args: &'a Value,
    /// Its answer; nothing where only a digest of it is left.
    pub result: Option<&'a Value>,
    /// What it says that it did.
    pub report: &'a Report,
}

/// What came of reading back what a run reported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reading {
    /// What was found, or why nothing can be.
    Done(ReadBack),
    /// The governed system could not be read; ask again later.
    Unreachable,
}

/// What became of a run whose end nobody saw.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Settled {
    /// The governed system committed it.
    Applied,
    /// It was not applied and never can be any more.
    NotApplied,
    /// The governed system has no memory of runs.
    Unknowable,
    /// The governed system could not be asked; ask again later.
    Unreachable,
}

/// One tool that the service can run.
#[async_trait]
pub trait Tool: Send + Sync + fmt::Debug {
    /// The definition that calls are decided by.
    fn definition(&self) -> &Definition;

    /// Checks the arguments against the input schema; the error is a sentence that names the
    /// place and what would have been accepted.
    fn check_args(&self, args: &Value) -> Result<(), String>;

    /// The digest of the definition that the governed system gives the tool in place of the one it
    /// was accepted with, as far as that can be known now; nothing where they are the same.
    async fn changed_to(&self) -> Option<Digest> {
        None
    }

    /// What a call would do, without doing it, within the time limit.
    async fn estimate(&self, _args: &Value, _time_limit: Duration) -> Estimate {
        Estimate::NotOffered
    }

    /// Where a run leaves the traces that it is settled by; nothing for tools that leave none. It
    /// is recorded before the run begins.
    fn place(&self) -> Option<String> {
        None
    }

    /// Runs the tool once.
    async fn run(&self, run: Run<'_>) -> Outcome;

    /// What is found, within the time limit, where a run says that it did something: by another role in
    /// a database, by another operation of an API.
    async fn read_back(&self, _claim: Claim<'_>, _time_limit: Duration) -> Reading {
        Reading::Done(ReadBack::Unread(ReadBackGap::NotOffered))
    }

    /// Makes certain, if it can be made so, whether a run of this action was applied, and keeps a
    /// late one from being applied. At any other place than that of the run nothing is known of it.
    async fn settle(&self, org: OrgId, action: ActionId, place: Option<&str>) -> Settled;
}

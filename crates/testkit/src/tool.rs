//! A tool that answers what the test told it to, and remembers what it was asked.

use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;
use model::{ActionId, Digest, Level, OrgId, Outcome, Report, SideEffect};
use serde_json::{Value, json};
use tool::{Definition, Run, Settled, Tool};

/// A tool in memory. Until it is told otherwise it succeeds with an empty object.
#[derive(Debug)]
pub struct ScriptedTool {
    definition: Definition,
    outcome: Mutex<Outcome>,
    settled: Mutex<Settled>,
    runs: Mutex<Vec<(ActionId, Value)>>,
}

impl ScriptedTool {
    /// A tool of this name, which must be a tool's name, that takes any object.
    pub fn new(name: &str, side_effect: SideEffect) -> Self {
        let definition = Definition {
            name: name.parse().unwrap(),
            title: name.to_owned(),
            description: "A tool of a test.".to_owned(),
            side_effect,
            input_schema: json!({ "type": "object" }).into(),
            footprint: None,
            required_level: Level::L0,
            digest: crypto::sha256(name),
        };
        let outcome = Outcome::Succeeded { result: json!({}), report: Report::default() };
        Self {
            definition,
            outcome: Mutex::new(outcome),
            settled: Mutex::new(Settled::Unknowable),
            runs: Mutex::default(),
        }
    }

    /// Returns this tool with another digest, as if its definition had changed.
    pub fn with_digest(mut self, digest: Digest) -> Self {
        self.definition.digest = digest;
        self
    }

    /// Makes every later run come to this.
    pub fn answer(&self, outcome: Outcome) {
        *self.outcome.lock().unwrap_or_else(PoisonError::into_inner) = outcome;
    }

    /// Makes every later question about an unseen run come to this.
    pub fn settle_as(&self, settled: Settled) {
        *self.settled.lock().unwrap_or_else(PoisonError::into_inner) = settled;
    }

    /// The runs so far, each with its arguments.
    pub fn runs(&self) -> Vec<(ActionId, Value)> {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[async_trait]
impl Tool for ScriptedTool {
    fn definition(&self) -> &Definition {
        &self.definition
    }

    fn check_args(&self, args: &Value) -> Result<(), String> {
        if args.is_object() { Ok(()) } else { Err("expected an object".to_owned()) }
    }

    async fn run(&self, run: Run<'_>) -> Outcome {
        let mut runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
        runs.push((run.action, run.args.clone()));
        self.outcome.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    async fn settle(&self, _: OrgId, _: ActionId) -> Settled {
        self.settled.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

//! The schema that a tool was accepted with, and whether the governed database still has it.
//!
//! The parameter and column types of a tool's statements are stored with the connector. So a tool is known
//! while its database is unreachable, and an altered table does not change a tool without a new acceptance.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use crypto::{json, sha256};
use model::{Digest, ToolName};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::time::{Instant, timeout};

use super::{PostgresTool, config::Declared, governed::digest_of, shape::Shape, target::target};

/// Time limit of one comparison with the database; the caller of the tool waits for it.
const COMPARE_LIMIT: Duration = Duration::from_secs(3);
/// How long the database is not asked again after a mismatch or a failed connection.
pub(super) const BACKOFF: Duration = Duration::from_secs(3);

/// The schema that one tool was accepted with.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct AcceptedSchema {
    /// The digest of the tool's definition.
    digest: Digest,
    /// The database that it runs on, for the comparison that people see before they accept a change. Old
    /// versions of the service did not store it and did not include it in the digest.
    #[serde(default)]
    target: Value,
    /// The entry of the config as written, for the same comparison.
    #[serde(default)]
    entry: Value,
    statement: Shape,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    estimate: Option<Shape>,
}

impl AcceptedSchema {
    /// The types for the statements of the config; `None` if the SQL has changed since.
    pub(super) fn shapes(self, declared: &Declared) -> Option<(Shape, Option<Shape>)> {
        let statement = self.statement.for_statement(&declared.statement)?;
        let estimate = match (self.estimate, &declared.estimate) {
            (Some(shape), Some(statement)) => Some(shape.for_statement(statement)?),
            (None, None) => None,
            (Some(_), None) | (None, Some(_)) => return None,
        };
        Some((statement, estimate))
    }

    fn to_json(&self) -> Value {
        // It has only texts, lists and JSON, so the conversion cannot fail.
        serde_json::to_value(self).unwrap_or_default()
    }

    /// Whether the tool has the accepted digest.
    pub(super) fn matches(&self, tool: &PostgresTool) -> bool {
        self.digest == tool.definition.digest
    }
}

/// Adds the target to a schema that an old version stored without one. A schema that has a target, that has
/// another digest, or that cannot be read is returned unchanged.
pub(crate) fn targeted(name: &ToolName, stored: &Value, config: &Value) -> Value {
    let Ok(accepted) = AcceptedSchema::deserialize(stored) else { return stored.clone() };
    let types = accepted.statement.written();
    let before = json!({"name": name, "entry": accepted.entry, "types": types});
    if !accepted.target.is_null() || accepted.digest != sha256(json::canonical(&before)) {
        return stored.clone();
    }
    let target = target(config);
    let digest = digest_of(name, (&accepted.entry, &types), &target);
    AcceptedSchema { digest, target, ..accepted }.to_json()
}

/// The accepted schema of one tool, among the stored ones.
pub(super) fn accepted_schema(
    stored: &BTreeMap<ToolName, Value>,
    tool: &ToolName,
) -> Option<AcceptedSchema> {
    stored.get(tool).and_then(|schema| AcceptedSchema::deserialize(schema).ok())
}

/// Whether the database still has the types that a tool was accepted with.
#[derive(Debug, Default)]
pub(super) struct SchemaMatch {
    state: Mutex<MatchState>,
    // One caller compares; the others wait for its result.
    comparing: tokio::sync::Mutex<()>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum MatchState {
    /// Not compared yet.
    #[default]
    NotCompared,
    Matches,
    /// The time of the comparison, and the digest of the tool with the types found.
    Differs(Instant, Digest),
}

impl MatchState {
    fn found(self) -> Option<Digest> {
        match self {
            Self::Differs(_, found) => Some(found),
            Self::NotCompared | Self::Matches => None,
        }
    }
}

impl SchemaMatch {
    /// The state of a tool whose types were just read from the database.
    pub(super) fn just_read() -> Self {
        Self { state: Mutex::new(MatchState::Matches), ..Self::default() }
    }

    /// The state, unless it is a mismatch older than [`BACKOFF`].
    fn fresh(&self) -> MatchState {
        match *self.state() {
            MatchState::Differs(at, _) if at.elapsed() >= BACKOFF => MatchState::NotCompared,
            state => state,
        }
    }

    fn state(&self) -> MutexGuard<'_, MatchState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PostgresTool {
    /// The schema to store with the connector once the tool is accepted.
    pub(super) fn schema(&self) -> Value {
        let Self { definition, written, shape, estimate, .. } = self;
        let schema = AcceptedSchema {
            digest: definition.digest,
            target: Value::clone(&self.governed.target),
            entry: written.clone(),
            statement: shape.clone(),
            estimate: estimate.clone(),
        };
        schema.to_json()
    }

    /// Compares a statement that was prepared on a connection, records the result, and returns whether it
    /// matches.
    pub(super) fn note(&self, prepared: &tokio_postgres::Statement) -> bool {
        let matches = self.shape.is_of(prepared);
        let found = || {
            let types = self.shape.found(prepared);
            digest_of(&self.definition.name, (&self.written, &types), &self.governed.target)
        };
        let state = if matches {
            MatchState::Matches
        } else {
            MatchState::Differs(Instant::now(), found())
        };
        *self.schema_match.state() = state;
        matches
    }

    /// The digest of the tool with the types that the database has now; `None` if they are the accepted ones.
    /// An unreachable database leaves the last result unchanged.
    pub(super) async fn differs(&self) -> Option<Digest> {
        let state = self.schema_match.fresh();
        if state != MatchState::NotCompared {
            return state.found();
        }
        let _comparing = self.schema_match.comparing.lock().await;
        let state = self.schema_match.fresh();
        if state != MatchState::NotCompared {
            return state.found();
        }
        if !self.governed.in_backoff() {
            self.compare().await;
        }
        self.schema_match.state().found()
    }

    async fn compare(&self) {
        let pool = self.pool();
        match timeout(COMPARE_LIMIT, self.governed.prepare(pool, &self.shape.text)).await {
            Ok(Ok(Ok(prepared))) => {
                self.note(&prepared);
            }
            // A run reports a rejected statement or a failed connection itself.
            Ok(Ok(Err(_)) | Err(_)) => {}
            Err(_) => self.governed.note_connect_timeout(),
        }
    }
}

//! What a tool was accepted with, and whether the governed database still gives it that.
//!
//! The types that the server gave a tool's statements are kept with the connector, so that a tool is
//! known while its database cannot be reached, and so that a table that was altered since does not
//! make another tool of it unasked.

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

/// How long a look at one tool may take; whoever calls the tool waits for it.
const LOOK_LIMIT: Duration = Duration::from_secs(3);
/// For how long a look that did not find the tool as it was accepted is not repeated.
pub(super) const LOOK_AGAIN: Duration = Duration::from_secs(3);

/// What one tool was accepted with.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Pin {
    /// The digest of the tool's definition.
    digest: Digest,
    /// Where it runs, for people to see beside another; versions that kept none kept no digest of it
    /// either.
    #[serde(default)]
    target: Value,
    /// The entry of the config as written, for people to see beside another.
    #[serde(default)]
    entry: Value,
    statement: Shape,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    estimate: Option<Shape>,
}

impl Pin {
    /// The types for the statements of the config; nothing where they are not of these statements.
    pub(super) fn shapes(self, declared: &Declared) -> Option<(Shape, Option<Shape>)> {
        let statement = self.statement.for_statement(&declared.statement)?;
        let estimate = match (self.estimate, &declared.estimate) {
            (Some(shape), Some(statement)) => Some(shape.for_statement(statement)?),
            (None, None) => None,
            (Some(_), None) | (None, Some(_)) => return None,
        };
        Some((statement, estimate))
    }

    fn kept(&self) -> Value {
        // Texts and lists of them: there is nothing in it that JSON lacks.
        serde_json::to_value(self).unwrap_or_default()
    }

    /// Whether the tool is the one that was accepted.
    pub(super) fn is_of(&self, tool: &PostgresTool) -> bool {
        self.digest == tool.definition.digest
    }
}

/// What a tool was accepted with by a version that kept no target with it, with this target. What is not
/// of that form stays as it is.
pub(crate) fn targeted(name: &ToolName, kept: &Value, config: &Value) -> Value {
    let Ok(pin) = Pin::deserialize(kept) else { return kept.clone() };
    let types = pin.statement.written();
    let before = json!({"name": name, "entry": pin.entry, "types": types});
    if !pin.target.is_null() || pin.digest != sha256(json::canonical(&before)) {
        return kept.clone();
    }
    let target = target(config);
    let digest = digest_of(name, (&pin.entry, &types), &target);
    Pin { digest, target, ..pin }.kept()
}

/// The pin of one tool among those that were kept.
pub(super) fn pin_of(pins: &BTreeMap<ToolName, Value>, tool: &ToolName) -> Option<Pin> {
    pins.get(tool).and_then(|pin| Pin::deserialize(pin).ok())
}

/// Whether the database gives a tool the types that it was accepted with.
#[derive(Debug, Default)]
pub(super) struct Fit {
    known: Mutex<Known>,
    // One of those who ask looks, the others wait for it.
    looking: tokio::sync::Mutex<()>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Known {
    /// Nobody has looked, or nobody could.
    #[default]
    Nothing,
    Fits,
    /// Since then, and what its digest would be.
    Differs(Instant, Digest),
}

impl Known {
    fn found(self) -> Option<Digest> {
        match self {
            Self::Differs(_, found) => Some(found),
            Self::Nothing | Self::Fits => None,
        }
    }
}

impl Fit {
    /// That of a tool whose types were learnt just now.
    pub(super) fn learnt() -> Self {
        Self { known: Mutex::new(Known::Fits), ..Self::default() }
    }

    /// What is known, unless that types differ is known for too long to go by.
    fn fresh(&self) -> Known {
        match *self.known() {
            Known::Differs(at, _) if at.elapsed() >= LOOK_AGAIN => Known::Nothing,
            known => known,
        }
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PostgresTool {
    /// What the tool is to be kept with.
    pub(super) fn pin(&self) -> Value {
        let Self { definition, written, shape, estimate, .. } = self;
        let pin = Pin {
            digest: definition.digest,
            target: Value::clone(&self.governed.target),
            entry: written.clone(),
            statement: shape.clone(),
            estimate: estimate.clone(),
        };
        pin.kept()
    }

    /// Notes what a connection found when it prepared the statement, and says whether it fits.
    pub(super) fn note(&self, prepared: &tokio_postgres::Statement) -> bool {
        let fits = self.shape.is_of(prepared);
        let found = || {
            let types = self.shape.found(prepared);
            digest_of(&self.definition.name, (&self.written, &types), &self.governed.target)
        };
        let known = if fits { Known::Fits } else { Known::Differs(Instant::now(), found()) };
        *self.fit.known() = known;
        fits
    }

    /// The digest that the tool would have by the types that the database gives it now, where they
    /// are not those it was accepted with. A database that cannot be reached changes nothing of what
    /// was known.
    pub(super) async fn differs(&self) -> Option<Digest> {
        let known = self.fit.fresh();
        if known != Known::Nothing {
            return known.found();
        }
        let _looking = self.fit.looking.lock().await;
        let known = self.fit.fresh();
        if known != Known::Nothing {
            return known.found();
        }
        if !self.governed.rests() {
            self.look().await;
        }
        self.fit.known().found()
    }

    async fn look(&self) {
        let pool = self.pool();
        match timeout(LOOK_LIMIT, self.governed.prepare(pool, &self.shape.text)).await {
            Ok(Ok(Ok(prepared))) => {
                self.note(&prepared);
            }
            // A statement that is refused says so to whoever runs it.
            Ok(Ok(Err(_)) | Err(_)) => {}
            Err(_) => self.governed.not_reached_in_time(),
        }
    }
}

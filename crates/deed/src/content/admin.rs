//! The content of an admin deed: one change to the org or to its log.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{commitment::Commitment, text::EventName};

/// One change to what the deed's subject is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AdminContent {
    /// The subject after, without its secrets.
    pub after: Option<Commitment>,
    /// The subject before, without its secrets.
    pub before: Option<Commitment>,
    /// Facts in clear: ids, digests, counts; no free text, at most 4 KiB.
    pub data: Map<String, Value>,
    /// What happened.
    pub event: EventName,
    /// Why, in the words of who did it.
    pub reason: Option<Commitment>,
}

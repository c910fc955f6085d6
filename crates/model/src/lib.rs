//! The words that every other crate uses: typed ids, times, digests, tool names and the closed
//! lists of the vocabulary.
//!
//! Nothing here does IO, reads a clock or makes randomness: both come in as [`Clock`] and
//! [`Entropy`]. Shared nouns live here so that the domain crates above never need each other.

mod digest;
mod id;
mod mint;
mod outcome;
mod text;
mod time;
mod tool_name;
mod vocabulary;

pub use digest::{BadDigest, Digest};
pub use id::{
    ActionId, AgentId, ApprovalId, BadId, CheckId, ConnectorId, DeedId, EventId, KeyId, LogId,
    OrgId, PolicyId, PolicyVersionId, RequestId,
};
pub use mint::{Clock, Entropy, Mint};
pub use outcome::{BadErrorCode, ErrorCode, Fault, Footprint, Outcome, Report, RowOp};
pub use text::deserialize_text;
pub use time::{BadTimestamp, Timestamp};
pub use tool_name::{BadToolName, ConnectorName, ToolName};
pub use vocabulary::{
    AgentStatus, ApprovalStatus, Assurance, Attestation, DecisionCode, DecisionOutcome,
    DecisionSource, DeedKind, EventType, ExecutionErrorCode, ExecutionStatus, IntentMode, Level,
    List, Mode, Role, Scope, SideEffect, State, Status, UnknownWord, Verdict, Visibility,
    WitnessMethod, lists,
};

#[cfg(test)]
mod tests;

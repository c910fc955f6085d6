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

pub use digest::{Digest, DigestError};
pub use id::{
    ActionId, AgentId, ApprovalId, CheckId, ConnectorId, DeedId, EventId, IdError, KeyId, LogId,
    OrgId, PolicyId, PolicyVersionId, RequestId,
};
pub use mint::{Clock, Entropy, Mint};
pub use outcome::{ErrorCode, ErrorCodeError, Fault, Footprint, Outcome, Report, RowOp};
pub use text::deserialize_text;
pub use time::{Timestamp, TimestampError};
pub use tool_name::{ConnectorName, ToolName, ToolNameError};
pub use vocabulary::{
    AgentStatus, ApprovalStatus, Assurance, Attestation, DecisionCode, DecisionOutcome,
    DecisionSource, DeedKind, EventType, ExecutionErrorCode, ExecutionStatus, IntentMode, Level,
    List, Mode, Role, Scope, SideEffect, State, Status, Verdict, Visibility, WitnessMethod,
    WordError, lists,
};

#[cfg(test)]
mod tests;

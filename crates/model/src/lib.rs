//! The words that every other crate uses: typed ids, times, digests, tool names and the closed
//! lists of the vocabulary.
//!
//! Nothing here does IO, reads a clock or makes randomness: both come in as [`Clock`] and
//! [`Entropy`]. Shared nouns live here so that the domain crates above never need each other.
//!
//! ```
//! use model::{AgentId, Entropy, Mint, Timestamp, Uuid};
//!
//! /// Stands for the operating system's source.
//! struct Fixed;
//!
//! impl Entropy for Fixed {
//!     fn fill(&self, buffer: &mut [u8]) {
//!         buffer.fill(7);
//!     }
//! }
//!
//! let moment = Timestamp::parse_rfc3339("2026-10-01T09:00:00Z")?;
//! let id = Mint::new(moment, &Fixed).id(AgentId::from_uuid);
//! assert!(id.to_string().starts_with("agt_"));
//! assert_ne!(id, AgentId::from_uuid(Uuid::nil()));
//! # Ok::<(), model::TimestampError>(())
//! ```

mod causes;
mod conclusion;
mod digest;
mod id;
mod letter;
mod lsn;
mod machine;
mod mint;
mod observed;
mod outcome;
mod resource;
mod text;
mod time;
mod tool_name;
mod vocabulary;

pub use causes::causes;
pub use conclusion::Conclusion;
pub use digest::{Digest, DigestError};
pub use id::{
    ActionId, AgentId, ApprovalId, ChallengeId, CheckId, ConnectorId, DeedId, DeliveryId, EventId,
    IdError, IntentKeyId, InviteId, KeyId, LogId, MailJobId, MemberId, OrgId, PolicyId,
    PolicyVersionId, ProposalId, RequestId, SessionId, UserId, WebhookId,
};
pub use letter::{is_of_name, is_unseen};
pub use lsn::{Lsn, LsnError};
pub use machine::{Machine, Move};
pub use mint::{Clock, Entropy, Mint};
pub use observed::{
    Datum, Image, LogAnswer, LogFrame, LogSource, LogTrace, Measured, OldRows, ReadBack, ReadRow,
    ReportedRows, RowChange, RowCounts, Scoped, TableInLog, TableName, TableNameError, Teller,
    TextForm, Told, Touched,
};
pub use outcome::{ErrorCode, ErrorCodeError, Fault, Footprint, Outcome, Report, RowOp};
pub use resource::{Field, Resource};
pub use text::deserialize_text;
pub use time::{Timestamp, TimestampError};
pub use tool_name::{ConnectorName, ToolName, ToolNameError};
pub use uuid::Uuid;
pub use vocabulary::{
    AgentStatus, ApprovalStatus, Assurance, Attestation, COMING_EVENT_TYPES, DecisionCode,
    DecisionOutcome, DecisionSource, DeedKind, DeliveryError, DeliveryStatus, EventType,
    ExecutionErrorCode, ExecutionStatus, IntentMode, Level, List, LogBlind, LogGap, Mode,
    PendingApprovals, ReadBackGap, Role, Scope, SideEffect, State, Status, SuspensionCause,
    TableGap, Verdict, Visibility, VoidReason, WebhookStatus, WitnessMethod, WitnessReason,
    WordError, lists,
};

#[cfg(test)]
mod tests;

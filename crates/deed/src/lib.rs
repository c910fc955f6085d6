//! Deeds: the signed records of what agents did, their chain and tree, and how anyone checks them.
//!
//! Pure: no IO, no clock, no randomness of its own. A turn of the ledger makes a [`Draft`], the
//! [`Sealer`] gives it the next place in its log ([`ChainHead`]) and signs it. A verifier needs the
//! deed's bytes and the published [`KeySet`], nothing of the service: [`verify()`] gives a
//! [`Verified`] or the report that says why not. `docs/deed-format.md` describes the format for
//! other implementations, and the README seals a deed in ten lines.
//!
//! What this crate's own types are made of is at hand here too: ids, times and words of [`model`],
//! the keys of `crypto`, and [`serde_json`] for values.

mod archived;
mod body;
mod canonical;
mod chain;
mod checkpoint;
mod commitment;
mod content;
mod dsse;
mod evidence;
mod exact;
mod form;
mod honesty;
mod key_file;
mod keys;
pub mod note;
mod parallel;
mod recovered;
mod seal;
mod self_test;
#[cfg(any(test, feature = "specimen"))]
pub mod specimen;
mod text;
pub mod tree;
pub mod verify;

pub use archived::ArchivedDeeds;
pub use body::{Body, BodyError, Format, MAX_BODY};
pub use chain::{ChainHead, genesis_digest};
pub use checkpoint::Checkpoint;
pub use commitment::{Commitment, Disclosure, DisclosureError, Path, commit, commit_canonical};
pub use content::{
    ActionContent, Actor, AdminContent, Amended, AmendmentContent, AmendmentReason, Approval,
    ApprovalVote, Call, Changes, Connector, Content, Cost, Decision, Draft, Ending, Execution,
    InForce, Intent, IntentStatus, Jws, Run, Shadow, Source, SourceKind, Subject, Tool, Undo, Vote,
    Witness,
};
pub use dsse::{DEED_TYPE, Envelope, EnvelopeSignature, pae};
pub use evidence::{EVIDENCE_TYPE, Exhibit, Exhibits, ShownIntent};
pub use form::api_form;
pub use honesty::{HonestyError, MAX_DATA, honesty_rules};
pub use key_file::{KeyFileError, SealKeys};
pub use keys::{
    INTRODUCTION_TYPE, Introduction, KeySet, KeySetError, KeyUseError, Purpose, SealKey, Standing,
    thumbprint,
};
pub use recovered::Recovered;
pub use seal::{SealError, Sealed, Sealer};
pub use text::{
    Amount, EventName, Ident, LogOrigin, Lsn, PersonId, TextError, Thumbprint, Unit, UserId, Word,
};
pub use verify::{Trust, Verified, verify};

pub use crypto::{
    SystemEntropy,
    ed25519::{KeyError, PublicKey, SigningKey},
};
pub use model::{
    ActionId, AgentId, ApprovalId, ApprovalStatus, Assurance, Attestation, ConnectorId,
    DecisionCode, DecisionOutcome, DecisionSource, DeedId, DeedKind, Digest, Entropy, EventType,
    ExecutionStatus, IntentMode, KeyId, Level, LogId, Mint, Mode, OrgId, PolicyId, PolicyVersionId,
    SideEffect, Status, Timestamp, ToolName, WitnessMethod,
};
pub use {model, serde_json};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

#[cfg(test)]
mod tests;

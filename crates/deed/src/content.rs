//! What a deed says: who acted, on what, and the content of each kind.
//!
//! The shapes here are the signed shapes: a member that is renamed or added makes another
//! format. What may be free text or about a person stands here only as a [`Commitment`].

mod action;
mod actor;
mod admin;
mod amendment;
mod build;
mod draft;
mod run;

pub use action::{
    ActionContent, Approval, ApprovalVote, Connector, Cost, Decision, Intent, IntentStatus, Jws,
    Shadow, Tool, Undo, Vote,
};
pub use actor::{Actor, Subject};
pub use admin::AdminContent;
pub use amendment::{Amended, AmendmentContent, AmendmentReason, Changes};
pub use build::{Call, InForce};
pub use draft::{Content, Draft};
pub use run::{Ending, Execution, Run, Source, SourceKind, Witness};

#[cfg(doc)]
use crate::commitment::Commitment;

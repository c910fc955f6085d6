//! What a deed says: who acted, on what, and the content of each kind.
//!
//! The shapes here are the signed shapes: a member that is renamed or added makes another
//! format. What may be free text or about a person stands here only as a [`Commitment`].

mod action;
mod admin;
mod amendment;
mod form;
mod run;

use model::{
    ActionId, AgentId, ConnectorId, DeedId, DeedKind, KeyId, LogId, OrgId, PolicyId,
    PolicyVersionId,
};
use serde::{Deserialize, Serialize};

pub use action::{
    ActionContent, Approval, ApprovalVote, Connector, Cost, Decision, Intent, IntentStatus, Jws,
    Shadow, Tool, Undo, Vote,
};
pub use admin::AdminContent;
pub use amendment::{Amended, AmendmentContent, AmendmentReason, Changes};
pub use run::{Ending, Execution, Run, Source, SourceKind, Witness};

#[cfg(doc)]
use crate::Commitment;
use crate::text::{Ident, Thumbprint, UserId, Word};

/// A deed before it has a place in a log: what a turn of the ledger wants sealed.
#[derive(Debug, Clone, PartialEq)]
pub struct Draft {
    /// The deed's id.
    pub id: DeedId,
    /// Whether this is no test.
    pub livemode: bool,
    /// Who acted.
    pub actor: Actor,
    /// What the deed is about.
    pub subject: Subject,
    /// What happened.
    pub content: Content,
}

impl Draft {
    /// Returns the kind of the deed.
    pub fn kind(&self) -> DeedKind {
        self.content.kind()
    }
}

/// What happened, in the shape of the deed's kind.
#[derive(Debug, Clone, PartialEq)]
pub enum Content {
    /// One action's end.
    Action(Box<ActionContent>),
    /// One change to the org.
    Admin(AdminContent),
    /// What became known of an action later.
    Amendment(Box<AmendmentContent>),
}

impl Content {
    /// Returns the kind of a deed with this content.
    pub fn kind(&self) -> DeedKind {
        match self {
            Self::Action(_) => DeedKind::Action,
            Self::Admin(_) => DeedKind::Admin,
            Self::Amendment(_) => DeedKind::Amendment,
        }
    }
}

/// Who acted.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "form::ActorForm")]
pub enum Actor {
    /// An agent, by one of its keys.
    Agent(AgentId),
    /// An org key.
    ApiKey(KeyId),
    /// A person.
    User(UserId),
    /// The service itself, or its operator; the word says which part.
    System(Word),
}

/// What a deed is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Subject {
    /// Which one.
    pub id: Ident,
    /// What kind of thing.
    #[serde(rename = "type")]
    pub kind: Word,
}

/// Defines one constructor of [`Subject`] per kind of id.
macro_rules! subjects {
    ($($name:ident($id:ty)),+ $(,)?) => {
        impl Subject {
            $(
                #[doc = concat!("Returns the subject that this `", stringify!($id), "` names.")]
                pub fn $name(id: $id) -> Self {
                    Self { kind: Word::of(stringify!($name)), id: Ident::from(id) }
                }
            )+
        }
    };
}

subjects! {
    action(ActionId), agent(AgentId), api_key(KeyId), agent_key(KeyId), org(OrgId), log(LogId),
    policy(PolicyId), policy_version(PolicyVersionId), connector(ConnectorId), seal_key(Thumbprint),
}

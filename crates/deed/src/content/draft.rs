//! A deed before it has a place in a log, and the content that is its kind's.

use model::{DeedId, DeedKind};

use super::{
    action::ActionContent,
    actor::{Actor, Subject},
    admin::AdminContent,
    amendment::AmendmentContent,
};

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
    /// The kind of the deed.
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
    /// The kind of a deed with this content.
    pub fn kind(&self) -> DeedKind {
        match self {
            Self::Action(_) => DeedKind::Action,
            Self::Admin(_) => DeedKind::Admin,
            Self::Amendment(_) => DeedKind::Amendment,
        }
    }
}

//! How the Gate finds tools and the addresses of people, what it asks change logs, and how it waits
//! before it tries again.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use async_trait::async_trait;
use ledger::{StoreDown, record::ConnectorRef};
use model::{
    ActionId, ConnectorId, Digest, LogAnswer, LogTrace, OrgId, Timestamp, ToolName, UserId,
};
use tool::Tool;

/// A tool and the connector that serves it.
#[derive(Debug, Clone)]
pub struct Served {
    /// The connector.
    pub connector: ConnectorRef,
    /// Whether the connector runs test actions and no others.
    pub test: bool,
    /// Whether agents are not shown the tool; whether they may call it, the policy says.
    pub hidden: bool,
    /// The digest of the definition that the governed system gives the tool in place of the one it
    /// was accepted with; nothing where they are the same.
    pub changed: Option<Digest>,
    /// The tool.
    pub tool: Arc<dyn Tool>,
}

/// The connector that had a tool's first name, and its revision, when an org's connectors were read.
pub type Seen = Option<(ConnectorId, u32)>;

/// What looking for a tool came to.
#[derive(Debug, Clone)]
pub enum Found {
    /// A connector serves it.
    Served(Served),
    /// No connector does.
    Nobody,
    /// No connector did when the org's connectors were read, which may be a moment ago.
    NotAmong(Seen),
    /// Its connector cannot be read just now.
    Unavailable,
}

/// The tools of every org.
#[async_trait]
pub trait Toolbox: Send + Sync {
    /// The org's tool of this name.
    async fn find(&self, org: OrgId, name: &ToolName) -> Result<Found, StoreDown>;

    /// The same, among the org's connectors as they are from now on. A toolbox that remembers none
    /// has none to read again.
    async fn find_anew(&self, org: OrgId, name: &ToolName) -> Result<Found, StoreDown> {
        self.find(org, name).await
    }

    /// Every tool of the org, the built-in ones included, sorted by name.
    async fn every(&self, org: OrgId) -> Result<Vec<Served>, StoreDown>;

    /// Forgets the connectors that nobody has asked for in this time, and says how many. A toolbox
    /// that builds none has none to forget.
    fn let_go(&self, _idle: Duration) -> usize {
        0
    }
}

/// Where the addresses of people are read, by which rules and agents may call them.
#[async_trait]
pub trait AddressBook: Send + Sync {
    /// The addresses of these people in their one form, as far as they have one.
    async fn addresses(&self, users: &[UserId]) -> Result<BTreeMap<UserId, String>, StoreDown>;

    /// The people whose addresses these are, each in its one form.
    async fn people_of(&self, addresses: &[String]) -> Result<Vec<UserId>, StoreDown>;
}

/// The run that the change log is asked about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sought {
    /// The org.
    pub org: OrgId,
    /// The connector whose database the run wrote to.
    pub connector: ConnectorId,
    /// The action, which stands in the run's marker and in its row of the ledger.
    pub action: ActionId,
    /// What the run saw of its own transaction; none where its end was not seen.
    pub trace: Option<LogTrace>,
    /// When the run began.
    pub begun_at: Option<Timestamp>,
}

/// What databases' change logs tell.
///
/// The log is read by somebody else, all the time; here is only asked how far that got. Every answer
/// but [`LogAnswer::NotYet`] is final for the stretch of the log that was read, and holds for the
/// one transaction whose marker and ledger row prove that it is the run's.
#[async_trait]
pub trait ChangeLog: Send + Sync {
    /// What the log tells of this run. Comes back as soon as there is anything but
    /// [`LogAnswer::NotYet`] to tell, at the latest after `patience`; with no patience it tells what
    /// is known now. That somebody asks for what is not there yet is a reason to read on at once.
    async fn told(&self, sought: &Sought, patience: Duration) -> Result<LogAnswer, StoreDown>;
}

/// No change log is read: whatever is asked, nothing will be told.
#[derive(Debug, Clone, Copy)]
pub struct NoChangeLog;

#[async_trait]
impl ChangeLog for NoChangeLog {
    async fn told(&self, _: &Sought, _: Duration) -> Result<LogAnswer, StoreDown> {
        Ok(LogAnswer::Untold(model::LogGap::DecoderOff))
    }
}

/// Lets time pass; the Gate itself keeps no timers.
#[async_trait]
pub trait Pause: Send + Sync {
    /// Comes back after this time.
    async fn pause(&self, span: Duration);
}

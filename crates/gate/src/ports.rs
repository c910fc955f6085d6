//! How the Gate finds tools, and how it waits before it tries again.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use ledger::{StoreDown, record::ConnectorRef};
use model::{ConnectorId, Digest, OrgId, ToolName};
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

/// Lets time pass; the Gate itself keeps no timers.
#[async_trait]
pub trait Pause: Send + Sync {
    /// Comes back after this time.
    async fn pause(&self, span: Duration);
}

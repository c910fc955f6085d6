//! Connectors and their tools as somebody may see them.

use act::ActError;
use ledger::record::{Connector, ToolSettings};
use model::{ConnectorId, Digest, Timestamp, ToolName};
use serde_json::{Value, json};

use super::{ConnectorType, KnownTools, NotServed, Prepare, opened::candidate, tools::digest_of};
use crate::{ChangeError, ConnectorError, Credential, OrgView, Page};

/// How a tool stands beside what was accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolState {
    /// It is as it was accepted.
    Pinned,
    /// Nobody accepted it yet.
    New,
    /// It is another than the one that was accepted.
    Changed,
    /// It was accepted, and is not there any more.
    Gone,
}

/// A tool of a connector.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolStanding<'a> {
    /// Its whole name.
    pub name: &'a ToolName,
    /// How it stands.
    pub state: ToolState,
    /// The digest that it was found with; nothing for one that is gone.
    pub digest: Option<Digest>,
    /// The digest that it was accepted with.
    pub pinned_digest: Option<Digest>,
    /// Where it was found to run.
    pub target: Option<&'a Value>,
    /// Where it ran when it was accepted.
    pub pinned_target: Option<&'a Value>,
    /// Its definition as it was found.
    pub definition: Option<&'a Value>,
    /// Its definition as it was accepted.
    pub pinned_definition: Option<&'a Value>,
    /// The types that the governed system gave its statement; nothing for a type of connectors that asks
    /// for none.
    pub types: Option<&'a Value>,
    /// The types that it was accepted with.
    pub pinned_types: Option<&'a Value>,
    /// What is said of it beyond its definition.
    pub settings: ToolSettings,
}

impl<'a> ToolStanding<'a> {
    /// Every tool of the connector, by name.
    pub fn of(connector: &'a Connector) -> Vec<Self> {
        let Connector { tools, found, settings, .. } = connector;
        let found = found.as_ref().unwrap_or(tools);
        let mut names: Vec<&ToolName> = tools.keys().chain(found.keys()).collect();
        names.sort();
        names.dedup();
        let standing = |name| {
            let said = settings.get(name).copied().unwrap_or_default();
            Self::among((tools, found), name, said)
        };
        names.into_iter().map(standing).collect()
    }

    /// The bytes that an agent is shown of the tool: name, title, description and schema as JSON. None of
    /// a tool that is hidden, or that is not as it was accepted.
    pub fn shown_bytes(&self) -> usize {
        let is_shown = self.state == ToolState::Pinned && !self.settings.hidden;
        let Some(entry) = self.pinned_definition.filter(|_| is_shown) else { return 0 };
        let part = |name: &str| entry.get(name).map_or(0, |part| part.to_string().len());
        let parts: usize = ["title", "description", "args"].into_iter().map(part).sum();
        parts.saturating_add(json!(self.name).to_string().len())
    }

    fn among(
        (tools, found): (&'a KnownTools, &'a KnownTools),
        name: &'a ToolName,
        settings: ToolSettings,
    ) -> Self {
        let (accepted, found) = (tools.get(name), found.get(name));
        let part = |known: Option<&'a Value>, name| known.and_then(|known| known.get(name));
        let (digest, pinned_digest) = (found.and_then(digest_of), accepted.and_then(digest_of));
        let state = match (accepted, found) {
            (_, None) => ToolState::Gone,
            (None, Some(_)) => ToolState::New,
            (Some(_), Some(_)) if digest == pinned_digest => ToolState::Pinned,
            (Some(_), Some(_)) => ToolState::Changed,
        };
        Self {
            name,
            state,
            digest,
            pinned_digest,
            target: part(found, "target"),
            pinned_target: part(accepted, "target"),
            definition: part(found, "entry"),
            pinned_definition: part(accepted, "entry"),
            types: part(found, "statement"),
            pinned_types: part(accepted, "statement"),
            settings,
        }
    }
}

impl OrgView<'_> {
    /// The types that connectors can be made of.
    pub fn connector_types(&self) -> Vec<ConnectorType> {
        self.admin.parts.connectors.types()
    }

    /// A connector of the org; one that is archived too.
    pub async fn connector(&self, id: ConnectorId) -> Result<Connector, ChangeError> {
        let found = self.admin.parts.store.connector(self.org, id).await?;
        found.ok_or_else(|| ActError::NotFound("connector").into())
    }

    /// Connectors of the org behind this place, oldest first; with those that are archived where they
    /// are wanted.
    pub async fn connectors(
        &self,
        archived: bool,
        (after, limit): (Option<(Timestamp, ConnectorId)>, usize),
    ) -> Result<Page<Connector>, ChangeError> {
        let all = self.admin.parts.store.connectors(self.org).await?.into_iter();
        let is_asked = |row: &Connector| {
            (archived || row.archived_at.is_none())
                && after.is_none_or(|after| (row.created_at, row.id) > after)
        };
        let rows = all.filter(is_asked).take(limit.saturating_add(1)).collect();
        Ok(Page::of(rows, limit))
    }

    /// The script by which the owner of the governed system prepares it, made from the connector's
    /// config; nothing where its type needs none. Nobody is asked and nothing is changed.
    pub async fn connector_setup(
        &self,
        id: ConnectorId,
        prepare: Prepare,
    ) -> Result<Option<String>, ConnectorError> {
        let connector = self.connector(id).await?;
        let opened = self.admin.opened(&connector, &connector.config)?;
        Ok(self.admin.parts.connectors.setup(opened.candidate(), prepare)?)
    }

    /// The chosen parts of the description in a connector's config that cannot be served.
    pub async fn not_served(&self, id: ConnectorId) -> Result<Vec<NotServed>, ChangeError> {
        let connector = self.connector(id).await?;
        let credential = Credential::new();
        let candidate = candidate(&connector, (&connector.config, &credential));
        Ok(self.admin.parts.connectors.not_served(candidate).await)
    }
}

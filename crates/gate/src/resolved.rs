//! The tool that a call means. It finds nothing by itself.

use ledger::{
    Snapshot,
    record::{ConnectorRef, ConnectorStatus},
};
use model::{Digest, Footprint, Level, SideEffect};
use serde_json::Value;

use crate::ports::Served;

/// The tool that a call means, as far as it is known before the turn.
#[derive(Debug, Clone)]
pub enum Resolved {
    /// A connector serves it and the arguments fit its schema.
    Served(Served),
    /// The agent's edge says that it has it.
    AtEdge {
        /// The edge's connector.
        connector: ConnectorRef,
        /// The digest of the tool's definition, where the edge said one.
        digest: Option<Digest>,
    },
    /// Nobody serves it, or the name is no tool name.
    Unknown,
}

impl Resolved {
    /// The connector that serves the tool.
    pub fn connector(&self) -> Option<&ConnectorRef> {
        match self {
            Self::Served(served) => Some(&served.connector),
            Self::AtEdge { connector, .. } => Some(connector),
            Self::Unknown => None,
        }
    }

    /// The digest of the tool's definition, where one is known.
    pub fn digest(&self) -> Option<Digest> {
        match self {
            Self::Served(served) => Some(served.tool.definition().digest),
            Self::AtEdge { digest, .. } => *digest,
            Self::Unknown => None,
        }
    }

    /// What the tool does to the world, where it is known.
    pub fn side_effect(&self) -> Option<SideEffect> {
        match self {
            Self::Served(served) => Some(served.tool.definition().side_effect),
            Self::AtEdge { .. } | Self::Unknown => None,
        }
    }

    /// The most that a run may change, where the tool declares it.
    pub fn footprint(&self) -> Option<&Footprint> {
        match self {
            Self::Served(served) => served.tool.definition().footprint.as_ref(),
            Self::AtEdge { .. } | Self::Unknown => None,
        }
    }

    /// The evidence that a call needs.
    pub fn required_level(&self) -> Level {
        match self {
            Self::Served(served) => served.tool.definition().required_level,
            Self::AtEdge { .. } | Self::Unknown => Level::L0,
        }
    }

    /// Where the tool's calls go, where it says so.
    pub fn target(&self) -> Option<&Value> {
        match self {
            Self::Served(served) => served.tool.definition().target.as_deref(),
            Self::AtEdge { .. } | Self::Unknown => None,
        }
    }

    /// Where a run leaves its traces, where the tool says so.
    pub fn place(&self) -> Option<String> {
        match self {
            Self::Served(served) => served.tool.place(),
            Self::AtEdge { .. } | Self::Unknown => None,
        }
    }

    /// The digest of the schema that the arguments fit.
    pub fn schema_digest(&self) -> Option<Digest> {
        match self {
            Self::Served(served) => Some(served.tool.definition().input_schema.digest()),
            Self::AtEdge { .. } | Self::Unknown => None,
        }
    }
}

/// Whether the tool runs actions of this mode: the service's own serve both, a connector serves the one
/// that it was made for.
pub(crate) fn runs_in(served: &Served, livemode: bool) -> bool {
    served.connector.id.is_none() || served.test != livemode
}

/// Whether the tool's connector is disabled, or is not there any more.
pub(crate) fn is_disabled(served: &Served, snapshot: &Snapshot) -> bool {
    served.connector.id.is_some_and(|id| {
        snapshot.connector(id).is_none_or(|row| row.status == ConnectorStatus::Disabled)
    })
}

//! What a run reported, kept from its end until the evidence of it is in, or may come no more.

use std::{fmt, sync::Arc};

use model::{ActionId, ConnectorId, Timestamp};

/// The report of a run whose evidence is waited for, by the action or behind its seal.
#[derive(Clone, PartialEq, Eq)]
pub struct KeptReport {
    /// The action.
    pub action: ActionId,
    /// Everything that whoever judges the run has to know of it, in the form that the Gate gave it.
    pub text: Arc<str>,
}

impl fmt::Debug for KeptReport {
    /// Leaves the text out: it holds the tool's result.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeptReport").field("action", &self.action).finish_non_exhaustive()
    }
}

/// The report of an action that was sealed before its evidence was in, and what may still tell of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AwaitedReport {
    /// The report, as far as it is needed from now on, in the place of the one that was kept.
    pub report: KeptReport,
    /// The connector whose database's change log may still tell.
    pub connector: ConnectorId,
    /// When the action was sealed.
    pub since: Timestamp,
}

/// What becomes of a report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReportChange {
    /// It is kept.
    Kept(KeptReport),
    /// The action is sealed without the evidence, which may still come.
    Awaited(AwaitedReport),
    /// The evidence is in or comes no more, and the report is nobody's business any more.
    Removed(ActionId),
}

impl ReportChange {
    /// The report, where it is kept for an action that waits.
    pub fn kept(&self) -> Option<&KeptReport> {
        match self {
            Self::Kept(report) => Some(report),
            Self::Awaited(_) | Self::Removed(_) => None,
        }
    }

    /// The report, where it is kept behind its action's seal.
    pub fn awaited(&self) -> Option<&AwaitedReport> {
        match self {
            Self::Awaited(awaited) => Some(awaited),
            Self::Kept(_) | Self::Removed(_) => None,
        }
    }

    /// The action whose report is removed.
    pub fn removed(&self) -> Option<ActionId> {
        match self {
            Self::Kept(_) | Self::Awaited(_) => None,
            Self::Removed(action) => Some(*action),
        }
    }

    /// The report's text, where it is kept for whatever reason.
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Kept(report) | Self::Awaited(AwaitedReport { report, .. }) => Some(&report.text),
            Self::Removed(_) => None,
        }
    }
}

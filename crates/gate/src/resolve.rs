//! Which tool a call means, and which tools an agent may see.

use std::{sync::Arc, time::Duration};

use futures_util::future::{Either, select};

use ledger::{
    StoreDown,
    record::{ConnectorRef, PolicyMode},
};
use model::{Mode, OrgId, ToolName, Visibility};
use policy::Call;

use crate::{
    gate::Gate,
    ports::{Found, Seen, Served},
    resolved::{Resolved, is_disabled, runs_in},
    submission::{Submission, SubmitError},
};

/// How long a tool may take to be found; a connector that nobody has used yet is built in it.
pub(crate) const RESOLVED_WITHIN: Duration = Duration::from_secs(5);

/// A tool and whether the active policy might ever let this agent call it.
#[derive(Debug, Clone)]
pub struct ToolListing {
    /// The tool and its connector.
    pub served: Served,
    /// Whether the policy denies every call.
    pub visibility: Visibility,
}

/// Which of an org's connectors a tool is sought among.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Among {
    /// Those of a moment ago.
    Known,
    /// Those of now.
    Anew,
}

/// A tool that nobody served, by a reading of the org's connectors that the turn holds against what
/// it knows: that nobody serves it is sealed, so it must be so at the turn.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Absence {
    seen: Seen,
    // What a turn knew and a later reading did not show: that turn was decided on an older state.
    gone: Seen,
}

impl Absence {
    /// Whether the connector that the turn knows may serve the tool.
    pub(crate) fn is_doubtful(&self, known: Seen) -> bool {
        known.is_some() && known != self.seen && known != self.gone
    }

    /// The same by a later reading.
    pub(crate) fn read_again(self, later: Self) -> Self {
        Self { seen: later.seen, ..self }
    }

    /// What is sought again because of what a turn knew.
    pub(crate) fn because_of(self, known: Seen) -> Self {
        Self { gone: known, ..self }
    }
}

/// The tool that a call means, and why it is unknown where another reading may show it.
pub(crate) type Sought = (Resolved, Option<Absence>);

impl Gate {
    /// The tool that a submission means; arguments that its schema refuses are rejected.
    pub(crate) async fn resolve(&self, call: &Submission) -> Result<Sought, SubmitError> {
        let Ok(name) = call.call.tool.parse::<ToolName>() else {
            return Ok((Resolved::Unknown, None));
        };
        match (call.call.facts.mode, &call.edge) {
            (Mode::Gateway, _) => self.served((call.org, &call.call), &name, Among::Known).await,
            (Mode::Proxy, Some(edge)) => {
                let connector = ConnectorRef {
                    id: None,
                    name: name.connector().to_owned(),
                    kind: edge.connector_type.clone(),
                };
                Ok((Resolved::AtEdge { connector, digest: edge.digest }, None))
            }
            (Mode::Proxy, None) => Err(SubmitError::invalid(
                "connector_type",
                "proxy mode requires `connector_type`, the type of the edge's connector such as \
                 `mcp`",
            )),
        }
    }

    /// The tool that a call of this org means, by the org's connectors as they are now.
    pub(crate) async fn resolve_anew(
        &self,
        org: OrgId,
        call: &Call,
    ) -> Result<Sought, SubmitError> {
        match call.tool.parse::<ToolName>() {
            Ok(name) => self.served((org, call), &name, Among::Anew).await,
            Err(_) => Ok((Resolved::Unknown, None)),
        }
    }

    async fn served(
        &self,
        (org, call): (OrgId, &Call),
        name: &ToolName,
        among: Among,
    ) -> Result<Sought, SubmitError> {
        // A connector whose system does not answer holds its own calls up, and those not for longer
        // than their senders wait.
        let found = match among {
            Among::Known => self.parts.toolbox.find(org, name),
            Among::Anew => self.parts.toolbox.find_anew(org, name),
        };
        let found = match select(found, self.parts.pause.pause(RESOLVED_WITHIN)).await {
            Either::Left((found, _)) => found?,
            Either::Right(_) => Found::Unavailable,
        };
        match found {
            Found::Served(served) => {
                served
                    .tool
                    .check_args(&call.args)
                    .map_err(|sentence| SubmitError::invalid("args", sentence))?;
                Ok((Resolved::Served(served), None))
            }
            Found::Nobody => Ok((Resolved::Unknown, None)),
            Found::NotAmong(seen) => {
                Ok((Resolved::Unknown, Some(Absence { seen, ..Absence::default() })))
            }
            Found::Unavailable => Err(SubmitError::ToolUnavailable),
        }
    }

    /// Every tool that the service can run for the org, as policies are judged against
    /// them.
    pub async fn known_tools(&self, org: OrgId) -> Result<Vec<policy::KnownTool>, StoreDown> {
        let served = self.parts.toolbox.every(org).await?;
        let known = served.iter().map(|served| {
            let definition = served.tool.definition();
            policy::KnownTool {
                name: definition.name.to_string(),
                input_schema: Arc::clone(definition.input_schema.value()),
                side_effect: Some(definition.side_effect),
            }
        });
        Ok(known.collect())
    }

    /// The tools that the service can run for an agent of the org in this mode, sorted by name, and
    /// whether each is hidden: by the enforced policy, by an admin, or since every call of it is refused
    /// whatever a policy says, as of a connector that is disabled or a tool that nobody has accepted as
    /// it is now.
    pub async fn tools(
        &self,
        org: OrgId,
        livemode: bool,
    ) -> Result<(Vec<ToolListing>, Option<model::PolicyVersionId>), SubmitError> {
        let served = self.parts.toolbox.every(org).await?;
        let snapshot = self.parts.ledger.look(org).await?;
        let active = snapshot.policy(PolicyMode::Enforce);
        let policy = active.and_then(|loaded| loaded.policy.as_deref());
        let listing = |served: Served| {
            let name = served.tool.definition().name.as_str();
            let kept_back =
                served.hidden || served.changed.is_some() || is_disabled(&served, &snapshot);
            let visibility = match policy {
                Some(policy) if !kept_back => policy::visibility(policy, name).0,
                Some(_) | None => Visibility::Hidden,
            };
            ToolListing { served, visibility }
        };
        let version = active.map(|loaded| loaded.active.version);
        let served = served.into_iter().filter(|served| runs_in(served, livemode));
        Ok((served.map(listing).collect(), version))
    }
}

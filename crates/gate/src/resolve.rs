//! Which tool a call means, and which tools an agent may see.

use std::{sync::Arc, time::Duration};

use futures_util::future::{Either, select};

use ledger::{
    StoreDown,
    record::{ConnectorRef, PolicyMode},
};
use model::{AgentId, Mode, OrgId, ToolName, Visibility};

use crate::{
    gate::Gate,
    ports::{Found, Served},
    resolved::Resolved,
    submission::{Rejection, Submission, SubmitError},
};

/// How long a tool may take to be found; a connector that nobody has used yet is built in it.
const RESOLVED_WITHIN: Duration = Duration::from_secs(5);

/// A tool and whether the active policy might ever let this agent call it.
#[derive(Debug, Clone)]
pub struct ToolListing {
    /// The tool and its connector.
    pub served: Served,
    /// Whether the policy denies every call.
    pub visibility: Visibility,
}

impl Gate {
    /// The tool that a submission means; arguments that its schema refuses are rejected.
    pub(crate) async fn resolve(&self, call: &Submission) -> Result<Resolved, SubmitError> {
        let Ok(name) = call.call.tool.parse::<ToolName>() else { return Ok(Resolved::Unknown) };
        match (call.call.facts.mode, &call.edge) {
            (Mode::Gateway, _) => self.resolve_served(call, &name).await,
            (Mode::Proxy, Some(edge)) => {
                let connector = ConnectorRef {
                    id: None,
                    name: name.connector().to_owned(),
                    kind: edge.connector_type.clone(),
                };
                Ok(Resolved::AtEdge { connector, digest: edge.digest })
            }
            (Mode::Proxy, None) => Err(invalid(
                "connector_type",
                "proxy mode needs `connector_type`, the type of the edge's connector such as `mcp`",
            )),
        }
    }

    async fn resolve_served(
        &self,
        call: &Submission,
        name: &ToolName,
    ) -> Result<Resolved, SubmitError> {
        // A connector whose system does not answer holds its own calls up, and those not for longer
        // than their senders wait.
        let found = self.parts.toolbox.find(call.org, name);
        let found = match select(found, self.parts.pause.pause(RESOLVED_WITHIN)).await {
            Either::Left((found, _)) => found?,
            Either::Right(_) => Found::Unavailable,
        };
        match found {
            Found::Served(served) => {
                served
                    .tool
                    .check_args(&call.call.args)
                    .map_err(|sentence| invalid("args", sentence))?;
                Ok(Resolved::Served(served))
            }
            Found::Nobody => Ok(Resolved::Unknown),
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

    /// The tools that the service can run for this agent, sorted by name, and whether the
    /// enforced policy hides each.
    pub async fn tools(
        &self,
        org: OrgId,
        _agent: AgentId,
    ) -> Result<(Vec<ToolListing>, Option<model::PolicyVersionId>), SubmitError> {
        let served = self.parts.toolbox.every(org).await?;
        let snapshot = self.parts.ledger.look(org).await?;
        let active = snapshot.policy(PolicyMode::Enforce);
        let policy = active.and_then(|loaded| loaded.policy.as_deref());
        let listing = |served: Served| {
            let name = served.tool.definition().name.as_str();
            let visibility =
                policy.map_or(Visibility::Hidden, |policy| policy::visibility(policy, name).0);
            ToolListing { served, visibility }
        };
        let version = active.map(|loaded| loaded.active.version);
        Ok((served.into_iter().map(listing).collect(), version))
    }
}

pub(crate) fn invalid(param: &'static str, sentence: impl Into<String>) -> SubmitError {
    Rejection::Invalid { param, sentence: sentence.into() }.into()
}

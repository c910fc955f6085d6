//! Which tool a call means, and which tools an agent may see.

use std::sync::Arc;

use ledger::{
    StoreDown,
    record::{ConnectorRef, PolicyMode},
};
use model::{AgentId, Digest, Footprint, Level, Mode, OrgId, SideEffect, ToolName, Visibility};

use crate::{Found, Gate, Rejection, Served, Submission, SubmitError};

/// The tool that a call means, as far as it is known before the turn.
#[derive(Debug, Clone)]
pub(crate) enum Resolved {
    /// A connector serves it and the arguments fit its schema.
    Served(Served),
    /// The agent's edge says that it has it.
    AtEdge { connector: ConnectorRef, digest: Option<Digest>, changed: bool },
    /// Nobody serves it, or the name is no tool name.
    Unknown,
}

impl Resolved {
    pub(crate) fn connector(&self) -> Option<&ConnectorRef> {
        match self {
            Self::Served(served) => Some(&served.connector),
            Self::AtEdge { connector, .. } => Some(connector),
            Self::Unknown => None,
        }
    }

    pub(crate) fn digest(&self) -> Option<Digest> {
        match self {
            Self::Served(served) => Some(served.tool.definition().digest),
            Self::AtEdge { digest, .. } => *digest,
            Self::Unknown => None,
        }
    }

    pub(crate) fn side_effect(&self) -> Option<SideEffect> {
        match self {
            Self::Served(served) => Some(served.tool.definition().side_effect),
            Self::AtEdge { .. } | Self::Unknown => None,
        }
    }

    pub(crate) fn footprint(&self) -> Option<&Footprint> {
        match self {
            Self::Served(served) => served.tool.definition().footprint.as_ref(),
            Self::AtEdge { .. } | Self::Unknown => None,
        }
    }

    pub(crate) fn required_level(&self) -> Level {
        match self {
            Self::Served(served) => served.tool.definition().required_level,
            Self::AtEdge { .. } | Self::Unknown => Level::L0,
        }
    }

    pub(crate) fn schema_digest(&self) -> Option<Digest> {
        match self {
            Self::Served(served) => {
                let schema = &served.tool.definition().input_schema;
                Some(crypto::sha256(crypto::json::canonical(schema)))
            }
            Self::AtEdge { .. } | Self::Unknown => None,
        }
    }

    pub(crate) fn changed(&self) -> bool {
        match self {
            Self::AtEdge { changed, .. } => *changed,
            Self::Served(_) | Self::Unknown => false,
        }
    }
}

/// A tool and whether the active policy might ever let this agent call it.
#[derive(Debug, Clone)]
pub struct ToolListing {
    /// The tool and its connector.
    pub served: Served,
    /// Whether the policy denies every call.
    pub visibility: Visibility,
}

impl Gate {
    /// Returns the tool that a submission means; arguments that its schema refuses are rejected.
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
                let changed = self.changed_since(call, edge.digest).await?;
                Ok(Resolved::AtEdge { connector, digest: edge.digest, changed })
            }
            (Mode::Proxy, None) => Err(invalid(
                "connector_type",
                "proxy mode needs `connector_type`, the type of the edge's connector such as `mcp`",
            )),
        }
    }

    /// Returns whether the edge's tool is another than at the agent's last call of it, where both
    /// calls said which it was.
    async fn changed_since(
        &self,
        call: &Submission,
        digest: Option<Digest>,
    ) -> Result<bool, SubmitError> {
        let Some(now) = digest else { return Ok(false) };
        let last = self
            .parts
            .store
            .last_tool_digest(call.org, call.call.agent.id, &call.call.tool)
            .await?;
        Ok(last.is_some_and(|last| last != now))
    }

    async fn resolve_served(
        &self,
        call: &Submission,
        name: &ToolName,
    ) -> Result<Resolved, SubmitError> {
        match self.parts.toolbox.find(call.org, name).await? {
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

    /// Returns every tool that the service can run for the org, as policies are judged against
    /// them.
    pub async fn known_tools(&self, org: OrgId) -> Result<Vec<policy::KnownTool>, StoreDown> {
        let served = self.parts.toolbox.every(org).await?;
        let known = served.iter().map(|served| {
            let definition = served.tool.definition();
            policy::KnownTool {
                name: definition.name.to_string(),
                input_schema: Arc::new(definition.input_schema.clone()),
                side_effect: Some(definition.side_effect),
            }
        });
        Ok(known.collect())
    }

    /// Returns the tools that the service can run for this agent, sorted by name, and whether the
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

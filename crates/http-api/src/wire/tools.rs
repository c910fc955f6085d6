//! Tools as agents see them, and the question which of an edge's tools they may see.

use gate::ToolListing;
use model::{ConnectorName, Digest, SideEffect, Visibility};
use serde::Serialize;
use serde_json::Value;
use web::{ApiError, Call, Fields, Word};

/// The most tools that one request resolves.
const MAX_TOOLS: usize = 500;
/// The most bytes of a tool's whole name.
const MAX_NAME: usize = 200;

/// A tool.
#[derive(Debug, Serialize)]
pub(crate) struct ToolView<'a> {
    object: &'static str,
    name: &'a str,
    connector: &'a str,
    title: &'a str,
    description: &'a str,
    input_schema: &'a Value,
    side_effect: SideEffect,
    visibility: Visibility,
}

impl<'a> From<&'a ToolListing> for ToolView<'a> {
    fn from(listing: &'a ToolListing) -> Self {
        let definition = listing.served.tool.definition();
        Self {
            object: "tool",
            name: definition.name.as_str(),
            connector: &listing.served.connector.name,
            title: &definition.title,
            description: &definition.description,
            input_schema: definition.input_schema.value(),
            side_effect: definition.side_effect,
            visibility: listing.visibility,
        }
    }
}

/// Tools of an edge's connector.
#[derive(Debug)]
pub(crate) struct ResolveRequest {
    pub(crate) connector: ConnectorName,
    /// The names, each without the connector's.
    pub(crate) tools: Vec<String>,
}

impl ResolveRequest {
    /// Reads the request.
    pub(crate) fn read(call: &Call) -> Result<Self, ApiError> {
        let mut fields = call.fields()?;
        let Word(connector) = fields.required::<Word<ConnectorName>>("connector")?;
        let tools = fields.each("tools", tool)?;
        if tools.len() > MAX_TOOLS {
            return Err(fields.error("tools", format!("expected at most {MAX_TOOLS} tools")));
        }
        fields.finish()?;
        Ok(Self { connector, tools })
    }
}

fn tool(mut fields: Fields) -> Result<String, ApiError> {
    let name: String = fields.required("name")?;
    if name.is_empty() || name.len() > MAX_NAME {
        return Err(fields.error("name", "expected 1 to 200 bytes"));
    }
    // The digest says which definition the wrapper saw; it does not bear on the static answer.
    let _digest = fields.optional::<Word<Digest>>("digest")?;
    fields.finish()?;
    Ok(name)
}

/// Whether an agent may see one of an edge's tools.
#[derive(Debug, Serialize)]
pub(crate) struct VisibilityView<'a> {
    object: &'static str,
    name: &'a str,
    connector: &'a str,
    visibility: Visibility,
    rule_id: Option<&'a str>,
}

impl<'a> VisibilityView<'a> {
    /// The answer of the enforced policy; without one that can be read every call is
    /// refused, and so every tool hidden.
    pub(crate) fn new(
        connector: &'a ConnectorName,
        name: &'a str,
        policy: Option<&'a policy::Policy>,
    ) -> Self {
        let tool = format!("{}.{name}", connector.as_str());
        let (visibility, rule_id) =
            policy.map_or((Visibility::Hidden, None), |policy| policy::visibility(policy, &tool));
        Self { object: "tool_visibility", name, connector: connector.as_str(), visibility, rule_id }
    }
}

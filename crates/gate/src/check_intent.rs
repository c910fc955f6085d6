//! A signed intent checked for whoever writes a signer: every check is told, and nothing is burnt.

use std::sync::Arc;

use crypto::json::Canonical;
use intent::{Check, Checked};
use ledger::Needs;
use model::{Digest, Mode, OrgId, ToolName};
use policy::Call;

use crate::{
    case::request_digest,
    gate::Gate,
    ports::Found,
    submission::{EdgeTool, Rejection, SubmitError},
    vouch,
};

/// What the checks of an intent found.
#[derive(Debug, Clone)]
pub struct CheckedIntent {
    /// The checks that were made, in order.
    pub checks: Vec<Checked>,
    /// The canonical form of `{args, tool}`, whose digest an intent names.
    pub canonical: String,
    /// That digest.
    pub request: Digest,
}

/// An intent, and the call of its agent that it shall be for.
#[derive(Debug, Clone)]
pub struct IntentToCheck {
    /// The agent's org.
    pub org: OrgId,
    /// The call.
    pub call: Call,
    /// The tool of the agent's edge, in proxy mode.
    pub edge: Option<EdgeTool>,
    /// The key that the call is sent with.
    pub idempotency_key: Option<String>,
    /// The intent.
    pub intent: String,
}

impl Gate {
    /// Checks the intent of a call that is not sent, whatever the agent's mode is. Nothing is
    /// recorded, and its nonce stays as it is.
    pub async fn check_intent(&self, call: IntentToCheck) -> Result<CheckedIntent, SubmitError> {
        let args = Canonical::new(Arc::clone(&call.call.args));
        let request = request_digest(&call.call.tool, &args);
        let ids = || [call.call.agent.id].into();
        let needs = Needs { agents: ids(), intent_keys: ids(), ..Needs::default() };
        let snapshot = self.parts.ledger.look_at(call.org, needs).await?;
        let agent = snapshot.agent(call.call.agent.id);
        let agent = agent.filter(|agent| agent.archived_at.is_none());
        let agent = agent.ok_or(Rejection::Unauthenticated)?;
        let (id, mode) = (call.call.agent.id.to_string(), call.call.facts.mode.to_string());
        let signed = intent::Call {
            audience: &self.parts.audience,
            agent: &id,
            tool: &call.call.tool,
            request,
            mode: &mode,
            on_behalf_of: call.call.facts.on_behalf_of.as_deref(),
            session: call.call.facts.session.as_deref(),
            idempotency_key: call.idempotency_key.as_deref(),
            tool_digest: self.tool_digest(&call).await?,
        };
        let keys = vouch::keys_of(&snapshot, agent.id);
        let report = intent::examine(&call.intent, &keys, &signed, snapshot.now());
        let mut checks = report.checks;
        if let Some(verified) = report.verified {
            let name = vouch::nonce(&verified);
            let burnt = self.parts.store.idempotency_key(call.org, agent.id, &name).await?;
            checks.push(Checked {
                check: Check::Nonce,
                ok: burnt.is_none(),
                expected: "a nonce that has not been used".to_owned(),
                got: burnt.map_or_else(
                    || "a nonce that has not been used".to_owned(),
                    |burnt| format!("the nonce of action {}", burnt.action),
                ),
            });
        }
        let tool = crypto::json::canonical(&call.call.tool.as_str().into());
        let tool = String::from_utf8(tool).unwrap_or_default();
        let canonical = format!(r#"{{"args":{},"tool":{tool}}}"#, args.text());
        Ok(CheckedIntent { checks, canonical, request })
    }

    async fn tool_digest(&self, call: &IntentToCheck) -> Result<Option<Digest>, SubmitError> {
        let Ok(name) = call.call.tool.parse::<ToolName>() else { return Ok(None) };
        match call.call.facts.mode {
            Mode::Proxy => Ok(call.edge.as_ref().and_then(|edge| edge.digest)),
            Mode::Gateway => match self.parts.toolbox.find(call.org, &name).await? {
                Found::Served(served) => Ok(Some(served.tool.definition().digest)),
                Found::Nobody | Found::NotAmong(_) => Ok(None),
                Found::Unavailable => Err(SubmitError::ToolUnavailable),
            },
        }
    }
}

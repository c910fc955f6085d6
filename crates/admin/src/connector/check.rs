//! What connectors ask of the adapters of their types.

use std::collections::BTreeMap;

use async_trait::async_trait;
use model::{ConnectorId, ConnectorName, OrgId, ToolName};
use serde_json::Value;

use super::{ConnectorType, Coverage};
use crate::{Credential, UnfitError};

/// A connector as its adapter is asked whether it would do.
#[derive(Debug, Clone, Copy)]
pub struct Candidate<'a> {
    /// The org.
    pub org: OrgId,
    /// The connector's id.
    pub id: ConnectorId,
    /// Its name.
    pub name: &'a ConnectorName,
    /// Its type.
    pub kind: &'a str,
    /// Its config.
    pub config: &'a Value,
    /// Its credential; empty when none was given yet, and then the governed system cannot be
    /// asked.
    pub credential: &'a Credential,
    /// The credential's kind, where it was said.
    pub credential_kind: Option<&'a str>,
}

/// What the tools of a connector are kept with, in its adapter's own form. Each is an object whose
/// member `digest` is that of the tool's definition, whose `entry` is the definition as written and whose
/// `target` says where the tool runs. Where the governed system gives its statement types, `statement` has
/// them: `parameters`, each with `name` and `type`, and `columns`, each a name and a type.
pub type KnownTools = BTreeMap<ToolName, Value>;

/// What a look at one thing in a governed system came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Looked {
    /// What was looked at.
    pub name: String,
    /// How it stands.
    pub found: LookedAt,
    /// What to do about it; empty when there is nothing to do.
    pub detail: String,
}

/// How something in a governed system stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LookedAt {
    /// As it should.
    Pass,
    /// It works, and could be better.
    Advice,
    /// Calls fail, or are not safe, until it is mended.
    Fail,
}

impl LookedAt {
    /// Each of them.
    pub const ALL: [Self; 3] = [Self::Pass, Self::Advice, Self::Fail];

    /// The word for it, in responses and in stores.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Advice => "advice",
            Self::Fail => "fail",
        }
    }
}

/// A part of an API's description that no tool of its connector can use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotServed {
    /// The operation by its method and path, or a part of it.
    pub operation: String,
    /// Why it cannot be served.
    pub reason: String,
}

/// What a governed system is to be prepared for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Prepare {
    /// To run calls.
    Calls,
    /// To run calls, and to have its change log read.
    CallsAndWitness,
}

/// Knows the adapters.
#[async_trait]
pub trait ConnectorCheck: Send + Sync {
    /// The types that connectors can be made of, where anybody is to be told.
    fn types(&self) -> Vec<ConnectorType> {
        Vec::new()
    }

    /// Who is given the credential of a connector of this type and config: server, users, and whom it
    /// believes to be there. It is authenticated with the sealed credential, which opens for no other. An
    /// adapter that does not say counts every change of the config.
    fn receiver(&self, _kind: &str, config: &Value) -> Value {
        config.clone()
    }

    /// Where the tools of a connector of this type and config run, as people are told it and as the
    /// tools' digests cover it; null for a type that does not say.
    fn target(&self, _kind: &str, _config: &Value) -> Value {
        Value::Null
    }

    /// The tools, of which each that a version without targets accepted has the one that this config
    /// names.
    fn targeted(&self, _kind: &str, _config: &Value, tools: &KnownTools) -> KnownTools {
        tools.clone()
    }

    /// What the connector's tools are to be kept with, nothing while no credential says who could
    /// ask for it; fails with what is wrong with the connector.
    async fn check(&self, candidate: Candidate<'_>) -> Result<KnownTools, UnfitError>;

    /// Everything that can be looked at in the governed system, with the tools as they were accepted.
    async fn look(
        &self,
        _candidate: Candidate<'_>,
        _accepted: &KnownTools,
    ) -> Result<Vec<Looked>, UnfitError> {
        Ok(Vec::new())
    }

    /// The script by which the owner of the governed system prepares it; nothing for a type that needs
    /// no preparing. It asks for passwords and holds none.
    fn setup(
        &self,
        _candidate: Candidate<'_>,
        _prepare: Prepare,
    ) -> Result<Option<String>, UnfitError> {
        Ok(None)
    }

    /// The chosen parts of an API's description that cannot be served; none for a type without
    /// descriptions. The governed system is not contacted.
    async fn not_served(&self, _candidate: Candidate<'_>) -> Vec<NotServed> {
        Vec::new()
    }

    /// What of what tools write, and of these tables beside, the governed system's change log tells;
    /// nothing for a type that has no change log. Nothing is changed.
    async fn coverage(
        &self,
        _candidate: Candidate<'_>,
        _beside: &[String],
    ) -> Result<Option<Coverage>, UnfitError> {
        Ok(None)
    }
}

//! What a connector is to the rest of the service: a blueprint that is built into tools, and lines
//! that say what a governed system still lacks.

use std::{collections::BTreeMap, fmt, sync::Arc};

use crypto::{Secret, vault::Ring};
use egress::Egress;
use model::{
    ConnectorId, ConnectorName, Entropy, ExecutionErrorCode, Fault, Level, OrgId, ToolName,
};
use serde_json::Value;
use tool::Tool;

use crate::{
    postgres::{self, Coverage, Witness},
    rest,
};

/// The kinds of connectors that can be built.
pub const KINDS: &[&str] = &[postgres::KIND, rest::KIND];

/// What there is to know of every kind before one is built, in the order of [`KINDS`].
pub const TYPES: &[Type] = &[postgres::TYPE, rest::TYPE];

/// A kind of connectors, as it is offered.
#[derive(Debug)]
pub struct Type {
    /// Its name, one of [`KINDS`].
    pub kind: &'static str,
    /// What people call it.
    pub title: &'static str,
    /// The kinds of credentials that its connectors log in with.
    pub credentials: &'static [CredentialKind],
    /// The published schema of its config.
    pub config_schema: &'static str,
    /// The evidence that calls of its tools can have.
    pub witness_levels: &'static [Level],
}

/// A kind of credentials.
#[derive(Debug)]
pub struct CredentialKind {
    /// Its name.
    pub kind: &'static str,
    /// Its fields.
    pub fields: &'static [CredentialField],
}

/// A field of a credential.
#[derive(Debug)]
pub struct CredentialField {
    /// Its name.
    pub name: &'static str,
    /// Whether the credential is none without it.
    pub required: bool,
    /// What it holds.
    pub description: &'static str,
}

/// Everything that one connector is built from.
#[derive(Debug, Clone)]
pub struct Blueprint {
    /// The org that it belongs to.
    pub org: OrgId,
    /// Its id, which its markers carry.
    pub id: ConnectorId,
    /// Its name, the first part of its tools' names.
    pub name: ConnectorName,
    /// Its kind, one of [`KINDS`].
    pub kind: String,
    /// A number that grows with every change of config or credential.
    pub revision: u64,
    /// Its config, as the kind's published schema describes it.
    pub config: Value,
    /// Its credential.
    pub credential: Credential,
    /// What its tools were accepted with, in the adapter's own form; empty to have them learnt.
    pub tools: BTreeMap<ToolName, Value>,
}

/// A connector's secrets by field name.
#[derive(Debug, Clone, Default)]
pub struct Credential {
    kind: Option<String>,
    fields: BTreeMap<String, Secret<String>>,
}

impl Credential {
    /// The credential with these fields, of the only kind that its type has.
    pub fn new(fields: BTreeMap<String, Secret<String>>) -> Self {
        Self { kind: None, fields }
    }

    /// The same of this kind, where one was said.
    pub fn of_kind(self, kind: Option<String>) -> Self {
        Self { kind, ..self }
    }

    /// The credential's kind, where its type has several.
    pub fn kind(&self) -> Option<&str> {
        self.kind.as_deref()
    }

    /// The secret of one field.
    pub fn field(&self, name: &str) -> Option<&Secret<String>> {
        self.fields.get(name)
    }

    /// The names of the fields, which are no secrets.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.fields.keys().map(String::as_str)
    }
}

/// What connectors need from the service.
#[derive(Clone)]
pub struct Deps {
    /// The way out.
    pub egress: Egress,
    /// The ring that marker keys are derived from.
    pub vault: Arc<Ring>,
    /// Randomness for nonces.
    pub entropy: Arc<dyn Entropy>,
}

impl fmt::Debug for Deps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Deps").field("egress", &self.egress).finish_non_exhaustive()
    }
}

/// A connector, built and able to run calls.
pub trait Connector: Send + Sync + fmt::Debug {
    /// Its tools.
    fn tools(&self) -> Vec<Arc<dyn Tool>>;

    /// The schemas of its tools, to be stored so that the tools can be built without the governed system.
    fn tool_schemas(&self) -> BTreeMap<ToolName, Value>;

    /// The error of the last connection to the governed system; `None` if it succeeded.
    fn last_connect_error(&self) -> Option<Fault>;
}

/// One thing that was looked at in a governed system.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckLine {
    /// What was looked at.
    pub name: String,
    /// What was found.
    pub state: CheckState,
    /// What to do about it; empty when there is nothing to do.
    pub detail: String,
}

/// What a look at a governed system found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CheckState {
    /// As it should be.
    Pass,
    /// Works, and could be better.
    Advice,
    /// Calls fail, or are not safe, until it is mended.
    Fail,
}

/// What is accepted as a host.
pub(crate) const HOST: &str =
    "expected a host: a dotted name such as `db.example.com`, or an address in its usual form";

/// One thing that is wrong in a config.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The place, as a JSON pointer into the config.
    pub at: String,
    /// What is wrong there and what would have been accepted.
    pub message: String,
}

impl Finding {
    pub(crate) fn new(at: impl Into<String>, message: impl Into<String>) -> Self {
        Self { at: at.into(), message: message.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`: {}", self.at, self.message)
    }
}

/// Why a connector could not be built.
#[derive(Debug, Clone, thiserror::Error)]
pub enum BuildError {
    /// Nobody knows how to build this kind.
    #[error("no connector is of the kind `{kind}`: expected one of {}", quoted(KINDS))]
    UnknownKind {
        /// The kind as given.
        kind: String,
    },
    /// The config is wrong, or does not fit the governed system.
    #[error("the connector's config is not valid: {}", sentences(findings))]
    Config {
        /// Everything that was found, in the order of the config.
        findings: Vec<Finding>,
    },
    /// The credential lacks a field.
    #[error("the connector's credential has no field `{field}`")]
    Credential {
        /// The field.
        field: &'static str,
    },
    /// The governed system could not be reached or refused the credential.
    #[error("{}", .0.message)]
    Connect(Fault),
}

impl BuildError {
    /// What a call says that needed the connector.
    pub fn fault(&self) -> Fault {
        match self {
            Self::Connect(fault) => fault.clone(),
            Self::Credential { .. } => {
                Fault::new(ExecutionErrorCode::ConnectorAuthFailed, self.to_string())
            }
            Self::UnknownKind { .. } | Self::Config { .. } => {
                Fault::new(ExecutionErrorCode::ConnectorMisconfigured, self.to_string())
            }
        }
    }
}

/// What a line of a check says of a fault, and what to do where it is the credential's.
pub(crate) fn remedied(fault: &Fault) -> String {
    if fault.code == ExecutionErrorCode::ConnectorAuthFailed.into() {
        let message = &fault.message;
        format!("{message}; give the right one with `chancery connector credential NAME FILE`")
    } else {
        fault.message.clone()
    }
}

fn quoted(words: &[&str]) -> String {
    words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
}

fn sentences(findings: &[Finding]) -> String {
    findings.iter().map(Finding::to_string).collect::<Vec<_>>().join("; ")
}

/// The connector that the blueprint describes: with its tools as they were accepted, or, where that
/// is not known, after asking the governed system whether every tool fits it.
pub async fn build(blueprint: &Blueprint, deps: &Deps) -> Result<Arc<dyn Connector>, BuildError> {
    match blueprint.kind.as_str() {
        postgres::KIND => Ok(Arc::new(postgres::PostgresConnector::build(blueprint, deps).await?)),
        rest::KIND => Ok(Arc::new(rest::RestConnector::build(blueprint, deps).await?)),
        _ => Err(unknown_kind(&blueprint.kind)),
    }
}

/// The connector that could not be built, with its tools as its config declares them, whose runs come
/// to what stood in the way; nothing where the config declares none.
pub(crate) fn stand_in(blueprint: &Blueprint, error: &BuildError) -> Option<Arc<dyn Connector>> {
    match blueprint.kind.as_str() {
        postgres::KIND => {
            let declared = postgres::DeclaredConnector::new(blueprint, &error.fault())?;
            Some(Arc::new(declared))
        }
        _ => None,
    }
}

/// What is wrong in a config by itself, without asking the governed system.
pub fn findings(blueprint: &Blueprint) -> Result<Vec<Finding>, BuildError> {
    match blueprint.kind.as_str() {
        postgres::KIND => Ok(postgres::config_findings(&blueprint.name, &blueprint.config)),
        rest::KIND => Ok(rest::config_findings(&blueprint.name, &blueprint.config)),
        _ => Err(unknown_kind(&blueprint.kind)),
    }
}

/// Where the tools of a connector of this kind and config run, as their digests cover it; null for a kind
/// that nobody knows.
pub fn target(kind: &str, config: &Value) -> Value {
    match kind {
        postgres::KIND => postgres::target::target(config),
        rest::KIND => rest::target::target(config),
        _ => Value::Null,
    }
}

/// Who is given the credential of a connector of this kind and config; null for a kind that nobody knows.
pub fn receiver(kind: &str, config: &Value) -> Value {
    match kind {
        postgres::KIND => postgres::target::receiver(config),
        rest::KIND => rest::target::receiver(config),
        _ => Value::Null,
    }
}

/// What a connector's tools were accepted with, where a version that kept no target with it has kept it,
/// with the target that this config has.
pub fn targeted(
    kind: &str,
    config: &Value,
    tools: &BTreeMap<ToolName, Value>,
) -> BTreeMap<ToolName, Value> {
    let targeted = |(name, pin): (&ToolName, &Value)| {
        let pin = match kind {
            postgres::KIND => postgres::targeted(name, pin, config),
            rest::KIND => rest::targeted(name, pin, config),
            _ => pin.clone(),
        };
        (name.clone(), pin)
    };
    tools.iter().map(targeted).collect()
}

/// The parts of an API's description that cannot be served though they are chosen, each with its reason;
/// none for a kind that has no description.
pub fn not_served(blueprint: &Blueprint) -> Vec<(String, String)> {
    match blueprint.kind.as_str() {
        rest::KIND => rest::not_served(&blueprint.name, &blueprint.config),
        _ => Vec::new(),
    }
}

/// Whether the tools can be learnt now: from the config alone, or because a credential says who asks.
pub fn is_learnable(blueprint: &Blueprint) -> bool {
    blueprint.kind == rest::KIND || blueprint.credential.names().next().is_some()
}

/// What was looked at in the governed system, also when the connector cannot be built.
pub async fn check(blueprint: &Blueprint, deps: &Deps) -> Result<Vec<CheckLine>, BuildError> {
    match blueprint.kind.as_str() {
        postgres::KIND => postgres::check(blueprint, deps).await,
        rest::KIND => Ok(rest::check(blueprint, deps).await),
        _ => Err(unknown_kind(&blueprint.kind)),
    }
}

/// The script by which the owner of the governed system prepares it, which asks for passwords and holds
/// none; nothing for a kind that needs no preparing.
pub fn setup_script(blueprint: &Blueprint, witness: Witness) -> Result<Option<String>, BuildError> {
    match blueprint.kind.as_str() {
        postgres::KIND => postgres::setup_sql(blueprint, witness).map(Some),
        rest::KIND => Ok(None),
        _ => Err(unknown_kind(&blueprint.kind)),
    }
}

/// What of what tools write, and of these tables beside, the governed system's change log tells, and how
/// its owner lets it tell the rest; nothing for a kind that has no change log. Nothing is changed.
pub async fn coverage(
    blueprint: &Blueprint,
    deps: &Deps,
    beside: &[String],
) -> Result<Option<Coverage>, BuildError> {
    match blueprint.kind.as_str() {
        postgres::KIND => postgres::coverage(blueprint, deps, beside).await.map(Some),
        rest::KIND => Ok(None),
        _ => Err(unknown_kind(&blueprint.kind)),
    }
}

fn unknown_kind(kind: &str) -> BuildError {
    BuildError::UnknownKind { kind: kind.chars().take(64).collect() }
}

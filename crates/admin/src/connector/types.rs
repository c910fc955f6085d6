//! What there is to know of a type of connectors before one is made.

use model::Level;
use serde_json::Value;

/// A type of connectors.
#[derive(Debug, Clone, PartialEq)]
pub struct ConnectorType {
    /// Its name, such as `postgres`.
    pub name: &'static str,
    /// What people call it.
    pub title: &'static str,
    /// The kinds of credentials that its connectors log in with.
    pub credential_kinds: Vec<CredentialKind>,
    /// JSON Schema of its config.
    pub config_schema: Value,
    /// The evidence that calls of its tools can have.
    pub witness_levels: Vec<Level>,
}

/// A kind of credentials.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CredentialKind {
    /// Its name.
    pub kind: &'static str,
    /// Its fields.
    pub fields: Vec<CredentialField>,
}

/// A field of a credential.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CredentialField {
    /// Its name.
    pub name: &'static str,
    /// Whether the credential is none without it.
    pub required: bool,
    /// What it holds.
    pub description: &'static str,
}

//! Connectors: governed systems as an org keeps them.

use std::collections::BTreeMap;

use model::{
    ConnectorId, ConnectorName, Digest, Level, OrgId, SideEffect, TableGap, Timestamp, ToolName,
};
use serde::{Deserialize, Serialize};

/// Whether a connector runs calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConnectorStatus {
    /// It does.
    Enabled,
    /// It refuses them.
    Disabled,
}

/// What may be told of a credential.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CredentialSet {
    /// Its kind, one of those of the connector's type.
    pub kind: String,
    /// The end of a long value, by which people recognise it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// When it was set.
    pub at: Timestamp,
}

/// What an admin said of a tool beyond its definition, which it can make stricter and never laxer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolSettings {
    /// What it does to the world, where that is more than its definition says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub side_effect: Option<SideEffect>,
    /// The evidence that its calls need, where that is more than its definition asks for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub required_level: Option<Level>,
    /// Whether agents are not shown it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub hidden: bool,
}

/// That a connector's change log is to be read as evidence, and since when.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WitnessWish {
    /// When that was said.
    pub since: Timestamp,
    /// The tables that it was said for, each by its whole name, that of the leaf where it is
    /// partitioned.
    pub tables: Vec<String>,
    /// Those of them that the log did not tell whole then, and what was missing.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub lacking: BTreeMap<String, Vec<TableGap>>,
    /// The unbroken stretch of the log that has ended and behind which a new slot was asked for last.
    /// Once another stretch has begun it asks for nothing any more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub anew_behind: Option<u64>,
}

/// A governed system.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Connector {
    /// The connector's id.
    pub id: ConnectorId,
    /// The org that it belongs to.
    pub org: OrgId,
    /// Its name, the first part of its tools' names.
    pub name: ConnectorName,
    /// What people call it; empty where its name says enough.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub title: String,
    /// Its type, such as `postgres`.
    pub kind: String,
    /// Whether it runs test actions and no others.
    pub test: bool,
    /// Whether it runs calls.
    pub status: ConnectorStatus,
    /// Its config, without secrets.
    pub config: serde_json::Value,
    /// The credential's fields, each under the vault ring: field name to ciphertext in base64.
    pub credential: BTreeMap<String, String>,
    /// What may be told of the credential; absent where there is none, or where it was set before
    /// this was kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credential_set: Option<CredentialSet>,
    /// What its tools were accepted with, in the form of its type: enough to know them while the
    /// governed system is out of reach. Empty until they could be learnt.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tools: BTreeMap<ToolName, serde_json::Value>,
    /// Its tools as the governed system was last found to give them, where that is not as they were
    /// accepted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub found: Option<BTreeMap<ToolName, serde_json::Value>>,
    /// What an admin said of single tools beyond their definitions.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub settings: BTreeMap<ToolName, ToolSettings>,
    /// Of tools that changed, the accepted digest and the one that was last told to differ from it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub told: BTreeMap<ToolName, (Digest, Digest)>,
    /// That its change log is to be read; absent where it is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub witness: Option<WitnessWish>,
    /// Counts the changes of config, credential and tools.
    pub revision: u32,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it was archived; it is disabled since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub archived_at: Option<Timestamp>,
}

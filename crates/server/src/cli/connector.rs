//! What the verbs on connectors take.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::{ByReason, InOrg, ListForm};

/// What `connector` does.
#[derive(Debug, Subcommand)]
pub enum Connector {
    /// Create a connector from a configuration file.
    Create(CreateConnector),
    /// Set a connector's configuration from a file, and accept its tools as the governed system
    /// currently describes them.
    Update(UpdateConnector),
    /// Set a connector's credential; no value is ever shown again.
    Credential {
        /// Name or ID of the connector.
        connector: String,
        /// File with the credential's fields, in YAML or JSON.
        file: PathBuf,
        /// In which org.
        #[command(flatten)]
        org: InOrg,
    },
    /// Disable a connector: its calls are refused.
    Disable(NamedConnector),
    /// Enable a connector again, and accept its tools as the governed system currently describes
    /// them.
    Enable(NamedConnector),
    /// Archive a connector permanently and remove its credential. Its name cannot be used again.
    Archive(NamedConnector),
    /// List connectors, archived ones last.
    List(ListConnectors),
    /// Check the governed system: address, logins, privileges, and whether every tool is still the
    /// one that was accepted. Change nothing. Exit with 1 if a check fails.
    Check(CheckConnector),
    /// Print the script that prepares a database to be governed, or apply it.
    Setup(SetupConnector),
    /// Print the configuration of a `rest` connector, generated from an OpenAPI description.
    /// Operations that cannot be tools are listed with the reason.
    Convert(ConvertDescription),
}

/// What `connector create` takes.
#[derive(Debug, Args)]
pub struct CreateConnector {
    /// The file and what it describes.
    #[command(flatten)]
    pub described: Described,
    /// Allow only test actions.
    #[arg(long)]
    pub test: bool,
    /// In which org.
    #[command(flatten)]
    pub org: InOrg,
}

/// What `connector update` takes.
#[derive(Debug, Args)]
pub struct UpdateConnector {
    /// File with the connector's configuration, in YAML or JSON.
    pub file: PathBuf,
    /// Name or ID of the connector. The default is the file's name.
    #[arg(long)]
    pub name: Option<String>,
    /// File with the credential's fields, in YAML or JSON; required if the configuration names
    /// another server, user or certificate than before.
    #[arg(long, value_name = "FILE")]
    pub credential: Option<PathBuf>,
    /// In which org.
    #[command(flatten)]
    pub org: InOrg,
}

/// What switching a connector takes.
#[derive(Debug, Args)]
pub struct NamedConnector {
    /// Name or ID of the connector.
    pub connector: String,
    /// Why, and in which org.
    #[command(flatten)]
    pub by: ByReason,
}

/// What `connector list` takes.
#[derive(Debug, Args)]
pub struct ListConnectors {
    /// Of which org.
    #[command(flatten)]
    pub org: InOrg,
    /// In which form.
    #[command(flatten)]
    pub form: ListForm,
}

/// What `connector check` takes.
#[derive(Debug, Args)]
pub struct CheckConnector {
    /// Name or ID of the connector. The default is all connectors of the org.
    pub connector: Option<String>,
    /// Print what was found as JSON.
    #[arg(long)]
    pub json: bool,
    /// In which org.
    #[command(flatten)]
    pub org: InOrg,
}

/// What `connector setup` takes.
#[derive(Debug, Args)]
pub struct SetupConnector {
    /// The file and what it describes.
    #[command(flatten)]
    pub described: Described,
    /// Also prepare the database for reading its change log, as a role that may grant REPLICATION.
    #[arg(long)]
    pub witness: bool,
    /// Apply the script as this role instead of printing it. The role is the database's owner with
    /// CREATEROLE, or a superuser.
    #[arg(long, value_name = "USER", requires = "credential")]
    pub apply: Option<String>,
    /// File with the password of that role.
    #[arg(long, value_name = "FILE", requires = "apply")]
    pub password_file: Option<PathBuf>,
}

/// What `connector convert` takes.
#[derive(Debug, Args)]
pub struct ConvertDescription {
    /// OpenAPI description, version 3.0 or 3.1, in JSON or YAML.
    pub description: PathBuf,
    /// Operation to make a tool, by its `operationId` or as `GET /path`. The default is every
    /// operation that can be served.
    #[arg(long = "operation", value_name = "OPERATION")]
    pub operations: Vec<String>,
    /// Tag of the operations to make tools. Operations that cannot be served are listed.
    #[arg(long = "tag", value_name = "TAG")]
    pub tags: Vec<String>,
    /// Base URL of the API, if it is not the one in the description.
    #[arg(long, value_name = "URL")]
    pub base_url: Option<String>,
}

/// A connector's configuration file and the options that complete it.
#[derive(Debug, Args)]
pub struct Described {
    /// File with the connector's configuration, in YAML or JSON.
    pub file: PathBuf,
    /// Name of the connector, which is the first part of its tools' names. The default is the
    /// file's name.
    #[arg(long)]
    pub name: Option<String>,
    /// Type of the connector.
    #[arg(long, default_value = "postgres")]
    pub kind: String,
    /// File with the credential's fields, in YAML or JSON, such as `conn_password: …`.
    #[arg(long, value_name = "FILE")]
    pub credential: Option<PathBuf>,
}

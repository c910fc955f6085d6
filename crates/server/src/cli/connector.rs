//! What the verbs on connectors take.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::{ByReason, InOrg, ListForm};

/// What `connector` does.
#[derive(Debug, Subcommand)]
pub enum Connector {
    /// Make a connector from its file.
    Create(CreateConnector),
    /// Give a connector the config in a file, and accept its tools as the governed system gives them
    /// now.
    Update(UpdateConnector),
    /// Give a connector another credential; no value is ever shown again.
    Credential {
        /// The connector, by name or id.
        connector: String,
        /// The file with the credential's fields, in YAML or JSON.
        file: PathBuf,
        /// In which org.
        #[command(flatten)]
        org: InOrg,
    },
    /// Make a connector refuse calls.
    Disable(NamedConnector),
    /// Let a connector run calls again, and accept its tools as the governed system gives them now.
    Enable(NamedConnector),
    /// Disable a connector for good and remove its credential. Its name stays taken.
    Archive(NamedConnector),
    /// List connectors, those that are archived last.
    List(ListConnectors),
    /// Look at the governed system: address, log-ins, rights, and whether every tool is still the one
    /// that was accepted. Changes nothing. Ends in 1 when something is to be mended.
    Check(CheckConnector),
    /// Print the script that prepares a database for being governed, or apply it.
    Setup(SetupConnector),
    /// Print the file of a connector of the type `rest`, made of an API's OpenAPI description. What no
    /// tool can use is told with its reason.
    Convert(ConvertDescription),
}

/// What `connector create` takes.
#[derive(Debug, Args)]
pub struct CreateConnector {
    /// The file and what it describes.
    #[command(flatten)]
    pub described: Described,
    /// Let it run test actions and no others.
    #[arg(long)]
    pub test: bool,
    /// In which org.
    #[command(flatten)]
    pub org: InOrg,
}

/// What `connector update` takes.
#[derive(Debug, Args)]
pub struct UpdateConnector {
    /// The connector's config, in YAML or JSON.
    pub file: PathBuf,
    /// The connector, by name or id; the file's name by default.
    #[arg(long)]
    pub name: Option<String>,
    /// A file with the credential's fields, in YAML or JSON; it is needed where the config names another
    /// server, user or certificate than before.
    #[arg(long, value_name = "FILE")]
    pub credential: Option<PathBuf>,
    /// In which org.
    #[command(flatten)]
    pub org: InOrg,
}

/// What switching a connector takes.
#[derive(Debug, Args)]
pub struct NamedConnector {
    /// The connector, by name or id.
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
    /// The connector, by name or id; every one of the org without it.
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
    /// Prepare the database for reading its change log too, as a role that may give REPLICATION.
    #[arg(long)]
    pub witness: bool,
    /// Apply the script as this role instead of printing it: the database's owner with CREATEROLE, or
    /// a superuser.
    #[arg(long, value_name = "USER", requires = "credential")]
    pub apply: Option<String>,
    /// The file with that role's password.
    #[arg(long, value_name = "FILE", requires = "apply")]
    pub password_file: Option<PathBuf>,
}

/// What `connector convert` takes.
#[derive(Debug, Args)]
pub struct ConvertDescription {
    /// The description: OpenAPI 3.0 or 3.1, in JSON or YAML.
    pub description: PathBuf,
    /// An operation that is to be a tool, by its `operationId` or as `GET /path`; every one that can be
    /// served where none is named.
    #[arg(long = "operation", value_name = "OPERATION")]
    pub operations: Vec<String>,
    /// Where the API is, if not where the description says.
    #[arg(long, value_name = "URL")]
    pub base_url: Option<String>,
}

/// A connector's file and what stands beside it.
#[derive(Debug, Args)]
pub struct Described {
    /// The connector's config, in YAML or JSON.
    pub file: PathBuf,
    /// The connector's name, the first part of its tools' names; the file's name by default.
    #[arg(long)]
    pub name: Option<String>,
    /// The connector's type.
    #[arg(long, default_value = "postgres")]
    pub kind: String,
    /// A file with the credential's fields, in YAML or JSON, such as `conn_password: …`.
    #[arg(long, value_name = "FILE")]
    pub credential: Option<PathBuf>,
}

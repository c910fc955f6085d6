//! The verbs of `chancery` and what each takes. It parses; `verbs` does.

mod accounts;
mod archive;
mod connector;
mod deeds;
mod intent;
mod listen;
mod policy;
mod vault;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use model::OrgId;

pub use accounts::{
    Agent, AgentScope, Approvals, ByReason, CreateAgent, CreateKey, Expiry, Holder, Key,
    ListAgents, ListForm, ListKeys, OneAgent, Org, Owner, SetAgent, SetOrg, StopAgent, StopOrg,
    SuspendAgent,
};
pub use archive::{Archive, Archived};
pub use connector::{
    CheckConnector, Connector, ConvertDescription, CreateConnector, Described, ListConnectors,
    NamedConnector, SetupConnector, UpdateConnector,
};
pub use deeds::{Consistency, Diff, Keys, Log, RecoverLog, Verify};
pub use intent::Intent;
pub use listen::Listen;
pub use policy::{
    Activate, DiffPolicies, ExplainDecision, Format, LintPolicy, Policy, ReplayPolicy, TestPolicy,
};
pub use vault::Vault;

/// Gate between AI agents and the tools they call: it decides, runs, witnesses and seals calls.
#[derive(Debug, Parser)]
#[command(name = "chancery", version, arg_required_else_help = true)]
#[command(after_help = "Exit codes: 0 success, 1 problem found, 2 usage error, 3 undecidable, 4 \
                  malformed input, 5 internal error, 6 control database unavailable.")]
pub struct Cli {
    /// Path of the YAML settings file.
    #[arg(long, global = true, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// The command to run.
    #[command(subcommand)]
    pub verb: Verb,
    /// The commit that the program is built from, which is no word of the command line.
    #[arg(skip)]
    pub commit: Option<String>,
}

/// The command to run.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Serve the HTTP API until SIGTERM or Ctrl-C.
    Serve,
    /// Create a demo on a PostgreSQL cluster, send governed calls, and serve until Ctrl-C. Change
    /// nothing on the cluster that this command did not create.
    Up(Up),
    /// Run the whole demo in memory, without PostgreSQL or a network.
    Demo,
    /// Migrate the control database to the schema of this version.
    Migrate(Migrate),
    /// Verify deeds offline, with only the published keys.
    Verify(Verify),
    /// Print the content of a deed, without verifying it.
    Inspect {
        /// File with a deed in API form; `-` reads standard input.
        file: PathBuf,
    },
    /// Check that the log of one checkpoint grew from the log of another.
    Consistency(Consistency),
    /// Compare two histories, or two checkpoints, of the same log.
    Diff(Diff),
    /// Print deeds in a format that other tools accept, one per line.
    Export {
        /// A deed, deeds as JSON lines, or an evidence file; `-` reads standard input.
        file: PathBuf,
        /// Print DSSE envelopes.
        #[arg(long, required = true)]
        dsse: bool,
    },
    /// Check the record and everything that the service requires, and change nothing. Exit with 0
    /// if all checks pass, with 1 if a check fails, and with 2 if the checks could not run.
    Check(Check),
    /// Lint, test, compare, explain, replay and activate policies.
    #[command(subcommand)]
    Policy(Policy),
    /// Create seal keys, and activate, retire, revoke and list them.
    #[command(subcommand)]
    Keys(Keys),
    /// List logs of deeds, and open a new one after deeds were lost.
    #[command(subcommand)]
    Log(Log),
    /// Remove old checkpoints and move old deeds, as the role that owns the schema.
    #[command(subcommand)]
    Archive(Archive),
    /// Create, list, stop, start and configure orgs.
    #[command(subcommand)]
    Org(Org),
    /// Invite an owner to an org that has no members yet.
    #[command(subcommand)]
    Owner(Owner),
    /// Create, list, change, stop, start, suspend, resume and archive agents.
    #[command(subcommand)]
    Agent(Agent),
    /// Create a key with which an agent signs its calls, sign with it, and check a signer.
    #[command(subcommand)]
    Intent(Intent),
    /// Create, list and revoke API keys.
    #[command(subcommand)]
    Key(Key),
    /// Create, change, enable, disable, archive and list connectors, and check the systems that
    /// they govern.
    #[command(subcommand)]
    Connector(Connector),
    /// Re-encrypt secrets under the vault's keys.
    #[command(subcommand)]
    Vault(Vault),
    /// Print the events of an org as they occur, and optionally post them, signed, to a webhook
    /// receiver under development. The API key is read from the environment variable
    /// `SERVICE_API_KEY`.
    Listen(Listen),
    /// Print a completion script for a shell.
    Completions {
        /// Shell to complete for.
        shell: clap_complete::Shell,
    },
    /// Write the manual pages, one for each command.
    Man {
        /// Folder to write the pages to.
        #[arg(long, value_name = "DIR")]
        out: PathBuf,
    },
    /// Print a page of the generated documentation.
    #[command(hide = true)]
    InternalDocs {
        /// Page to print.
        page: Page,
    },
}

/// What `up` takes.
#[derive(Debug, Args)]
pub struct Up {
    /// Folder in which the demo's secrets and keys are stored.
    #[arg(long, value_name = "DIR")]
    pub data_dir: PathBuf,
    /// URL of a superuser on the cluster that the demo is created on. A process list shows this
    /// option; it does not show the environment variable `CHANCERY_POSTGRES_URL`.
    #[arg(long, value_name = "URL")]
    pub postgres_url: Option<String>,
    /// Drop the demo's databases, which `up` marked when it created them, and start over.
    #[arg(long)]
    pub fresh: bool,
    /// Port to serve on.
    #[arg(long, value_name = "N", default_value_t = 8080)]
    pub port: u16,
    /// Evidence for the writes of a new demo: `log` is the shop's change log, `report` is the
    /// tools' own reports. `log` requires a cluster with `wal_level = logical`, which retains that
    /// log while no service runs: set its `max_slot_wal_keep_size`.
    #[arg(long, value_name = "EVIDENCE", default_value = "log")]
    pub witness: ShopWitness,
}

/// Evidence for a demo's writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum ShopWitness {
    /// The shop's change log, at L2.
    Log,
    /// The tools' own reports, at L0.
    Report,
}

/// What `migrate` takes.
#[derive(Debug, Args)]
pub struct Migrate {
    /// Role that the service logs in as. The default is the role in `SERVICE_DATABASE_URL`.
    #[arg(long, value_name = "NAME")]
    pub role: Option<String>,
    /// After the migration, distribute the tables over the nodes of a Citus cluster, by org. The
    /// steps are printed first. Stop the service beforehand.
    #[arg(long)]
    pub distribute: bool,
}

/// What `check` takes.
#[derive(Debug, Clone, Copy, Args)]
pub struct Check {
    /// Print the findings as JSON.
    #[arg(long)]
    pub json: bool,
}

/// Selects an org.
#[derive(Debug, Clone, Copy, Args)]
pub struct InOrg {
    /// ID of the org; optional while there is only one org.
    #[arg(long, value_name = "ID")]
    pub org: Option<OrgId>,
}

impl From<OrgId> for InOrg {
    fn from(org: OrgId) -> Self {
        Self { org: Some(org) }
    }
}

/// A page of the generated documentation.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum Page {
    /// Every setting.
    Settings,
    /// Every closed list of words.
    Vocabulary,
    /// Every state machine.
    States,
    /// Every route and who may call it.
    Routes,
    /// Every error code.
    Errors,
    /// Every metric.
    Metrics,
}

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

/// The service between AI agents and the tools they call: it decides, runs, witnesses and seals.
#[derive(Debug, Parser)]
#[command(name = "chancery", version, arg_required_else_help = true)]
#[command(
    after_help = "Exit codes: 0 ok, 1 found bad, 2 usage, 3 undecidable, 4 malformed input, \
                  5 internal, 6 control database away."
)]
pub struct Cli {
    /// The YAML file with settings.
    #[arg(long, global = true, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// What to do.
    #[command(subcommand)]
    pub verb: Verb,
    /// The commit that the program is built from, which is no word of the command line.
    #[arg(skip)]
    pub commit: Option<String>,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Serve the HTTP interface until SIGTERM or Ctrl-C.
    Serve,
    /// Make a demo on a PostgreSQL cluster, send governed calls, and serve until Ctrl-C. Touches
    /// nothing there that it did not make.
    Up(Up),
    /// Tell the whole story in memory, without PostgreSQL or a network.
    Demo,
    /// Bring the control database to the schema of this version.
    Migrate(Migrate),
    /// Check deeds offline, knowing only published keys.
    Verify(Verify),
    /// Print what a deed says, without checking it.
    Inspect {
        /// A deed in API form; `-` reads standard input.
        file: PathBuf,
    },
    /// Show that the log of one checkpoint grew from that of another.
    Consistency(Consistency),
    /// Compare two histories, or two checkpoints, of one log.
    Diff(Diff),
    /// Print deeds in the form that other tools take, one a line.
    Export {
        /// A deed, lines of deeds, or a file of evidence; `-` reads standard input.
        file: PathBuf,
        /// As DSSE envelopes.
        #[arg(long, required = true)]
        dsse: bool,
    },
    /// Look at the record and at everything that the service needs, and change nothing. Ends in 0
    /// when all is well, in 1 when something is not, in 2 when it could not look.
    Check(Check),
    /// Work on policies.
    #[command(subcommand)]
    Policy(Policy),
    /// Make seal keys, and activate, retire, revoke and list them.
    #[command(subcommand)]
    Keys(Keys),
    /// List logs of deeds, and open a new one after deeds were lost.
    #[command(subcommand)]
    Log(Log),
    /// Thin what is kept of old times, as the role that owns the schema.
    #[command(subcommand)]
    Archive(Archive),
    /// Make, list, stop, start and set up orgs.
    #[command(subcommand)]
    Org(Org),
    /// Let a person into an org that nobody is in yet.
    #[command(subcommand)]
    Owner(Owner),
    /// Make, list, stop, start, suspend, resume and archive agents.
    #[command(subcommand)]
    Agent(Agent),
    /// Make the key of an agent that signs what it asks for, sign with it, and check a signer.
    #[command(subcommand)]
    Intent(Intent),
    /// Make, list and revoke API keys.
    #[command(subcommand)]
    Key(Key),
    /// Make, change, switch and list connectors, and look at what they govern.
    #[command(subcommand)]
    Connector(Connector),
    /// Work on what is encrypted under the vault's keys.
    #[command(subcommand)]
    Vault(Vault),
    /// Print what happens in an org as it happens, and post it, signed, to a receiver that is being
    /// written. The key is `SERVICE_API_KEY` of the environment.
    Listen(Listen),
    /// Print what makes a shell complete the verbs and what they take.
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
    /// Write the pages of the manual, one for each verb.
    Man {
        /// The folder to write them to.
        #[arg(long, value_name = "DIR")]
        out: PathBuf,
    },
    /// Print a page of the generated documentation.
    #[command(hide = true)]
    InternalDocs {
        /// Which page.
        page: Page,
    },
}

/// What `up` takes.
#[derive(Debug, Args)]
pub struct Up {
    /// Where secrets and keys of the demo are kept.
    #[arg(long, value_name = "DIR")]
    pub data_dir: PathBuf,
    /// A superuser's address of the cluster that the demo is made on. A list of processes shows
    /// it here, and not in the environment as `CHANCERY_POSTGRES_URL`.
    #[arg(long, value_name = "URL")]
    pub postgres_url: Option<String>,
    /// Drop the demo's databases, which `up` marked when it made them, and start over.
    #[arg(long)]
    pub fresh: bool,
    /// The port to serve at.
    #[arg(long, value_name = "N", default_value_t = 8080)]
    pub port: u16,
    /// What the writes of a demo that is made now are witnessed by: `log`, which is the shop's change
    /// log, or `report`, the tools' own reports. The first takes a cluster with `wal_level = logical`,
    /// which keeps that log while nothing serves: set its `max_slot_wal_keep_size`.
    #[arg(long, value_name = "EVIDENCE", default_value = "log")]
    pub witness: ShopWitness,
}

/// What a demo's writes are witnessed by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum ShopWitness {
    /// The shop's change log, at L2.
    Log,
    /// What the tools report, at L0.
    Report,
}

/// What `migrate` takes.
#[derive(Debug, Args)]
pub struct Migrate {
    /// The role that the service logs in as; the one in `SERVICE_DATABASE_URL` by default.
    #[arg(long, value_name = "NAME")]
    pub role: Option<String>,
    /// Then spread the tables over the nodes of a Citus cluster, by their org. What is to be done
    /// is printed first. Stop the service before.
    #[arg(long)]
    pub distribute: bool,
}

/// What `check` takes.
#[derive(Debug, Clone, Copy, Args)]
pub struct Check {
    /// Print what was found as JSON.
    #[arg(long)]
    pub json: bool,
}

/// Names an org.
#[derive(Debug, Clone, Copy, Args)]
pub struct InOrg {
    /// The org's id; not needed while there is only one.
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

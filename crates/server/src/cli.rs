//! The verbs of `chancery` and what each takes. It parses; `verbs` does.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

/// The service between AI agents and the tools they call: it decides, runs, witnesses and seals.
#[derive(Debug, Parser)]
#[command(name = "chancery", version, arg_required_else_help = true)]
#[command(
    after_help = "Exit codes: 0 ok, 1 found bad, 2 usage, 3 undecidable, 4 malformed input, \
                        5 internal."
)]
pub struct Cli {
    /// The YAML file with settings.
    #[arg(long, global = true, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// What to do.
    #[command(subcommand)]
    pub verb: Verb,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Tell the whole story in memory, without PostgreSQL or a network.
    Demo,
    /// Check deeds offline, knowing only published keys.
    Verify(Verify),
    /// Work on policy documents.
    #[command(subcommand)]
    Policy(Policy),
    /// Make seal keys.
    #[command(subcommand)]
    Keys(Keys),
    /// Print a page of the generated documentation.
    #[command(hide = true)]
    InternalDocs {
        /// Which page.
        page: Page,
    },
}

/// What `verify` takes.
#[derive(Debug, Args)]
pub struct Verify {
    /// A deed in API form, a bare DSSE envelope, or JSON lines of deeds; `-` reads standard input.
    pub file: PathBuf,
    /// The published keys, as `/.well-known/service/keys.json` has them.
    #[arg(long, value_name = "FILE")]
    pub keys: Option<PathBuf>,
    /// A checkpoint of the log that was kept from before.
    #[arg(long, value_name = "FILE")]
    pub known_checkpoint: Option<PathBuf>,
    /// How many deeds the log must have.
    #[arg(long, value_name = "N")]
    pub expected_size: Option<u64>,
    /// Print the report as JSON.
    #[arg(long)]
    pub json: bool,
}

/// What `policy` does.
#[derive(Debug, Subcommand)]
pub enum Policy {
    /// Say what is wrong with a policy document.
    Lint {
        /// The document, in YAML or JSON.
        file: PathBuf,
    },
}

/// What `keys` does.
#[derive(Debug, Subcommand)]
pub enum Keys {
    /// Make a new seal key file, for `SERVICE_SEAL_KEY_FILE`.
    New {
        /// Where to put it; the file must not be there yet.
        #[arg(long, value_name = "FILE")]
        out: PathBuf,
    },
}

/// A page of the generated documentation.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum Page {
    /// Every setting.
    Settings,
    /// Every closed list of words.
    Vocabulary,
}

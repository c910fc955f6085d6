//! What the verbs on deeds and on the keys that seal them take.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use deed::{LogOrigin, Thumbprint, Word};
use model::{OrgId, Timestamp};

/// What `verify` takes.
#[derive(Debug, Args)]
pub struct Verify {
    /// A deed in API form, a bare DSSE envelope, JSON lines of either, or a file of evidence; `-`
    /// reads standard input.
    #[arg(required_unless_present = "url")]
    pub file: Option<PathBuf>,
    /// Fetch an org's log from the service at this address and check it while it comes. The
    /// org's API key is read from `CHANCERY_API_KEY`.
    #[arg(long, value_name = "URL", conflicts_with = "file")]
    pub url: Option<String>,
    /// The file that has the API key instead.
    #[arg(long, value_name = "FILE", conflicts_with = "file")]
    pub key_file: Option<PathBuf>,
    /// Certificates of further authorities that the service's may be from, as PEM.
    #[arg(long, value_name = "FILE", conflicts_with = "file")]
    pub ca: Option<PathBuf>,
    /// A log that was closed, by its name; the open one by default.
    #[arg(long, value_name = "NAME", conflicts_with = "file")]
    pub log: Option<LogOrigin>,
    /// Where to keep the service's checkpoint of a log that holds, for the next time.
    #[arg(long, value_name = "FILE", conflicts_with = "file")]
    pub save_checkpoint: Option<PathBuf>,
    /// The published keys, as `/.well-known/service/keys.json` has them; with `--url` those
    /// that the service publishes now, unless others are given.
    #[arg(long, value_name = "FILE")]
    pub keys: Option<PathBuf>,
    /// A checkpoint of the log that was kept from before.
    #[arg(long, value_name = "FILE")]
    pub known_checkpoint: Option<PathBuf>,
    /// A file with archived deeds of the log, which are checked in the place of the lines that stand
    /// for them: lines of deeds, or the dump of a partition as `pg_dump` writes it by default. May be
    /// given several times.
    #[arg(long, value_name = "FILE")]
    pub archived: Vec<PathBuf>,
    /// How many deeds the log must have.
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = count)]
    pub expected_size: Option<u64>,
    /// Print a line for every deed of the file, and not only how many there are.
    #[arg(long, conflicts_with_all = ["url", "json"])]
    pub each: bool,
    /// Print the report as JSON.
    #[arg(long)]
    pub json: bool,
}

fn count(text: &str) -> Result<u64, &'static str> {
    text.parse().map_err(|_| "expected a number of deeds, from 0")
}

/// What `consistency` takes.
#[derive(Debug, Args)]
pub struct Consistency {
    /// The checkpoint that was kept.
    pub older: PathBuf,
    /// The checkpoint of now.
    pub newer: PathBuf,
    /// The published keys.
    #[arg(long, value_name = "FILE")]
    pub keys: PathBuf,
    /// The consistency proof: a JSON list of digests, or an object with it as `path`.
    #[arg(long, value_name = "FILE")]
    pub proof: Option<PathBuf>,
}

/// What `diff` takes.
#[derive(Debug, Args)]
pub struct Diff {
    /// Deeds, evidence or a checkpoint.
    pub left: PathBuf,
    /// The same of another source.
    pub right: PathBuf,
    /// The published keys.
    #[arg(long, value_name = "FILE")]
    pub keys: PathBuf,
}

/// What `log` does.
#[derive(Debug, Subcommand)]
pub enum Log {
    /// List the logs of every org, or of one: name, size, and whether it is open.
    List {
        /// Of this org only.
        #[arg(long, value_name = "ID")]
        org: Option<OrgId>,
    },
    /// Close an org's log that lacks deeds which were signed for, and open another that says so.
    Recover(RecoverLog),
}

/// What `log recover` takes.
#[derive(Debug, Args)]
pub struct RecoverLog {
    /// The org.
    #[arg(long, value_name = "ID")]
    pub org: OrgId,
    /// Why, for the record.
    #[arg(long)]
    pub reason: Option<String>,
    /// A checkpoint that somebody else kept, where this machine's own are gone or know less.
    #[arg(long, value_name = "FILE")]
    pub known_checkpoint: Option<PathBuf>,
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
    /// Register the keys of the seal key file that are not registered yet.
    Activate {
        /// Let them count at once instead of in ten minutes, because an older key was lost.
        #[arg(long)]
        at_once: bool,
        /// Register them although the file has none of the keys that the record was sealed by until
        /// now, because those are lost. They are published for good.
        #[arg(long)]
        adopt_keys: bool,
    },
    /// Let a key sign nothing new; what it signed stays valid.
    Retire {
        /// The key's id, which may begin with a hyphen.
        #[arg(allow_hyphen_values = true)]
        kid: Thumbprint,
        /// From when on, at least 15 seconds ahead; as soon as may be by default.
        #[arg(long, value_name = "TIME")]
        at: Option<Timestamp>,
    },
    /// Let a key count for nothing, not even for what it signed before.
    Revoke {
        /// The key's id, which may begin with a hyphen.
        #[arg(allow_hyphen_values = true)]
        kid: Thumbprint,
        /// Why, as a word such as `key_compromise`.
        #[arg(long, value_name = "WORD")]
        reason: Word,
        /// Since when somebody else may have had it.
        #[arg(long, value_name = "TIME")]
        compromised_since: Option<Timestamp>,
    },
    /// List every registered key.
    List,
}

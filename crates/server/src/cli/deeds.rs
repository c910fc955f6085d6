//! What the verbs on deeds and on the keys that seal them take.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use deed::{LogOrigin, Thumbprint, Word};
use model::{OrgId, Timestamp};

/// What `verify` takes.
#[derive(Debug, Args)]
pub struct Verify {
    /// A deed in API form, a DSSE envelope, JSON lines of either, or an evidence file; `-` reads
    /// standard input.
    #[arg(required_unless_present = "url")]
    pub file: Option<PathBuf>,
    /// Fetch an org's log from the service at this URL and verify it during the transfer. The org's
    /// API key is read from `CHANCERY_API_KEY`.
    #[arg(long, value_name = "URL", conflicts_with = "file")]
    pub url: Option<String>,
    /// File with the API key, instead of the environment variable.
    #[arg(long, value_name = "FILE", conflicts_with = "file")]
    pub key_file: Option<PathBuf>,
    /// PEM file with further certificate authorities that may issue the service's certificate.
    #[arg(long, value_name = "FILE", conflicts_with = "file")]
    pub ca: Option<PathBuf>,
    /// Name of a closed log to verify. The default is the open log.
    #[arg(long, value_name = "NAME", conflicts_with = "file")]
    pub log: Option<LogOrigin>,
    /// File to save the service's checkpoint of a valid log to, for the next verification.
    #[arg(long, value_name = "FILE", conflicts_with = "file")]
    pub save_checkpoint: Option<PathBuf>,
    /// File with the published keys, as in `/.well-known/service/keys.json`. With `--url` the
    /// default is the keys that the service currently publishes.
    #[arg(long, value_name = "FILE")]
    pub keys: Option<PathBuf>,
    /// File with a checkpoint of the log that was saved earlier.
    #[arg(long, value_name = "FILE")]
    pub known_checkpoint: Option<PathBuf>,
    /// File with archived deeds of the log, which are verified in place of the lines that represent
    /// them: deeds as JSON lines, or the dump of a partition as `pg_dump` writes it by default. Can
    /// be repeated.
    #[arg(long, value_name = "FILE")]
    pub archived: Vec<PathBuf>,
    /// Number of deeds that the log must have.
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = count)]
    pub expected_size: Option<u64>,
    /// Print a line for every deed of the file, and not only the number of deeds.
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
    /// File with the older checkpoint.
    pub older: PathBuf,
    /// File with the newer checkpoint.
    pub newer: PathBuf,
    /// File with the published keys.
    #[arg(long, value_name = "FILE")]
    pub keys: PathBuf,
    /// File with the consistency proof: a JSON list of digests, or an object with the list as
    /// `path`.
    #[arg(long, value_name = "FILE")]
    pub proof: Option<PathBuf>,
}

/// What `diff` takes.
#[derive(Debug, Args)]
pub struct Diff {
    /// File with deeds, evidence or a checkpoint.
    pub left: PathBuf,
    /// File of the same kind from another source.
    pub right: PathBuf,
    /// File with the published keys.
    #[arg(long, value_name = "FILE")]
    pub keys: PathBuf,
}

/// What `log` does.
#[derive(Debug, Subcommand)]
pub enum Log {
    /// List the logs of all orgs, or of one: name, size, and whether the log is open.
    List {
        /// List only the logs of this org.
        #[arg(long, value_name = "ID")]
        org: Option<OrgId>,
    },
    /// Close an org's log that lacks deeds that were signed for, and open a new log that records
    /// the loss.
    Recover(RecoverLog),
}

/// What `log recover` takes.
#[derive(Debug, Args)]
pub struct RecoverLog {
    /// ID of the org.
    #[arg(long, value_name = "ID")]
    pub org: OrgId,
    /// Reason, for the record.
    #[arg(long)]
    pub reason: Option<String>,
    /// File with a checkpoint that somebody else saved, if this machine's own are lost or older.
    #[arg(long, value_name = "FILE")]
    pub known_checkpoint: Option<PathBuf>,
}

/// What `keys` does.
#[derive(Debug, Subcommand)]
pub enum Keys {
    /// Create a seal key file for `SERVICE_SEAL_KEY_FILE`.
    New {
        /// Path of the new file; it must not exist yet.
        #[arg(long, value_name = "FILE")]
        out: PathBuf,
    },
    /// Register the keys in the seal key file that are not registered yet.
    Activate {
        /// Make the keys valid immediately instead of in ten minutes, because an older key was
        /// lost.
        #[arg(long)]
        at_once: bool,
        /// Register the keys even if the file has none of the keys that the record was sealed with
        /// so far, because those are lost. The new keys are published permanently.
        #[arg(long)]
        adopt_keys: bool,
    },
    /// Retire a key: it signs nothing new, and its existing signatures stay valid.
    Retire {
        /// ID of the key, which may begin with a hyphen.
        #[arg(allow_hyphen_values = true)]
        kid: Thumbprint,
        /// Time at which the key is retired, at least 15 seconds ahead. The default is as soon as
        /// possible.
        #[arg(long, value_name = "TIME")]
        at: Option<Timestamp>,
    },
    /// Revoke a key: none of its signatures is valid, including earlier ones.
    Revoke {
        /// ID of the key, which may begin with a hyphen.
        #[arg(allow_hyphen_values = true)]
        kid: Thumbprint,
        /// Reason, as a word such as `key_compromise`.
        #[arg(long, value_name = "WORD")]
        reason: Word,
        /// Time since which somebody else may have had the key.
        #[arg(long, value_name = "TIME")]
        compromised_since: Option<Timestamp>,
    },
    /// List all registered keys.
    List,
}

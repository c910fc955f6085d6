//! What `archive` takes.

use clap::{Args, Subcommand};
use model::{OrgId, Timestamp};

/// What `archive` does.
#[derive(Debug, Subcommand)]
pub enum Archive {
    /// Keep fewer checkpoints of old times: one an hour after a day, one a day after thirty days,
    /// and the first and the last of each log. Every proof stays possible.
    Checkpoints(Archived),
    /// Move old deeds, with their actions and events, to partitions that can be detached. Payloads
    /// must be gone by then, and the last 32 days stay.
    Past {
        /// Deeds that were sealed before this time.
        #[arg(long, value_name = "TIME")]
        before: Timestamp,
        /// What, and whether at all.
        #[command(flatten)]
        of: Archived,
    },
    /// List the partitions of the past, and whether they are attached.
    List,
}

/// What is archived.
#[derive(Debug, Clone, Copy, Args)]
pub struct Archived {
    /// Of this org only.
    #[arg(long, value_name = "ID")]
    pub org: Option<OrgId>,
    /// Only tell what would be done.
    #[arg(long)]
    pub dry_run: bool,
}

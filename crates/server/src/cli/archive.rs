//! What `archive` takes.

use clap::{Args, Subcommand};
use model::{OrgId, Timestamp};

/// What `archive` does.
#[derive(Debug, Subcommand)]
pub enum Archive {
    /// Remove old checkpoints: keep one per hour after a day, one per day after thirty days, and
    /// the first and the last of each log. Every proof remains possible.
    Checkpoints(Archived),
    /// Move old deeds, with their actions and events, to partitions that can be detached. Only
    /// deeds whose payloads have been removed are moved, and the last 32 days stay.
    Past {
        /// Move deeds that were sealed before this time.
        #[arg(long, value_name = "TIME")]
        before: Timestamp,
        /// Which org, and whether to change anything.
        #[command(flatten)]
        of: Archived,
    },
    /// List the partitions with old deeds, and whether they are attached.
    List,
}

/// What is archived.
#[derive(Debug, Clone, Copy, Args)]
pub struct Archived {
    /// Limit the command to this org.
    #[arg(long, value_name = "ID")]
    pub org: Option<OrgId>,
    /// Print what would be done, and change nothing.
    #[arg(long)]
    pub dry_run: bool,
}

//! What `archive` takes.

use clap::{Args, Subcommand};
use model::OrgId;

/// What `archive` does.
#[derive(Debug, Subcommand)]
pub enum Archive {
    /// Keep fewer checkpoints of old times: one an hour after a day, one a day after thirty days,
    /// and the first and the last of each log. Every proof stays possible.
    Checkpoints(Archived),
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

//! What `listen` takes.

use std::path::PathBuf;

use clap::Args;

/// What `listen` takes. A list of processes shows no key: it is read from the environment.
#[derive(Debug, Args)]
pub struct Listen {
    /// The service's address; the environment's `SERVICE_BASE_URL` without it.
    #[arg(long, value_name = "URL")]
    pub service: Option<String>,
    /// Whom to believe instead of the public authorities, as PEM.
    #[arg(long, value_name = "FILE")]
    pub ca: Option<PathBuf>,
    /// Post each event here, signed as webhooks are: an address of this machine such as
    /// `http://localhost:3000/hook`.
    #[arg(long, value_name = "URL")]
    pub forward: Option<String>,
    /// Post to another machine too.
    #[arg(long, requires = "forward")]
    pub to_another_machine: bool,
    /// Types and families, such as `action.*,deed.sealed`; everything without it.
    #[arg(long, value_name = "TYPES")]
    pub types: Option<String>,
    /// Print each event whole, as a line of JSON.
    #[arg(long)]
    pub json: bool,
}

//! What `listen` takes.

use std::path::PathBuf;

use clap::Args;

/// What `listen` takes. A list of processes shows no key: it is read from the environment.
#[derive(Debug, Args)]
pub struct Listen {
    /// URL of the service. The default is the environment variable `SERVICE_BASE_URL`.
    #[arg(long, value_name = "URL")]
    pub service: Option<String>,
    /// PEM file with the certificate authorities to trust instead of the public ones.
    #[arg(long, value_name = "FILE")]
    pub ca: Option<PathBuf>,
    /// URL to post each event to, signed like a webhook: a URL on this machine such as
    /// `http://localhost:3000/hook`.
    #[arg(long, value_name = "URL")]
    pub forward: Option<String>,
    /// Allow `--forward` to post to another machine.
    #[arg(long, requires = "forward")]
    pub to_another_machine: bool,
    /// Event types and families, such as `action.*,deed.sealed`. The default is all events.
    #[arg(long, value_name = "TYPES")]
    pub types: Option<String>,
    /// Print each complete event as a line of JSON.
    #[arg(long)]
    pub json: bool,
}

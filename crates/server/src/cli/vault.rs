//! What `vault` takes.

use clap::Subcommand;

/// Work on what is encrypted under the vault's keys.
#[derive(Debug, Clone, Copy, Subcommand)]
pub enum Vault {
    /// Encrypt every credential under the first key of `SERVICE_VAULT_KEY`. What is there already is
    /// left as it is, so this can be cut off and run again.
    Rotate,
}

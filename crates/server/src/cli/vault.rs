//! What `vault` takes.

use clap::Subcommand;

/// Re-encrypt secrets under the vault's keys.
#[derive(Debug, Clone, Copy, Subcommand)]
pub enum Vault {
    /// Re-encrypt every credential under the first key of `SERVICE_VAULT_KEY`. Credentials that are
    /// already under it are not changed, so this command can be interrupted and run again.
    Rotate,
}

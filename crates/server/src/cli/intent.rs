//! What the verbs on signed intents take.

use std::path::PathBuf;

use clap::Subcommand;
use model::AgentId;

/// What `intent` does.
#[derive(Debug, Subcommand)]
pub enum Intent {
    /// Create a key, and print the request body of `POST /v1/agents/{id}/intent_keys` that adds it:
    /// the public key, and the proof of possession of the private key.
    Keygen {
        /// ID of the agent that the key is for.
        #[arg(long, value_name = "ID")]
        agent: AgentId,
        /// Path of the new file with the private key; it must not exist yet.
        #[arg(long, value_name = "FILE")]
        out: PathBuf,
    },
    /// Print the intent of a call, as the value of the header `Service-Intent`.
    Sign {
        /// File with the call as JSON. The default is standard input.
        #[arg(default_value = "-")]
        call: PathBuf,
        /// File with the private key, if the call contains none.
        #[arg(long, value_name = "FILE")]
        key: Option<PathBuf>,
    },
    /// Give a signer every published call to sign, and compare its output byte for byte.
    Conform {
        /// Shell command that starts the signer. The signer reads one call as JSON from standard
        /// input, prints its intent, and exits with 0; if it refuses the call, it exits with
        /// another code.
        #[arg(long, value_name = "COMMAND")]
        cmd: String,
    },
}

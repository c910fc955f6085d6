//! What the verbs on signed intents take.

use std::path::PathBuf;

use clap::Subcommand;
use model::AgentId;

/// What `intent` does.
#[derive(Debug, Subcommand)]
pub enum Intent {
    /// Make a key, and print what `POST /v1/agents/{id}/intent_keys` takes to add it: the public
    /// half, and the proof that somebody has the private one.
    Keygen {
        /// The agent that the key shall be added to.
        #[arg(long, value_name = "ID")]
        agent: AgentId,
        /// Where to put the private half; the file must not be there yet.
        #[arg(long, value_name = "FILE")]
        out: PathBuf,
    },
    /// Print the intent of a call, as the header `Service-Intent` takes it.
    Sign {
        /// The call as JSON; standard input by default.
        #[arg(default_value = "-")]
        call: PathBuf,
        /// The file with the private key, where none stands in the call.
        #[arg(long, value_name = "FILE")]
        key: Option<PathBuf>,
    },
    /// Give a signer every published call to sign, and compare what it prints byte for byte.
    Conform {
        /// What starts the signer, for the shell: it reads one call as JSON from standard input,
        /// prints its intent, and ends in 0; a call that it refuses ends it in anything else.
        #[arg(long, value_name = "COMMAND")]
        cmd: String,
    },
}

//! What the verbs on orgs, agents and keys take.

use clap::{Args, Subcommand};
use model::KeyId;

use super::InOrg;

/// What `org` does.
#[derive(Debug, Subcommand)]
pub enum Org {
    /// Make an org with its log, its built-in agent and the starter policy.
    Create {
        /// Its name.
        name: String,
        /// The time zone that its days begin in, an IANA name.
        #[arg(long, default_value = "UTC")]
        time_zone: String,
    },
    /// List the orgs.
    List,
    /// Stop every agent of the org; nothing starts once this has answered.
    Stop(ByReason),
    /// Let the org's agents act again.
    Start(ByReason),
    /// Set how the org is run; payloads that a shorter time removes do not come back.
    Set {
        /// For how many days payloads are kept once their action is sealed, from 1 to 3650.
        #[arg(long, value_name = "DAYS", value_parser = clap::value_parser!(u16).range(1..=3650))]
        retention_days: u16,
        /// Which org.
        #[command(flatten)]
        org: InOrg,
    },
}

/// What a Stop or a start of an org takes.
#[derive(Debug, Args)]
pub struct ByReason {
    /// Why, for the record.
    #[arg(long)]
    pub reason: String,
    /// Which org.
    #[command(flatten)]
    pub org: InOrg,
}

/// What a Stop or a start of an agent takes.
#[derive(Debug, Args)]
pub struct OneAgent {
    /// The agent, by name or id.
    pub agent: String,
    /// Why, and in which org.
    #[command(flatten)]
    pub by: ByReason,
}

/// What `agent` does.
#[derive(Debug, Subcommand)]
pub enum Agent {
    /// Make an agent.
    Create {
        /// Its name, unique in the org.
        name: String,
        /// A fact about it that policies may ask for, as `name=value`; may be given again.
        #[arg(long, value_name = "NAME=VALUE", value_parser = label)]
        label: Vec<(String, String)>,
        /// In which org.
        #[command(flatten)]
        org: InOrg,
    },
    /// Stop an agent; nothing of it starts once this has answered.
    Stop(OneAgent),
    /// Let a stopped agent act again.
    Start(OneAgent),
}

/// What `key` does.
#[derive(Debug, Subcommand)]
pub enum Key {
    /// Make an API key and print its text, which is shown this once.
    Create(CreateKey),
    /// Revoke an API key for good.
    Revoke {
        /// The key's id.
        id: KeyId,
        /// In which org.
        #[command(flatten)]
        org: InOrg,
    },
}

/// What `key create` takes.
#[derive(Debug, Args)]
pub struct CreateKey {
    /// The agent that the key is for, by name or id; without it the key is the org's own, with
    /// the scope `admin`.
    #[arg(long)]
    pub agent: Option<String>,
    /// The key's name.
    #[arg(long, default_value = "operator")]
    pub name: String,
    /// Make a test key.
    #[arg(long)]
    pub test: bool,
    /// After how many days the key ends by itself.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=3650))]
    pub expires_in_days: Option<u16>,
    /// In which org.
    #[command(flatten)]
    pub org: InOrg,
}

fn label(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("expected `name=value`")?;
    Ok((name.to_owned(), value.to_owned()))
}

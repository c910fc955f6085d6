//! What the verbs on orgs, agents and keys take.

use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};
use ledger::record::AnswerTime;
use model::{AgentStatus, IntentMode, KeyId, MemberId, Mode, PendingApprovals, Scope, Timestamp};

use super::InOrg;

/// What `org` does.
#[derive(Debug, Subcommand)]
pub enum Org {
    /// Create an org with its log, its built-in agent and the starter policy.
    Create {
        /// Name of the org.
        name: String,
        /// IANA name of the time zone that the org's days begin in.
        #[arg(long, default_value = "UTC")]
        time_zone: String,
    },
    /// List all orgs.
    List(ListForm),
    /// Stop every agent of the org; no call starts after this command has returned.
    Stop(StopOrg),
    /// Start the org's agents again; agents that were stopped individually stay stopped.
    Start(ByReason),
    /// Change an org's settings; settings that are not given stay unchanged.
    Set(SetOrg),
}

/// What `org set` takes.
#[derive(Debug, Args)]
pub struct SetOrg {
    /// New name of the org; names of orgs are unique.
    #[arg(long)]
    pub name: Option<String>,
    /// IANA name of the time zone that the org's days begin in; daily budgets count again from the
    /// start in it.
    #[arg(long, value_name = "ZONE")]
    pub time_zone: Option<String>,
    /// Number of days that payloads are kept after their action is sealed, from 1 to 3650. Payloads
    /// that a shorter time removes cannot be restored.
    #[arg(long, value_name = "DAYS", value_parser = clap::value_parser!(u16).range(1..=3650))]
    pub retention_days: Option<u16>,
    /// Time in which an approval request must be decided if neither rule nor policy sets one, from
    /// `1m` to `168h`.
    #[arg(long, value_name = "TIME", conflicts_with = "no_approvals_expire_in")]
    pub approvals_expire_in: Option<AnswerTime>,
    /// Use the service's setting for the time in which an approval request must be decided.
    #[arg(long)]
    pub no_approvals_expire_in: bool,
    /// Whether nobody may approve a call that is made on their own behalf, even if a rule allows it.
    #[arg(long, value_name = "BOOL")]
    pub require_other_person: Option<bool>,
    /// Whether the only member may approve a request that a rule excludes them from.
    #[arg(long, value_name = "BOOL")]
    pub allow_single_member: Option<bool>,
    /// Whether a policy version becomes active only after a second person has confirmed it.
    #[arg(long, value_name = "BOOL")]
    pub policy_two_person: Option<bool>,
    /// Change the org only if it is at this revision.
    #[arg(long, value_name = "NUMBER")]
    pub expected_revision: Option<u32>,
    /// Which org.
    #[command(flatten)]
    pub org: InOrg,
}

/// What `owner` does.
#[derive(Debug, Subcommand)]
pub enum Owner {
    /// Invite a person to be an owner of the org, and print the link with which they join.
    Invite {
        /// E-mail address that the person signs in with.
        email: String,
        /// Which org.
        #[command(flatten)]
        org: InOrg,
    },
}

/// Outcome of pending approval requests at a Stop.
#[derive(Debug, Clone, Copy, Args)]
pub struct Approvals {
    /// Keep actions that wait for approval waiting. Without this option they end as denied and can
    /// no longer be approved.
    #[arg(long)]
    pub keep_approvals: bool,
}

impl Approvals {
    /// The value in the API's terms.
    pub fn waiting(self) -> PendingApprovals {
        if self.keep_approvals { PendingApprovals::Keep } else { PendingApprovals::Void }
    }
}

/// What a Stop of an org takes.
#[derive(Debug, Args)]
pub struct StopOrg {
    /// Outcome of pending approval requests.
    #[command(flatten)]
    pub approvals: Approvals,
    /// Why, and which org.
    #[command(flatten)]
    pub by: ByReason,
}

/// What a Stop of an agent takes.
#[derive(Debug, Args)]
pub struct StopAgent {
    /// Outcome of pending approval requests.
    #[command(flatten)]
    pub approvals: Approvals,
    /// Which agent, and why.
    #[command(flatten)]
    pub one: OneAgent,
}

/// What a suspension takes.
#[derive(Debug, Args)]
pub struct SuspendAgent {
    /// Time at which the suspension ends automatically: a timestamp such as `2027-03-31T18:00:00Z`,
    /// or a time from now such as `90d`, `12h` or `30m`.
    #[arg(long, value_name = "WHEN", value_parser = expiry)]
    pub until: Option<Expiry>,
    /// Which agent, and why.
    #[command(flatten)]
    pub one: OneAgent,
}

/// What a start of an org takes.
#[derive(Debug, Args)]
pub struct ByReason {
    /// Reason, for the record.
    #[arg(long)]
    pub reason: String,
    /// Which org.
    #[command(flatten)]
    pub org: InOrg,
}

/// Which agent is meant, and why.
#[derive(Debug, Args)]
pub struct OneAgent {
    /// Name or ID of the agent.
    pub agent: String,
    /// Why, and in which org.
    #[command(flatten)]
    pub by: ByReason,
}

/// What `agent` does.
#[derive(Debug, Subcommand)]
pub enum Agent {
    /// Create an agent.
    Create(CreateAgent),
    /// List the agents of an org.
    List(ListAgents),
    /// Change an agent; settings that are not given stay unchanged.
    Set(SetAgent),
    /// Stop an agent; none of its calls starts after this command has returned.
    Stop(StopAgent),
    /// Start a stopped agent again; a suspension stays in effect.
    Start(OneAgent),
    /// Suspend an agent: refuse its calls until a given time, or until it is resumed.
    Suspend(SuspendAgent),
    /// End an agent's suspension.
    Resume(OneAgent),
    /// Archive an agent permanently: its keys are revoked, and its name can be used again.
    Archive(OneAgent),
}

/// What `agent create` takes.
#[derive(Debug, Args)]
pub struct CreateAgent {
    /// Name of the agent, unique in the org.
    pub name: String,
    /// Label that policies can read, as `name=value`; can be repeated.
    #[arg(long, value_name = "NAME=VALUE", value_parser = label)]
    pub label: Vec<(String, String)>,
    /// Whether the agent's calls must be signed: `off`, `optional` or `required`.
    #[arg(long, value_name = "MODE", default_value = "off", value_parser = intent_mode)]
    pub intent_mode: IntentMode,
    /// Mode in which the agent's calls may run, `gateway` or `proxy`; can be repeated. The default
    /// is both.
    #[arg(long, value_name = "MODE", value_parser = mode)]
    pub mode: Vec<Mode>,
    /// ID of the member who is responsible for the agent.
    #[arg(long, value_name = "MEMBER")]
    pub owner: Option<MemberId>,
    /// Time at which the agent expires: a timestamp such as `2027-03-31T18:00:00Z`, or a time from
    /// now such as `90d`, `12h` or `30m`.
    #[arg(long, value_name = "WHEN", value_parser = expiry)]
    pub expires: Option<Expiry>,
    /// In which org.
    #[command(flatten)]
    pub org: InOrg,
}

/// What `agent set` takes.
#[derive(Debug, Args)]
pub struct SetAgent {
    /// Name or ID of the agent.
    pub agent: String,
    /// New name of the agent.
    #[arg(long)]
    pub name: Option<String>,
    /// Description of the agent's purpose.
    #[arg(long)]
    pub description: Option<String>,
    /// Label that policies can read, as `name=value`; can be repeated. The given labels replace all
    /// existing ones.
    #[arg(long, value_name = "NAME=VALUE", value_parser = label)]
    pub label: Vec<(String, String)>,
    /// Whether the agent's calls must be signed: `off`, `optional` or `required`.
    #[arg(long, value_name = "MODE", value_parser = intent_mode)]
    pub intent_mode: Option<IntentMode>,
    /// Mode in which the agent's calls may run, `gateway` or `proxy`; can be repeated.
    #[arg(long, value_name = "MODE", value_parser = mode)]
    pub mode: Vec<Mode>,
    /// ID of the member who is responsible for the agent.
    #[arg(long, value_name = "MEMBER", conflicts_with = "no_owner")]
    pub owner: Option<MemberId>,
    /// Remove the responsible member.
    #[arg(long)]
    pub no_owner: bool,
    /// Time at which the agent expires: a timestamp such as `2027-03-31T18:00:00Z`, or a time from
    /// now such as `90d`, `12h` or `30m`.
    #[arg(long, value_name = "WHEN", value_parser = expiry, conflicts_with = "no_expiry")]
    pub expires: Option<Expiry>,
    /// Remove the expiry time.
    #[arg(long)]
    pub no_expiry: bool,
    /// In which org.
    #[command(flatten)]
    pub org: InOrg,
}

/// What `key` does.
#[derive(Debug, Subcommand)]
pub enum Key {
    /// Create an API key and print it; it is shown only once.
    Create(CreateKey),
    /// List the API keys of an org, without the secret text.
    List(ListKeys),
    /// Revoke an API key permanently.
    Revoke {
        /// ID of the key.
        id: KeyId,
        /// In which org.
        #[command(flatten)]
        org: InOrg,
    },
    /// Adopt the pepper in the settings because the one that the record was written with is lost,
    /// or a wrong one was recorded. API keys, sessions and links made under another pepper become
    /// invalid.
    AdoptPepper,
}

/// How a list is printed: a table for people, unless it is asked for otherwise.
#[derive(Debug, Clone, Copy, Args)]
pub struct ListForm {
    /// Print one JSON document, `{"object": "list", "data": [...]}`.
    #[arg(long)]
    pub json: bool,
}

/// What `agent list` takes.
#[derive(Debug, Args)]
pub struct ListAgents {
    /// List only agents with this status: `active`, `suspended`, `stopped` or `archived`.
    #[arg(long, value_name = "STATUS", value_parser = agent_status)]
    pub status: Option<AgentStatus>,
    /// Of which org.
    #[command(flatten)]
    pub org: InOrg,
    /// In which form.
    #[command(flatten)]
    pub form: ListForm,
}

/// What `key list` takes.
#[derive(Debug, Args)]
pub struct ListKeys {
    /// List only the keys of this agent, by name or ID.
    #[arg(long, value_name = "NAME")]
    pub agent: Option<String>,
    /// Of which org.
    #[command(flatten)]
    pub org: InOrg,
    /// In which form.
    #[command(flatten)]
    pub form: ListForm,
}

/// What `key create` takes.
#[derive(Debug, Args)]
pub struct CreateKey {
    /// Whose it is.
    #[command(flatten)]
    pub holder: Holder,
    /// Scope of an agent's key; can be repeated. The default is both scopes.
    #[arg(long, conflicts_with_all = ["org_admin", "read_only"])]
    pub scope: Vec<AgentScope>,
    /// Name of the key.
    #[arg(long, default_value = "operator")]
    pub name: String,
    /// Create a test key.
    #[arg(long)]
    pub test: bool,
    /// Time at which the key expires: a timestamp such as `2027-03-31T18:00:00Z`, or a time from
    /// now such as `90d`, `12h` or `30m`. A key of the org itself expires within a year.
    #[arg(long, value_name = "WHEN", value_parser = expiry)]
    pub expires: Option<Expiry>,
    /// In which org.
    #[command(flatten)]
    pub org: InOrg,
}

/// Holder of the new key; exactly one of these is required.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub struct Holder {
    /// Name or ID of the agent that the key is for.
    #[arg(long, value_name = "NAME")]
    pub agent: Option<String>,
    /// Create a key of the org itself, which reads and changes everything in it (`admin`).
    #[arg(long)]
    pub org_admin: bool,
    /// Create a key of the org itself, which reads everything that its admins can read and changes
    /// nothing (`admin:read`).
    #[arg(long)]
    pub read_only: bool,
}

/// Scope of an agent's key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum AgentScope {
    /// Read the agent's actions and deeds.
    #[value(name = "actions:read")]
    Read,
    /// Send and report actions.
    #[value(name = "actions:execute")]
    Execute,
}

impl AgentScope {
    /// The scope in the API's terms.
    pub fn scope(self) -> Scope {
        match self {
            Self::Read => Scope::ActionsRead,
            Self::Execute => Scope::ActionsExecute,
        }
    }
}

/// Time at which a key expires.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expiry {
    /// At this moment.
    At(Timestamp),
    /// This long after it was made.
    After(Duration),
}

impl Expiry {
    /// The moment, for a key that is made now.
    pub fn from(self, now: Timestamp) -> Timestamp {
        match self {
            Self::At(moment) => moment,
            Self::After(span) => now + span,
        }
    }
}

fn label(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("expected `name=value`")?;
    Ok((name.to_owned(), value.to_owned()))
}

fn agent_status(text: &str) -> Result<AgentStatus, String> {
    text.parse().map_err(|_| "expected `active`, `suspended`, `stopped` or `archived`".to_owned())
}

fn intent_mode(text: &str) -> Result<IntentMode, String> {
    text.parse().map_err(|_| "expected `off`, `optional` or `required`".to_owned())
}

fn mode(text: &str) -> Result<Mode, String> {
    text.parse().map_err(|_| "expected `gateway` or `proxy`".to_owned())
}

/// The longest time from now that a key may be given: a hundred years.
const LONGEST_DAYS: u64 = 36_500;

fn expiry(text: &str) -> Result<Expiry, String> {
    if let Ok(moment) = Timestamp::parse_rfc3339(text) {
        return Ok(Expiry::At(moment));
    }
    let seconds = text.char_indices().last().and_then(|(at, unit)| {
        let factor = match unit {
            'd' => 86_400,
            'h' => 3_600,
            'm' => 60,
            _ => return None,
        };
        text.get(..at)?.parse::<u64>().ok()?.checked_mul(factor)
    });
    seconds
        .filter(|seconds| (1..=LONGEST_DAYS * 86_400).contains(seconds))
        .map(|seconds| Expiry::After(Duration::from_secs(seconds)))
        .ok_or_else(|| {
            "expected a moment such as `2027-03-31T18:00:00Z`, or a time from now such as `90d`, \
             `12h` or `30m`"
                .to_owned()
        })
}

//! What the verbs on orgs, agents and keys take.

use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};
use ledger::record::AnswerTime;
use model::{AgentStatus, IntentMode, KeyId, MemberId, Mode, PendingApprovals, Scope, Timestamp};

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
    List(ListForm),
    /// Stop every agent of the org; nothing starts once this has answered.
    Stop(StopOrg),
    /// Let the org's agents act again; those that were stopped one by one stay stopped.
    Start(ByReason),
    /// Set how the org is run; what is not named stays as it is.
    Set(SetOrg),
}

/// What `org set` takes.
#[derive(Debug, Args)]
pub struct SetOrg {
    /// What it is called from now on; no two orgs have one name.
    #[arg(long)]
    pub name: Option<String>,
    /// The time zone that its days begin in, an IANA name; budgets of days count anew in it.
    #[arg(long, value_name = "ZONE")]
    pub time_zone: Option<String>,
    /// For how many days payloads are kept once their action is sealed, from 1 to 3650. What a shorter
    /// time removes does not come back.
    #[arg(long, value_name = "DAYS", value_parser = clap::value_parser!(u16).range(1..=3650))]
    pub retention_days: Option<u16>,
    /// How long people have to answer when neither rule nor policy says, from `1m` to `168h`.
    #[arg(long, value_name = "TIME", conflicts_with = "no_approvals_expire_in")]
    pub approvals_expire_in: Option<AnswerTime>,
    /// Let the service's setting say how long people have.
    #[arg(long)]
    pub no_approvals_expire_in: bool,
    /// Whether nobody says yes on their own behalf, whatever a rule lets them.
    #[arg(long, value_name = "BOOL")]
    pub require_other_person: Option<bool>,
    /// Whether the only member may say yes to what a rule excludes them from.
    #[arg(long, value_name = "BOOL")]
    pub allow_single_member: Option<bool>,
    /// Whether a policy version becomes active only once a second person confirmed it.
    #[arg(long, value_name = "BOOL")]
    pub policy_two_person: Option<bool>,
    /// Change nothing unless the org is at this revision.
    #[arg(long, value_name = "NUMBER")]
    pub expected_revision: Option<u32>,
    /// Which org.
    #[command(flatten)]
    pub org: InOrg,
}

/// What `owner` does.
#[derive(Debug, Subcommand)]
pub enum Owner {
    /// Ask somebody to be an owner of the org, and print the link by which they join.
    Invite {
        /// Their e-mail address; they sign in by it.
        email: String,
        /// Which org.
        #[command(flatten)]
        org: InOrg,
    },
}

/// What becomes of approvals at a Stop.
#[derive(Debug, Clone, Copy, Args)]
pub struct Approvals {
    /// Let actions that wait for approval go on waiting. Without this they end as denied, and nobody
    /// can approve them any more.
    #[arg(long)]
    pub keep_approvals: bool,
}

impl Approvals {
    /// The wish in the words of the interface.
    pub fn waiting(self) -> PendingApprovals {
        if self.keep_approvals { PendingApprovals::Keep } else { PendingApprovals::Void }
    }
}

/// What a Stop of an org takes.
#[derive(Debug, Args)]
pub struct StopOrg {
    /// What becomes of approvals.
    #[command(flatten)]
    pub approvals: Approvals,
    /// Why, and which org.
    #[command(flatten)]
    pub by: ByReason,
}

/// What a Stop of an agent takes.
#[derive(Debug, Args)]
pub struct StopAgent {
    /// What becomes of approvals.
    #[command(flatten)]
    pub approvals: Approvals,
    /// Which agent, and why.
    #[command(flatten)]
    pub one: OneAgent,
}

/// What a suspension takes.
#[derive(Debug, Args)]
pub struct SuspendAgent {
    /// When it ends by itself: a moment such as `2027-03-31T18:00:00Z`, or a time from now such as
    /// `90d`, `12h` or `30m`.
    #[arg(long, value_name = "WHEN", value_parser = expiry)]
    pub until: Option<Expiry>,
    /// Which agent, and why.
    #[command(flatten)]
    pub one: OneAgent,
}

/// What a start of an org takes.
#[derive(Debug, Args)]
pub struct ByReason {
    /// Why, for the record.
    #[arg(long)]
    pub reason: String,
    /// Which org.
    #[command(flatten)]
    pub org: InOrg,
}

/// Which agent is meant, and why.
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
    Create(CreateAgent),
    /// List the agents of an org.
    List(ListAgents),
    /// Change an agent; what is not named stays as it is.
    Set(SetAgent),
    /// Stop an agent; nothing of it starts once this has answered.
    Stop(StopAgent),
    /// Let a stopped agent act again; a suspension stays.
    Start(OneAgent),
    /// Refuse an agent's calls for a time, or until it is resumed.
    Suspend(SuspendAgent),
    /// Lift an agent's suspension.
    Resume(OneAgent),
    /// Archive an agent for good: its keys are revoked, and its name is free again.
    Archive(OneAgent),
}

/// What `agent create` takes.
#[derive(Debug, Args)]
pub struct CreateAgent {
    /// Its name, unique in the org.
    pub name: String,
    /// A fact about it that policies may ask for, as `name=value`; may be given again.
    #[arg(long, value_name = "NAME=VALUE", value_parser = label)]
    pub label: Vec<(String, String)>,
    /// Whether its calls must be signed: `off`, `optional` or `required`.
    #[arg(long, value_name = "MODE", default_value = "off", value_parser = intent_mode)]
    pub intent_mode: IntentMode,
    /// How its calls may be run, `gateway` or `proxy`; both unless it is given, and may be given again.
    #[arg(long, value_name = "MODE", value_parser = mode)]
    pub mode: Vec<Mode>,
    /// The member who answers for it, by id.
    #[arg(long, value_name = "MEMBER")]
    pub owner: Option<MemberId>,
    /// When its time is over: a moment such as `2027-03-31T18:00:00Z`, or a time from now such as
    /// `90d`, `12h` or `30m`.
    #[arg(long, value_name = "WHEN", value_parser = expiry)]
    pub expires: Option<Expiry>,
    /// In which org.
    #[command(flatten)]
    pub org: InOrg,
}

/// What `agent set` takes.
#[derive(Debug, Args)]
pub struct SetAgent {
    /// The agent, by name or id.
    pub agent: String,
    /// What it is called from now on.
    #[arg(long)]
    pub name: Option<String>,
    /// What it is for.
    #[arg(long)]
    pub description: Option<String>,
    /// A fact about it that policies may ask for, as `name=value`; may be given again. Those given take
    /// the place of all that it had.
    #[arg(long, value_name = "NAME=VALUE", value_parser = label)]
    pub label: Vec<(String, String)>,
    /// Whether its calls must be signed: `off`, `optional` or `required`.
    #[arg(long, value_name = "MODE", value_parser = intent_mode)]
    pub intent_mode: Option<IntentMode>,
    /// How its calls may be run, `gateway` or `proxy`; may be given again.
    #[arg(long, value_name = "MODE", value_parser = mode)]
    pub mode: Vec<Mode>,
    /// The member who answers for it, by id.
    #[arg(long, value_name = "MEMBER", conflicts_with = "no_owner")]
    pub owner: Option<MemberId>,
    /// Nobody answers for it any more.
    #[arg(long)]
    pub no_owner: bool,
    /// When its time is over: a moment such as `2027-03-31T18:00:00Z`, or a time from now such as
    /// `90d`, `12h` or `30m`.
    #[arg(long, value_name = "WHEN", value_parser = expiry, conflicts_with = "no_expiry")]
    pub expires: Option<Expiry>,
    /// Its time does not end.
    #[arg(long)]
    pub no_expiry: bool,
    /// In which org.
    #[command(flatten)]
    pub org: InOrg,
}

/// What `key` does.
#[derive(Debug, Subcommand)]
pub enum Key {
    /// Make an API key and print its text, which is shown this once.
    Create(CreateKey),
    /// List the API keys of an org, without their text.
    List(ListKeys),
    /// Revoke an API key for good.
    Revoke {
        /// The key's id.
        id: KeyId,
        /// In which org.
        #[command(flatten)]
        org: InOrg,
    },
    /// Go on with the pepper of the settings because the one that the record was written with is
    /// lost, or a wrong one was noted. API keys, sessions and links under another are invalid
    /// afterwards.
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
    /// Those that stand so alone: `active`, `suspended`, `stopped` or `archived`.
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
    /// Those of this agent alone, by name or id.
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
    /// What an agent's key may do, both by default; may be given again.
    #[arg(long, conflicts_with_all = ["org_admin", "read_only"])]
    pub scope: Vec<AgentScope>,
    /// The key's name.
    #[arg(long, default_value = "operator")]
    pub name: String,
    /// Make a test key.
    #[arg(long)]
    pub test: bool,
    /// When the key ends by itself: a moment such as `2027-03-31T18:00:00Z`, or a time from now
    /// such as `90d`, `12h` or `30m`. A key of the org's own ends within a year.
    #[arg(long, value_name = "WHEN", value_parser = expiry)]
    pub expires: Option<Expiry>,
    /// In which org.
    #[command(flatten)]
    pub org: InOrg,
}

/// Whose key is made; one of these must be said.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub struct Holder {
    /// The agent that the key is for, by name or id.
    #[arg(long, value_name = "NAME")]
    pub agent: Option<String>,
    /// The org itself: the key reads and changes everything of it (`admin`).
    #[arg(long)]
    pub org_admin: bool,
    /// The org itself: the key reads whatever its admins read, and changes nothing (`admin:read`).
    #[arg(long)]
    pub read_only: bool,
}

/// What an agent's key may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum AgentScope {
    /// Read its actions and deeds.
    #[value(name = "actions:read")]
    Read,
    /// Send and report actions.
    #[value(name = "actions:execute")]
    Execute,
}

impl AgentScope {
    /// The scope in the words of the interface.
    pub fn scope(self) -> Scope {
        match self {
            Self::Read => Scope::ActionsRead,
            Self::Execute => Scope::ActionsExecute,
        }
    }
}

/// When a key ends by itself.
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

//! Every setting in one table: its name, what is accepted, the default and the effect.
//!
//! The reader, the refusals and `docs/settings.md` are all made from these rows. A name that
//! starts with `SERVICE_` is read from the environment too; the others stand in the file alone.

use super::span::{self, HOUR, MINUTE, SECOND};

/// One setting.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Row {
    /// Its name; a part in angle brackets stands for any name.
    pub name: &'static str,
    /// What is accepted.
    pub accepts: Accepts,
    /// What holds when nobody says anything.
    pub default: Option<&'static str>,
    /// Who may see it, and where it may be used.
    pub care: Care,
    /// Whether this version does anything about it.
    pub stage: Stage,
    /// What it does.
    pub effect: &'static str,
}

/// What a setting accepts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Accepts {
    /// A duration of so many milliseconds.
    Span(u64, u64),
    /// A whole number.
    Number(u64, u64),
    /// `true` or `false`.
    Switch,
    /// One of these words.
    Word(&'static [&'static str]),
    /// A list of these words.
    Words(&'static [&'static str]),
    /// A host and a port.
    HostPort,
    /// The address of a web server, without a path.
    Origin,
    /// A comma list of such addresses, or a list.
    Origins,
    /// The address of an MCP server.
    Upstream,
    /// A PostgreSQL address.
    Database,
    /// A path of a file.
    Path,
    /// One to four base64 keys of 32 bytes.
    VaultRing,
    /// Base64 of at least 32 bytes.
    Pepper,
    /// An e-mail address.
    Mailbox,
    /// A comma list of networks, or a list.
    Networks,
    /// The name of an environment variable.
    Variable,
}

/// Whether a setting has an effect yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// It has.
    Now,
    /// It is read and checked, and belongs to something that this version does not do.
    Later,
}

/// How carefully a setting is handled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Care {
    /// Anyone may see it.
    Plain,
    /// Never shown; in prod never from the file.
    Secret,
    /// Used in dev alone; prod refuses it.
    DevOnly,
}

impl Accepts {
    /// Returns what is accepted, as it follows `expected`.
    pub(super) fn expected(self) -> String {
        let text = match self {
            Self::Span(least, most) => {
                let (least, most) = (span::print(least), span::print(most));
                return format!("a duration from `{least}` to `{most}`, such as `{most}`");
            }
            Self::Number(least, most) => {
                return format!("a whole number from {least} to {most}");
            }
            Self::Word(words) => return format!("one of {}", quoted(words)),
            Self::Words(words) => return format!("a list of {}", quoted(words)),
            Self::Switch => "`true` or `false`",
            Self::HostPort => "a host and a port, such as `127.0.0.1:8080`",
            Self::Origin => "an address such as `https://chancery.example`, without a path",
            Self::Origins => "a list of addresses such as `https://chancery.example`",
            Self::Upstream => "an address such as `https://mcp.example/mcp`, without a user name",
            Self::Database => {
                "a PostgreSQL address such as `postgres://user:password@host:5432/database`"
            }
            Self::Path => "the path of a file",
            Self::VaultRing => "1 to 4 base64 keys of exactly 32 bytes, separated by commas",
            Self::Pepper => "base64 of at least 32 bytes",
            Self::Mailbox => "an e-mail address such as `chancery@example.com`",
            Self::Networks => "a list of networks such as `10.1.0.0/16, 192.168.7.9/32`",
            Self::Variable => "the name of an environment variable",
        };
        text.to_owned()
    }

    /// Returns whether a refused value may stand in a message: never a secret, and no address
    /// either, since people put passwords into addresses.
    pub(super) fn shows_refused_value(self) -> bool {
        match self {
            Self::Span(..) | Self::Number(..) | Self::Switch | Self::Word(_) => true,
            Self::Words(_)
            | Self::HostPort
            | Self::Origin
            | Self::Origins
            | Self::Upstream
            | Self::Database
            | Self::Path
            | Self::VaultRing
            | Self::Pepper
            | Self::Mailbox
            | Self::Networks
            | Self::Variable => false,
        }
    }
}

fn quoted(words: &[&str]) -> String {
    words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
}

impl Row {
    const fn secret(self) -> Self {
        Self { care: Care::Secret, ..self }
    }

    const fn later(self) -> Self {
        Self { stage: Stage::Later, ..self }
    }

    const fn dev_only(self) -> Self {
        Self { care: Care::DevOnly, ..self }
    }

    /// Returns the keys under which the file may hold it: `SERVICE_LISTEN` is `server.listen`.
    pub(super) fn file_path(&self) -> Vec<String> {
        match self.name.strip_prefix("SERVICE_") {
            Some(name) => vec!["server".to_owned(), name.to_ascii_lowercase()],
            None => self.name.split('.').map(str::to_owned).collect(),
        }
    }
}

const fn row(
    name: &'static str,
    accepts: Accepts,
    default: &'static str,
    effect: &'static str,
) -> Row {
    Row { name, accepts, default: Some(default), care: Care::Plain, stage: Stage::Now, effect }
}

const fn unset(name: &'static str, accepts: Accepts, effect: &'static str) -> Row {
    Row { name, accepts, default: None, care: Care::Plain, stage: Stage::Now, effect }
}

use Accepts::{
    Database, HostPort, Mailbox, Networks, Number, Origin, Origins, Path, Pepper, Span, Switch,
    Upstream, Variable, VaultRing, Word, Words,
};

/// The words of `SERVICE_ENV`.
pub(super) const ENVIRONMENTS: &[&str] = &["dev", "prod"];
/// The words of `SERVICE_LOG_LEVEL`.
pub(super) const LOG_LEVELS: &[&str] = &["error", "warn", "info", "debug", "trace"];
/// The words of `SERVICE_SIGNUP`.
pub(super) const SIGNUPS: &[&str] = &["invite", "closed"];
/// The words of `mcp.passthrough`.
pub(super) const PASSTHROUGHS: &[&str] = &["resources", "prompts", "completion"];

/// The settings of the process: environment, `.env` in dev, the file's section `server`.
#[rustfmt::skip]
pub(super) const SERVER: &[Row] = &[
    row(  "SERVICE_ENV",                   Word(ENVIRONMENTS),       "dev",                   "Where this instance stands. `prod` ignores `.env` and refuses unsafe settings."),
    unset("SERVICE_DATABASE_URL",          Database,                                          "The control database. In prod a remote one needs `sslmode=require` or `sslmode=verify-full`.").secret(),
    unset("SERVICE_MIGRATE_DATABASE_URL",  Database,                                          "The control database as the role that owns the schema; only `chancery migrate` uses it.").secret(),
    row(  "SERVICE_LISTEN",                HostPort,                 "127.0.0.1:8080",        "Where the service listens."),
    row(  "SERVICE_BASE_URL",              Origin,                   "http://127.0.0.1:8080", "The address that callers see; every `doc_url` begins with it. In prod it is https."),
    unset("SERVICE_SEAL_KEY_FILE",         Path,                                              "The PEM file with the keys that seal deeds and sign checkpoints."),
    unset("SERVICE_VAULT_KEY",             VaultRing,                                         "The keys that encrypt connector credentials; the first one encrypts, all of them decrypt.").secret(),
    unset("SERVICE_API_KEY_PEPPER",        Pepper,                                            "Mixed into the hash of every API key; a new pepper invalidates all of them.").secret(),
    row(  "SERVICE_LOG_LEVEL",             Word(LOG_LEVELS),         "info",                  "The least important event that is logged."),
    row(  "SERVICE_SIGNUP",                Word(SIGNUPS),            "invite",                "Who may become a member: people with an invitation, or nobody.").later(),
    unset("SERVICE_MAIL_FROM",             Mailbox,                                           "The sender of sign-in and invitation mails.").later(),
    unset("SERVICE_TRUSTED_PROXIES",       Networks,                                          "The proxies whose `X-Forwarded-For` is believed."),
    row(  "SERVICE_ALLOW_PRIVATE_NETWORKS", Switch,                  "false",                 "Lets connectors reach private and loopback addresses.").dev_only(),
    unset("SERVICE_EGRESS_ALLOW_CIDRS",    Networks,                                          "Private networks that connectors may reach, in prod too. Cloud metadata, reserved, IPv4-embedding and loopback ranges stay closed."),
    unset("SERVICE_METRICS_LISTEN",        HostPort,                                          "Where `/metrics` is served, to whoever can reach it; off when unset."),
    row(  "SERVICE_SLOT_LAG_ALERT_MB",     Number(1, 1_048_576),     "512",                   "Megabytes of WAL that a replication slot may hold back before an alert.").later(),
    row(  "SERVICE_DECODER_PAUSE",         Switch,                   "false",                 "Holds the change decoder still.").dev_only().later(),
];

/// The settings that only the file holds.
#[rustfmt::skip]
pub(super) const FILE: &[Row] = &[
    row("gate.wait_timeout",             Span(0, 25 * SECOND),              "10s",    "How long a call in gateway mode waits for its result before it is answered `processing`."),
    row("gate.execute_timeout",          Span(100, 10 * MINUTE),            "30s",    "How long a tool may run; past it the outcome is unknown and the verdict `UNVERIFIABLE`."),
    row("gate.edge_result_timeout",      Span(SECOND, 24 * HOUR),           "10m",    "How long an edge has to report; past it the deed says `edge_lost`."),
    row("gate.max_args_bytes",           Number(1024, 262_144),             "262144", "The largest `args`, in canonical form."),
    row("gate.max_result_bytes",         Number(1024, 1_048_576),           "262144", "The largest result that is stored; of a larger one only the digest is kept."),
    row("gate.worker.concurrency",       Number(1, 64),                     "4",      "Witness jobs that one instance runs at once.").later(),
    row("gate.worker.max_attempts",      Number(1, 100),                    "8",      "Attempts of a witness job before the witness decides without it (`witness_gave_up`).").later(),
    row("witness.inline_budget",         Span(100, 5 * SECOND),             "1500ms", "How long a read-back may hold the answer; past it the caller sees `processing`.").later(),
    row("witness.readback_timeout",      Span(100, MINUTE),                 "10s",    "How long one read-back may take; past it the gap is `readback_timeout`.").later(),
    row("witness.max_detail_bytes",      Number(4096, 262_144),             "65536",  "The largest witness detail, in canonical form.").later(),
    row("decoder.enabled",               Switch,                            "true",   "Runs the change decoder for connectors that ask for it.").later(),
    row("decoder.transport",             Word(&["peek"]),                   "peek",   "How a replication slot is read.").later(),
    row("decoder.poll_active",           Span(10, SECOND),                  "100ms",  "Time between reads while an action waits for evidence of the change log.").later(),
    row("decoder.poll_idle",             Span(100, 10 * SECOND),            "1s",     "Time between reads otherwise; it grows to 5s while reads are slow.").later(),
    row("decoder.batch_changes",         Number(100, 100_000),              "5000",   "Row changes asked for in one read.").later(),
    row("decoder.max_images_per_tx",     Number(0, 10_000),                 "1000",   "Row changes of one transaction whose images are kept.").later(),
    row("decoder.heartbeat_interval",    Span(SECOND, MINUTE),              "10s",    "Time between heartbeats.").later(),
    row("decoder.heartbeat_deadline",    Span(5 * SECOND, 10 * MINUTE),     "60s",    "Silence after which the decoder counts as stalled.").later(),
    row("decoder.lease",                 Span(5 * SECOND, 2 * MINUTE),      "15s",    "How long an instance owns a slot before another may take it over.").later(),
    row("decoder.reconcile_interval",    Span(5 * SECOND, HOUR),            "60s",    "Time between checks that every ledger row has its frame.").later(),
    row("decoder.retention",             Span(HOUR, 8760 * HOUR),           "168h",   "How long decoded frames are kept; unattributed and forged ones stay for 30 days.").later(),
    row("approvals.default_expires_in",  Span(MINUTE, 168 * HOUR),          "30m",    "How long an approval waits when the policy does not say; silence means no."),
    row("approvals.estimate_timeout",    Span(50, 5 * SECOND),              "500ms",  "How long a connector may take to estimate an effect."),
    row("approvals.context_max_bytes",   Number(8192, 65_536),              "32768",  "The largest context that a person countersigns."),
    row("approvals.link_max_ttl",        Span(5 * MINUTE, 24 * HOUR),       "24h",    "How long a mailed approval link works, never past the approval's own end.").later(),
    row("approvals.link_status_window",  Span(MINUTE, HOUR),                "15m",    "How long a used link follows its action.").later(),
    row("approvals.max_recipients",      Number(1, 100),                    "20",     "The most people that one approval mails.").later(),
    row("webhooks.timeout",              Span(SECOND, 30 * SECOND),         "10s",    "How long a delivery may take.").later(),
    row("webhooks.max_attempts",         Number(1, 8),                      "8",      "Retries after the first attempt.").later(),
    row("webhooks.disable_after",        Span(HOUR, 720 * HOUR),            "72h",    "How long an endpoint may fail before it is disabled.").later(),
    row("webhooks.max_endpoints_per_org", Number(1, 100),                   "16",     "Endpoints that an org may have.").later(),
    row("undo.max_rows",                 Number(1, 100_000),                "1000",   "The most rows that one undo restores, and at most `decoder.max_images_per_tx`.").later(),
    row("undo.max_age",                  Span(MINUTE, 8760 * HOUR),         "168h",   "How long after its seal an action can be undone.").later(),
    row("undo.lock_timeout",             Span(100, MINUTE),                 "2s",     "How long an undo waits for row locks before it fails with nothing changed.").later(),
    row("undo.statement_timeout",        Span(100, MINUTE),                 "10s",    "How long one statement of an undo may run.").later(),
    row("undo.preview_steps",            Number(1, 1000),                   "20",     "Steps that a preview lists when the caller does not say.").later(),
    row("mcp.allowed_origins",           Origins,                           "",       "Browser origins that are let in besides the service's own.").later(),
    row("mcp.passthrough",               Words(PASSTHROUGHS),               "",       "Method families that are forwarded and logged, never sealed.").later(),
    unset("mcp.upstreams.<name>.url",    Upstream,                                    "The MCP server; required. http only in dev with private networks allowed.").later(),
    unset("mcp.upstreams.<name>.headers_from_env.<header>", Variable,                 "The environment variable that holds the value of this request header.").dev_only().later(),
    row("mcp.upstreams.<name>.timeout",  Span(100, 10 * MINUTE),            "30s",    "How long the MCP server may take to answer.").later(),
    row("mcp.upstreams.<name>.tools_ttl", Span(100, 10 * MINUTE),           "30s",    "How long the MCP server's tool list is believed.").later(),
];

/// Returns the row of this name.
pub(super) fn find(name: &str) -> Option<&'static Row> {
    SERVER.iter().chain(FILE).find(|row| row.name == name)
}

//! Every setting in one table: its name, what is accepted, the default and the effect.
//!
//! The reader, the refusals and `docs/settings.md` are all made from these rows. A name that
//! starts with `SERVICE_` is read from the environment too; the others stand in the file alone.

use super::span::{self, HOUR, MINUTE, SECOND};

/// One setting.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Row {
    /// Its name.
    pub name: &'static str,
    /// What is accepted.
    pub accepts: Accepts,
    /// What holds when nobody says anything.
    pub default: Option<&'static str>,
    /// Who may see it, and where it may be used.
    pub care: Care,
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
    /// A host and a port.
    HostPort,
    /// The address of a web server, without a path.
    Origin,
    /// A PostgreSQL address.
    Database,
    /// A path of a file or a folder.
    Path,
    /// An e-mail address.
    Address,
    /// One line of text.
    Line,
    /// One to four base64 keys of 32 bytes.
    VaultRing,
    /// Base64 of at least 32 bytes.
    Pepper,
    /// A comma list of networks, or a list.
    Networks,
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
    /// What is accepted, as it follows `expected`.
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
            Self::Switch => "`true` or `false`",
            Self::HostPort => "a host and a port, such as `127.0.0.1:8080`",
            Self::Origin => "an address such as `https://chancery.example`, without a path",
            Self::Database => {
                "a PostgreSQL address such as `postgres://user:password@host:5432/database`"
            }
            Self::Path => "a path",
            Self::Address => "an e-mail address such as `chancery@example.com`",
            Self::Line => "one line of at most 256 bytes",
            Self::VaultRing => "1 to 4 base64 keys of exactly 32 bytes, separated by commas",
            Self::Pepper => "base64 of at least 32 bytes",
            Self::Networks => "a list of networks such as `10.1.0.0/16, 192.168.7.9/32`",
        };
        text.to_owned()
    }

    /// Whether a refused value may stand in a message: never a secret, and no address
    /// either, since people put passwords into addresses.
    pub(super) fn shows_refused_value(self) -> bool {
        match self {
            Self::Span(..) | Self::Number(..) | Self::Switch | Self::Word(_) => true,
            Self::HostPort
            | Self::Origin
            | Self::Database
            | Self::Path
            | Self::Address
            | Self::Line
            | Self::VaultRing
            | Self::Pepper
            | Self::Networks => false,
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

    const fn dev_only(self) -> Self {
        Self { care: Care::DevOnly, ..self }
    }

    /// The keys under which the file may hold it.
    pub(super) fn file_path(&self) -> Vec<String> {
        file_path(self.name)
    }
}

const fn row(
    name: &'static str,
    accepts: Accepts,
    default: &'static str,
    effect: &'static str,
) -> Row {
    Row { name, accepts, default: Some(default), care: Care::Plain, effect }
}

const fn unset(name: &'static str, accepts: Accepts, effect: &'static str) -> Row {
    Row { name, accepts, default: None, care: Care::Plain, effect }
}

use Accepts::{
    Address, Database, HostPort, Line, Networks, Number, Origin, Path, Pepper, Span, Switch,
    VaultRing, Word,
};

/// The words of `SERVICE_ENV`.
pub(super) const ENVIRONMENTS: &[&str] = &["dev", "prod"];
/// The words of `SERVICE_DATABASE_PLANS`.
pub(super) const PLANS: &[&str] = &["detect", "generic", "auto"];
/// The words of `SERVICE_SIGNUP`.
pub(super) const SIGNUPS: &[&str] = &["invite", "closed"];
/// The words of `SERVICE_MAIL_TLS`.
pub(super) const MAIL_TLS: &[&str] = &["starttls", "implicit", "none"];
/// The words of `decoder.transport`.
pub(super) const TRANSPORTS: &[&str] = &["peek"];
/// The words of `SERVICE_LOG_LEVEL`.
pub(super) const LOG_LEVELS: &[&str] = &["error", "warn", "info", "debug", "trace"];

/// The settings of the process: environment, `.env` in dev, the file's section `server`.
#[rustfmt::skip]
pub(super) const SERVER: &[Row] = &[
    row(  "SERVICE_ENV",                   Word(ENVIRONMENTS),       "dev",                   "Where this instance stands. `prod` ignores `.env` and refuses unsafe settings."),
    unset("SERVICE_DATABASE_URL",          Database,                                          "The control database. In prod a remote one needs `sslmode=require` or `sslmode=verify-full`.").secret(),
    unset("SERVICE_MIGRATE_DATABASE_URL",  Database,                                          "The control database as the role that owns the schema; only `chancery migrate` uses it.").secret(),
    row(  "SERVICE_DATABASE_PLANS",        Word(PLANS),              "detect",                "How the control database plans statements: `generic` once for all values, `auto` as PostgreSQL chooses, `detect` is `auto` where the extension Citus is installed and `generic` elsewhere. An option `plan_cache_mode` in the address counts above it."),
    row(  "SERVICE_DATABASE_CONNECTIONS",  Number(4, 200),           "16",                    "The most connections to the control database for turns, leases, sweeps, keys and health."),
    row(  "SERVICE_DATABASE_READING_CONNECTIONS", Number(2, 200),    "12",                    "The most connections to the control database beside those, for lists, searches, exports and walks."),
    row(  "SERVICE_BODY_MEMORY",           Number(32, 65_536),       "256",                   "The most MiB of bodies of requests that are held in memory at once; one key may have a sixteenth of them, and 8 MiB in any case."),
    row(  "SERVICE_LISTEN",                HostPort,                 "127.0.0.1:8080",        "Where the service listens."),
    row(  "SERVICE_BASE_URL",              Origin,                   "http://127.0.0.1:8080", "The address that callers see; every `doc_url` begins with it. In prod it is https."),
    unset("SERVICE_SEAL_KEY_FILE",         Path,                                              "The PEM file with the keys that seal deeds and sign checkpoints."),
    unset("SERVICE_VAULT_KEY",             VaultRing,                                         "The keys that encrypt connector credentials; the first one encrypts, all of them decrypt.").secret(),
    unset("SERVICE_API_KEY_PEPPER",        Pepper,                                            "Mixed into the hash of every API key; a new pepper invalidates all of them.").secret(),
    row(  "SERVICE_LOG_LEVEL",             Word(LOG_LEVELS),         "info",                  "The least important event that is logged."),
    unset("SERVICE_TRUSTED_PROXIES",       Networks,                                          "The proxies whose `X-Forwarded-For` is believed."),
    row(  "SERVICE_ALLOW_PRIVATE_NETWORKS", Switch,                  "false",                 "Lets connectors reach private and loopback addresses.").dev_only(),
    unset("SERVICE_EGRESS_ALLOW_CIDRS",    Networks,                                          "Private networks that connectors may reach, in prod too. Cloud metadata, reserved, IPv4-embedding and loopback ranges stay closed."),
    row(  "SERVICE_SIGNUP",                Word(SIGNUPS),            "invite",                "Who may become a member of an org: people with an invitation, or nobody."),
    unset("SERVICE_MAIL_SMTP",             HostPort,                                          "The server that letters are handed to, such as `smtp.example.com:587`. It is reached as connectors reach theirs, but for one on this machine (`localhost` or a loopback address), which prod may have, too."),
    row(  "SERVICE_MAIL_TLS",              Word(MAIL_TLS),           "starttls",              "What protects that connection: `starttls` from the first command on, `implicit` from the first byte (as a rule port 465), `none` for a server on this machine alone. The certificate and its name are always checked."),
    unset("SERVICE_MAIL_CA_FILE",          Path,                                              "A PEM file with the authorities that may vouch for the mail server; they take the place of the public ones."),
    unset("SERVICE_MAIL_USER",             Line,                                              "The user that the service logs in to the mail server as."),
    unset("SERVICE_MAIL_PASSWORD_FILE",    Path,                                              "The file with that user's password, on one line."),
    unset("SERVICE_MAIL_FROM",             Address,                                           "The sender of sign-in and invitation mails; a mail server needs it."),
    unset("SERVICE_MAIL_OUTBOX",           Path,                                              "A folder into which letters go as `.eml` files instead of to a server.").dev_only(),
    row(  "SERVICE_SLOT_LAG_ALERT_MB",     Number(1, 1_048_576),     "512",                   "The MiB of its log that a slot may keep a governed database from removing before health says so."),
    row(  "SERVICE_DECODER_PAUSE",         Switch,                   "false",                 "Holds the reading of change logs still, as if it were stalled.").dev_only(),
    unset("SERVICE_METRICS_LISTEN",        HostPort,                                          "Where `/metrics` is served, to whoever can reach it; off when unset."),
];

/// The settings that only the file holds.
#[rustfmt::skip]
pub(super) const FILE: &[Row] = &[
    row("database.deadline",             Span(500, MINUTE),                 "2s",     "How long the control database may take over one exchange; past it a request is answered 503 `service_unavailable`, and a write that was sent is settled before anything is said of it."),
    row("gate.wait_timeout",             Span(0, 25 * SECOND),              "10s",    "How long a call in gateway mode waits for its result before it is answered `processing`."),
    row("gate.execute_timeout",          Span(100, 10 * MINUTE),            "30s",    "How long a tool may run; past it the outcome is unknown and the verdict `UNVERIFIABLE`."),
    row("gate.edge_result_timeout",      Span(SECOND, 24 * HOUR),           "10m",    "How long an edge has to report; past it the deed says `edge_lost`."),
    row("gate.max_args_bytes",           Number(1024, 262_144),             "262144", "The largest `args`, in canonical form."),
    row("gate.max_result_bytes",         Number(1024, 1_048_576),           "262144", "The largest result that is stored; of a larger one only the digest is kept."),
    row("approvals.default_expires_in",  Span(MINUTE, 168 * HOUR),          "30m",    "How long an approval waits when the policy does not say; silence means no."),
    row("approvals.estimate_timeout",    Span(50, 5 * SECOND),              "500ms",  "How long a connector may take to estimate an effect."),
    row("approvals.context_max_bytes",   Number(8192, 65_536),              "32768",  "The largest context that a person countersigns."),
    row("approvals.link_max_ttl",        Span(5 * MINUTE, 24 * HOUR),       "24h",    "How long a mailed approval link works, never past the approval's own end."),
    row("approvals.link_status_window",  Span(MINUTE, HOUR),                "15m",    "How long a used link follows its action."),
    row("gate.worker.concurrency",       Number(1, 64),                     "4",      "How many read-backs that no caller waits for an instance makes at once."),
    row("gate.worker.max_attempts",      Number(1, 100),                    "8",      "How often evidence that cannot be had is asked for before the verdict goes without it."),
    row("witness.inline_budget",         Span(100, 5 * SECOND),             "1500ms", "How long a read-back may hold the answer; past it the report is kept and the caller sees `processing`."),
    row("witness.readback_timeout",      Span(100, MINUTE),                 "10s",    "How long one question for evidence may take, a read-back or a look into the change log."),
    row("witness.late_evidence",         Span(0, 168 * HOUR),               "24h",    "How long a call that was sealed before its change log told of it may still be amended by what that tells; `0s` amends none."),
    row("witness.max_detail_bytes",      Number(4096, 262_144),             "65536",  "The largest witness detail, in canonical form; rows or fields are left out of a larger one."),
    row("approvals.max_recipients",      Number(1, 100),                    "20",     "The most people that one approval mails."),
    row("webhooks.timeout",              Span(SECOND, 30 * SECOND),         "10s",    "How long a try of a webhook delivery may take."),
    row("webhooks.max_attempts",         Number(1, 8),                      "8",      "The most tries of a webhook delivery after the first."),
    row("webhooks.disable_after",        Span(HOUR, 720 * HOUR),            "72h",    "How long a webhook endpoint may take nothing before it is disabled."),
    row("webhooks.max_endpoints_per_org", Number(1, 100),                   "16",     "The most webhook endpoints of an org."),
    row("decoder.enabled",               Switch,                            "true",   "Whether this instance reads change logs at all. While no instance does, a slot keeps its database's log from being removed."),
    row("decoder.transport",             Word(TRANSPORTS),                  "peek",   "How a slot is read."),
    row("decoder.poll_active",           Span(10, SECOND),                  "100ms",  "How long a change log rests between reads while a call waits for it; longer after reads that take long, which have at most a quarter of the time."),
    row("decoder.poll_idle",             Span(100, 10 * SECOND),            "1s",     "How long it rests otherwise; up to 5s while reads take over a quarter of that."),
    row("decoder.batch_changes",         Number(100, 100_000),              "5000",   "Changes that are asked for in one read; more while there is more to read."),
    row("decoder.max_images_per_tx",     Number(0, 10_000),                 "1000",   "Changes of a transaction whose rows are kept; of the others the number is."),
    row("decoder.heartbeat_interval",    Span(SECOND, MINUTE),              "10s",    "How often a heartbeat is written to a governed database whose log is read."),
    row("decoder.heartbeat_deadline",    Span(5 * SECOND, 10 * MINUTE),     "60s",    "How long no heartbeat may be read before the log counts as stalled."),
    row("decoder.lease",                 Span(5 * SECOND, 2 * MINUTE),      "15s",    "How long an instance owns a change log before another may follow it."),
    row("decoder.reconcile_interval",    Span(5 * SECOND, HOUR),            "60s",    "How often what is new in a governed database's ledger is compared with what its log told."),
    row("decoder.retention",             Span(HOUR, 8760 * HOUR),           "168h",   "How long the transactions of actions are kept, with their rows; those of nobody are kept for 30 days."),
];

/// The settings that are known and have no effect in this version, whatever they say; a part in
/// angle brackets stands for any name.
///
/// They stay known so that a file written for a version that has them is not refused by this one.
pub(super) const IDLE: &[&str] = &[
    "undo.max_rows",
    "undo.max_age",
    "undo.lock_timeout",
    "undo.statement_timeout",
    "undo.preview_steps",
    "mcp.allowed_origins",
    "mcp.passthrough",
    "mcp.upstreams.<name>.url",
    "mcp.upstreams.<name>.headers_from_env.<header>",
    "mcp.upstreams.<name>.timeout",
    "mcp.upstreams.<name>.tools_ttl",
];

/// The row of this name.
pub(super) fn find(name: &str) -> Option<&'static Row> {
    SERVER.iter().chain(FILE).find(|row| row.name == name)
}

/// The keys under which the file may hold a setting: `SERVICE_LISTEN` is `server.listen`.
pub(super) fn file_path(name: &str) -> Vec<String> {
    match name.strip_prefix("SERVICE_") {
        Some(name) => vec!["server".to_owned(), name.to_ascii_lowercase()],
        None => name.split('.').map(str::to_owned).collect(),
    }
}

//! Every setting in one table: its name, what is accepted, the default and the effect.
//!
//! The reader, the refusals and `docs/settings.md` are all made from these rows. A name that
//! starts with `SERVICE_` is also read from the environment; the others only from the file.

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
            Self::Origin => "a URL such as `https://chancery.example`, without a path",
            Self::Database => {
                "a PostgreSQL URL such as `postgres://user:password@host:5432/database`"
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
    row(  "SERVICE_ENV",                   Word(ENVIRONMENTS),       "dev",                   "Environment of this instance. `prod` ignores `.env` and refuses unsafe settings."),
    unset("SERVICE_DATABASE_URL",          Database,                                          "Control database. In prod a remote database requires `sslmode=require` or `sslmode=verify-full`.").secret(),
    unset("SERVICE_MIGRATE_DATABASE_URL",  Database,                                          "Control database as the role that owns the schema; only `chancery migrate` uses it.").secret(),
    row(  "SERVICE_DATABASE_PLANS",        Word(PLANS),              "detect",                "How the control database plans statements: `generic` plans once for all values, `auto` leaves the choice to PostgreSQL, `detect` is `auto` if the extension Citus is installed and `generic` otherwise. An option `plan_cache_mode` in the URL takes precedence."),
    row(  "SERVICE_DATABASE_CONNECTIONS",  Number(4, 200),           "16",                    "Maximum connections to the control database for turns, leases, sweeps, keys and health."),
    row(  "SERVICE_DATABASE_READING_CONNECTIONS", Number(2, 200),    "12",                    "Maximum additional connections to the control database for lists, searches, exports and walks."),
    row(  "SERVICE_BODY_MEMORY",           Number(32, 65_536),       "256",                   "Maximum memory for request bodies that are held at the same time, in MiB; one key may use a sixteenth of it, and at least 8 MiB."),
    row(  "SERVICE_LISTEN",                HostPort,                 "127.0.0.1:8080",        "Address that the service listens on."),
    row(  "SERVICE_BASE_URL",              Origin,                   "http://127.0.0.1:8080", "URL that callers use; every `doc_url` begins with it. In prod it must be https."),
    unset("SERVICE_SEAL_KEY_FILE",         Path,                                              "PEM file with the keys that seal deeds and sign checkpoints."),
    unset("SERVICE_VAULT_KEY",             VaultRing,                                         "Keys that encrypt connector credentials; the first one encrypts, all of them decrypt.").secret(),
    unset("SERVICE_API_KEY_PEPPER",        Pepper,                                            "Secret that is mixed into the hash of every API key; a new pepper invalidates all of them.").secret(),
    row(  "SERVICE_LOG_LEVEL",             Word(LOG_LEVELS),         "info",                  "Lowest level of events that are logged."),
    unset("SERVICE_TRUSTED_PROXIES",       Networks,                                          "Proxies whose `X-Forwarded-For` header is trusted."),
    row(  "SERVICE_ALLOW_PRIVATE_NETWORKS", Switch,                  "false",                 "Allows connectors to reach private and loopback addresses.").dev_only(),
    unset("SERVICE_EGRESS_ALLOW_CIDRS",    Networks,                                          "Private networks that connectors may reach, in prod too. Cloud metadata, reserved, IPv4-embedding and loopback ranges remain blocked."),
    row(  "SERVICE_SIGNUP",                Word(SIGNUPS),            "invite",                "Who may become a member of an org: people with an invitation, or nobody."),
    unset("SERVICE_MAIL_SMTP",             HostPort,                                          "Server that mail is sent through, such as `smtp.example.com:587`. The rules for the addresses that connectors may reach apply to it, except for a server on this machine (`localhost` or a loopback address), which is also allowed in prod."),
    row(  "SERVICE_MAIL_TLS",              Word(MAIL_TLS),           "starttls",              "Protection of that connection: `starttls` from the first command on, `implicit` from the first byte (usually port 465), `none` only for a server on this machine. The certificate and its name are always checked."),
    unset("SERVICE_MAIL_CA_FILE",          Path,                                              "PEM file with the certificate authorities for the mail server; they replace the public ones."),
    unset("SERVICE_MAIL_USER",             Line,                                              "User that the service logs in to the mail server as."),
    unset("SERVICE_MAIL_PASSWORD_FILE",    Path,                                              "File with that user's password, on one line."),
    unset("SERVICE_MAIL_FROM",             Address,                                           "Sender of all mails; required with a mail server."),
    unset("SERVICE_MAIL_OUTBOX",           Path,                                              "Folder that mail is written to as `.eml` files instead of being sent to a server.").dev_only(),
    row(  "SERVICE_SLOT_LAG_ALERT_MB",     Number(1, 1_048_576),     "512",                   "Amount of log, in MiB, that a slot may prevent a governed database from removing before health reports it."),
    row(  "SERVICE_DECODER_PAUSE",         Switch,                   "false",                 "Pauses the reading of change logs, as if it were stalled.").dev_only(),
    unset("SERVICE_METRICS_LISTEN",        HostPort,                                          "Address that `/metrics` is served on, to anyone who can reach it; off if unset."),
];

/// The settings that only the file holds.
#[rustfmt::skip]
pub(super) const FILE: &[Row] = &[
    row("database.deadline",             Span(500, MINUTE),                 "2s",     "Maximum time for one exchange with the control database; after it a request returns 503 `service_unavailable`, and a write that was sent is settled before anything is reported about it."),
    row("gate.wait_timeout",             Span(0, 25 * SECOND),              "10s",    "Maximum time that a call in gateway mode waits for its result before the response is `processing`."),
    row("gate.execute_timeout",          Span(100, 10 * MINUTE),            "30s",    "Maximum time that a tool may run; after it the outcome is unknown and the verdict is `UNVERIFIABLE`."),
    row("gate.edge_result_timeout",      Span(SECOND, 24 * HOUR),           "10m",    "Time in which an edge must report; after it the deed says `edge_lost`."),
    row("gate.max_args_bytes",           Number(1024, 262_144),             "262144", "Maximum size of `args`, in canonical form."),
    row("gate.max_result_bytes",         Number(1024, 1_048_576),           "262144", "Maximum size of a result that is stored; of a larger one only the digest is kept."),
    row("approvals.default_expires_in",  Span(MINUTE, 168 * HOUR),          "30m",    "Time after which an approval request expires if the policy does not set one; the call is then denied."),
    row("approvals.estimate_timeout",    Span(50, 5 * SECOND),              "500ms",  "Maximum time in which a connector may estimate an effect."),
    row("approvals.context_max_bytes",   Number(8192, 65_536),              "32768",  "Maximum size of the context that a person countersigns."),
    row("approvals.link_max_ttl",        Span(5 * MINUTE, 24 * HOUR),       "24h",    "Maximum time that a mailed approval link is valid; never longer than the approval request itself."),
    row("approvals.link_status_window",  Span(MINUTE, HOUR),                "15m",    "Time for which a used link shows the status of its action."),
    row("gate.worker.concurrency",       Number(1, 64),                     "4",      "Maximum number of read-backs that an instance makes at the same time for which no caller waits."),
    row("gate.worker.max_attempts",      Number(1, 100),                    "8",      "Maximum number of attempts to obtain evidence before the verdict is reached without it."),
    row("witness.inline_budget",         Span(100, 5 * SECOND),             "1500ms", "Maximum time that a read-back may delay the response; after it the report is kept and the caller receives `processing`."),
    row("witness.readback_timeout",      Span(100, MINUTE),                 "10s",    "Maximum time for one query for evidence, either a read-back or a lookup in the change log."),
    row("witness.late_evidence",         Span(0, 168 * HOUR),               "24h",    "Time for which a call that was sealed before its evidence in the change log was read may still be amended by that evidence; `0s` disables amendments."),
    row("witness.max_detail_bytes",      Number(4096, 262_144),             "65536",  "Maximum size of the witness detail, in canonical form; rows or fields are omitted from a larger one."),
    row("approvals.max_recipients",      Number(1, 100),                    "20",     "Maximum number of people that one approval request is mailed to."),
    row("webhooks.timeout",              Span(SECOND, 30 * SECOND),         "10s",    "Maximum time for one attempt of a webhook delivery."),
    row("webhooks.max_attempts",         Number(1, 8),                      "8",      "Maximum number of retries of a webhook delivery after the first attempt."),
    row("webhooks.disable_after",        Span(HOUR, 720 * HOUR),            "72h",    "Time for which a webhook endpoint may accept nothing before it is disabled."),
    row("webhooks.max_endpoints_per_org", Number(1, 100),                   "16",     "Maximum number of webhook endpoints of an org."),
    row("decoder.enabled",               Switch,                            "true",   "Whether this instance reads change logs. While no instance does, a slot prevents its database from removing log."),
    row("decoder.transport",             Word(TRANSPORTS),                  "peek",   "Method by which a slot is read."),
    row("decoder.poll_active",           Span(10, SECOND),                  "100ms",  "Time between reads of a change log while a call waits for it; longer after slow reads, which may use at most a quarter of the time."),
    row("decoder.poll_idle",             Span(100, 10 * SECOND),            "1s",     "Time between reads of a change log otherwise; up to 5s while reads take more than a quarter of it."),
    row("decoder.batch_changes",         Number(100, 100_000),              "5000",   "Number of changes that are requested in one read; more while there is more to read."),
    row("decoder.max_images_per_tx",     Number(0, 10_000),                 "1000",   "Number of changes of a transaction whose rows are kept; the others are only counted."),
    row("decoder.heartbeat_interval",    Span(SECOND, MINUTE),              "10s",    "Time between heartbeats that are written to a governed database whose log is read."),
    row("decoder.heartbeat_deadline",    Span(5 * SECOND, 10 * MINUTE),     "60s",    "Time without a heartbeat in the log after which the log is considered stalled."),
    row("decoder.lease",                 Span(5 * SECOND, 2 * MINUTE),      "15s",    "Time for which an instance owns a change log before another may follow it."),
    row("decoder.reconcile_interval",    Span(5 * SECOND, HOUR),            "60s",    "Time between comparisons of new rows in a governed database's ledger with its change log."),
    row("decoder.retention",             Span(HOUR, 8760 * HOUR),           "168h",   "Time for which the transactions of actions are kept, with their rows; transactions of nobody are kept for 30 days."),
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

//! What an operator can set: read from the environment, `.env` and one YAML file, checked all at
//! once, and handed on as types.
//!
//! The one place that reads the process environment and the settings file. A setting that is not
//! accepted stops the service before it starts; nothing is read again while it runs.

mod docs;
mod mail;
mod parse;
mod prod;
mod reader;
mod sections;
mod sources;
mod span;
mod table;
mod unknown;
mod yaml;

use std::{collections::BTreeMap, fmt, path::PathBuf, str::FromStr, sync::Arc, time::Duration};

use crypto::{Secret, vault::Ring};
use ipnet::IpNet;
use people::Signup;

pub use self::{
    docs::settings_markdown,
    mail::{Mail, MailTls, SmtpServer},
    parse::{Database, HostPort, Origin},
    reader::Problem,
    sections::{Approvals, Decoder, Gate, Transport, Webhooks, Witness},
    sources::{SourceError, Sources},
};
use self::{
    reader::{Reader, switch},
    sources::Layers,
};

/// Everything that an operator can set.
#[derive(Debug)]
pub struct Settings {
    /// Where this instance stands.
    pub env: Environment,
    /// The control database.
    pub database: Option<Database>,
    /// The control database as the role that owns the schema.
    pub migrate_database: Option<Database>,
    /// How the control database plans statements.
    pub database_plans: store_postgres::Plans,
    /// How long the control database may take over one exchange.
    pub database_deadline: Duration,
    /// The most connections to it for turns and what goes with them.
    pub database_connections: usize,
    /// The most connections to it for reading.
    pub database_reading_connections: usize,
    /// The most MiB of bodies of requests that are held in memory.
    pub body_memory: usize,
    /// Where the service listens.
    pub listen: HostPort,
    /// The address that callers see.
    pub base_url: Origin,
    /// The file with the seal keys.
    pub seal_key_file: Option<PathBuf>,
    /// The keys that encrypt connector credentials.
    pub vault: Option<Arc<Ring>>,
    /// Mixed into the hash of every API key.
    pub pepper: Option<Secret<Vec<u8>>>,
    /// The least important event that is logged.
    pub log_level: LogLevel,
    /// The proxies whose `X-Forwarded-For` is believed.
    pub trusted_proxies: Vec<IpNet>,
    /// Whether connectors may reach private and loopback addresses.
    pub private_networks: PrivateNetworks,
    /// Private networks that connectors may reach all the same.
    pub egress_allow: Vec<IpNet>,
    /// Where `/metrics` is served.
    pub metrics_listen: Option<HostPort>,
    /// Who may become a member of an org.
    pub signup: Signup,
    /// How letters leave.
    pub mail: Mail,
    /// Section `gate`.
    pub gate: Gate,
    /// Section `approvals`.
    pub approvals: Approvals,
    /// What evidence may take.
    pub witness: Witness,
    /// Section `webhooks`.
    pub webhooks: Webhooks,
    /// Section `decoder`, and what else is about change logs.
    pub decoder: Decoder,
    /// What is odd but no reason to refuse; logged once at start.
    pub warnings: Vec<String>,
}

/// Where an instance stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Environment {
    /// A developer's machine.
    #[default]
    Dev,
    /// For real.
    Prod,
}

/// The least important event that is logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LogLevel(Option<tracing::Level>);

impl LogLevel {
    /// The level of verbs that answer and end: warnings and worse.
    pub fn quiet() -> Self {
        Self(Some(tracing::Level::WARN))
    }

    /// The level.
    pub fn level(self) -> tracing::Level {
        self.0.unwrap_or(tracing::Level::INFO)
    }
}

/// Whether connectors may reach private and loopback addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PrivateNetworks {
    /// They may.
    Allowed,
    /// They may not.
    #[default]
    Refused,
}

impl FromStr for Environment {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        match text {
            "dev" => Ok(Self::Dev),
            "prod" => Ok(Self::Prod),
            _ => Err(()),
        }
    }
}

impl FromStr for LogLevel {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let known = table::LOG_LEVELS.contains(&text);
        text.parse().ok().filter(|_| known).map(|level| Self(Some(level))).ok_or(())
    }
}

/// Settings that are not accepted, with everything that is wrong.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct Refused {
    /// What is wrong; never empty.
    pub problems: Vec<Problem>,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the settings are invalid:")?;
        self.problems.iter().try_for_each(|problem| write!(f, "\n  {problem}"))
    }
}

/// The settings that these sources make, or everything that is wrong with them.
pub fn load(sources: &Sources) -> Result<Settings, Refused> {
    let layers = layers(sources)?;
    let mut reader = Reader::new(&layers);
    let mut settings = read(&mut reader);
    let mut problems = reader.problems;
    problems.extend(unknown::in_file(&layers));
    let strangers = unknown::in_environment(&layers);
    settings.warnings = Vec::from_iter(unknown::without_effect(&layers));
    match settings.env {
        Environment::Prod => {
            problems.extend(strangers);
            problems.extend(prod::refusals(&settings, &layers));
        }
        Environment::Dev => {
            settings.warnings.extend(strangers.iter().map(Problem::to_string));
        }
    }
    if problems.is_empty() { Ok(settings) } else { Err(Refused { problems }) }
}

fn layers(sources: &Sources) -> Result<Layers, Refused> {
    let refused = |setting: &str, origin, sentence| Refused {
        problems: vec![Problem { setting: String::from(setting), origin, sentence }],
    };
    let file = match &sources.file {
        Some(text) => sources::leaves(text).map_err(|unreadable| {
            let origin = sources::Origin::File(unreadable.place);
            refused("--config", Some(origin), unreadable.sentence)
        })?,
        None => Vec::new(),
    };
    let mut layers =
        Layers { environment: sources.environment.clone(), dotenv: BTreeMap::new(), file };
    // What `.env` says counts in dev alone, so it cannot be what says that this is prod.
    let mut env = Reader::new(&layers);
    if env.word::<Environment>("SERVICE_ENV") == Environment::Prod {
        return Ok(layers);
    }
    if let Some(text) = &sources.dotenv {
        let variables = sources::dotenv(text).map_err(|line| {
            refused(".env", None, format!("line {line} is not `NAME=value`, perhaps with quotes"))
        })?;
        if variables.get("SERVICE_ENV").is_some_and(|value| value != "dev") {
            let sentence = "`.env` is read only in dev; set it in the environment".to_owned();
            return Err(refused("SERVICE_ENV", Some(sources::Origin::Dotenv), sentence));
        }
        layers.dotenv = variables;
    }
    Ok(layers)
}

fn read(reader: &mut Reader<'_>) -> Settings {
    Settings {
        env: reader.word("SERVICE_ENV"),
        database: reader.optional("SERVICE_DATABASE_URL", Database::parse),
        migrate_database: reader.optional("SERVICE_MIGRATE_DATABASE_URL", Database::parse),
        database_plans: reader.word("SERVICE_DATABASE_PLANS"),
        database_deadline: reader.span("database.deadline"),
        database_connections: reader.number("SERVICE_DATABASE_CONNECTIONS"),
        database_reading_connections: reader.number("SERVICE_DATABASE_READING_CONNECTIONS"),
        body_memory: reader.number("SERVICE_BODY_MEMORY"),
        listen: reader.value_of("SERVICE_LISTEN", HostPort::parse),
        base_url: reader.value_of("SERVICE_BASE_URL", Origin::parse),
        seal_key_file: reader.optional("SERVICE_SEAL_KEY_FILE", |text| Some(PathBuf::from(text))),
        vault: reader.optional("SERVICE_VAULT_KEY", |text| {
            Ring::parse(&Secret::new(text.to_owned())).ok().map(Arc::new)
        }),
        pepper: reader.optional("SERVICE_API_KEY_PEPPER", parse::pepper),
        log_level: reader.word("SERVICE_LOG_LEVEL"),
        trusted_proxies: reader.list("SERVICE_TRUSTED_PROXIES", parse::network),
        private_networks: reader.value_of("SERVICE_ALLOW_PRIVATE_NETWORKS", |text| {
            let allowed = switch(text)?;
            Some(if allowed { PrivateNetworks::Allowed } else { PrivateNetworks::Refused })
        }),
        egress_allow: reader.list("SERVICE_EGRESS_ALLOW_CIDRS", parse::network),
        metrics_listen: reader.optional("SERVICE_METRICS_LISTEN", HostPort::parse),
        signup: reader.word("SERVICE_SIGNUP"),
        mail: Mail::read(reader),
        gate: Gate::read(reader),
        approvals: Approvals::read(reader),
        witness: Witness::read(reader),
        webhooks: Webhooks::read(reader),
        decoder: Decoder::read(reader),
        warnings: Vec::new(),
    }
}

#[cfg(test)]
mod tests;

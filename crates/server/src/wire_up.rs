//! Puts the service together from its settings: store, seal keys, egress, connectors, domain.
//!
//! Whatever is missing or unsafe is told here, before anything is served. Nothing is started.

mod bindings;
pub(crate) mod deployment_secrets;
mod egress_rules;
mod post;
pub(crate) mod seal_keys;

pub(crate) use bindings::bind_connectors;
pub(crate) use deployment_secrets::Admitted;
pub(crate) use egress_rules::egress;
pub(crate) use seal_keys::{Standing, Strangers, standing};

use std::{fmt, sync::Arc, time::Duration};

use crypto::{Secret, SystemEntropy, vault::Ring};
use evidence::Images;
use model::{Clock, Entropy, LogId, Mint, Timestamp, causes};
use people::{People, Post, Questions, Way};
use store_postgres::{CheckError, Durability, PostgresStore};
use uuid::Uuid;

use crate::{
    adapters::{Adapters, Deciders, OrgTools, Records, WebhookSender},
    change_logs::{Alarm, ChangeLogs},
    checkpoints::Checkpoints,
    clock::SystemClock,
    core::{Core, Parts, Stores},
    exit::Failure,
    keyring::Keyring,
    runtime::Tokio,
    settings::{Database, Environment, Mail, Settings},
    workers::Following,
};

/// A clock that is further from the database's than this would end keys and sessions at the wrong
/// time.
pub(crate) const MOST_SKEW: Duration = Duration::from_secs(2);

/// The service, put together and not started.
pub struct Wired {
    /// The domain.
    pub core: Core,
    /// The record.
    pub store: Arc<PostgresStore>,
    /// What connectors are built with.
    pub deps: connectors::Deps,
    /// The tools of every org.
    pub tools: Arc<OrgTools>,
    /// The tasks that the domain starts.
    pub tasks: Tokio,
    /// The checkpoints that this instance signed.
    pub checkpoints: Checkpoints,
    /// The file of its seal keys.
    pub keyring: Keyring,
    /// The key of list cursors, the same on every instance.
    pub cursor_key: Secret<Vec<u8>>,
    /// Where people sign in.
    pub people: Arc<People>,
    /// What webhooks are made of.
    pub webhooks: delivery::Parts,
    /// What change logs are followed with.
    pub following: Following,
    /// Who sends the mails that wait; nobody where the settings name no way.
    pub post: Option<Arc<Post>>,
}

impl fmt::Debug for Wired {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Wired").field("core", &self.core).finish_non_exhaustive()
    }
}

/// Settings that the service cannot do without.
struct Needed<'a> {
    database: &'a Database,
    seal_key_file: &'a std::path::Path,
    vault: Arc<Ring>,
    pepper: Secret<Vec<u8>>,
}

/// The service that these settings name, for a verb of the operator's.
pub async fn wire_up(settings: &Settings) -> Result<Wired, Failure> {
    wire_up_with(settings, Admitted::to_operate()).await
}

/// The service that these settings name, with secrets that are new to the record admitted as the
/// operator says. They are registered once nothing else is left that could fail.
pub(crate) async fn wire_up_with(
    settings: &Settings,
    admitted: Admitted,
) -> Result<Wired, Failure> {
    let needed = needed(settings)?;
    let store = open_store(settings, needed.database).await?;
    let secrets = (&needed.pepper, &*needed.vault);
    let known = deployment_secrets::judge(&store, secrets, admitted).await?;
    let stores = Stores::of(&store);
    let now = database_time(&stores).await?;
    let (sealer, new_keys) =
        seal_keys::load(needed.seal_key_file, &stores, (now, admitted)).await?;
    let entropy: Arc<dyn Entropy> = Arc::new(SystemEntropy::new());
    let deps = connectors::Deps {
        egress: egress(settings).await?,
        vault: Arc::clone(&needed.vault),
        entropy: Arc::clone(&entropy),
    };
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let people = people::Parts {
        store: Arc::clone(&store) as _,
        entropy: Arc::clone(&entropy),
        clock: Arc::clone(&clock),
        pepper: needed.pepper.clone(),
    };
    let people = Arc::new(People::new(people));
    let post = post::mailer(settings, &deps.egress)?.map(|mailer| {
        let way = Way { queue: Arc::clone(&store) as _, mailer };
        let (entropy, pepper) = (Arc::clone(&entropy), needed.pepper.clone());
        Post::new(way, entropy, pepper, settings.base_url.as_str())
    });
    let records = Arc::new(Records::new(Arc::clone(&stores.actions)));
    let tools = OrgTools::new(Arc::clone(&stores.accounts), clock, deps.clone(), records);
    let tools = Arc::new(tools.map_err(Failure::internal)?);
    let tasks = Tokio::new();
    let instance = instance_name(now, &*entropy);
    let following = following((&store, &deps), settings, &instance);
    let core = Core::new(Parts {
        stores,
        sealer,
        people: Arc::clone(&store) as _,
        toolbox: Arc::clone(&tools) as _,
        log: Arc::clone(&following.logs) as _,
        connectors: Arc::new(Adapters::new(deps.clone())),
        tasks: tasks.clone(),
        pepper: needed.pepper.clone(),
        vault: Arc::clone(&needed.vault),
        limits: limits(settings),
        log_host: log_host(settings)?,
        instance,
        audience: settings.base_url.as_str().into(),
    })
    .map_err(Failure::internal)?;
    let webhooks = webhooks((&core, &store, &deps), settings)?;
    let post = post.map(|post| {
        let deciders = Deciders { gate: core.gate.clone() };
        let most = settings.approvals.max_recipients;
        let clock = Arc::new(SystemClock);
        Arc::new(post.asking(Questions { deciders: Arc::new(deciders), most, clock }))
    });
    let checkpoints = Checkpoints::beside(needed.seal_key_file);
    checkpoints.check(&core).await?;
    let cursor_key = needed.vault.derive("list cursors").map_err(Failure::internal)?;
    deployment_secrets::note(&store, (&needed.pepper, known), (now, admitted)).await?;
    seal_keys::register_and_seal(&core, new_keys).await?;
    let keyring = Keyring::of(needed.seal_key_file);
    Ok(Wired {
        core,
        store,
        deps,
        tools,
        tasks,
        checkpoints,
        keyring,
        cursor_key,
        people,
        webhooks,
        following,
        post,
    })
}

/// What change logs are followed with, and asked by.
fn following(
    (store, deps): (&Arc<PostgresStore>, &connectors::Deps),
    settings: &Settings,
    instance: &str,
) -> Following {
    let images = Images { vault: Arc::clone(&deps.vault), entropy: Arc::clone(&deps.entropy) };
    let alarm = Alarm {
        without_beat: settings.decoder.heartbeat_deadline,
        held_bytes: settings.decoder.slot_lag_alert_mb.saturating_mul(1024 * 1024),
    };
    let kept = (Arc::clone(store) as _, images);
    let logs = ChangeLogs::new(kept, settings.decoder.poll_active, alarm);
    Following {
        logs: Arc::new(logs),
        deps: deps.clone(),
        settings: settings.decoder.clone(),
        instance: instance.to_owned(),
    }
}

/// What webhooks are posted with.
fn webhooks(
    (core, store, deps): (&Core, &Arc<PostgresStore>, &connectors::Deps),
    settings: &Settings,
) -> Result<delivery::Parts, Failure> {
    let sender = WebhookSender::new(deps.egress.clone(), settings.webhooks.timeout);
    Ok(delivery::Parts {
        ledger: core.ledger.clone(),
        store: Arc::clone(store) as _,
        events: Arc::clone(&core.stores.events),
        sender: Arc::new(sender.map_err(Failure::internal)?),
        vault: Arc::clone(&deps.vault),
        entropy: Arc::clone(&deps.entropy),
        clock: Arc::new(SystemClock),
        limits: webhook_limits(settings),
    })
}

fn needed(settings: &Settings) -> Result<Needed<'_>, Failure> {
    match (&settings.database, &settings.seal_key_file, &settings.vault, &settings.pepper) {
        (Some(database), Some(seal_key_file), Some(vault), Some(pepper)) => {
            Ok(Needed { database, seal_key_file, vault: Arc::clone(vault), pepper: pepper.clone() })
        }
        (database, seal_key_file, vault, pepper) => {
            let missing: Vec<_> = [
                ("`SERVICE_DATABASE_URL`", database.is_none()),
                ("`SERVICE_SEAL_KEY_FILE`", seal_key_file.is_none()),
                ("`SERVICE_VAULT_KEY`", vault.is_none()),
                ("`SERVICE_API_KEY_PEPPER`", pepper.is_none()),
            ]
            .into_iter()
            .filter_map(|(name, missing)| missing.then_some(name))
            .collect();
            let names = missing.join(", ");
            Err(Failure::usage(format!(
                "the service requires {names}: set the missing ones (`chancery keys new` makes a \
                 seal key file, `openssl rand -base64 32` a key and a pepper), or try `cargo \
                 xtask up`"
            )))
        }
    }
}

/// The store, once it is clear that its database has the schema of this build.
pub(crate) async fn open_store(
    settings: &Settings,
    database: &Database,
) -> Result<Arc<PostgresStore>, Failure> {
    let mut store = store_settings(database);
    store.plans = settings.database_plans;
    store.deadline = settings.database_deadline;
    store.pool_size = settings.database_connections;
    store.reading_pool_size = settings.database_reading_connections;
    let store = Arc::new(PostgresStore::new(&store).map_err(Failure::usage)?);
    let durability = match settings.env {
        Environment::Prod => Durability::SurvivesACrash,
        Environment::Dev => Durability::MayBeLost,
    };
    store.check(durability).await.map_err(|error| match error {
        CheckError::Unreachable(down) => Failure::unavailable(format!(
            "the control database does not respond at `{}` (`SERVICE_DATABASE_URL`): {}",
            database.place(),
            causes(&down)
        )),
        _ => Failure::internal(format!(
            "the control database at `{}` (`SERVICE_DATABASE_URL`) cannot be used: {}",
            database.place(),
            causes(&error)
        )),
    })?;
    Ok(store)
}

/// What the store is told of this database.
pub(crate) fn store_settings(database: &Database) -> store_postgres::Settings {
    store_postgres::Settings::new(Secret::new(database.expose().to_owned()))
}

/// The database's time, once it is clear that this machine's is near it.
async fn database_time(stores: &Stores) -> Result<Timestamp, Failure> {
    let theirs = seal_keys::database_time(stores).await?;
    let ours = SystemClock.now();
    let skew = ours.since(theirs).max(theirs.since(ours));
    if skew > MOST_SKEW {
        return Err(Failure::internal(format!(
            "this machine's clock differs from the database's by {skew:?}; synchronize both with \
             NTP"
        )));
    }
    Ok(theirs)
}

/// The host that names logs, once it is clear that it can.
fn log_host(settings: &Settings) -> Result<String, Failure> {
    let host = settings.base_url.host().to_ascii_lowercase();
    match deed::LogOrigin::new(&host, LogId::from_uuid(Uuid::nil())) {
        Ok(_) => Ok(host),
        Err(_) => Err(Failure::usage(format!(
            "`SERVICE_BASE_URL`: the host `{host}` cannot name a log of deeds; expected letters, \
             digits, dots and hyphens"
        ))),
    }
}

fn limits(settings: &Settings) -> gate::Limits {
    gate::Limits {
        max_args_bytes: settings.gate.max_args_bytes,
        max_result_bytes: settings.gate.max_result_bytes,
        execute_timeout: settings.gate.execute_timeout,
        edge_result_timeout: settings.gate.edge_result_timeout,
        approval_expires_in: settings.approvals.default_expires_in,
        estimate_timeout: settings.approvals.estimate_timeout,
        context_max_bytes: settings.approvals.context_max_bytes,
        writes_mails: settings.mail != Mail::Off,
        link_max_ttl: settings.approvals.link_max_ttl,
        link_status_window: settings.approvals.link_status_window,
        inline_budget: settings.witness.inline_budget,
        readers: settings.witness.concurrency,
        readback_timeout: settings.witness.readback_timeout,
        witness_attempts: settings.witness.max_attempts,
        late_evidence: settings.witness.late_evidence,
        max_detail_bytes: settings.witness.max_detail_bytes,
    }
}

fn webhook_limits(settings: &Settings) -> delivery::Limits {
    delivery::Limits {
        timeout: settings.webhooks.timeout,
        max_attempts: settings.webhooks.max_attempts,
        disable_after: settings.webhooks.disable_after,
        max_endpoints: settings.webhooks.max_endpoints,
    }
}

/// Every run of every process has a name of its own, so that a lease never seems to be that of a
/// later run.
fn instance_name(now: Timestamp, entropy: &dyn Entropy) -> String {
    let random = u64::from_be_bytes(Mint::new(now, entropy).bytes());
    format!("{}-{random:016x}", std::process::id())
}

#[cfg(test)]
mod tests;

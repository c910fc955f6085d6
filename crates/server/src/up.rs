//! `chancery up`: a whole demo on a PostgreSQL cluster, made once and found again.
//!
//! It makes the control database and a governed shop, starts the service, lets the demo's agent
//! send governed calls over HTTP, checks their deeds offline, tells all of it, and serves.

mod client;
mod cluster;
mod door;
mod folder;
mod shop;
mod story;

use std::sync::Arc;

use crate::{
    cli::{self, ShopWitness},
    exit::{Exit, Failure},
    household::Household,
    print,
    service::{Service, bind},
    settings::{self, LogLevel, Settings, Sources},
    shutdown::Signals,
    telemetry,
    wire_up::{Admitted, bind_connectors, store_settings, wire_up_with},
};
use client::Client;
use cluster::{APP, CONTROL, Cluster, MIGRATOR};
use folder::{Cast, Folder, Secrets};
use model::causes;

const POLICY: &str = include_str!("up/policy.yaml");
/// The variable that may hold the superuser's address.
const POSTGRES_URL: &str = "CHANCERY_POSTGRES_URL";

/// Makes or finds the demo, tells its story and serves until a signal.
pub async fn run(what: cli::Up, commit: Option<String>) -> Result<Exit, Failure> {
    let surroundings = Sources::read(None).map_err(Failure::usage)?;
    telemetry::start(settings::Environment::Dev, log_level(&surroundings)?);
    let mut signals = Signals::listen().map_err(Failure::internal)?;
    let folder = Folder::open(&what.data_dir)?;
    let cluster = Cluster::at(postgres_url(&what, &surroundings)?)?;
    let secrets = secrets(&folder, &cluster, what.fresh).await?;
    let settings = demo_settings(&folder, &cluster, (&secrets, what.port))?;
    // Before anything is made, so that a taken port costs nothing.
    let listener = bind(&settings).await?;
    let witness = secrets.decoder.as_ref().map_or(ShopWitness::Report, |_| what.witness);
    let (wired, cast) = make(&folder, &cluster, (&secrets, &settings), witness).await?;
    let link = door::link(&wired, &settings, cast.org).await?;
    let store = Arc::clone(&wired.store);
    let service = Service::start(wired, &settings, listener, commit)?;
    shop::followed(&*store).await?;
    let client = Client { address: service.address, key: cast.key.clone() };
    let told = story::tell(&client).await?;
    let held = story::hold(&client).await?;
    tell(&settings, &folder, &cast, &told);
    tell_people(&settings, &folder, (&link, held.as_deref()));
    let signal = tokio::select! {
        signal = signals.next() => signal,
        () = door::print_codes(folder.outbox()) => return Err(Failure::internal("the outbox is gone")),
    };
    print::line(format!("\n{signal}: stopping"));
    let hurry = async {
        signals.next().await;
    };
    service.stop(hurry).await;
    Ok(Exit::Ok)
}

/// The superuser's address: the word's, or the environment's, which no list of processes
/// shows.
fn postgres_url<'a>(what: &'a cli::Up, surroundings: &'a Sources) -> Result<&'a str, Failure> {
    let told = what.postgres_url.as_ref().or_else(|| surroundings.environment.get(POSTGRES_URL));
    told.map(String::as_str).ok_or_else(|| {
        Failure::usage(format!(
            "`up` requires the URL of a superuser on a cluster: set it with `--postgres-url URL` \
             or in `{POSTGRES_URL}`, or run `cargo xtask up`, which starts one"
        ))
    })
}

/// The level of logs: warnings and worse, unless the environment asks for another.
fn log_level(surroundings: &Sources) -> Result<LogLevel, Failure> {
    if surroundings.environment.get("SERVICE_ENV").is_some_and(|env| env == "prod") {
        return Err(Failure::usage("`up` creates a demo for dev; in prod run `chancery serve`"));
    }
    match surroundings.environment.get("SERVICE_LOG_LEVEL") {
        Some(level) => level.parse().map_err(|()| {
            Failure::usage(
                "`SERVICE_LOG_LEVEL`: expected `error`, `warn`, `info`, `debug`, `trace`",
            )
        }),
        None => Ok(LogLevel::quiet()),
    }
}

/// The demo's secrets: those of the folder if they fit the cluster, else new ones.
async fn secrets(folder: &Folder, cluster: &Cluster, fresh: bool) -> Result<Secrets, Failure> {
    // Before anything is dropped: what is not a demo's is not lost to one.
    folder.refuse_strangers()?;
    if fresh {
        cluster.drop_databases().await?;
        folder.clear()?;
    }
    let start_over = "run again with `--fresh` to drop the demo's databases and start over";
    match (folder.secrets()?, folder.cast()?, cluster.is_made().await?) {
        (Some(secrets), None, _) => folder.make_seal_keys().map(|()| secrets),
        (Some(secrets), Some(_), true) => Ok(secrets),
        (None, _, false) => folder.make_secrets(),
        (None, _, true) => Err(Failure::usage(format!(
            "the cluster has a database `{CONTROL}` whose secrets are not in this folder; \
             {start_over}"
        ))),
        (Some(_), Some(_), false) => Err(Failure::usage(format!(
            "this folder belongs to a database `{CONTROL}` that the cluster does not have; \
             {start_over}"
        ))),
    }
}

/// The settings of the demo's service and keeps them for the operator's verbs.
fn demo_settings(
    folder: &Folder,
    cluster: &Cluster,
    (secrets, port): (&Secrets, u16),
) -> Result<Settings, Failure> {
    let settings = [
        ("SERVICE_DATABASE_URL", cluster.url(APP, &secrets.app, CONTROL)),
        ("SERVICE_MIGRATE_DATABASE_URL", cluster.url(MIGRATOR, &secrets.migrator, CONTROL)),
        ("SERVICE_SEAL_KEY_FILE", folder.seal_keys().display().to_string()),
        ("SERVICE_VAULT_KEY", secrets.vault_key.expose().clone()),
        ("SERVICE_API_KEY_PEPPER", secrets.pepper.expose().clone()),
        ("SERVICE_LISTEN", format!("127.0.0.1:{port}")),
        ("SERVICE_BASE_URL", format!("http://127.0.0.1:{port}")),
        ("SERVICE_ALLOW_PRIVATE_NETWORKS", "true".to_owned()),
        ("SERVICE_MAIL_OUTBOX", folder.outbox().display().to_string()),
    ];
    folder.keep_env(&settings)?;
    let sources = settings
        .into_iter()
        .fold(Sources::default(), |sources, (name, value)| sources.with(name, value));
    settings::load(&sources).map_err(Failure::internal)
}

/// Makes what is missing of the demo and returns its service, put together.
async fn make(
    folder: &Folder,
    cluster: &Cluster,
    (secrets, settings): (&Secrets, &Settings),
    witness: ShopWitness,
) -> Result<(crate::wire_up::Wired, Cast), Failure> {
    cluster.make(secrets).await?;
    let database = settings.migrate_database.as_ref();
    let database = database.ok_or_else(|| Failure::internal("the demo has no database"))?;
    store_postgres::migrate(&store_settings(database), APP)
        .await
        .map_err(|error| Failure::internal(causes(&error)))?;
    cluster.fill_shop().await?;
    let wired = wire_up_with(settings, Admitted::to_serve()).await?;
    bind_connectors(&wired.core).await?;
    shop::set_up(&wired.deps, cluster, secrets).await?;
    if let Some(cast) = folder.cast()? {
        return Ok((wired, cast));
    }
    let connector = shop::connector(cluster, secrets, witness)?;
    let household = Household::found(&wired.core, connector, POLICY).await.map_err(half_made)?;
    let Household { org, agent, key, connector } = household;
    if witness == ShopWitness::Log {
        shop::witness(&wired.core, cluster, (org, connector)).await?;
    }
    let cast = Cast { org, agent, key: key.secret().clone() };
    folder.keep_cast(&cast)?;
    Ok((wired, cast))
}

/// A demo that was only half made is not found again; its names are taken.
fn half_made(failure: Failure) -> Failure {
    let sentence = format!("{failure}; run again with `--fresh` to start over");
    Failure { sentence, ..failure }
}

fn tell(settings: &Settings, folder: &Folder, cast: &Cast, told: &[story::Told]) {
    let (base, key) = (settings.base_url.as_str(), cast.key.expose());
    let Cast { org, agent, .. } = cast;
    print::line(format!("Calls of the agent {agent} of the org {org}, and their deeds:\n"));
    story::print(told);
    let call = r#"{"tool":"shop.customers.read","args":{"customer":7},"mode":"gateway"}"#;
    print::line(format!(
        "\nServing at {base}\n\n\
         The agent's key, saved in {}:\n  {key}\n\n\
         Send a call of your own:\n  \
         curl -s {base}/v1/actions -H 'Authorization: Bearer {key}' \\\n    \
         -H 'Content-Type: application/json' -d '{call}'\n\n\
         Run an operator command on this demo:\n  \
         set -a; . {}; set +a; chancery org list",
        folder.cast_file().display(),
        folder.env_file().display(),
    ));
}

/// How a person comes in, and what waits for them.
fn tell_people(settings: &Settings, folder: &Folder, (link, held): (&str, Option<&str>)) {
    let base = settings.base_url.as_str().trim_end_matches('/');
    let (waits, link) = match held {
        Some(approval) => ("A refund waits for your decision. ", door::to_approval(link, approval)),
        None => ("", link.to_owned()),
    };
    print::line(format!(
        "\n{waits}Open this link and sign in as {}:\n  {link}\n\n\
         The code of each sign-in is printed here. Mail is written to files in\n  {}\n\n\
         Read more: README.md, docs/people.md, docs/architecture.md, {base}/api/openapi.yaml\n\
         Ctrl-C stops it.",
        door::OWNER,
        folder.outbox().display(),
    ));
}

#[cfg(test)]
mod tests;

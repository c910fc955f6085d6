//! `serve` and `migrate`: the service itself, and the schema that it stands on.

use std::time::Duration;

use model::causes;
use store_postgres::MigrateError;
use tokio::time::{Instant, sleep};

use crate::{
    cli::Migrate,
    exit::{Exit, Failure},
    print,
    service::{Service, bind},
    settings::{Environment, Mail, Settings},
    shutdown::Signals,
    telemetry,
    wire_up::{Admitted, bind_connectors, open_store, store_settings, wire_up_with},
};

/// How long a start waits for a control database that does not answer, such as one that is started
/// beside it.
const DATABASE_COMES_WITHIN: Duration = Duration::from_secs(30);
const ASK_AGAIN_AFTER: Duration = Duration::from_millis(500);

pub(super) async fn serve(settings: Settings, commit: Option<String>) -> Result<Exit, Failure> {
    telemetry::start(settings.env, settings.log_level);
    let env = settings.env;
    let ended = served(settings, commit).await;
    match (env, ended) {
        // Whoever reads the log of a service reads its last line, too.
        (Environment::Prod, Err(failure)) => {
            tracing::error!("the service did not start: {failure}");
            Ok(failure.exit)
        }
        (_, ended) => ended,
    }
}

async fn served(settings: Settings, commit: Option<String>) -> Result<Exit, Failure> {
    if settings.env == Environment::Prod {
        telemetry::log_panics();
    }
    settings.warnings.iter().for_each(|warning| tracing::warn!("{warning}"));
    if settings.env == Environment::Prod && settings.mail == Mail::Off {
        tracing::warn!(
            "`SERVICE_MAIL_SMTP` is not set: nobody receives mail, and nobody can sign in"
        );
    }
    if settings.env == Environment::Prod && settings.migrate_database.is_some() {
        tracing::warn!(
            "`SERVICE_MIGRATE_DATABASE_URL` is set: a serving process does not need a role that \
             may change the schema; set it only for `chancery migrate`"
        );
    }
    let mut signals = Signals::listen().map_err(Failure::internal)?;
    let listener = bind(&settings).await?;
    // What follows registers keys and seals that, and is not cut in two.
    tokio::select! {
        answered = database_answers(&settings) => answered?,
        signal = signals.next() => {
            tracing::info!(signal, "stopped before serving");
            return Ok(Exit::Ok);
        }
    }
    let wired = wire_up_with(&settings, Admitted::to_serve()).await?;
    bind_connectors(&wired.core).await?;
    let service = Service::start(wired, &settings, listener, commit)?;
    tracing::info!(address = %service.address, "serving");
    let signal = signals.next().await;
    tracing::info!(signal, "draining; a second signal stops immediately");
    let hurry = async {
        signals.next().await;
    };
    service.stop(hurry).await;
    Ok(Exit::Ok)
}

/// Waits until the control database answers, where the settings name one.
async fn database_answers(settings: &Settings) -> Result<(), Failure> {
    let Some(database) = &settings.database else { return Ok(()) };
    let last = Instant::now() + DATABASE_COMES_WITHIN;
    let mut is_told = false;
    loop {
        let failure = match open_store(settings, database).await {
            Err(failure) if failure.exit == Exit::Unavailable => failure,
            ended => return ended.map(drop),
        };
        if Instant::now() >= last {
            let sentence = format!("gave up after {DATABASE_COMES_WITHIN:?}: {}", failure.sentence);
            return Err(Failure { sentence, ..failure });
        }
        if !is_told {
            tracing::warn!("retrying for up to {DATABASE_COMES_WITHIN:?}: {failure}");
            is_told = true;
        }
        sleep(ASK_AGAIN_AFTER).await;
    }
}

pub(super) async fn migrate(settings: Settings, what: Migrate) -> Result<Exit, Failure> {
    telemetry::start(settings.env, settings.log_level);
    let database = settings.migrate_database.as_ref().or(settings.database.as_ref());
    let database = database.ok_or_else(|| {
        Failure::usage("set `SERVICE_MIGRATE_DATABASE_URL` or `SERVICE_DATABASE_URL`")
    })?;
    let serving = settings.database.as_ref().and_then(|database| database.user());
    let role = what.role.as_deref().or(serving).ok_or_else(|| {
        Failure::usage("set the role that the service logs in as with `--role NAME`")
    })?;
    let store = store_settings(database);
    let applied = store_postgres::migrate(&store, role).await.map_err(not_migrated)?;
    match applied.as_slice() {
        [] => print::line("the schema is already up to date"),
        names => print::line(format!("applied: {}", names.join(", "))),
    }
    if what.distribute {
        distribute(&store).await.map_err(not_migrated)?;
    }
    Ok(Exit::Ok)
}

async fn distribute(store: &store_postgres::Settings) -> Result<(), MigrateError> {
    let tables = store_postgres::spreading(store).await?;
    for table in &tables {
        print::line(table.to_string());
    }
    store_postgres::distribute(store, &tables).await?;
    match tables.len() {
        0 => print::line("every table is already distributed"),
        count => print::line(format!("distributed: {count} tables")),
    }
    Ok(())
}

fn not_migrated(error: MigrateError) -> Failure {
    match error {
        MigrateError::Settings(_)
        | MigrateError::NoRole { .. }
        | MigrateError::NoRight { .. }
        | MigrateError::NoCitus => Failure::usage(causes(&error)),
        MigrateError::Unknown { .. } | MigrateError::Failed { .. } => {
            Failure::internal(causes(&error))
        }
    }
}

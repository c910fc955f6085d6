//! `serve` and `migrate`: the service itself, and the schema that it stands on.

use model::causes;
use store_postgres::MigrateError;

use crate::{
    cli::Migrate,
    exit::{Exit, Failure},
    print,
    service::{Service, bind},
    settings::{Environment, Mail, Settings},
    shutdown::Signals,
    telemetry,
    wire_up::{bind_connectors, store_settings, wire_up},
};

pub(super) async fn serve(settings: Settings, commit: Option<String>) -> Result<Exit, Failure> {
    telemetry::start(settings.env, settings.log_level);
    settings.warnings.iter().for_each(|warning| tracing::warn!("{warning}"));
    if settings.env == Environment::Prod && settings.mail == Mail::Off {
        tracing::warn!(
            "`SERVICE_MAIL_SMTP` is not set: nobody is written to, and nobody can sign in"
        );
    }
    if settings.env == Environment::Prod && settings.migrate_database.is_some() {
        tracing::warn!(
            "`SERVICE_MIGRATE_DATABASE_URL` is set: a serving process needs no role that may \
             change the schema; set it for `chancery migrate` alone"
        );
    }
    let mut signals = Signals::listen().map_err(Failure::internal)?;
    let listener = bind(&settings).await?;
    let wired = wire_up(&settings).await?;
    bind_connectors(&wired.core).await?;
    let service = Service::start(wired, &settings, listener, commit)?;
    tracing::info!(address = %service.address, "serving");
    let signal = signals.next().await;
    tracing::info!(signal, "draining; a second signal stops at once");
    let hurry = async {
        signals.next().await;
    };
    service.stop(hurry).await;
    Ok(Exit::Ok)
}

pub(super) async fn migrate(settings: Settings, what: Migrate) -> Result<Exit, Failure> {
    telemetry::start(settings.env, settings.log_level);
    let database = settings.migrate_database.as_ref().or(settings.database.as_ref());
    let database = database.ok_or_else(|| {
        Failure::usage("set `SERVICE_MIGRATE_DATABASE_URL` or `SERVICE_DATABASE_URL`")
    })?;
    let serving = settings.database.as_ref().and_then(|database| database.user());
    let role = what.role.as_deref().or(serving).ok_or_else(|| {
        Failure::usage("name the role that the service logs in as with `--role NAME`")
    })?;
    let store = store_settings(database);
    let applied = store_postgres::migrate(&store, role).await.map_err(not_migrated)?;
    match applied.as_slice() {
        [] => print::line("the schema is that of this version already"),
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
        0 => print::line("every table is spread already"),
        count => print::line(format!("spread: {count} tables")),
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

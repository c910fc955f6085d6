//! `archive`: what the operator does to a record that has grown old, as the role that owns the
//! schema.

use model::{Timestamp, causes};
use store_postgres::{
    ArchiveError, Earnest, Moved, Part, PostgresStore, Thinned, move_to_the_past, thin_checkpoints,
};

use crate::{
    cli::{Archive, Archived},
    exit::{Exit, Failure},
    print,
    settings::Settings,
    telemetry,
    wire_up::store_settings,
};

pub(super) async fn run(settings: Settings, what: Archive) -> Result<Exit, Failure> {
    telemetry::start(settings.env, settings.log_level);
    let database = settings.migrate_database.as_ref().or(settings.database.as_ref());
    let database = database.ok_or_else(|| {
        Failure::usage("set `SERVICE_MIGRATE_DATABASE_URL` or `SERVICE_DATABASE_URL`")
    })?;
    let store = store_settings(database);
    match what {
        Archive::Checkpoints(of) => checkpoints(&store, of).await?,
        Archive::Past { before, of } => past(&store, before, of).await?,
        Archive::List => {
            let store = PostgresStore::new(&store).map_err(Failure::usage)?;
            let parts = store.parts().await;
            for part in parts.map_err(|error| Failure::internal(causes(&error)))? {
                print::line(described(&part));
            }
        }
    }
    Ok(Exit::Ok)
}

/// A partition as a line.
fn described(part: &Part) -> String {
    let Part { name, deeds, is_away } = part;
    format!("{name}  {deeds} deeds  {}", if *is_away { "detached" } else { "attached" })
}

async fn checkpoints(store: &store_postgres::Settings, of: Archived) -> Result<(), Failure> {
    let thinned = thin_checkpoints(store, of.org, earnest(of)).await;
    for Thinned { org, had, gone } in thinned.map_err(failure)? {
        let would = if of.dry_run { "would be removed" } else { "removed" };
        print::line(format!("{org}  {had} checkpoints, {gone} {would}"));
    }
    Ok(())
}

async fn past(
    store: &store_postgres::Settings,
    before: Timestamp,
    of: Archived,
) -> Result<(), Failure> {
    let moved = move_to_the_past(store, (of.org, before), earnest(of)).await;
    for Moved { org, deeds, waits } in moved.map_err(failure)? {
        let would = if of.dry_run { "would be moved" } else { "were moved" };
        let waits = if waits { "; later deeds wait until their payloads are removed" } else { "" };
        print::line(format!("{org}  {deeds} deeds {would}{waits}"));
    }
    Ok(())
}

fn earnest(of: Archived) -> Earnest {
    if of.dry_run { Earnest::Tell } else { Earnest::Do }
}

fn failure(error: ArchiveError) -> Failure {
    match error {
        ArchiveError::Settings(_)
        | ArchiveError::NoSuchOrg(_)
        | ArchiveError::TooYoung
        | ArchiveError::Citus
        | ArchiveError::Away { .. } => Failure::usage(causes(&error)),
        ArchiveError::Unsound { .. } => {
            Failure { exit: Exit::FoundBad, ..Failure::internal(causes(&error)) }
        }
        ArchiveError::Failed { .. } => Failure::internal(causes(&error)),
    }
}

//! `archive`: what the operator does to a record that has grown old, as the role that owns the
//! schema.

use model::causes;
use store_postgres::{ArchiveError, Earnest, Thinned, thin_checkpoints};

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
        Archive::Checkpoints(Archived { org, dry_run }) => {
            let earnest = if dry_run { Earnest::Tell } else { Earnest::Do };
            for thinned in thin_checkpoints(&store, org, earnest).await.map_err(failure)? {
                let Thinned { org, had, gone } = thinned;
                let would = if dry_run { "would go" } else { "went" };
                print::line(format!("{org}  {had} checkpoints, {gone} {would}"));
            }
        }
    }
    Ok(Exit::Ok)
}

fn failure(error: ArchiveError) -> Failure {
    match error {
        ArchiveError::Settings(_) | ArchiveError::NoSuchOrg(_) => Failure::usage(causes(&error)),
        ArchiveError::Failed { .. } => Failure::internal(causes(&error)),
    }
}

//! `cargo xtask citus`: what the tests of the store send to the control database, sent once more to a
//! Citus cluster and to a plain server, and what the two answer. Citus is on few machines, so that no
//! other verb runs this one; `docs/scale.md` says what Citus is for.

mod cluster;
mod log;
mod psql;
mod record;
mod replay;
mod report;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use crate::cli;
use crate::failure::{Failure, Result};
use crate::pg::{Checkpoints, Cluster, Launcher};
use crate::process;
use crate::steps::{self, Report};
use crate::test;
use crate::workspace::{Build, Workspace};
use cluster::Nodes;
use psql::Psql;
use record::Recording;
use report::Compared;

/// The role that the service has in tests, and its password.
const ROLE: (&str, &str) = ("chancery_test", "chancery");

/// The database that statements are replayed on, on each server.
const DATABASE: &str = "chancery";

/// The package whose tests are recorded.
const PACKAGE: &str = "store-postgres";

/// The oldest version that writes its log as JSON.
const OLDEST_MAJOR: u32 = 15;

/// Brings the schema to both, records the statements and replays them, and fails when an answer differs.
pub(crate) fn run(workspace: &Workspace, request: &cli::Citus) -> Result<()> {
    let began = Instant::now();
    let launcher = launcher(&request.bin_folder)?;
    let psql = Psql::of(&launcher);
    let place = test::of_tests(workspace);
    let mut report = Report::default();

    // Before the tests, which take minutes: what the installation lacks is told at once.
    let started = Instant::now();
    let recorder = launcher.with_settings(record::SETTINGS);
    let plain = recorder.throwaway(&place, Checkpoints::Rare)?;
    has_extension(&launcher, &psql, &plain)?;
    let nodes = Nodes::start(&launcher, &psql, &place)?;
    let service = Service { binary: workspace.build_service(Build::Plain)? };
    cluster::make_role_and_database(&psql, &plain.url())?;
    service.migrate(&plain.url_of("postgres", plain.password(), DATABASE), &[])?;
    report.failures = spread(&service, &nodes.url_of_owner())?;
    took(&mut report, "cluster", started);

    let started = Instant::now();
    let recording = recorded(workspace, &launcher, &psql, &plain)?;
    took(&mut report, "record", started);

    let started = Instant::now();
    let folder = workspace.target().join("citus");
    fs::create_dir_all(&folder).map_err(Failure::on("make the folder", &folder))?;
    let samples = recording.samples();
    let (role, password) = ROLE;
    let on = |url: &str, name| replay::on((&psql, url), &samples, &folder.join(name));
    let compared = Compared {
        samples: &samples,
        plain: on(&plain.url_of(role, password, DATABASE), "plain")?,
        citus: on(&nodes.url_of(role, password), "citus")?,
    };
    took(&mut report, "replay", started);

    report.notes = vec![nodes.versions(&psql)?, compared.table(), recording.left_out()];
    report.notes.extend(compared.far());
    let folder = folder.display();
    report.notes.push(format!("`{folder}` has each sample and its answers, by their number"));
    report.failures.extend(compared.failures());
    steps::ended("citus", &report, began.elapsed())
}

fn launcher(folder: &Path) -> Result<Launcher> {
    let launcher = Launcher::of(folder, &[psql::PROGRAM])?;
    if launcher.major() < OLDEST_MAJOR {
        return Err(Failure::because(format!(
            "`{}` holds PostgreSQL {}, which does not write its log as JSON; name the folder of \
             version {OLDEST_MAJOR} or newer",
            folder.display(),
            launcher.major()
        )));
    }
    Ok(launcher)
}

/// Refuses an installation without the extension, of which its nodes would say less.
fn has_extension(launcher: &Launcher, psql: &Psql, plain: &Cluster) -> Result<()> {
    let sql = "select name from pg_available_extensions where name = 'citus'";
    if psql.ask(&plain.url(), &[sql])?.is_empty() {
        return Err(Failure::because(format!(
            "the installation in `{}` has no extension `citus`; install Citus for PostgreSQL {} \
             there, or name the folder of an installation that has it",
            launcher.folder().display(),
            launcher.major()
        )));
    }
    Ok(())
}

/// Runs the tests of the store on the server, and returns what they sent it.
fn recorded(
    workspace: &Workspace,
    launcher: &Launcher,
    psql: &Psql,
    plain: &Cluster,
) -> Result<Recording> {
    let mut command = workspace.cargo(["test", "--package", PACKAGE]);
    // The recording is of the plain server, whatever cluster a person has named to the tests.
    command.env_remove("CHANCERY_TEST_CITUS");
    process::run(test::name_cluster(&mut command, launcher, plain))?;
    psql.ask(&plain.url(), &[record::END])?;
    let recording = record::read(&plain.data().join(record::FILE))?;
    if recording.samples().is_empty() {
        let (role, _) = ROLE;
        let sentence = format!("the tests of `{PACKAGE}` sent nothing as the role `{role}`");
        return Err(Failure::because(sentence));
    }
    Ok(recording)
}

/// Brings the schema to the cluster and spreads it, and returns what fails of it on a cluster that has it
/// already.
fn spread(service: &Service, owner: &str) -> Result<Vec<String>> {
    let both: [&[&str]; 2] = [&[], &["--distribute"]];
    for flags in both {
        service.migrate(owner, flags)?;
    }
    let mut failures = Vec::new();
    for flags in both {
        match service.migrate(owner, flags) {
            Ok(()) => {}
            Err(Failure::Interrupted) => return Err(Failure::Interrupted),
            Err(failure) => failures.push(format!("on tables that are spread already: {failure}")),
        }
    }
    Ok(failures)
}

/// The product's own binary.
struct Service {
    binary: PathBuf,
}

impl Service {
    /// Brings the schema to the database of this URL.
    fn migrate(&self, owner: &str, flags: &[&str]) -> Result<()> {
        let mut command = Command::new(&self.binary);
        // Settings that a person keeps for a service of theirs are of another database.
        command.env_clear().env("SERVICE_MIGRATE_DATABASE_URL", owner);
        let (role, _) = ROLE;
        process::shown_and_kept(command.args(["migrate", "--role", role]).args(flags))
    }
}

fn took(report: &mut Report, part: &str, started: Instant) {
    report.parts.push((part.to_owned(), started.elapsed()));
}

#[cfg(test)]
mod tests;

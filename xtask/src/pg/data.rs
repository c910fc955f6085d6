//! The files of a cluster: makes them once, tells them from somebody else's, and writes the
//! settings. Starts no server.

use std::path::{Path, PathBuf};

use super::{Launcher, files};
use crate::failure::{Failure, Result};
use crate::process;

/// What the folder of a cluster may hold before its data is complete.
const BEFORE_DATA: [&str; 4] = ["making", "password", "server.log", "server.log.1"];

/// The folder that the server calls its data.
pub(crate) fn data_folder(folder: &Path) -> PathBuf {
    folder.join("data")
}

/// The file of the superuser's password.
pub(crate) fn password_file(folder: &Path) -> PathBuf {
    folder.join("password")
}

/// The file of the passwords under which the server itself logs in elsewhere.
pub(crate) fn logins_file(folder: &Path) -> PathBuf {
    folder.join("logins")
}

/// The file of the settings that differ from the server's own.
pub(crate) fn settings_file(folder: &Path) -> PathBuf {
    data_folder(folder).join("service.conf")
}

/// Makes the cluster if there is none, and refuses one that these binaries cannot serve.
pub(crate) fn prepare(launcher: &Launcher, folder: &Path) -> Result<()> {
    match made_by(folder)? {
        None => make(launcher, folder),
        Some(major) if major == launcher.major() => Ok(()),
        Some(major) => Err(Failure::because(format!(
            "`{}` was made by PostgreSQL {major} and the binaries found are {}; set \
             `SERVICE_PG_BIN` to the folder of those of {major}, or start over with `cargo xtask \
             up --fresh`",
            folder.display(),
            launcher.major()
        ))),
    }
}

/// The major version that made the folder's cluster, none when there is none yet. Refuses
/// a folder that holds something else.
pub(crate) fn made_by(folder: &Path) -> Result<Option<u32>> {
    let data = data_folder(folder);
    let names = files::children(folder)?;
    if !data.exists() {
        let ours = |path: &PathBuf| BEFORE_DATA.iter().any(|name| path.ends_with(name));
        return if names.iter().all(ours) { Ok(None) } else { Err(not_ours(folder)) };
    }
    if !settings_file(folder).exists() || !password_file(folder).exists() {
        return Err(not_ours(folder));
    }
    let version = files::read(&data.join("PG_VERSION")).map_err(|_| not_ours(folder))?;
    version.trim().parse().map(Some).map_err(|_| not_ours(folder))
}

/// Writes the settings with the port that the server is to listen on.
pub(crate) fn write_settings(
    launcher: &Launcher,
    file: &Path,
    port: u16,
    checkpoints: Checkpoints,
) -> Result<()> {
    let settings = settings(port, checkpoints) + launcher.settings;
    files::write_private(file, &settings)?;
    launcher.owner.own(file)
}

/// How often the server brings its files up to what its log holds.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Checkpoints {
    /// As it does by itself.
    Usual,
    /// Hardly ever, for tests: each makes databases of its own, and a checkpoint that has tens of
    /// thousands of files written holds every commit up for half a minute.
    Rare,
}

/// The port that the settings name.
pub(crate) fn remembered_port(folder: &Path) -> Option<u16> {
    let text = files::read(&settings_file(folder)).ok()?;
    text.lines().find_map(|line| line.strip_prefix("port = ")?.parse().ok())
}

/// Makes the data beside its final place and moves it there when it is whole, so that a killed run
/// leaves nothing that looks like a cluster.
fn make(launcher: &Launcher, folder: &Path) -> Result<()> {
    files::make_folder(folder)?;
    files::close_to_others(folder)?;
    launcher.owner.own(folder)?;
    let making = folder.join("making");
    files::remove_folder(&making)?;
    let password = password_file(folder);
    files::write_private(&password, &files::random_password()?)?;
    launcher.owner.own(&password)?;
    initdb(launcher, &making, &password)?;
    files::append(&making.join("postgresql.conf"), "include = 'service.conf'\n")?;
    write_settings(launcher, &making.join("service.conf"), 0, Checkpoints::Usual)?;
    let data = data_folder(folder);
    std::fs::rename(&making, &data).map_err(Failure::on("make", &data))
}

fn initdb(launcher: &Launcher, data: &Path, password: &Path) -> Result<()> {
    let mut command = launcher.owner.command(launcher.binaries.program("initdb"));
    command.args(["--username=postgres", "--auth=scram-sha-256", "--data-checksums"]);
    command.args(["--encoding=UTF8", "--locale=C"]);
    command.arg("--pwfile").arg(password).arg("--pgdata").arg(data);
    let output = process::capture(&mut command)?;
    if output.status.success() {
        return Ok(());
    }
    Err(Failure::because(format!(
        "`initdb` could not make `{}`: {}",
        data.display(),
        String::from_utf8_lossy(&output.stderr).trim()
    )))
}

/// Only TCP: a Unix socket's path may have 107 bytes, and a checkout may lie deeper. Slots are kept
/// from filling the disk when their reader is gone.
fn settings(port: u16, checkpoints: Checkpoints) -> String {
    let checkpoints = match checkpoints {
        Checkpoints::Usual => "",
        Checkpoints::Rare => "checkpoint_timeout = '1d'\nmax_wal_size = '16GB'\n",
    };
    format!(
        "# Written at every start.
port = {port}
listen_addresses = '127.0.0.1'
unix_socket_directories = ''
max_connections = 400
fsync = on
wal_level = logical
max_wal_senders = 32
max_replication_slots = 32
max_slot_wal_keep_size = '2GB'
password_encryption = 'scram-sha-256'
timezone = 'UTC'
log_timezone = 'UTC'
{checkpoints}"
    )
}

fn not_ours(folder: &Path) -> Failure {
    Failure::because(format!(
        "`{}` holds files that are no cluster of Chancery's; move them away, or choose another \
         folder with `--data`",
        folder.display()
    ))
}

//! A PostgreSQL server in a folder, from its start to its stop. What runs in it is others' work.

use std::fs::File;
use std::path::{Path, PathBuf};

use super::data::{self, Checkpoints};
use super::server::{Server, Stop};
use super::{Launcher, files};
use crate::failure::Result;

/// A running server; dropping it stops the server.
#[derive(Debug)]
pub(crate) struct Cluster {
    launcher: Launcher,
    folder: PathBuf,
    password: String,
    port: u16,
    life: Life,
}

/// What becomes of the folder when the server stops.
#[derive(Debug)]
enum Life {
    /// It stays for the next run.
    Kept,
    /// It goes; the lock tells other runs that it is in use until then.
    Throwaway { _lock: File, checkpoints: Checkpoints },
}

impl Life {
    fn checkpoints(&self) -> Checkpoints {
        match self {
            Self::Kept => Checkpoints::Usual,
            Self::Throwaway { checkpoints, .. } => *checkpoints,
        }
    }
}

impl Cluster {
    /// Starts the server of the folder, or adopts the one that a killed run left there.
    pub(crate) fn keep(launcher: Launcher, folder: PathBuf) -> Result<Self> {
        Self::open(launcher, folder, Life::Kept)
    }

    /// Starts a server in a new folder that goes when the server stops.
    pub(crate) fn throw_away(
        launcher: Launcher,
        folder: PathBuf,
        checkpoints: Checkpoints,
        lock: File,
    ) -> Result<Self> {
        Self::open(launcher, folder, Life::Throwaway { _lock: lock, checkpoints })
    }

    /// The URL under which the superuser reaches the server's first database.
    pub(crate) fn url(&self) -> String {
        self.url_of("postgres", &self.password, "postgres")
    }

    /// The URL under which this role reaches this database.
    pub(crate) fn url_of(&self, role: &str, password: &str, database: &str) -> String {
        format!("postgres://{role}:{password}@127.0.0.1:{}/{database}", self.port)
    }

    /// The password that the superuser was made with.
    pub(crate) fn password(&self) -> &str {
        &self.password
    }

    /// The port that the server listens on.
    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// The folder that the server calls its data.
    pub(crate) fn data(&self) -> PathBuf {
        data::data_folder(&self.folder)
    }

    /// Lets the server log in elsewhere with these passwords, which are lines of a `.pgpass`.
    pub(crate) fn let_log_in(&self, passwords: &str) -> Result<()> {
        let file = data::logins_file(&self.folder);
        files::write_private(&file, passwords)?;
        self.launcher.owner.own(&file)
    }

    /// Leaves everything as a kill of this process would: the server runs and the lock is free.
    #[cfg(test)]
    pub(crate) fn abandon(mut self) {
        self.life = Life::Kept;
        std::mem::forget(self);
    }

    fn open(launcher: Launcher, folder: PathBuf, life: Life) -> Result<Self> {
        data::prepare(&launcher, &folder)?;
        let password = files::read(&data::password_file(&folder))?;
        let server = Server { launcher: &launcher, folder: &folder };
        let port = match server.running()? {
            Some(port) => server.await_answer(port)?,
            None => server.start(life.checkpoints())?,
        };
        Ok(Self { launcher, folder, password, port, life })
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        let ended = match self.life {
            Life::Kept => {
                Server { launcher: &self.launcher, folder: &self.folder }.stop(Stop::Cleanly)
            }
            Life::Throwaway { .. } => remove(&self.launcher, &self.folder).and_then(|()| {
                let lock = self.folder.with_extension("lock");
                std::fs::remove_file(&lock).map_err(crate::Failure::on("remove", &lock))
            }),
        };
        if let Err(failure) = ended {
            eprintln!("warning: {failure}");
        }
    }
}

/// Stops the server of the folder, if one runs, and removes the folder, whatever is in it.
pub(crate) fn remove(launcher: &Launcher, folder: &Path) -> Result<()> {
    let server = Server { launcher, folder };
    if server.running()?.is_some() {
        server.stop(Stop::AtOnce)?;
    }
    files::remove_folder(folder)
}

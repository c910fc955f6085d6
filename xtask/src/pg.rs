//! The launcher of private PostgreSQL clusters: finds or installs the server's binaries, makes a
//! cluster in a folder, starts it on the loopback address, and stops what it started. Serves
//! development and tests; production brings its own database.

mod binaries;
mod cluster;
mod data;
mod files;
mod install;
mod memory;
mod owner;
mod server;

use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};

pub(crate) use binaries::SETTING;
pub(crate) use cluster::Cluster;
pub(crate) use data::Checkpoints;
pub(crate) use install::Consent;
pub(crate) use server::port_is_free;

use crate::failure::{Failure, Result};
use binaries::Binaries;
use owner::Owner;

/// Binaries that serve, and the account they run under.
#[derive(Debug, Clone)]
pub(crate) struct Launcher {
    binaries: Binaries,
    owner: Owner,
    /// What its servers are set to beside what every server is.
    settings: &'static str,
}

/// Where clusters are put.
#[derive(Debug, Clone)]
pub(crate) enum Place {
    /// A folder that a person chose.
    Chosen(PathBuf),
    /// The ignored folder of a checkout, or one outside it that the cluster's account can reach.
    Checkout(PathBuf),
}

impl Launcher {
    /// Finds the binaries, or installs them with the person's consent.
    pub(crate) fn find(consent: Consent) -> Result<Self> {
        let binaries = match Binaries::find()? {
            Some(found) => found,
            None => install::install(consent)?,
        };
        // After the installation, which may have made the better account.
        let owner = Owner::find()?;
        Ok(Self { binaries, owner, settings: "" })
    }

    /// Takes the binaries in this folder, which must hold these programs as well.
    pub(crate) fn of(folder: &Path, programs: &[&str]) -> Result<Self> {
        let binaries = Binaries::of(folder, programs)?;
        Ok(Self { binaries, owner: Owner::find()?, settings: "" })
    }

    /// The same with these lines in the settings of the servers that it starts.
    pub(crate) fn with_settings(&self, settings: &'static str) -> Self {
        Self { settings, ..self.clone() }
    }

    /// The folder of the server's binaries.
    pub(crate) fn folder(&self) -> &Path {
        &self.binaries.folder
    }

    /// The major version of the server.
    pub(crate) fn major(&self) -> u32 {
        self.binaries.major
    }

    /// Starts the cluster that is kept in the place, making it the first time.
    ///
    /// The caller holds the place's lock, so a server found running was left by a killed run.
    pub(crate) fn kept(&self, place: &Place) -> Result<Cluster> {
        Cluster::keep(self.clone(), place.home(&self.owner)?.join("postgres"))
    }

    /// Removes the cluster that is kept in the place, and the server that a killed run left there.
    pub(crate) fn forget(&self, place: &Place) -> Result<()> {
        let folder = place.home(&self.owner)?.join("postgres");
        // Refuses a folder that holds something else.
        data::made_by(&folder)?;
        cluster::remove(self, &folder)
    }

    /// Starts a new cluster that is removed when the run ends; clears those of killed runs first.
    pub(crate) fn throwaway(&self, place: &Place, checkpoints: Checkpoints) -> Result<Cluster> {
        let runs = place.home(&self.owner)?.join("runs");
        files::make_folder(&runs)?;
        files::open_to_all(&runs)?;
        // Held until our own lock is taken: nobody else's sweep may see our lock file still free.
        let gate = open_lock(&runs.join("gate"))?;
        gate.lock().map_err(Failure::on("lock", &runs))?;
        self.sweep(&runs)?;
        let (folder, lock) = unused(&runs)?;
        Cluster::throw_away(self.clone(), folder, checkpoints, lock)
    }

    /// Removes the clusters whose run was killed: their lock is free.
    fn sweep(&self, runs: &Path) -> Result<()> {
        for path in files::children(runs)? {
            if path.extension().is_some_and(|extension| extension == "lock")
                && take_lock(&path)?.is_some()
            {
                cluster::remove(self, &path.with_extension(""))?;
                fs::remove_file(&path).map_err(Failure::on("remove", &path))?;
            }
        }
        Ok(())
    }
}

impl Place {
    /// Where tests keep what they throw away: in memory, where the machine has enough of it, or else in
    /// this checkout. Each test makes databases of hundreds of files, which takes a disk several times
    /// as long, and a checkpoint that brings tens of thousands of them to a disk holds every commit up.
    pub(crate) fn of_tests(checkout: PathBuf) -> Self {
        memory::folder().map_or(Self::Checkout(checkout), Self::Chosen)
    }

    /// The folder under which the cluster's account can keep its data.
    fn home(&self, owner: &Owner) -> Result<PathBuf> {
        let (Self::Chosen(folder) | Self::Checkout(folder)) = self;
        files::make_folder(folder)?;
        match self {
            _ if owner.reaches(folder)? => Ok(folder.clone()),
            Self::Checkout(_) => {
                let outside = outside(folder);
                files::make_folder(&outside)?;
                files::open_to_all(&outside)?;
                println!(
                    "PostgreSQL's files go to `{}`: it runs as {owner}, who cannot enter `{}`",
                    outside.display(),
                    folder.display()
                );
                Ok(outside)
            }
            Self::Chosen(_) => Err(Failure::because(format!(
                "PostgreSQL runs as {owner}, who cannot enter `{}`; choose a folder that can be \
                 entered, such as `{}`",
                folder.display(),
                outside(folder).display()
            ))),
        }
    }
}

/// Takes the lock that one process at a time may hold; none when another holds it. The lock ends
/// with the process, however that ends.
pub(crate) fn take_lock(path: &Path) -> Result<Option<File>> {
    let file = open_lock(path)?;
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(source)) => Err(Failure::on("lock", path)(source)),
    }
}

/// The first folder of this process that none of its clusters is in, and its lock.
fn unused(runs: &Path) -> Result<(PathBuf, File)> {
    let mut number = 0;
    loop {
        let folder = runs.join(format!("{}-{number}", std::process::id()));
        if let Some(lock) = take_lock(&folder.with_extension("lock"))? {
            return Ok((folder, lock));
        }
        number += 1;
    }
}

fn open_lock(path: &Path) -> Result<File> {
    let mut options = File::options();
    options.create(true).truncate(false).write(true);
    options.open(path).map_err(Failure::on("open", path))
}

/// A folder outside the checkout, the same for the same checkout.
fn outside(folder: &Path) -> PathBuf {
    // FNV-1a: short, and the same in every build of this program.
    let bytes = folder.as_os_str().as_encoded_bytes();
    let hash = bytes.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    PathBuf::from(format!("/var/lib/chancery-{hash:016x}"))
}

#[cfg(test)]
mod tests;

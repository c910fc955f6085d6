//! Keeps the seal keys of a running instance as their file and the record have them, so that keys
//! are rotated without a restart. It decides nothing about keys.

use std::{
    fs,
    path::{Path, PathBuf},
    time::SystemTime,
};

use crate::{
    core::Core,
    exit::Failure,
    wire_up::{Admitted, seal_keys},
};

/// The seal key file that an instance goes by.
#[derive(Debug, Clone)]
pub struct Keyring {
    file: PathBuf,
    // When the file that is at work was written; nothing when that is not known.
    written: Option<SystemTime>,
}

impl Keyring {
    /// The file, whose keys are at work.
    pub fn of(file: &Path) -> Self {
        Self { written: written(file), file: file.to_owned() }
    }

    /// Puts the keys to work that are in the file and registered now; returns whether any of that
    /// was new. Where something is wrong with them, the old ones stay at work.
    pub async fn renew(&mut self, core: &Core) -> Result<bool, Failure> {
        let registered = core.admin.key_set().await.map_err(Failure::internal)?;
        let written = written(&self.file);
        if written == self.written && registered == *core.ledger.sealer().registered() {
            return Ok(false);
        }
        let now = seal_keys::database_time(&core.stores).await?;
        let (sealer, new) =
            seal_keys::load(&self.file, &core.stores, (now, Admitted::to_serve())).await?;
        seal_keys::register(&core.stores, &new).await?;
        let _ = failpoint::hit("seal_key.registered");
        core.ledger.sealer().replace(&sealer);
        let _ = failpoint::hit("seal_key.activated");
        for key in new {
            core.deployment().seal_key_registered(key).await.map_err(Failure::internal)?;
        }
        self.written = written;
        Ok(true)
    }
}

/// When the file was written, if that can be told.
fn written(file: &Path) -> Option<SystemTime> {
    fs::metadata(file).and_then(|about| about.modified()).ok()
}

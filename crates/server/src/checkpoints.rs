//! The checkpoints that this instance signed, one file for each log, beside the seal keys.
//!
//! They are the memory that the database does not have: a log that was put back to an older state,
//! whatever has grown on it since, is found by them, and nothing more is sealed in it. Each file is a signed note that
//! `chancery verify --known-checkpoint` reads.

use std::{
    collections::HashMap,
    fs, io,
    path::{Path, PathBuf},
};

use admin::OPERATOR_ORG;
use deed::{ChainHead, Checkpoint, KeySet};
use model::OrgId;
use records::{Broken, LogHead, LogSize};

use crate::{core::Core, exit::Failure, wire_up::chain};

/// The folder of checkpoints.
#[derive(Debug, Clone)]
pub struct Checkpoints {
    folder: PathBuf,
}

impl Checkpoints {
    /// Returns the folder that belongs to this seal key file.
    pub fn beside(seal_key_file: &Path) -> Self {
        let mut folder = seal_key_file.as_os_str().to_owned();
        folder.push(".checkpoints");
        Self { folder: folder.into() }
    }

    /// Returns the folder's path.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Withholds sealing from every log that does not hold what was signed for, and says in the
    /// log what to do about it.
    ///
    /// A log that is gone belongs to no org that is left; then the operator's own org is the one
    /// that seals nothing, so that nothing of the deployment goes on as if all were well.
    pub async fn check(&self, core: &Core) -> Result<(), Failure> {
        let signed = self.read(&core.ledger.sealer().registered())?;
        if signed.is_empty() {
            return Ok(());
        }
        let logs = core.stores.records.logs().await.map_err(unread)?;
        for checkpoint in signed {
            let found = logs.iter().find(|log| log.log == checkpoint.log);
            let Checkpoint { log, tree: signed } = checkpoint.clone();
            let broken = match found {
                None => Some(Broken::Gone { log }),
                // A head that was cut by hand may not be readable; its size says enough.
                Some(LogSize { size, .. }) if *size < signed.size => {
                    Some(Broken::Shorter { log, size: *size, signed: signed.size })
                }
                Some(LogSize { org, .. }) => self.broken(core, *org, &checkpoint).await?,
            };
            if let Some(broken) = broken {
                let org = found.map_or(OPERATOR_ORG, |log| log.org);
                self.withhold(core, org, &broken);
            }
        }
        Ok(())
    }

    /// Signs the head of every log that is not as it was when it was last `seen`, and keeps the
    /// note. A log that did not grow from what was signed before is withheld instead.
    pub async fn sign(&self, core: &Core, seen: &mut Seen) -> Result<(), Failure> {
        let withheld = core.ledger.withheld();
        for LogSize { org, size, .. } in core.stores.records.logs().await.map_err(unread)? {
            let before = seen.0.get(&org);
            let stands = before.is_some_and(|before| before.tree.size == size);
            if stands || withheld.contains(&org) {
                continue;
            }
            let Some(head) = core.stores.records.head(org).await.map_err(unread)? else { continue };
            if let Some(before) = before
                && let Some(broken) = self.broken_at(core, org, (&head, before)).await?
            {
                self.withhold(core, org, &broken);
                continue;
            }
            let signed = core.records.sign(org, &head).await;
            let note = signed.map_err(|error| Failure::internal(chain(&error)))?.note;
            self.keep(&head.chain, &note).map_err(|error| {
                let folder = self.folder.display();
                Failure::internal(format!("could not keep a checkpoint in `{folder}`: {error}"))
            })?;
            seen.0.insert(org, Checkpoint::of(&head.chain));
        }
        Ok(())
    }

    async fn broken(
        &self,
        core: &Core,
        org: OrgId,
        signed: &Checkpoint,
    ) -> Result<Option<Broken>, Failure> {
        match core.stores.records.head(org).await.map_err(unread)? {
            Some(head) => self.broken_at(core, org, (&head, signed)).await,
            None => Ok(Some(Broken::Gone { log: signed.log.clone() })),
        }
    }

    async fn broken_at(
        &self,
        core: &Core,
        org: OrgId,
        (head, signed): (&LogHead, &Checkpoint),
    ) -> Result<Option<Broken>, Failure> {
        records::compare(core.records.store(), org, head, signed).await.map_err(unread)
    }

    fn withhold(&self, core: &Core, org: OrgId, broken: &Broken) {
        core.ledger.withhold(org);
        tracing::error!(%org, "{broken}; nothing is sealed for this org. {}", self.advice());
    }

    /// Returns the file that holds the checkpoint of this log.
    pub fn file_of(&self, head: &ChainHead) -> PathBuf {
        let log = head.log().as_str().rsplit('/').next().unwrap_or_default();
        self.folder.join(format!("{log}.checkpoint"))
    }

    /// Replaces the file in one step, so that a crash leaves the old one or the new one.
    fn keep(&self, head: &ChainHead, note: &str) -> io::Result<()> {
        fs::create_dir_all(&self.folder)?;
        let (file, draft) = (self.file_of(head), self.folder.join(draft_name()));
        fs::write(&draft, note)?;
        fs::File::open(&draft)?.sync_all()?;
        let _ = failpoint::hit("k3");
        fs::rename(draft, file)
    }

    fn read(&self, keys: &KeySet) -> Result<Vec<Checkpoint>, Failure> {
        let unreadable = |error: &dyn std::fmt::Display| {
            let folder = self.folder.display();
            Failure::internal(format!("the checkpoints in `{folder}`: {error}"))
        };
        let entries = match fs::read_dir(&self.folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(unreadable(&error)),
        };
        let mut checkpoints = Vec::new();
        for entry in entries {
            let path = entry.map_err(|error| unreadable(&error))?.path();
            if path.extension().is_some_and(|kind| kind == "checkpoint") {
                let note = fs::read_to_string(&path).map_err(|error| unreadable(&error))?;
                let opened = Checkpoint::open_with(&note, keys);
                checkpoints.push(opened.map_err(|error| unreadable(&error))?);
            }
        }
        Ok(checkpoints)
    }

    fn advice(&self) -> String {
        format!(
            "The database was put back to another state than the one that was signed for. Restore \
             a newer backup and start again; or, to go on without the deeds that are missing and \
             leave the gap to be seen by whoever kept a checkpoint, move the log's file in `{}` \
             away and start again",
            self.folder.display()
        )
    }
}

/// The logs as this instance last signed them.
#[derive(Debug, Default)]
pub struct Seen(HashMap<OrgId, Checkpoint>);

/// Two instances may share the folder, so each writes a draft of its own.
fn draft_name() -> String {
    format!("draft-{}", std::process::id())
}

fn unread(error: ledger::StoreDown) -> Failure {
    Failure::internal(format!("the logs of deeds could not be read: {}", chain(&error)))
}

#[cfg(test)]
mod tests;

//! The checkpoints that this instance signed, one file for each log, beside the seal keys.
//!
//! They are the memory that the database does not have: a database that was put back to an older
//! state is found by them at start, and nothing is sealed on it. Each file is a signed note that
//! `chancery verify --known-checkpoint` reads.

use std::{
    collections::HashMap,
    fs, io,
    path::{Path, PathBuf},
};

use deed::{ChainHead, Checkpoint, KeySet};
use model::OrgId;

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

    /// Refuses a database whose logs do not hold what was signed for.
    pub async fn check(&self, core: &Core) -> Result<(), Failure> {
        let signed = self.read(core.ledger.sealer().registered())?;
        if signed.is_empty() {
            return Ok(());
        }
        let heads = heads(core).await?;
        for checkpoint in signed {
            let head = heads.iter().find(|(_, head)| *head.log() == checkpoint.log);
            holds(&checkpoint, head.map(|(_, head)| head))
                .map_err(|why| Failure::internal(format!("{why}; {}", self.advice())))?;
        }
        Ok(())
    }

    /// Signs the head of every log that has grown since `seen` and keeps the note.
    pub async fn sign(&self, core: &Core, seen: &mut HashMap<OrgId, u64>) -> Result<(), Failure> {
        for (org, head) in heads(core).await? {
            if seen.get(&org) == Some(&head.size()) {
                continue;
            }
            let note = core.ledger.sealer().checkpoint(&head, head.issued_at());
            self.keep(&head, &note.map_err(Failure::internal)?).map_err(|error| {
                let folder = self.folder.display();
                Failure::internal(format!("could not keep a checkpoint in `{folder}`: {error}"))
            })?;
            seen.insert(org, head.size());
        }
        Ok(())
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
            "deeds are missing from the database. Restore a newer backup; or, to go on without \
             them and leave the gap to be seen by whoever kept a checkpoint, move `{}` away",
            self.folder.display()
        )
    }
}

/// Two instances may share the folder, so each writes a draft of its own.
fn draft_name() -> String {
    format!("draft-{}", std::process::id())
}

fn holds(checkpoint: &Checkpoint, head: Option<&ChainHead>) -> Result<(), String> {
    let Checkpoint { log, tree } = checkpoint;
    let Some(head) = head else {
        return Err(format!("the database does not have the log `{log}`, which was signed for"));
    };
    let size = head.size();
    if size < tree.size {
        let signed = tree.size;
        return Err(format!("the log `{log}` has {size} deeds, and {signed} were signed for"));
    }
    if size == tree.size && head.root() != tree.root {
        return Err(format!("the log `{log}` has other deeds than those that were signed for"));
    }
    Ok(())
}

/// Returns the head of every org's log.
async fn heads(core: &Core) -> Result<Vec<(OrgId, ChainHead)>, Failure> {
    let unread = |error: ledger::StoreDown| {
        Failure::internal(format!("the heads of the logs are not known: {}", chain(&error)))
    };
    let mut heads = Vec::new();
    for org in core.stores.accounts.orgs().await.map_err(unread)? {
        let (base, _) = core.stores.ledger.base(org.id).await.map_err(unread)?;
        heads.extend(base.map(|base| (org.id, base.head.chain)));
    }
    Ok(heads)
}

#[cfg(test)]
mod tests;

//! The checkpoints that this instance signed, one file for each log, beside the seal keys.
//!
//! They are the memory that the database does not have: a log that was put back to an older state,
//! whatever has grown on it since, is found by them, and nothing more is sealed in it. Sealing goes
//! on in another log, whose first deed tells of the loss. Each file is a signed note that
//! `chancery verify --known-checkpoint` reads; that of a closed log stays, as evidence.

use std::{
    collections::HashMap,
    fs, io,
    path::{Path, PathBuf},
};

use admin::OPERATOR_ORG;
use deed::{ChainHead, Checkpoint, KeySet, LogOrigin, Recovered};
use model::{OrgId, causes};
use records::{LogError, LogHead, LogSize, Remembered, Standing};

use crate::{core::Core, exit::Failure};

/// The folder of checkpoints.
#[derive(Debug, Clone)]
pub struct Checkpoints {
    folder: PathBuf,
}

impl Checkpoints {
    /// The folder that belongs to this seal key file.
    pub fn beside(seal_key_file: &Path) -> Self {
        let mut folder = seal_key_file.as_os_str().to_owned();
        folder.push(".checkpoints");
        Self { folder: folder.into() }
    }

    /// The folder's path.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Withholds sealing from every log that does not hold what was signed for, and says in the
    /// log what to do about it.
    pub async fn check(&self, core: &Core) -> Result<(), Failure> {
        for Missing { org, broken, .. } in self.missing(core).await? {
            self.withhold(core, org, &broken);
        }
        Ok(())
    }

    /// What was signed for and is not in the database, unless a sealed deed tells of it.
    ///
    /// A log that is gone belongs to no org that is left; then the operator's own org is the one
    /// that seals nothing, so that nothing of the deployment goes on as if all were well.
    pub async fn missing(&self, core: &Core) -> Result<Vec<Missing>, Failure> {
        let keys = core.ledger.sealer().registered();
        let (signed, mut missing) = (self.read(&keys)?, Vec::new());
        if signed.is_empty() {
            return Ok(missing);
        }
        let store = core.records.store();
        let logs = store.logs().await.map_err(unread)?;
        for known in signed {
            match records::judge(store, &keys, &logs, &known).await.map_err(unread)? {
                Remembered::Held => {
                    let held = logs.iter().find(|log| log.log == known.log);
                    if let Some(held) = held.filter(|log| log.standing == Standing::Open) {
                        let (org, log) = (held.of.org, known.log.clone());
                        core.ledger.has_seen(org, log, known.tree.size);
                    }
                }
                Remembered::Told(Recovered { log, size, .. }) => {
                    let signed = known.tree.size;
                    tracing::info!(%log, size, signed, "a sealed deed tells of what this log lost");
                }
                Remembered::Broken { org, broken } => {
                    let org = org.unwrap_or(OPERATOR_ORG);
                    missing.push(Missing { org, broken, known });
                }
            }
        }
        Ok(missing)
    }

    /// Signs the head of every open log that is not as it was when it was last `seen`, and keeps
    /// the note. A log that did not grow from what was signed before is withheld instead, until
    /// another takes its place that tells of it.
    pub async fn sign(&self, core: &Core, seen: &mut Seen) -> Result<(), Failure> {
        let logs = core.records.store().logs().await.map_err(unread)?;
        for log in logs.iter().filter(|log| log.standing == Standing::Open) {
            let org = log.of.org;
            if core.ledger.withheld().contains(&org) && !self.released(core, log, seen).await? {
                continue;
            }
            let before = seen.signed.get(&org);
            let stands =
                Some((&log.log, log.size)) == before.map(|before| (&before.log, before.tree.size));
            if stands {
                continue;
            }
            if let Some(before) = before
                && let Some(broken) = self.broken(core, &logs, before).await?
            {
                self.withhold(core, org, &broken);
                continue;
            }
            let store = core.records.store();
            let Some(head) = store.head(org).await.map_err(unread)? else { continue };
            self.sign_head(core, org, &head).await?;
            seen.signed.insert(org, Checkpoint::of(&head.chain));
        }
        Ok(())
    }

    /// Signs this head and keeps the note.
    pub async fn sign_head(&self, core: &Core, org: OrgId, head: &LogHead) -> Result<(), Failure> {
        let signed = core.records.sign(org, head).await;
        let note = signed.map_err(|error| Failure::internal(causes(&error)))?.note;
        self.keep(&head.chain, &note).map_err(|error| {
            let folder = self.folder.display();
            Failure::internal(format!("could not keep a checkpoint in `{folder}`: {error}"))
        })
    }

    /// Takes turns again of an org that has another log by now, if all that was signed for is
    /// there or told of; looks once for each log.
    async fn released(&self, core: &Core, log: &LogSize, seen: &mut Seen) -> Result<bool, Failure> {
        let org = log.of.org;
        if seen.withheld.insert(org, log.log.clone()).as_ref() == Some(&log.log)
            || core.ledger.has_seen_more(org, &log.log, log.size)
            || self.missing(core).await?.iter().any(|missing| missing.org == org)
        {
            return Ok(false);
        }
        seen.signed.remove(&org);
        core.ledger.release(org);
        tracing::info!(%org, log = %log.log, "sealing goes on in another log");
        Ok(true)
    }

    async fn broken(
        &self,
        core: &Core,
        logs: &[LogSize],
        known: &Checkpoint,
    ) -> Result<Option<LogError>, Failure> {
        let keys = core.ledger.sealer().registered();
        let judged = records::judge(core.records.store(), &keys, logs, known).await;
        Ok(match judged.map_err(unread)? {
            Remembered::Held | Remembered::Told(_) => None,
            Remembered::Broken { broken, .. } => Some(broken),
        })
    }

    fn withhold(&self, core: &Core, org: OrgId, broken: &LogError) {
        core.ledger.withhold(org);
        tracing::error!(%org, "{broken}; nothing is sealed for this org. {}", self.advice(org));
    }

    /// The file that holds the checkpoint of this log.
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
        let _ = failpoint::hit("checkpoint.written");
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

    fn advice(&self, org: OrgId) -> String {
        format!(
            "The database was put back to another state than the one that was signed for. Restore \
             a newer backup and start again; or, to go on without the deeds that are missing, \
             run `chancery log recover --org {org}`: it closes the log and opens another, whose \
             first deed tells of the gap. What was signed for stands in `{}`",
            self.folder.display()
        )
    }
}

/// Something that was signed for and is not there.
#[derive(Debug)]
pub struct Missing {
    /// The org that seals nothing because of it.
    pub org: OrgId,
    /// In what way its log is not the one that was signed for.
    pub broken: LogError,
    /// What was signed for.
    pub known: Checkpoint,
}

/// The logs as this instance last signed them, and those that it last looked at in vain.
#[derive(Debug, Default)]
pub struct Seen {
    signed: HashMap<OrgId, Checkpoint>,
    withheld: HashMap<OrgId, LogOrigin>,
}

/// Two instances may share the folder, so each writes a draft of its own.
fn draft_name() -> String {
    format!("draft-{}", std::process::id())
}

fn unread(error: ledger::StoreDown) -> Failure {
    Failure::internal(format!("the logs of deeds could not be read: {}", causes(&error)))
}

#[cfg(test)]
mod tests;

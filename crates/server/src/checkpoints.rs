//! The checkpoints that this instance signed, one file for each log, beside the seal keys.
//!
//! They are the memory that the database does not have: a log that was put back to an older state,
//! whatever has grown on it since, is found by them, and nothing more is sealed in it. Sealing goes
//! on in another log, whose first deed tells of the loss. Each file is a signed note that
//! `chancery verify --known-checkpoint` reads; that of a closed log stays, as evidence.

mod files;

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
};

use admin::OPERATOR_ORG;
use deed::{ChainHead, Checkpoint, LogOrigin, Recovered};
use model::{OrgId, causes};
use records::{LogError, LogHead, LogSize, Logs, Remembered, Standing};

use crate::{core::Core, exit::Failure};
use files::{Files, UnreadFile};

/// The checkpoints of this instance.
#[derive(Debug, Clone)]
pub struct Checkpoints {
    files: Files,
    /// Whether the last check could not look at every org.
    is_partial: Arc<AtomicBool>,
}

impl Checkpoints {
    /// The folder that belongs to this seal key file.
    pub fn beside(seal_key_file: &Path) -> Self {
        let mut folder = seal_key_file.as_os_str().to_owned();
        folder.push(".checkpoints");
        Self { files: Files::in_folder(folder.into()), is_partial: Arc::default() }
    }

    /// The folder's path.
    pub fn folder(&self) -> &Path {
        self.files.folder()
    }

    /// The file that holds the checkpoint of this log.
    pub fn file_of(&self, head: &ChainHead) -> PathBuf {
        self.files.of(head.log())
    }

    /// Withholds sealing from every log that does not hold what was signed for, or of which that
    /// cannot be said, and says in the log what to do about it. The other orgs go on.
    pub async fn check(&self, core: &Core) -> Result<(), Failure> {
        let logs = core.records.store().logs().await.map_err(unread)?;
        for Missing { org, why, .. } in self.missing_of(core, &logs, None).await? {
            self.withhold(core, org, &why);
        }
        for org in &logs.unreached {
            core.ledger.withhold(*org);
        }
        self.is_partial.store(!logs.unreached.is_empty(), Relaxed);
        if let Some(first) = logs.unreached.first() {
            tracing::error!(
                orgs = logs.unreached.len(), %first,
                "some orgs are unreachable: a node of the control database is unavailable. \
                 Nothing is sealed for them until their logs have been checked, which happens \
                 once the node is available again"
            );
        }
        Ok(())
    }

    /// What was signed for and is not in the database, unless a sealed deed tells of it.
    ///
    /// A log that is gone belongs to no org that is left; then the operator's own org is the one
    /// that seals nothing, so that nothing of the deployment goes on as if all were well.
    pub async fn missing(&self, core: &Core) -> Result<Vec<Missing>, Failure> {
        let logs = core.records.store().logs().await.map_err(unread)?;
        self.missing_of(core, &logs, None).await
    }

    /// What is missing of every org, or of this one alone: no other log is read for it.
    async fn missing_of(
        &self,
        core: &Core,
        logs: &Logs,
        org: Option<OrgId>,
    ) -> Result<Vec<Missing>, Failure> {
        let owners: HashMap<_, _> =
            logs.sizes.iter().map(|log| (files::name(&log.log), log.of.org)).collect();
        let owner = |name: &str| owners.get(name).copied().unwrap_or(OPERATOR_ORG);
        let is_asked = |name: &str| org.is_none_or(|org| org == owner(name));
        let keys = core.ledger.sealer().registered();
        let (signed, unread_files) = self.files.read(&keys, is_asked)?;
        let mut missing: Vec<_> = unread_files
            .into_iter()
            .map(|UnreadFile { log, why }| Missing {
                org: owner(&log),
                why: Unsound::Unread(why),
                known: None,
            })
            .collect();
        for known in signed {
            // It may be a log of an org that is withheld; one that is gone is found by the check that is
            // made once every org can be reached.
            if logs.named(&known.log).is_err() {
                continue;
            }
            missing.extend(self.judged(core, logs, known).await);
        }
        Ok(missing)
    }

    /// What is wrong with the log that this checkpoint was signed for. What cannot be read is its
    /// own org's matter.
    async fn judged(&self, core: &Core, logs: &Logs, known: Checkpoint) -> Option<Missing> {
        let keys = core.ledger.sealer().registered();
        let held = logs.sizes.iter().find(|log| log.log == known.log);
        match records::judge(core.records.store(), &keys, logs, &known).await {
            Ok(Remembered::Held) => {
                if let Some(held) = held.filter(|log| log.standing == Standing::Open) {
                    core.ledger.has_seen(held.of.org, known.log.clone(), known.tree.size);
                }
                None
            }
            Ok(Remembered::Told(Recovered { log, size, .. })) => {
                let signed = known.tree.size;
                tracing::info!(%log, size, signed, "a sealed deed records what this log lost");
                None
            }
            Ok(Remembered::Broken { org, broken }) => {
                let org = org.unwrap_or(OPERATOR_ORG);
                Some(Missing { org, why: broken.into(), known: Some(known) })
            }
            Err(down) => {
                let org = held.map_or(OPERATOR_ORG, |held| held.of.org);
                let why = format!("the log `{}` cannot be read: {}", known.log, causes(&down));
                Some(Missing { org, why: Unsound::Unread(why), known: Some(known) })
            }
        }
    }

    /// Signs the head of every open log that is not as it was when it was last `seen`, and keeps
    /// the note; tells of the first log that this cannot be done for, once all had their turn.
    pub async fn sign(&self, core: &Core, seen: &mut Seen) -> Result<(), Failure> {
        let logs = core.records.store().logs().await.map_err(unread)?;
        if self.is_partial.load(Relaxed) && logs.unreached.is_empty() {
            self.check(core).await?;
        }
        let mut all = Ok(());
        for log in logs.sizes.iter().filter(|log| log.standing == Standing::Open) {
            all = all.and(self.sign_log(core, (&logs, log), seen).await);
        }
        all
    }

    /// Signs one log. If it did not grow from what was signed before, it is withheld instead,
    /// until another takes its place that tells of it.
    async fn sign_log(
        &self,
        core: &Core,
        (logs, log): (&Logs, &LogSize),
        seen: &mut Seen,
    ) -> Result<(), Failure> {
        let org = log.of.org;
        if core.ledger.withheld().contains(&org) && !self.released(core, (logs, log), seen).await? {
            return Ok(());
        }
        let before = seen.signed.get(&org);
        if before.is_some_and(|before| (&before.log, before.tree.size) == (&log.log, log.size)) {
            return Ok(());
        }
        if let Some(before) = before
            && let Some(broken) = self.broken(core, (logs, org), before).await?
        {
            self.withhold(core, org, &broken.into());
            return Ok(());
        }
        let Some(head) = core.records.store().head(org).await.map_err(unread)? else {
            return Ok(());
        };
        self.sign_head(core, org, &head).await?;
        seen.signed.insert(org, Checkpoint::of(&head.chain));
        Ok(())
    }

    /// Signs this head and keeps the note.
    pub async fn sign_head(&self, core: &Core, org: OrgId, head: &LogHead) -> Result<(), Failure> {
        let signed = core.records.sign(org, head).await;
        let note = signed.map_err(|error| Failure::internal(causes(&error)))?.note;
        let (files, log) = (self.files.clone(), head.chain.log().clone());
        // A disk that is slow holds up a thread that answers nobody.
        let kept = tokio::task::spawn_blocking(move || files.keep(&log, &note)).await;
        kept.map_err(std::io::Error::other).flatten().map_err(|error| {
            let folder = self.folder().display();
            Failure::internal(format!("could not save a checkpoint in `{folder}`: {error}"))
        })
    }

    /// Takes turns again of an org that has another log by now, if all that was signed for is
    /// there or told of; looks once for each log, and again where something could not be read.
    async fn released(
        &self,
        core: &Core,
        (logs, log): (&Logs, &LogSize),
        seen: &mut Seen,
    ) -> Result<bool, Failure> {
        let org = log.of.org;
        // The operator's org stands for logs of no org that is left, and which these are cannot be said.
        let is_unsure = org == OPERATOR_ORG && !logs.unreached.is_empty();
        if is_unsure
            || seen.withheld.get(&org) == Some(&log.log)
            || core.ledger.has_seen_more(org, &log.log, log.size)
        {
            return Ok(false);
        }
        let missing = self.missing_of(core, logs, Some(org)).await?;
        if !missing.is_empty() {
            if missing.iter().all(|missing| matches!(missing.why, Unsound::Log(_))) {
                seen.withheld.insert(org, log.log.clone());
            }
            return Ok(false);
        }
        seen.signed.remove(&org);
        core.ledger.release(org);
        tracing::info!(%org, log = %log.log, "sealing resumes");
        Ok(true)
    }

    /// What is wrong with a log of this org. The org's logs are all that it is judged by: one that is not
    /// among them is gone, whichever other orgs cannot be looked at.
    async fn broken(
        &self,
        core: &Core,
        (logs, org): (&Logs, OrgId),
        known: &Checkpoint,
    ) -> Result<Option<LogError>, Failure> {
        let sizes = logs.of(org).map_err(unread)?.into_iter().cloned().collect();
        let own = Logs { sizes, unreached: Vec::new() };
        let keys = core.ledger.sealer().registered();
        let judged = records::judge(core.records.store(), &keys, &own, known).await;
        Ok(match judged.map_err(unread)? {
            Remembered::Held | Remembered::Told(_) => None,
            Remembered::Broken { broken, .. } => Some(broken),
        })
    }

    fn withhold(&self, core: &Core, org: OrgId, why: &Unsound) {
        core.ledger.withhold(org);
        tracing::error!(%org, "{why}; nothing is sealed for this org. {}", self.advice(org, why));
    }

    fn advice(&self, org: OrgId, why: &Unsound) -> String {
        if matches!(why, Unsound::Unread(_)) {
            return "Sealing resumes automatically once the log can be read again".to_owned();
        }
        format!(
            "The database was restored to a state other than the one that was signed for. Restore \
             a newer backup and start again; or, to continue without the missing deeds, run \
             `chancery log recover --org {org}`: it closes the log and opens another, whose \
             first deed records the gap. The signed checkpoints are in `{}`",
            self.folder().display()
        )
    }
}

/// Why nothing may be sealed for an org.
#[derive(Debug, thiserror::Error)]
pub enum Unsound {
    /// Its log is not the one that was signed for.
    #[error(transparent)]
    Log(#[from] LogError),
    /// Whether it is cannot be said, since this cannot be read.
    #[error("{0}")]
    Unread(String),
}

/// Something that was signed for and is not there.
#[derive(Debug)]
pub struct Missing {
    /// The org that seals nothing because of it.
    pub org: OrgId,
    /// What is wrong.
    pub why: Unsound,
    /// What was signed for, where that can be read.
    pub known: Option<Checkpoint>,
}

/// The logs as this instance last signed them, and those that it last looked at in vain.
#[derive(Debug, Default)]
pub struct Seen {
    signed: HashMap<OrgId, Checkpoint>,
    withheld: HashMap<OrgId, LogOrigin>,
}

fn unread(error: ledger::StoreDown) -> Failure {
    Failure::internal(format!("the logs of deeds could not be read: {}", causes(&error)))
}

#[cfg(test)]
mod tests;

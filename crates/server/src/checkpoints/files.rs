//! The files of checkpoints: one for each log, named after it. Instances may share the folder.

use std::{
    fs::{self, File},
    io::{self, Write},
    path::{Path, PathBuf},
};

use crypto::SystemEntropy;
use deed::{Checkpoint, KeySet, LogOrigin};
use model::Entropy;

use crate::exit::Failure;

const ENDING: &str = "checkpoint";

/// The folder of the files.
#[derive(Debug, Clone)]
pub(super) struct Files {
    folder: PathBuf,
}

/// A file that says nothing that can be relied on.
#[derive(Debug)]
pub(super) struct UnreadFile {
    /// The log that it is named after.
    pub(super) log: String,
    /// What is wrong with it.
    pub(super) why: String,
}

/// What files of this log are named after.
pub(super) fn name(log: &LogOrigin) -> &str {
    log.as_str().rsplit('/').next().unwrap_or_default()
}

impl Files {
    pub(super) fn in_folder(folder: PathBuf) -> Self {
        Self { folder }
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// The file of this log.
    pub(super) fn of(&self, log: &LogOrigin) -> PathBuf {
        self.folder.join(format!("{}.{ENDING}", name(log)))
    }

    /// Replaces the file in one step, so that a crash leaves the old one or the new one.
    pub(super) fn keep(&self, log: &LogOrigin, note: &str) -> io::Result<()> {
        fs::create_dir_all(&self.folder)?;
        // Process ids are no names: instances in containers may all be process 1.
        let mut number = [0; 16];
        SystemEntropy::new().fill(&mut number);
        let draft = self.folder.join(format!("draft-{:032x}", u128::from_be_bytes(number)));
        let mut file = File::create_new(&draft)?;
        file.write_all(note.as_bytes())?;
        file.sync_all()?;
        let _ = failpoint::hit("checkpoint.written");
        fs::rename(draft, self.of(log))?;
        // The rename itself outlives a power cut only once the folder has it.
        File::open(&self.folder)?.sync_all()
    }

    /// The checkpoints that are there of the logs that are asked for by name, and the files that
    /// hold none.
    pub(super) fn read(
        &self,
        keys: &KeySet,
        is_asked: impl Fn(&str) -> bool,
    ) -> Result<(Vec<Checkpoint>, Vec<UnreadFile>), Failure> {
        let unreadable = |error: io::Error| {
            let folder = self.folder.display();
            Failure::internal(format!("the checkpoints in `{folder}`: {error}"))
        };
        let entries = match fs::read_dir(&self.folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Default::default()),
            Err(error) => return Err(unreadable(error)),
        };
        let (mut checkpoints, mut unread) = (Vec::new(), Vec::new());
        for entry in entries {
            let path = entry.map_err(unreadable)?.path();
            if path.extension().is_none_or(|ending| ending != ENDING) {
                continue;
            }
            let log = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            if !is_asked(&log) {
                continue;
            }
            match open(&path, &log, keys) {
                Ok(checkpoint) => checkpoints.push(checkpoint),
                Err(why) => {
                    let why = format!("the checkpoint `{}` cannot be read: {why}", path.display());
                    unread.push(UnreadFile { log, why });
                }
            }
        }
        Ok((checkpoints, unread))
    }
}

fn open(path: &Path, log: &str, keys: &KeySet) -> Result<Checkpoint, String> {
    let note = fs::read_to_string(path).map_err(|error| error.to_string())?;
    let opened = Checkpoint::open_with(&note, keys).map_err(|error| error.to_string())?;
    if name(&opened.log) == log {
        Ok(opened)
    } else {
        Err(format!("it is a checkpoint of another log, `{}`", opened.log))
    }
}

//! The outbox: a folder into which letters go that nobody sends, for a developer to read.

use std::{
    fs::{self, OpenOptions},
    io::{self, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

use async_trait::async_trait;
use model::MailJobId;
use people::mail::{Letter, MailError, Mailer};
use tokio::task::spawn_blocking;

use crate::{Sender, message::Composed};

/// A folder of letters, each a file `ID.eml` that only its owner reads.
#[derive(Debug)]
pub struct Outbox {
    folder: PathBuf,
    sender: Sender,
}

impl Outbox {
    /// The outbox in this folder, which is made if it is not there.
    pub fn open(folder: &Path, sender: Sender) -> io::Result<Self> {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        Ok(Self { folder: folder.to_owned(), sender })
    }
}

#[async_trait]
impl Mailer for Outbox {
    async fn send(&self, letter: &Letter) -> Result<(), MailError> {
        let Composed { bytes, .. } = self.sender.compose(letter)?;
        let (folder, id) = (self.folder.clone(), letter.job());
        let written = spawn_blocking(move || put(&folder, id, &bytes)).await;
        let later = |error: io::Error| MailError::TryAgain(format!("the outbox: {error}"));
        written.map_err(|error| later(io::Error::other(error)))?.map_err(later)
    }

    async fn check(&self) -> Result<(), MailError> {
        let is_there = fs::metadata(&self.folder).is_ok_and(|about| about.is_dir());
        let gone = || MailError::TryAgain("the outbox: its folder is not there".to_owned());
        is_there.then_some(()).ok_or_else(gone)
    }
}

/// The file appears whole or not at all, and one that is there already is the same letter.
fn put(folder: &Path, id: MailJobId, bytes: &[u8]) -> io::Result<()> {
    let path = folder.join(format!("{id}.eml"));
    if path.exists() {
        return Ok(());
    }
    let draft = folder.join(format!(".{id}.draft"));
    match fs::remove_file(&draft) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
    }
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&draft)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(draft, path)
}

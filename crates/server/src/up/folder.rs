//! The folder in which a demo keeps what must outlive the process: its secrets, its seal keys,
//! and the key of its agent. Every file in it is for its owner alone.

use std::{
    fs, io,
    os::unix::fs::DirBuilderExt,
    path::{Path, PathBuf},
};

use crypto::{Secret, SystemEntropy};
use deed::SealKeys;
use model::{AgentId, OrgId};
use serde::Deserialize;
use serde_json::json;

use crate::{exit::Failure, secrets};

/// The demo's folder.
#[derive(Debug)]
pub(super) struct Folder {
    path: PathBuf,
}

/// The secrets that a demo is made with.
#[derive(Debug, Deserialize)]
pub(super) struct Secrets {
    pub(super) vault_key: Secret<String>,
    pub(super) pepper: Secret<String>,
    /// The password of the role that owns the control database's schema.
    pub(super) migrator: Secret<String>,
    /// The password of the role that the service logs in as.
    pub(super) app: Secret<String>,
    /// The password of the role that write tools log in as.
    pub(super) conn: Secret<String>,
    /// The password of the role that read tools log in as.
    pub(super) read: Secret<String>,
    /// The password of the role that reads the shop's change log; a demo that was made before there
    /// was such a role goes on without.
    #[serde(default)]
    pub(super) decoder: Option<Secret<String>>,
}

/// The demo's org and its agent.
#[derive(Debug, Deserialize)]
pub(super) struct Cast {
    pub(super) org: OrgId,
    pub(super) agent: AgentId,
    /// The text of the agent's key.
    pub(super) key: Secret<String>,
}

impl Folder {
    /// The folder, made if it is not there.
    pub(super) fn open(path: &Path) -> Result<Self, Failure> {
        let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(path);
        let path = made.and_then(|()| path.canonicalize()).map_err(|error| {
            Failure::usage(format!("could not create the folder `{}`: {error}", path.display()))
        })?;
        Ok(Self { path })
    }

    /// Refuses a folder in which a file of a demo's name is not a demo's: the secrets are the first
    /// that a demo writes and the last that it removes.
    pub(super) fn refuse_strangers(&self) -> Result<(), Failure> {
        if self.secrets()?.is_some() {
            return Ok(());
        }
        match self.files().iter().find(|file| file.exists()) {
            None => Ok(()),
            Some(stranger) => Err(Failure::usage(format!(
                "`{}` exists and was not created by `up`; it was not changed. Choose another \
                 folder with `--data-dir`",
                stranger.display()
            ))),
        }
    }

    fn files(&self) -> [PathBuf; 4] {
        [self.seal_keys(), self.cast_file(), self.env_file(), self.secrets_file()]
    }

    /// Removes everything that a demo kept here, and nothing else.
    pub(super) fn clear(&self) -> Result<(), Failure> {
        let checkpoints = crate::checkpoints::Checkpoints::beside(&self.seal_keys());
        for folder in [checkpoints.folder(), &self.outbox()] {
            absent(fs::remove_dir_all(folder))
                .map_err(|error| trouble("remove", folder, &error))?;
        }
        for file in self.files() {
            absent(fs::remove_file(&file)).map_err(|error| trouble("remove", &file, &error))?;
        }
        Ok(())
    }

    /// The secrets, if a demo was made here before.
    pub(super) fn secrets(&self) -> Result<Option<Secrets>, Failure> {
        read(&self.secrets_file(), "remove it if it belongs to a demo, or choose another folder")
    }

    /// Makes new secrets and seal keys and keeps them.
    pub(super) fn make_secrets(&self) -> Result<Secrets, Failure> {
        let made = Secrets {
            vault_key: secrets::random_key(),
            pepper: secrets::random_key(),
            migrator: secrets::random_password(),
            app: secrets::random_password(),
            conn: secrets::random_password(),
            read: secrets::random_password(),
            decoder: Some(secrets::random_password()),
        };
        let text = json!({
            "vault_key": made.vault_key.expose(),
            "pepper": made.pepper.expose(),
            "migrator": made.migrator.expose(),
            "app": made.app.expose(),
            "conn": made.conn.expose(),
            "read": made.read.expose(),
            "decoder": made.decoder.as_ref().map(Secret::expose),
        });
        keep(&self.secrets_file(), &Secret::new(text.to_string()))?;
        self.make_seal_keys()?;
        Ok(made)
    }

    /// Makes the seal keys, where a run was killed before it had made them.
    pub(super) fn make_seal_keys(&self) -> Result<(), Failure> {
        if self.seal_keys().exists() {
            return Ok(());
        }
        keep(&self.seal_keys(), &SealKeys::generate_pem(&SystemEntropy::new()))
    }

    /// The org and its agent, if they were made before.
    pub(super) fn cast(&self) -> Result<Option<Cast>, Failure> {
        read(&self.cast_file(), "start over with `--fresh`")
    }

    /// Keeps the org and its agent.
    pub(super) fn keep_cast(&self, cast: &Cast) -> Result<(), Failure> {
        let text = json!({ "org": cast.org, "agent": cast.agent, "key": cast.key.expose() });
        keep(&self.cast_file(), &Secret::new(text.to_string()))
    }

    /// Keeps the service's settings as lines that a shell can read.
    pub(super) fn keep_env(&self, settings: &[(&str, String)]) -> Result<(), Failure> {
        let lines = settings.iter().map(|(name, value)| format!("{name}='{value}'"));
        let lines = lines.collect::<Vec<_>>().join("\n") + "\n";
        keep(&self.env_file(), &Secret::new(lines))
    }

    pub(super) fn seal_keys(&self) -> PathBuf {
        self.path.join("seal.pem")
    }

    pub(super) fn env_file(&self) -> PathBuf {
        self.path.join("service.env")
    }

    /// Where the demo's letters go.
    pub(super) fn outbox(&self) -> PathBuf {
        self.path.join("outbox")
    }

    pub(super) fn cast_file(&self) -> PathBuf {
        self.path.join("agent.json")
    }

    fn secrets_file(&self) -> PathBuf {
        self.path.join("secrets.json")
    }
}

fn read<T: for<'de> Deserialize<'de>>(path: &Path, remedy: &str) -> Result<Option<T>, Failure> {
    let text = match fs::read(path) {
        Ok(text) => Secret::new(text),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(trouble("read", path, &error)),
    };
    // The cause may quote the text, which holds secrets.
    let damaged =
        |_| Failure::malformed(format!("the file `{}` is damaged: {remedy}", path.display()));
    serde_json::from_slice(text.expose()).map(Some).map_err(damaged)
}

fn keep(path: &Path, text: &Secret<String>) -> Result<(), Failure> {
    secrets::replace(path, text).map_err(|error| trouble("write", path, &error))
}

fn absent(removed: io::Result<()>) -> io::Result<()> {
    match removed {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

fn trouble(attempt: &str, path: &Path, error: &io::Error) -> Failure {
    Failure::internal(format!("could not {attempt} `{}`: {error}", path.display()))
}

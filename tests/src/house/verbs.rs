//! The verbs of `chancery`, run as an operator runs them: one process each.

use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
    process::Output,
};

use tokio::process::Command;

use super::{
    SEAL_KEY,
    cluster::Database,
    site::{APP, MIGRATOR, binaries},
};

/// The vault key of every house; like all keys of tests it protects nothing.
pub const VAULT_KEY: &str = "YSB2YXVsdCBrZXkgb2YgZW5kLXRvLWVuZCB0ZXN0cyE=";
const PEPPER: &str = "dGhlIHBlcHBlciBvZiB0aGUgZW5kLXRvLWVuZCB0ZXN0cyE=";

/// Names how long the database of a house may take, where whoever runs the tests gives it longer than
/// the service does by itself.
const DEADLINE: &str = "CHANCERY_TEST_DATABASE_DEADLINE";

/// The settings file of a house.
fn settings_file(settings: &str) -> String {
    match std::env::var(DEADLINE) {
        Ok(deadline) if !settings.contains("database:") => {
            format!("database: {{ deadline: {deadline} }}\n{settings}")
        }
        _ => settings.to_owned(),
    }
}

/// Runs `chancery` with the settings of one house.
#[derive(Debug, Clone)]
pub struct Verbs {
    folder: PathBuf,
    environment: Vec<(&'static str, String)>,
}

impl Verbs {
    /// The verbs on this control database, with files in this folder.
    pub fn new(folder: &Path, control: &Database, settings: &str) -> Self {
        std::fs::write(folder.join("settings.yaml"), settings_file(settings)).unwrap();
        let environment = vec![
            ("SERVICE_DATABASE_URL", control.url(APP.0, APP.1)),
            ("SERVICE_MIGRATE_DATABASE_URL", control.url(MIGRATOR.0, MIGRATOR.1)),
            ("SERVICE_SEAL_KEY_FILE", folder.join(SEAL_KEY).display().to_string()),
            ("SERVICE_VAULT_KEY", VAULT_KEY.to_owned()),
            ("SERVICE_API_KEY_PEPPER", PEPPER.to_owned()),
            ("SERVICE_MAIL_OUTBOX", folder.join("outbox").display().to_string()),
            ("SERVICE_LISTEN", "127.0.0.1:0".to_owned()),
            ("SERVICE_ALLOW_PRIVATE_NETWORKS", "true".to_owned()),
        ];
        Self { folder: folder.to_owned(), environment }
    }

    /// The folder that verbs run in.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The same verbs with this setting in place of the house's own.
    pub fn with(&self, setting: &'static str, value: &str) -> Self {
        let mut verbs = self.clone();
        verbs.environment.retain(|(name, _)| *name != setting);
        verbs.environment.push((setting, value.to_owned()));
        verbs
    }

    /// The environment that settings come from.
    pub fn environment(&self) -> &[(&'static str, String)] {
        &self.environment
    }

    /// Runs a verb that must succeed and returns what it printed.
    pub async fn run<S: AsRef<OsStr>>(&self, words: &[S]) -> String {
        let output = self.output(words).await;
        let said = String::from_utf8_lossy(&output.stderr);
        let words: Vec<_> = words.iter().map(|word| word.as_ref().to_string_lossy()).collect();
        assert!(output.status.success(), "`chancery {}`: {said}", words.join(" "));
        String::from_utf8(output.stdout).unwrap()
    }

    /// Runs a verb and returns how it ended.
    pub async fn output<S: AsRef<OsStr>>(&self, words: &[S]) -> Output {
        self.command(Command::new(binaries().unwrap().plain), words).await
    }

    /// Runs a verb with these failpoints armed, and returns how it ended.
    pub async fn armed<S: AsRef<OsStr>>(&self, points: &str, words: &[S]) -> Output {
        let binary = binaries().unwrap().failpoints.expect("`CHANCERY_FAILPOINT_BIN` is not set");
        let mut armed = self.clone();
        armed.environment.push(("CHANCERY_FAILPOINTS", points.to_owned()));
        armed.command(Command::new(binary), words).await
    }

    async fn command<S: AsRef<OsStr>>(&self, mut command: Command, words: &[S]) -> Output {
        command.args(words).current_dir(&self.folder).env_clear();
        command.env("PATH", "/usr/bin:/bin").envs(self.environment.iter().cloned());
        command.kill_on_drop(true).output().await.unwrap()
    }
}

//! PostgreSQL's own client, beside the server's programs. Knows nothing of what it is asked.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use std::{env, io};

use crate::failure::{Failure, Result};
use crate::pg::Launcher;
use crate::process::{self, Watched};

/// The program's name.
pub(super) const PROGRAM: &str = "psql";

/// The longest that a script may take.
const LIMIT: Duration = Duration::from_mins(30);

/// The client.
#[derive(Debug)]
pub(super) struct Psql {
    program: PathBuf,
}

impl Psql {
    /// The client beside the programs of the launcher.
    pub(super) fn of(launcher: &Launcher) -> Self {
        Self { program: launcher.folder().join(PROGRAM) }
    }

    /// Sends these statements, each by itself, and returns what the database answers.
    pub(super) fn ask(&self, url: &str, statements: &[&str]) -> Result<String> {
        let mut command = self.command(url);
        command.args(["--set", "ON_ERROR_STOP=1"]);
        command.args(statements.iter().flat_map(|statement| ["--command", statement]));
        let output = process::capture(&mut command)?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
        if output.status.success() {
            return Ok(text(&output.stdout));
        }
        Err(Failure::because(format!(
            "`{}` was not done: {}",
            statements.join("; "),
            text(&output.stderr)
        )))
    }

    /// Runs the script in a session with these options, whatever fails in it.
    pub(super) fn play(&self, url: &str, options: &str, script: &Path) -> Result<Watched> {
        let mut command = self.command(url);
        command.env("PGOPTIONS", options).arg("--file").arg(script);
        process::watched(&mut command, LIMIT, io::sink())
    }

    /// A command that no settings of the person who runs it change.
    fn command(&self, url: &str) -> Command {
        let mut command = Command::new(&self.program);
        command.env_clear().env("LC_ALL", "C").env("PGCLIENTENCODING", "UTF8");
        command.envs(env::var_os("PATH").map(|path| ("PATH", path)));
        command.args(["--no-psqlrc", "--quiet", "--tuples-only", "--no-align", "--dbname", url]);
        command
    }
}

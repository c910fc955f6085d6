//! Gets PostgreSQL from the system's package manager, after a yes. Never from anywhere else, and
//! never by becoming root.

use std::io::{IsTerminal, Write, stdin, stdout};
use std::process::Command;

use super::binaries::{Binaries, OLDEST_MAJOR, SETTING};
use crate::failure::{Failure, Result};
use crate::process;

/// Whether the person already agreed to an installation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Consent {
    /// `--yes` was given.
    Given,
    /// Ask at the terminal.
    Ask,
}

impl From<bool> for Consent {
    fn from(yes: bool) -> Self {
        if yes { Self::Given } else { Self::Ask }
    }
}

/// A kind of system and how PostgreSQL comes to it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct System {
    /// The names it may have in `/etc/os-release`, or the name Rust has for it.
    names: &'static [&'static str],
    /// Whether we may run the commands ourselves.
    by_us: ByUs,
    /// The commands that install it, in order; the last is the one a person is told.
    commands: &'static [&'static [&'static str]],
}

impl System {
    /// The command that a person is told.
    pub(crate) fn told(&self) -> String {
        self.commands.last().map(|words| words.join(" ")).unwrap_or_default()
    }
}

/// Who may run a system's commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ByUs {
    /// We, when we are root.
    AsRoot,
    /// We, when we are not root.
    AsCaller,
    /// Only the person.
    Never,
}

#[rustfmt::skip]
const SYSTEMS: [System; 6] = [
    System { names: &["debian", "ubuntu"], by_us: ByUs::AsRoot, commands: &[&["apt-get", "update"], &["apt-get", "install", "-y", "postgresql"]] },
    System { names: &["macos"],            by_us: ByUs::AsCaller, commands: &[&["brew", "install", "postgresql@17"]] },
    System { names: &["fedora", "rhel"],   by_us: ByUs::Never, commands: &[&["dnf", "install", "-y", "postgresql-server"]] },
    System { names: &["suse", "opensuse"], by_us: ByUs::Never, commands: &[&["zypper", "install", "-y", "postgresql-server"]] },
    System { names: &["arch"],             by_us: ByUs::Never, commands: &[&["pacman", "-S", "postgresql"]] },
    System { names: &["alpine"],           by_us: ByUs::Never, commands: &[&["apk", "add", "postgresql"]] },
];

/// Installs the server and returns its binaries, or says what the person has to do.
pub(crate) fn install(consent: Consent) -> Result<Binaries> {
    let release = std::fs::read_to_string("/etc/os-release").unwrap_or_default();
    let Some(system) = system(&release, std::env::consts::OS) else {
        return Err(missing("install it"));
    };
    let last = system.told();
    match (system.by_us, rustix::process::geteuid().is_root()) {
        (ByUs::AsRoot, true) | (ByUs::AsCaller, false) => {}
        (ByUs::AsCaller, true) => return Err(missing(&format!("run `{last}` as another account"))),
        (ByUs::AsRoot | ByUs::Never, false) => return Err(missing(&format!("run `sudo {last}`"))),
        (ByUs::Never, true) => return Err(missing(&format!("run `{last}`"))),
    }
    agree(consent, &last)?;
    for words in system.commands {
        run(words)?;
    }
    Binaries::find()?.ok_or_else(|| missing(&format!("see what `{last}` installed")))
}

/// The row of the system that the text of `/etc/os-release` or Rust's name tells of.
pub(crate) fn system(release: &str, name: &str) -> Option<&'static System> {
    let value = |key: &str| {
        let line = release.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('='));
        line.unwrap_or_default().trim_matches('"').to_owned()
    };
    let names = format!("{name} {} {}", value("ID"), value("ID_LIKE"));
    let is = |system: &&System| names.split(' ').any(|name| system.names.contains(&name));
    SYSTEMS.iter().find(is)
}

fn agree(consent: Consent, command: &str) -> Result<()> {
    match consent {
        Consent::Given => return Ok(()),
        Consent::Ask if !stdin().is_terminal() => {
            return Err(missing(&format!("give `--yes` to let this run `{command}`")));
        }
        Consent::Ask => {}
    }
    print!("PostgreSQL is not installed. Run `{command}` now? [y/N] ");
    let mut answer = String::new();
    let asked = stdout().flush().and_then(|()| stdin().read_line(&mut answer));
    asked.map_err(|source| Failure::Io { attempt: "ask".to_owned(), source })?;
    if answer.trim().eq_ignore_ascii_case("y") || answer.trim().eq_ignore_ascii_case("yes") {
        Ok(())
    } else {
        Err(missing(&format!("run `{command}` yourself")))
    }
}

fn run(words: &[&str]) -> Result<()> {
    let Some((program, arguments)) = words.split_first() else { return Ok(()) };
    let mut command = Command::new(program);
    process::run(command.args(arguments).env("DEBIAN_FRONTEND", "noninteractive"))
}

fn missing(advice: &str) -> Failure {
    Failure::because(format!(
        "no PostgreSQL {OLDEST_MAJOR} or newer was found; {advice}, or set `{SETTING}` to the \
         folder that holds `postgres`, `initdb` and `pg_ctl`"
    ))
}

//! Finds the PostgreSQL server's binaries on this machine. Installs nothing.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::files;
use crate::failure::{Failure, Result};
use crate::process;

/// The oldest version whose logical decoding and monitoring views the service can use.
pub(crate) const OLDEST_MAJOR: u32 = 14;

/// The setting that names the folder, for installations in unusual places.
pub(crate) const SETTING: &str = "SERVICE_PG_BIN";

/// What must lie in the folder.
const PROGRAMS: [&str; 3] = ["postgres", "initdb", "pg_ctl"];

/// Where packages put the server: the folder that holds one folder per version, how such a
/// folder's name begins, and what follows it.
const USUAL: [(&str, &str, &str); 6] = [
    ("/usr/lib/postgresql", "", "bin"),
    ("/usr", "pgsql-", "bin"),
    ("/usr/libexec", "postgresql", ""),
    ("/opt/homebrew/opt", "postgresql@", "bin"),
    ("/usr/local/opt", "postgresql@", "bin"),
    ("/Applications/Postgres.app/Contents/Versions", "", "bin"),
];

/// A folder of binaries that can serve.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Binaries {
    /// The folder.
    pub(crate) folder: PathBuf,
    /// The server's major version.
    pub(crate) major: u32,
}

impl Binaries {
    /// The binaries that the setting names, else those on the path, else the newest in the
    /// usual folders; none when there are none of a version that serves.
    pub(crate) fn find() -> Result<Option<Self>> {
        if let Some(folder) = std::env::var_os(SETTING) {
            return Self::named(Path::new(&folder)).map(Some);
        }
        let path = std::env::var_os("PATH").unwrap_or_default();
        let on_path = std::env::split_paths(&path).find_map(|folder| Self::serving(&folder));
        Ok(on_path.or_else(Self::newest_usual))
    }

    /// The binaries in this folder, which must hold these programs as well.
    pub(crate) fn of(folder: &Path, programs: &[&str]) -> Result<Self> {
        let is_lacking = |program: &&&str| !folder.join(program).is_file();
        let lacking: Vec<_> = PROGRAMS.iter().chain(programs).filter(is_lacking).copied().collect();
        if !lacking.is_empty() {
            return Err(Failure::because(format!(
                "`{}` lacks `{}`; name the folder of the programs of a PostgreSQL server",
                folder.display(),
                lacking.join("`, `")
            )));
        }
        Self::serving(folder).ok_or_else(|| {
            Failure::because(format!(
                "`{}` holds no PostgreSQL of version {OLDEST_MAJOR} or newer that runs here",
                folder.display()
            ))
        })
    }

    /// The command for one of the programs in the folder.
    pub(crate) fn program(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    fn named(folder: &Path) -> Result<Self> {
        Self::serving(folder).ok_or_else(|| {
            Failure::because(format!(
                "`{SETTING}` names `{}`, which must hold `{}` of PostgreSQL {OLDEST_MAJOR} or newer",
                folder.display(),
                PROGRAMS.join("`, `")
            ))
        })
    }

    fn newest_usual() -> Option<Self> {
        let mut found = Vec::new();
        for (above, prefix, below) in USUAL {
            for path in files::children(Path::new(above)).unwrap_or_default() {
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                if name.starts_with(prefix) {
                    found.extend(Self::serving(&path.join(below)));
                }
            }
        }
        found.into_iter().max_by_key(|binaries| binaries.major)
    }

    fn serving(folder: &Path) -> Option<Self> {
        // What lies on the path may be links to some of the programs; the others are beside the
        // linked one.
        let server = folder.join("postgres").canonicalize().ok()?;
        let folder = server.parent()?;
        if !PROGRAMS.iter().all(|program| folder.join(program).is_file()) {
            return None;
        }
        let mut command = Command::new(&server);
        let output = process::capture(command.arg("--version")).ok()?;
        let major = major(&String::from_utf8_lossy(&output.stdout))?;
        (major >= OLDEST_MAJOR).then(|| Self { folder: folder.to_owned(), major })
    }
}

/// The major version in what `postgres --version` prints.
pub(crate) fn major(printed: &str) -> Option<u32> {
    let version = printed.split_once("(PostgreSQL)")?.1.trim_start();
    let end = version.find(|character: char| !character.is_ascii_digit()).unwrap_or(version.len());
    version.get(..end)?.parse().ok()
}

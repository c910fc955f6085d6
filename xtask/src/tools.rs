//! What tests run beside PostgreSQL: Python and Node, each with a few libraries, Chromium, PgBouncer,
//! and what steps the clock of one process.
//!
//! They are found on this machine, or installed where that is allowed. What stays missing is left
//! out of the tests, with one line that says so.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::descriptions;
use crate::failure::{Failure, Result};
use crate::pg::Consent;
use crate::process;
use crate::workspace::Workspace;

/// A program, the variable by which tests find it, what it is called, and its Debian packages.
struct Tool {
    variable: &'static str,
    programs: &'static [&'static str],
    packages: &'static [&'static str],
}

const PYTHON: Tool = Tool {
    variable: "CHANCERY_PYTHON",
    programs: &["python3"],
    packages: &["python3", "python3-venv"],
};
const NODE: Tool =
    Tool { variable: "CHANCERY_NODE", programs: &["node", "nodejs"], packages: &["nodejs"] };
const OTHERS: [Tool; 4] = [
    NODE,
    Tool {
        variable: "CHANCERY_CHROMIUM",
        programs: &["chromium", "chromium-browser", "google-chrome"],
        packages: &["chromium"],
    },
    Tool {
        variable: "CHANCERY_PGBOUNCER",
        // The packages put it where only root looks.
        programs: &["pgbouncer", "/usr/sbin/pgbouncer"],
        packages: &["pgbouncer"],
    },
    // No program: it is loaded into a service whose clock a test steps.
    Tool {
        variable: "CHANCERY_FAKETIME",
        programs: &[
            "/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1",
            "/usr/lib/aarch64-linux-gnu/faketime/libfaketime.so.1",
        ],
        packages: &["libfaketime"],
    },
];

/// The libraries of the Python environment, from the checkout's root.
const REQUIREMENTS: &str = "tests/it/verifiers/requirements.txt";
/// Where the libraries of Node are listed, from the checkout's root, and how tests find them.
const NODE_LISTS: &str = "tests/it/clients";
const NODE_LIBRARIES: &str = "CHANCERY_NODE_LIBRARIES";

/// Installs what is missing.
pub(crate) fn install(workspace: &Workspace) -> Result<()> {
    for tool in std::iter::once(&PYTHON).chain(&OTHERS) {
        let path = tool.found_or_installed(Consent::Given)?;
        println!("{} is {}", tool.variable, shown(path.as_deref()));
    }
    println!("{NODE_LIBRARIES} is {}", shown(Some(&node_libraries(workspace)?)));
    println!("{} is {}", descriptions::VARIABLE, shown(Some(&descriptions::usual(workspace)?)));
    let environment = PYTHON.found_or_installed(Consent::Given)?;
    environment.map_or(Ok(()), |python| python_environment(workspace, &python).map(|_| ()))
}

/// Names the tools to the tests, and tells the person which are left out.
pub(crate) fn name(workspace: &Workspace, command: &mut Command) {
    for tool in OTHERS.iter().filter(|tool| std::env::var_os(tool.variable).is_none()) {
        match tool.found() {
            Some(path) => drop(command.env(tool.variable, path)),
            None => left_out(tool.variable),
        }
    }
    if std::env::var_os(NODE_LIBRARIES).is_none() {
        match node_libraries(workspace) {
            Ok(folder) => drop(command.env(NODE_LIBRARIES, folder)),
            Err(failure) => {
                println!("{failure}");
                left_out(NODE_LIBRARIES);
            }
        }
    }
    if std::env::var_os(descriptions::VARIABLE).is_none() {
        match descriptions::usual(workspace) {
            Ok(folder) => drop(command.env(descriptions::VARIABLE, folder)),
            Err(failure) => {
                println!("{failure}");
                left_out(descriptions::VARIABLE);
            }
        }
    }
    if std::env::var_os(PYTHON.variable).is_some() {
        return;
    }
    let environment = PYTHON.found().map(|python| python_environment(workspace, &python));
    match environment {
        Some(Ok(python)) => drop(command.env(PYTHON.variable, python)),
        Some(Err(failure)) => {
            println!("{failure}");
            left_out(PYTHON.variable);
        }
        None => left_out(PYTHON.variable),
    }
}

impl Tool {
    fn found(&self) -> Option<PathBuf> {
        if let Some(named) = std::env::var_os(self.variable) {
            return Some(PathBuf::from(named));
        }
        let path = std::env::var_os("PATH").unwrap_or_default();
        let files = std::env::split_paths(&path)
            .flat_map(|folder| self.programs.iter().map(move |program| folder.join(program)));
        files.into_iter().find(|file| file.is_file())
    }

    /// The program, installing it where we may; none where we may not.
    fn found_or_installed(&self, consent: Consent) -> Result<Option<PathBuf>> {
        let ours = consent == Consent::Given
            && Path::new("/etc/debian_version").exists()
            && rustix::process::geteuid().is_root();
        if self.found().is_none() && ours {
            // The lists of packages may be missing, or older than what the mirror still has.
            self.install().or_else(|_| {
                process::run(Command::new("apt-get").arg("update"))?;
                self.install()
            })?;
        }
        Ok(self.found())
    }

    fn install(&self) -> Result<()> {
        let mut command = Command::new("apt-get");
        command.args(["install", "-y", "--no-install-recommends"]).args(self.packages);
        process::run(command.env("DEBIAN_FRONTEND", "noninteractive"))
    }
}

/// The Python of an environment that has the libraries, making it when they change.
fn python_environment(workspace: &Workspace, python: &Path) -> Result<PathBuf> {
    let folder = workspace.root().join(".chancery/python");
    let (wanted, made) = (workspace.root().join(REQUIREMENTS), folder.join("requirements.txt"));
    let text = fs::read(&wanted).map_err(Failure::on("read", &wanted))?;
    let inner = folder.join("bin/python");
    if fs::read(&made).is_ok_and(|had| had == text) {
        return Ok(inner);
    }
    process::run(Command::new(python).args(["-m", "venv", "--clear"]).arg(&folder))?;
    let mut pip = Command::new(&inner);
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r"]).arg(&wanted);
    process::run(&mut pip)?;
    fs::write(&made, text).map_err(Failure::on("write", &made))?;
    Ok(inner)
}

/// The folder of the libraries for Node, installing them when their lists change.
fn node_libraries(workspace: &Workspace) -> Result<PathBuf> {
    packages_of_node(&workspace.root().join(NODE_LISTS), &workspace.root().join(".chancery/node"))
}

/// A command of Node.
pub(crate) fn node() -> Result<Command> {
    let found = NODE.found().map(Command::new);
    found.ok_or_else(|| Failure::because("Node is not here; `cargo xtask tools` installs it"))
}

/// The folder of the packages that are listed in a folder, installing them in another one when their
/// lists change. No program of theirs runs.
pub(crate) fn packages_of_node(lists: &Path, folder: &Path) -> Result<PathBuf> {
    let libraries = folder.join("node_modules");
    let names = ["package.json", "package-lock.json"];
    let read = |folder: &Path| names.map(|name| fs::read(folder.join(name)).ok());
    if libraries.is_dir() && read(lists) == read(folder) {
        return Ok(libraries);
    }
    fs::create_dir_all(folder).map_err(Failure::on("make", folder))?;
    let mut npm = Command::new("npm");
    npm.args(["ci", "--ignore-scripts", "--no-audit", "--no-fund", "--silent"]);
    for name in names {
        let (from, to) = (lists.join(name), folder.join(name));
        fs::copy(&from, &to).map_err(Failure::on("copy", &from))?;
    }
    process::run(npm.current_dir(folder)).inspect_err(|_| {
        // What is half installed is not taken for whole the next time.
        drop(fs::remove_dir_all(folder));
    })?;
    Ok(libraries)
}

fn left_out(variable: &str) {
    println!(
        "tests that need `{variable}` are left out; `cargo xtask tools` installs \
         what they run"
    );
}

fn shown(path: Option<&Path>) -> String {
    path.map_or_else(
        || "not here, and not ours to install on this system".to_owned(),
        |path| format!("`{}`", path.display()),
    )
}

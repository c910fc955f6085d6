//! `cargo xtask dist`: the service as it is handed out. One binary with nothing in it but what it
//! needs to run, its debug information in a file apart, a bill of materials, and checksums.

mod bill;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use cargo_metadata::{Metadata, MetadataCommand};

use crate::cli::Dist;
use crate::failure::{Failure, Result};
use crate::process;
use crate::workspace::Workspace;

/// The target whose binary needs no library of the machine that it runs on.
const STATIC: &str = "x86_64-unknown-linux-musl";
/// The shells that completions are written for, where the binary has the verb.
const SHELLS: [&str; 3] = ["bash", "zsh", "fish"];

/// Builds everything that is handed out and prints where it is.
pub(crate) fn run(workspace: &Workspace, request: &Dist) -> Result<()> {
    let target = match &request.target {
        Some(target) => target.clone(),
        None => target(workspace)?,
    };
    let metadata = metadata(workspace, &target)?;
    let built = build(workspace, &target)?;
    let folder = folder(workspace, &metadata, &target)?;
    let binary = split(&built, &folder)?;
    let bill = bill::of(&metadata, &lock(workspace)?, "server")?;
    write(&folder.join("chancery.cdx.json"), &bill)?;
    let license = workspace.root().join("LICENSE");
    fs::copy(&license, folder.join("LICENSE")).map_err(Failure::on("copy", &license))?;
    completions(&binary, &folder)?;
    sums(&folder)?;
    println!("{}", folder.display());
    Ok(())
}

/// The static target where its libraries are installed; else this machine's own, and says so.
fn target(workspace: &Workspace) -> Result<String> {
    let list = ["--print", "target-libdir", "--target", STATIC];
    let mut command = Command::new("rustc");
    let output = process::capture(command.args(list).current_dir(workspace.root()))?;
    if Path::new(String::from_utf8_lossy(&output.stdout).trim()).is_dir() {
        return Ok(STATIC.to_owned());
    }
    println!(
        "`{STATIC}` is not installed (`rustup target add {STATIC}`): the binary will need the C \
         library of a machine like this one"
    );
    let output = process::capture(Command::new("rustc").arg("-vV").current_dir(workspace.root()))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).ok_or_else(|| Failure::because("`rustc -vV` names no host"))
}

fn metadata(workspace: &Workspace, target: &str) -> Result<Metadata> {
    let mut command = MetadataCommand::new();
    command.current_dir(workspace.root());
    command.other_options(["--locked", "--filter-platform", target].map(str::to_owned));
    command.exec().map_err(|error| {
        Failure::because(format!("could not read the crates with `cargo metadata`: {error}"))
    })
}

/// Builds the service for the target.
fn build(workspace: &Workspace, target: &str) -> Result<PathBuf> {
    let package = ["build", "--locked", "--profile", "dist", "--package", "server"];
    let mut command = workspace.cargo(package);
    command.args(["--bin", "chancery", "--target", target]);
    if target == STATIC {
        // The parts in C need no compiler of their own for it: it is the same processor and
        // system, and nothing of the C library's is compiled into them.
        command.env("CC_x86_64_unknown_linux_musl", "cc");
        command.env("CFLAGS_x86_64_unknown_linux_musl", "-U_FORTIFY_SOURCE");
    }
    process::run(&mut command)?;
    Ok(workspace.target().join(target).join("dist/chancery"))
}

/// An empty folder for what is handed out.
fn folder(workspace: &Workspace, metadata: &Metadata, target: &str) -> Result<PathBuf> {
    let server = metadata.packages.iter().find(|package| package.name.as_str() == "server");
    let version = server.map(|package| package.version.to_string()).unwrap_or_default();
    let folder = workspace.target().join("dist").join(format!("chancery-{version}-{target}"));
    if folder.exists() {
        fs::remove_dir_all(&folder).map_err(Failure::on("remove", &folder))?;
    }
    fs::create_dir_all(&folder).map_err(Failure::on("make", &folder))?;
    Ok(folder)
}

/// Puts the binary into the folder without its debug information, and that beside it.
fn split(built: &Path, folder: &Path) -> Result<PathBuf> {
    let (binary, debug) = (folder.join("chancery"), folder.join("chancery.debug"));
    let objcopy = |flags: &[&str], to: &Path| {
        process::run(Command::new("objcopy").args(flags).arg(built).arg(to).current_dir(folder))
    };
    objcopy(&["--only-keep-debug", "--compress-debug-sections"], &debug)?;
    objcopy(&["--strip-all", "--add-gnu-debuglink=chancery.debug"], &binary)?;
    Ok(binary)
}

/// Writes what the binary itself can write for shells and manuals; an older one has no such verb.
fn completions(binary: &Path, folder: &Path) -> Result<()> {
    let to = folder.join("completions");
    for shell in SHELLS {
        let output = process::capture(Command::new(binary).args(["completions", shell]))?;
        if !output.status.success() {
            println!("this binary writes no completions for `{shell}`");
            continue;
        }
        fs::create_dir_all(&to).map_err(Failure::on("make", &to))?;
        let file = to.join(format!("chancery.{shell}"));
        fs::write(&file, output.stdout).map_err(Failure::on("write", &file))?;
    }
    process::run(Command::new(binary).arg("man").arg("--out").arg(folder.join("man")))
}

/// Writes the digest of every file of the folder, in the form that `sha256sum -c` reads.
fn sums(folder: &Path) -> Result<()> {
    let mut files = files(folder)?;
    files.sort();
    let names = files.iter().filter_map(|file| file.strip_prefix(folder).ok());
    let mut command = Command::new("sha256sum");
    let output = process::capture(command.args(names).current_dir(folder))?;
    if !output.status.success() {
        let program = process::shown(&command);
        return Err(Failure::Command { program, status: output.status });
    }
    write(&folder.join("SHA256SUMS"), &String::from_utf8_lossy(&output.stdout))
}

fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).map_err(Failure::on("read", folder))? {
        let path = entry.map_err(Failure::on("read", folder))?.path();
        if path.is_dir() { found.extend(files(&path)?) } else { found.push(path) }
    }
    Ok(found)
}

fn lock(workspace: &Workspace) -> Result<String> {
    let path = workspace.root().join("Cargo.lock");
    fs::read_to_string(&path).map_err(Failure::on("read", &path))
}

fn write(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text).map_err(Failure::on("write", path))
}

#[cfg(test)]
mod tests;

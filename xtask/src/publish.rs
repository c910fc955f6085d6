//! `cargo xtask publish --dry-run`: the crates for programs of others as they would be published.
//! Copies them and all they are built from below `target/`, under names with the project's prefix,
//! lets cargo pack each, and compiles what the packages hold, each against the others. Uploads
//! nothing.

mod manifest;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use cargo_metadata::{DependencyKind, Metadata, MetadataCommand, Package};

use crate::cli::Publish;
use crate::failure::{Failure, Result};
use crate::process;
use crate::workspace::Workspace;

/// What is published when nobody says, each with all that it is built from.
const DOORS: [&str; 5] = ["chancery", "policy", "deed", "decoder", "model"];
/// What stays behind: made, or for this workspace's own tests.
const LEFT: [&str; 4] = ["Cargo.toml", "fuzz", "target", "tests"];

/// Packs these crates, or every one that is published, and builds what was packed.
pub(crate) fn run(workspace: &Workspace, request: &Publish) -> Result<()> {
    if !request.dry_run {
        let sentence = "nothing is uploaded from here; `--dry-run` packs and builds what would be";
        return Err(Failure::because(sentence.to_owned()));
    }
    let metadata = MetadataCommand::new().current_dir(workspace.root()).no_deps().exec();
    let metadata = metadata.map_err(|error| {
        Failure::because(format!("could not read the crates with `cargo metadata`: {error}"))
    })?;
    let doors: Vec<&str> = match request.crates.as_slice() {
        [] => DOORS.to_vec(),
        wanted => wanted.iter().map(String::as_str).collect(),
    };
    let packages = built_from(&metadata, &doors)?;
    let (copy, unpacked) = (anew(workspace, "publish")?, anew(workspace, "published")?);
    for package in &packages {
        copied(package, workspace.root(), &copy)?;
    }
    let names: Vec<&str> = packages.iter().map(|package| package.name.as_str()).collect();
    write(&copy.join("Cargo.toml"), &manifest::workspace(&names))?;
    keep_lock(workspace.root(), &copy)?;
    process::run(&mut pack(workspace, &copy))?;
    let packed: Vec<String> = packages.iter().map(|it| manifest::packed(it)).collect();
    for package in &packed {
        unpack(&copy.join("target/package").join(format!("{package}.crate")), &unpacked)?;
    }
    write(&unpacked.join("Cargo.toml"), &manifest::of_packed(&packages))?;
    keep_lock(&copy, &unpacked)?;
    process::run(&mut compile(workspace, &unpacked))?;
    println!("packed and compiled: {}", names.join(", "));
    Ok(())
}

/// An empty folder of this name among what is built.
fn anew(workspace: &Workspace, name: &str) -> Result<PathBuf> {
    let folder = workspace.target().join(name);
    if folder.exists() {
        fs::remove_dir_all(&folder).map_err(Failure::on("remove", &folder))?;
    }
    fs::create_dir_all(&folder).map_err(Failure::on("make", &folder))?;
    Ok(folder)
}

/// Takes the versions of libraries from one workspace to another.
fn keep_lock(from: &Path, to: &Path) -> Result<()> {
    let lock = from.join("Cargo.lock");
    fs::copy(&lock, to.join("Cargo.lock")).map_err(Failure::on("copy", &lock))?;
    Ok(())
}

/// Cargo's own command that packs every package of the copy. What it would build of each alone is
/// compiled afterwards, all at once.
fn pack(workspace: &Workspace, copy: &Path) -> Command {
    let mut command =
        workspace.cargo(["package", "--workspace", "--offline", "--allow-dirty", "--no-verify"]);
    command.current_dir(copy).env("CARGO_TARGET_DIR", copy.join("target"));
    command
}

/// Puts what is packed into a folder of its name in this one, as files of now: all that cargo packs has
/// one time, by which what was compiled of them before would pass for what they are.
fn unpack(packed: &Path, folder: &Path) -> Result<()> {
    process::run(Command::new("tar").arg("xzmf").arg(packed).arg("-C").arg(folder))
}

/// The command that compiles what was unpacked. It takes libraries from where the checkout's build
/// has put them, and asks no registry.
fn compile(workspace: &Workspace, unpacked: &Path) -> Command {
    let mut command = workspace.cargo(["check", "--workspace", "--offline"]);
    command.current_dir(unpacked).env("CARGO_TARGET_DIR", workspace.built_outside());
    // Nobody debugs what is compiled here.
    command.env("CARGO_PROFILE_DEV_DEBUG", "0");
    command
}

/// The crates and all crates of the workspace that they are built from, by name.
fn built_from<'a>(metadata: &'a Metadata, doors: &[&str]) -> Result<Vec<&'a Package>> {
    let ours: BTreeMap<&str, &Package> =
        metadata.packages.iter().map(|package| (package.name.as_str(), package)).collect();
    let mut open: Vec<&str> = doors.to_vec();
    let mut seen = BTreeSet::new();
    while let Some(name) = open.pop() {
        let package = ours.get(name).ok_or_else(|| {
            Failure::because(format!("there is no crate `{name}` in this workspace"))
        })?;
        if seen.insert(package.name.as_str()) {
            let uses = package.dependencies.iter().filter(|it| it.kind == DependencyKind::Normal);
            open.extend(uses.filter(|it| it.path.is_some()).map(|it| it.name.as_str()));
        }
    }
    Ok(seen.iter().filter_map(|name| ours.get(name).copied()).collect())
}

/// Copies what is published of a crate, with a manifest that says by itself what ours take from
/// the workspace.
fn copied(package: &Package, root: &Path, copy: &Path) -> Result<()> {
    let Some(from) = package.manifest_path.parent() else { return Ok(()) };
    let to = copy.join(package.name.as_str());
    let uses_ours = |it: &cargo_metadata::Dependency| {
        it.kind == DependencyKind::Development && it.path.is_some()
    };
    let mut left = LEFT.to_vec();
    // Examples that stand on crates for tests are for this workspace alone.
    if package.dependencies.iter().any(uses_ours) {
        left.push("examples");
    }
    tree(from.as_std_path(), &to, &left)?;
    let license = root.join("LICENSE");
    fs::copy(&license, to.join("LICENSE")).map_err(Failure::on("copy", &license))?;
    let library = to.join("src/lib.rs");
    let text = fs::read_to_string(&library).map_err(Failure::on("read", &library))?;
    write(&to.join("Cargo.toml"), &manifest::of(package, &text))
}

/// Copies a folder but for these names in it.
fn tree(from: &Path, to: &Path, left: &[&str]) -> Result<()> {
    fs::create_dir_all(to).map_err(Failure::on("make", to))?;
    for entry in fs::read_dir(from).map_err(Failure::on("read", from))? {
        let entry = entry.map_err(Failure::on("read", from))?;
        let (path, name) = (entry.path(), entry.file_name());
        if left.iter().any(|left| name == *left) {
            continue;
        }
        if path.is_dir() {
            tree(&path, &to.join(&name), &[])?;
        } else {
            fs::copy(&path, to.join(&name)).map_err(Failure::on("copy", &path))?;
        }
    }
    Ok(())
}

fn write(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text).map_err(Failure::on("write", path))
}

#[cfg(test)]
mod tests;

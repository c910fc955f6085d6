//! `cargo xtask api`: what the published crates promise to those who link them, as text files that
//! a review sees change. It lists; whether a change breaks somebody is for people to say.

use std::fs;
use std::path::{Path, PathBuf};

use crate::docs::Pages;
use crate::failure::{Failure, Result};
use crate::process;
use crate::workspace::Workspace;

/// The crates whose interface is kept.
const CRATES: [&str; 5] = ["chancery", "policy", "deed", "decoder", "model"];

/// Where it is kept, from the checkout's root.
const FOLDER: &str = "docs/api";

/// The rustdoc that writes forms that are not stable, from the checkout's root.
const RUSTDOC: &str = "xtask/src/public_api/rustdoc.sh";

/// Writes the interface of every published crate, or fails when one differs from its file.
pub(crate) fn run(workspace: &Workspace, pages: Pages) -> Result<()> {
    let folder = workspace.root().join(FOLDER);
    fs::create_dir_all(&folder).map_err(Failure::on("make", &folder))?;
    let written = rustdoc_json(workspace)?;
    let mut stale = 0;
    for name in CRATES {
        let listed = interface(&written.join(format!("{name}.json")))?;
        let path = folder.join(format!("{name}.txt"));
        match pages {
            Pages::Write => fs::write(&path, listed).map_err(Failure::on("write", &path))?,
            Pages::Compare if fs::read_to_string(&path).is_ok_and(|text| text == listed) => {}
            Pages::Compare => {
                println!("{FOLDER}/{name}.txt: the interface has changed; run `cargo xtask api`");
                stale += 1;
            }
        }
    }
    if stale == 0 { Ok(()) } else { Err(Failure::Findings { check: "api", count: stale }) }
}

/// Has rustdoc write what it knows of every crate, and returns the folder of what it wrote.
///
/// That form is not stable yet, so the pinned rustdoc has to be told that it is meant; the version
/// of `public-api` in the manifest reads what it writes. The crates are asked for at once, so that
/// what they use is compiled once.
fn rustdoc_json(workspace: &Workspace) -> Result<PathBuf> {
    let mut command = workspace.cargo(["doc", "--no-deps", "--lib", "--quiet"]);
    command.args(CRATES.iter().flat_map(|name| ["--package", name]));
    command.env("RUSTDOC", workspace.root().join(RUSTDOC));
    command.env("RUSTDOCFLAGS", "-Zunstable-options --output-format json");
    process::run(&mut command)?;
    Ok(workspace.target().join("doc"))
}

/// One line for each public item, without what every type has by itself.
fn interface(json: &Path) -> Result<String> {
    let listed = public_api::Builder::from_rustdoc_json(json)
        .omit_blanket_impls(true)
        .omit_auto_trait_impls(true)
        .omit_auto_derived_impls(true)
        .sorted(true)
        .build();
    let listed = listed.map_err(|error| {
        Failure::because(format!("could not read the interface in `{}`: {error}", json.display()))
    })?;
    let lines: Vec<String> = listed.items().map(ToString::to_string).collect();
    Ok(lines.join("\n") + "\n")
}

//! `cargo xtask api`: what the published crates promise to those who link them, as text files that
//! a review sees change. It lists; whether a change breaks somebody is for people to say.

use std::fs;
use std::path::Path;

use crate::docs::Pages;
use crate::failure::{Failure, Result};
use crate::process;
use crate::workspace::Workspace;

/// The crates whose interface is kept.
const CRATES: [&str; 5] = ["chancery", "policy", "deed", "decoder", "model"];

/// Where it is kept, from the checkout's root.
const FOLDER: &str = "docs/api";

/// Writes the interface of every published crate, or fails when one differs from its file.
pub(crate) fn run(workspace: &Workspace, pages: Pages) -> Result<()> {
    let folder = workspace.root().join(FOLDER);
    fs::create_dir_all(&folder).map_err(Failure::on("make", &folder))?;
    let mut stale = 0;
    for name in CRATES {
        let listed = interface(&rustdoc_json(workspace, name)?)?;
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

/// Has rustdoc write what it knows of the crate, and returns the file's path.
///
/// That form is not stable yet, so the pinned compiler has to be told that it is meant; the
/// version of `public-api` in the manifest reads what this compiler writes.
fn rustdoc_json(workspace: &Workspace, name: &str) -> Result<std::path::PathBuf> {
    let target = workspace.target().join("api");
    let mut command = workspace.cargo(["rustdoc", "--quiet", "--lib", "--package", name]);
    command.arg("--target-dir").arg(&target).args(["--", "-Zunstable-options"]);
    command.args(["--output-format", "json"]).env("RUSTC_BOOTSTRAP", "1");
    process::run(&mut command)?;
    Ok(target.join("doc").join(format!("{name}.json")))
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

//! `cargo xtask counts`: the numbers by which a reviewer judges the code, over what `crates/*/src`
//! builds into the product. Prints them and forbids nothing. Build scripts are not counted, and
//! `--since` sees the files that git tracks.

mod cfg;
mod circles;
mod lines;
mod measures;
mod modules;
mod package;
mod paths;
mod scan;
mod since;
mod source;
mod summary;
mod table;

use std::collections::BTreeSet;

use crate::cli::Counts;
use crate::failure::{Failure, Result};
use crate::tidy::Tree;
use crate::workspace::Workspace;
use package::Package;

/// Prints the numbers that are asked for.
pub(crate) fn run(workspace: &Workspace, request: &Counts) -> Result<()> {
    let tree = Tree::read(workspace.root())?;
    let lines = if let Some(name) = &request.circles {
        circles::shown(&package(&tree, name)?)
    } else if let Some(commit) = &request.since {
        since::shown(workspace, &tree, &packages(&tree)?, commit)?
    } else {
        summary::shown(&packages(&tree)?)
    };
    for line in lines {
        println!("{line}");
    }
    Ok(())
}

fn package(tree: &Tree, name: &str) -> Result<Package> {
    let names = names(tree);
    if names.contains(name) {
        return Package::read(tree, name);
    }
    let names: Vec<&str> = names.into_iter().collect();
    Err(Failure::because(format!("`{name}` is none of the crates: {}", names.join(", "))))
}

fn packages(tree: &Tree) -> Result<Vec<Package>> {
    names(tree).into_iter().map(|name| Package::read(tree, name)).collect()
}

/// The crates of the product.
fn names(tree: &Tree) -> BTreeSet<&str> {
    let inside = tree.under("crates").filter_map(|file| file.path.split('/').nth(1));
    inside.filter(|name| *name != "testkit").collect()
}

#[cfg(test)]
mod tests;

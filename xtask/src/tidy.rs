//! `cargo xtask tidy`: the rules of the house that no compiler checks, over every text file of the
//! checkout. Also runs as a test, so that `cargo test` alone finds a break.

mod decisions;
mod literals;
mod project;
mod rust;
mod terms;
mod texts;
mod tree;

use std::path::Path;

use crate::failure::Result;
use crate::gate::nothing_found;
use crate::workspace::Workspace;
pub(crate) use terms::markdown as terms;
pub(crate) use tree::{File, Tree};

/// Every rule: returns a line, beginning with the path, for each place that breaks it.
const RULES: [fn(&Tree) -> Vec<String>; 14] = [
    rust::files_open_with_what_they_are,
    rust::files_stay_short,
    rust::nothing_is_left_undone,
    rust::modules_are_named,
    rust::sql_stays_in_its_crates,
    project::packages_take_the_lints,
    project::migrations_are_listed,
    project::architecture_names_what_exists,
    decisions::decisions_are_numbered_once,
    decisions::decisions_are_listed,
    decisions::paragraphs_of_decisions_are_short,
    project::dependencies_are_explained,
    project::the_project_speaks_of_itself,
    terms::texts_use_the_terms,
];

/// Prints every break of a rule, and fails when there is one.
pub(crate) fn run(workspace: &Workspace) -> Result<()> {
    nothing_found("tidy", &findings(workspace.root())?)
}

fn findings(root: &Path) -> Result<Vec<String>> {
    let tree = Tree::read(root)?;
    Ok(RULES.iter().flat_map(|rule| rule(&tree)).collect())
}

#[cfg(test)]
mod tests;

//! What a change costs: the files and lines that differ from a commit, by area.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::process::Command;

use super::package::Package;
use super::table;
use crate::failure::{Failure, Result};
use crate::process;
use crate::tidy::Tree;
use crate::workspace::Workspace;

/// Parts of a path by which a file of a crate serves tests.
const OF_TESTS: [&str; 6] = ["tests", "tests.rs", "testing.rs", "fuzz", "examples", "benches"];

/// A part of the checkout, in the order of the table.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Area {
    /// The product code of a crate.
    Product(String),
    /// The tests of a crate.
    TestsOf(String),
    /// The description of the HTTP API.
    Description,
    /// Migrations, and the store's files of SQL.
    Sql,
    /// Pages for people.
    Docs,
    /// The tests of the whole service.
    Tests,
    /// This program.
    Xtask,
    /// Everything else.
    Other,
}

impl Area {
    /// The area of the path. Files in the set are for tests, although their names do not say so.
    pub(crate) fn of(path: &str, tests: &BTreeSet<String>) -> Self {
        let parts: Vec<&str> = path.split('/').collect();
        let ending = path.rsplit_once('.').map(|(_, ending)| ending);
        let is_test =
            tests.contains(path) || parts.iter().skip(2).any(|part| OF_TESTS.contains(part));
        match parts.as_slice() {
            ["crates", "http-api", "api", ..] => Self::Description,
            ["crates", name, ..] if *name == "testkit" || is_test => {
                Self::TestsOf((*name).to_owned())
            }
            ["crates", "store-postgres", ..] if ending == Some("sql") => Self::Sql,
            ["migrations", ..] => Self::Sql,
            ["docs", ..] => Self::Docs,
            _ if ending == Some("md") => Self::Docs,
            ["crates", name, ..] => Self::Product((*name).to_owned()),
            ["tests", ..] => Self::Tests,
            ["xtask", ..] => Self::Xtask,
            _ => Self::Other,
        }
    }
}

impl fmt::Display for Area {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Product(name) => write!(formatter, "crates/{name} product"),
            Self::TestsOf(name) => write!(formatter, "crates/{name} tests"),
            Self::Description => formatter.write_str("HTTP API description"),
            Self::Sql => formatter.write_str("migrations and SQL of the store"),
            Self::Docs => formatter.write_str("docs"),
            Self::Tests => formatter.write_str("tests"),
            Self::Xtask => formatter.write_str("xtask"),
            Self::Other => formatter.write_str("other"),
        }
    }
}

/// Files and lines of a change.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Cost {
    /// Files that differ.
    pub(crate) files: usize,
    /// Lines that are new.
    pub(crate) added: usize,
    /// Lines that are gone.
    pub(crate) removed: usize,
}

impl Cost {
    fn plus(self, other: Self) -> Self {
        Self {
            files: self.files + other.files,
            added: self.added + other.added,
            removed: self.removed + other.removed,
        }
    }

    fn cells(self, name: String) -> Vec<String> {
        let numbers = [self.files, self.added, self.removed].map(|number| number.to_string());
        [name].into_iter().chain(numbers).collect()
    }
}

/// The table of what differs from the commit, as lines.
pub(crate) fn shown(
    workspace: &Workspace,
    tree: &Tree,
    packages: &[Package],
    commit: &str,
) -> Result<Vec<String>> {
    let mut git = Command::new("git");
    // The settings of whoever runs it must not change the numbers.
    git.args(["diff", "-M", "--no-ext-diff", "--no-textconv", "--numstat", "-z"]);
    git.args(["--end-of-options", commit, "--"]);
    let output = process::capture(git.current_dir(workspace.root()))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let said = said.trim();
        return Err(Failure::because(format!("could not compare with `{commit}`: {said}")));
    }
    let costs = costs(&String::from_utf8_lossy(&output.stdout), &tests_of(tree, packages));
    let total = costs.values().fold(Cost::default(), |total, cost| total.plus(*cost));
    let mut rows = vec![["area", "files", "added", "removed"].map(str::to_owned).to_vec()];
    rows.extend(costs.into_iter().map(|(area, cost)| cost.cells(area.to_string())));
    rows.push(total.cells("total".to_owned()));
    Ok(table::lines(&rows))
}

/// The files of crates that only tests have as modules.
fn tests_of(tree: &Tree, packages: &[Package]) -> BTreeSet<String> {
    let sources = packages.iter().flat_map(|package| &package.sources);
    let product: BTreeSet<&str> = sources.map(|source| source.path.as_str()).collect();
    let inside = tree.rust().map(|file| file.path.as_str()).filter(|path| {
        let mut parts = path.split('/');
        parts.next() == Some("crates") && parts.nth(1) == Some("src")
    });
    inside.filter(|path| !product.contains(path)).map(str::to_owned).collect()
}

/// The costs by area, from what `git diff --numstat -z` prints. A renamed file counts where it is now.
pub(crate) fn costs(printed: &str, tests: &BTreeSet<String>) -> BTreeMap<Area, Cost> {
    let mut costs: BTreeMap<Area, Cost> = BTreeMap::new();
    let mut records = printed.split('\0');
    while let Some(record) = records.next() {
        let mut fields = record.splitn(3, '\t');
        let (Some(added), Some(removed), Some(path)) =
            (fields.next(), fields.next(), fields.next())
        else {
            continue;
        };
        // Behind a rename stand the old path and the new one, each a record of its own.
        let renamed = if path.is_empty() { records.nth(1) } else { None };
        // A binary file has dashes for numbers.
        let number = |field: &str| field.parse().unwrap_or_default();
        let cost = Cost { files: 1, added: number(added), removed: number(removed) };
        let sum = costs.entry(Area::of(renamed.unwrap_or(path), tests)).or_default();
        *sum = sum.plus(cost);
    }
    costs
}

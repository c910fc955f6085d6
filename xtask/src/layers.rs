//! `cargo xtask layers`: who uses whom among the crates, checked against the table in both
//! directions. Looks at what the product is built from; what tests alone use is free.

mod picture;
mod table;

use std::collections::{BTreeMap, BTreeSet};

use cargo_metadata::{
    CargoOpt, DepKindInfo, Dependency, DependencyKind, Metadata, MetadataCommand, NodeDep, Package,
    PackageId,
};

use crate::failure::{Failure, Result};
use crate::gate::nothing_found;
use crate::workspace::Workspace;
pub(crate) use picture::drawn;
use table::{OF_VERIFIER, OUTSIDE, ROWS, Row, VERIFIER, World};

/// Prints every dependency that the table forbids, and fails when there is one.
pub(crate) fn run(workspace: &Workspace) -> Result<()> {
    let mut command = MetadataCommand::new();
    command.current_dir(workspace.root()).features(CargoOpt::AllFeatures);
    let metadata = command.exec().map_err(|error| {
        Failure::because(format!("could not read the dependencies with `cargo metadata`: {error}"))
    })?;
    nothing_found("layers", &violations(&metadata))
}

/// A sentence for each break of a rule.
fn violations(metadata: &Metadata) -> Vec<String> {
    let crates: BTreeMap<&str, &Package> = metadata
        .workspace_packages()
        .into_iter()
        .filter(|package| package.manifest_path.starts_with(metadata.workspace_root.join("crates")))
        .map(|package| (package.name.as_str(), package))
        .collect();
    let graph = Graph::of(metadata, |_| true);
    let mut found = Vec::new();
    for name in crates.keys().filter(|name| row(name).is_none()) {
        found.push(format!("{name}: has no row in the table of layers; give it one"));
    }
    for row in &ROWS {
        match crates.get(row.name) {
            None => found.push(format!("{}: has a row in the table and no crate", row.name)),
            Some(package) => {
                found.extend(forbidden_uses(row, package));
                found.extend(unused_permissions(row, package));
                found.extend(outside_reached(row, package, &graph));
            }
        }
    }
    // What one system alone adds is left out, so that the list is the same on all.
    let everywhere = Graph::of(metadata, |kind| kind.target.is_none());
    found.extend(crates.get(VERIFIER).into_iter().flat_map(|deed| everywhere.strangers(&deed.id)));
    found
}

/// The crates of the workspace that the package uses and the row does not name.
fn forbidden_uses(row: &Row, package: &Package) -> Vec<String> {
    let uses = normal(package).filter(|dependency| dependency.path.is_some());
    let names: BTreeSet<&str> = uses.map(|dependency| dependency.name.as_str()).collect();
    let forbidden = names.into_iter().filter(|name| !row.may_use(name));
    forbidden
        .map(|name| {
            format!(
                "{}: uses `{name}`; in layer {} it may use {}",
                row.name,
                row.layer,
                row.uses_shown()
            )
        })
        .collect()
}

/// A sentence for each crate that the row names and the package does not use.
fn unused_permissions(row: &Row, package: &Package) -> Vec<String> {
    let uses: BTreeSet<&str> = normal(package).map(|dependency| dependency.name.as_str()).collect();
    let unused = row.uses.iter().filter(|name| !uses.contains(**name));
    unused
        .map(|name| format!("{}: may use `{name}` and does not; take it out of its row", row.name))
        .collect()
}

/// The ways in which a crate that must not touch the outside world does.
fn outside_reached(row: &Row, package: &Package, graph: &Graph<'_>) -> Vec<String> {
    match row.world {
        World::Open => Vec::new(),
        World::Closed => graph.reached(row, &package.id, &BTreeSet::new()),
        World::SyncOnly => {
            let mut found = graph.reached(row, &package.id, &BTreeSet::from(["tokio"]));
            let tokio = normal(package).filter(|dependency| dependency.name == "tokio");
            found.extend(tokio.filter_map(|tokio| more_than_sync(row, tokio)));
            found
        }
    }
}

fn more_than_sync(row: &Row, tokio: &Dependency) -> Option<String> {
    let more: Vec<&str> =
        tokio.features.iter().map(String::as_str).filter(|feature| *feature != "sync").collect();
    (!more.is_empty()).then(|| {
        format!(
            "{}: takes tokio's `{}`; it waits for nothing outside and may take `sync` alone",
            row.name,
            more.join("`, `")
        )
    })
}

fn row(name: &str) -> Option<&'static Row> {
    ROWS.iter().find(|row| row.name == name)
}

fn normal(package: &Package) -> impl Iterator<Item = &Dependency> {
    package.dependencies.iter().filter(|dependency| dependency.kind == DependencyKind::Normal)
}

/// Which package is built into which.
struct Graph<'a> {
    names: BTreeMap<&'a PackageId, &'a str>,
    uses: BTreeMap<&'a PackageId, Vec<&'a PackageId>>,
    /// The packages of the workspace itself.
    ours: BTreeSet<&'a PackageId>,
}

impl<'a> Graph<'a> {
    /// The graph of the dependencies that are built in, of those that the condition admits.
    fn of(metadata: &'a Metadata, admits: fn(&DepKindInfo) -> bool) -> Self {
        let names = metadata.packages.iter().map(|package| (&package.id, package.name.as_str()));
        let nodes = metadata.resolve.iter().flat_map(|resolve| &resolve.nodes);
        let built_in = |dependency: &&NodeDep| {
            let mut kinds = dependency.dep_kinds.iter();
            kinds.any(|kind| kind.kind == DependencyKind::Normal && admits(kind))
        };
        let uses = nodes.map(|node| {
            (
                &node.id,
                node.deps.iter().filter(built_in).map(|dependency| &dependency.pkg).collect(),
            )
        });
        let ours = metadata.workspace_members.iter().collect();
        Self { names: names.collect(), uses: uses.collect(), ours }
    }

    /// A sentence for each library of the outside world that is built into the package
    /// through any chain. Stops at other crates of the table, which answer for themselves, and at
    /// the libraries that are allowed.
    fn reached(&self, row: &Row, from: &PackageId, allowed: &BTreeSet<&str>) -> Vec<String> {
        let mut seen = BTreeSet::from([from]);
        let mut open = vec![(from, row.name.to_owned())];
        let mut found = Vec::new();
        while let Some((id, chain)) = open.pop() {
            for next in self.uses.get(id).into_iter().flatten() {
                let name = self.names.get(next).copied().unwrap_or_default();
                if !seen.insert(next) || allowed.contains(name) || self.ours.contains(next) {
                    continue;
                }
                let chain = format!("{chain} → {name}");
                if OUTSIDE.contains(&name) {
                    found.push(format!("{}: touches the outside world by {chain}", row.name));
                } else {
                    open.push((next, chain));
                }
            }
        }
        found
    }
}

impl Graph<'_> {
    /// A sentence for each library that is built into the verifier and not on its list.
    fn strangers(&self, verifier: &PackageId) -> Vec<String> {
        let mut seen = BTreeSet::from([verifier]);
        let mut open = vec![(verifier, VERIFIER.to_owned())];
        let mut found = Vec::new();
        while let Some((id, chain)) = open.pop() {
            for next in self.uses.get(id).into_iter().flatten() {
                let name = self.names.get(next).copied().unwrap_or_default();
                if !seen.insert(next) {
                    continue;
                }
                let chain = format!("{chain} → {name}");
                if OF_VERIFIER.contains(&name) {
                    open.push((next, chain));
                } else {
                    found.push(format!("{VERIFIER}: is to stay small, and {chain} is not listed"));
                }
            }
        }
        found
    }
}

#[cfg(test)]
mod tests;

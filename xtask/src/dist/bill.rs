//! The bill of materials of a binary, as `CycloneDX` 1.5: every crate that is compiled into it, where
//! it is from, its licence and its digest. Nothing of the machine or the hour is in it, so that the
//! same sources give the same bill.

use std::collections::{BTreeMap, BTreeSet};

use cargo_metadata::{DependencyKind, Metadata, Node, Package, PackageId};
use serde_json::{Value, json};

use crate::failure::{Failure, Result};

/// The bill of what this package's binary is built from.
pub(super) fn of(metadata: &Metadata, lock: &str, package: &str) -> Result<String> {
    let missing = || Failure::because(format!("`cargo metadata` says nothing of `{package}`"));
    let packages: BTreeMap<_, _> = metadata.packages.iter().map(|it| (&it.id, it)).collect();
    let nodes = metadata.resolve.iter().flat_map(|resolve| &resolve.nodes);
    let nodes: BTreeMap<_, _> = nodes.map(|node| (&node.id, node)).collect();
    let root = packages.values().find(|it| it.name.as_str() == package).ok_or_else(missing)?;
    let mut reached = BTreeSet::new();
    let mut left = vec![&root.id];
    while let Some(id) = left.pop() {
        if reached.insert(id) {
            left.extend(nodes.get(id).into_iter().flat_map(|node| linked(node)));
        }
    }
    let checksums = checksums(lock);
    let parts = reached.iter().filter(|id| ***id != root.id).filter_map(|id| packages.get(*id));
    let components: Vec<_> = parts.map(|part| component(part, &checksums)).collect();
    let dependencies: Vec<_> = reached
        .iter()
        .filter_map(|id| {
            let on = linked(nodes.get(*id)?).filter_map(|it| packages.get(it).map(|it| purl(it)));
            let on: BTreeSet<_> = on.collect();
            Some(json!({ "ref": purl(packages.get(*id)?), "dependsOn": on }))
        })
        .collect();
    let bill = json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": { "component": {
            "type": "application",
            "bom-ref": purl(root),
            "name": "chancery",
            "version": root.version.to_string(),
            "licenses": licence(root),
        } },
        "components": components,
        "dependencies": dependencies,
    });
    let text = serde_json::to_string_pretty(&bill);
    text.map(|text| text + "\n").map_err(|error| Failure::because(error.to_string()))
}

/// What is linked into the crate: neither what builds it nor what tests it.
fn linked(node: &Node) -> impl Iterator<Item = &PackageId> {
    let normal = |dep: &&cargo_metadata::NodeDep| {
        dep.dep_kinds.iter().any(|kind| kind.kind == DependencyKind::Normal)
    };
    node.deps.iter().filter(normal).map(|dep| &dep.pkg)
}

fn component(package: &Package, checksums: &BTreeMap<(String, String), String>) -> Value {
    let (name, version) = (package.name.to_string(), package.version.to_string());
    let mut component = json!({
        "type": "library",
        "bom-ref": purl(package),
        "name": name,
        "version": version,
        "purl": purl(package),
        "licenses": licence(package),
    });
    if let Some(sum) = checksums.get(&(name, version))
        && let Some(members) = component.as_object_mut()
    {
        let hashes = json!([{ "alg": "SHA-256", "content": sum }]);
        members.insert("hashes".to_owned(), hashes);
    }
    component
}

/// The package's address in the form that scanners compare; a crate of this workspace is in no
/// registry and is told from one that has its name by where it is kept.
fn purl(package: &Package) -> String {
    let own = if package.source.is_none() { "?repository_url=local" } else { "" };
    format!("pkg:cargo/{}@{}{own}", package.name, package.version)
}

fn licence(package: &Package) -> Value {
    let expression = package.license.as_deref().map(|text| text.replace('/', " OR "));
    expression.map_or_else(|| json!([]), |text| json!([{ "expression": text }]))
}

/// The digests of the lock file by name and version.
fn checksums(lock: &str) -> BTreeMap<(String, String), String> {
    let value = |block: &str, key: &str| {
        let line = block.lines().find_map(|line| line.strip_prefix(key));
        line.map(|text| text.trim_matches('"').to_owned())
    };
    let read = |block: &str| {
        let place = (value(block, "name = ")?, value(block, "version = ")?);
        Some((place, value(block, "checksum = ")?))
    };
    lock.split("[[package]]").filter_map(read).collect()
}

//! The circles of a crate: files that import each other, directly or through others.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use super::package::{Imports, Package};

/// The circles, the largest first: each file in one reaches every other by imports.
pub(crate) fn circles(imports: &Imports) -> Vec<BTreeSet<usize>> {
    let mut circles: Vec<BTreeSet<usize>> = Vec::new();
    for file in imports.keys() {
        if circles.iter().any(|circle| circle.contains(file)) {
            continue;
        }
        let ahead = reached(imports, *file);
        let circle: BTreeSet<usize> =
            ahead.into_iter().filter(|other| reached(imports, *other).contains(file)).collect();
        if circle.len() > 1 {
            circles.push(circle);
        }
    }
    circles.sort_by_key(|circle| Reverse(circle.len()));
    circles
}

/// The files that can be reached from the file, which is one of them when it is in a circle.
fn reached(imports: &Imports, from: usize) -> BTreeSet<usize> {
    let mut reached = BTreeSet::new();
    let mut open = vec![from];
    while let Some(file) = open.pop() {
        let next = imports.get(&file).into_iter().flat_map(|imported| imported.keys());
        open.extend(next.filter(|next| reached.insert(**next)));
    }
    reached
}

/// The circles of the crate as lines: each file, and below it what it imports from the same circle.
pub(crate) fn shown(package: &Package) -> Vec<String> {
    let circles = circles(&package.imports);
    let count = circles.len();
    let noun = if count == 1 { "circle" } else { "circles" };
    let mut lines = vec![format!("{}: {count} {noun}", package.name)];
    for circle in circles {
        lines.push(String::new());
        lines.push(format!("a circle of {} files", circle.len()));
        let mut files: Vec<&usize> = circle.iter().collect();
        files.sort_by_key(|file| package.short_path(**file));
        for file in files {
            lines.push(format!("  {}", package.short_path(*file)));
            let imported = package.imports.get(file).into_iter().flatten();
            let mut inside: Vec<_> = imported.filter(|(to, _)| circle.contains(to)).collect();
            inside.sort_by_key(|(_, line)| **line);
            lines.extend(
                inside
                    .into_iter()
                    .map(|(to, line)| format!("    {} (line {line})", package.short_path(*to))),
            );
        }
    }
    lines
}

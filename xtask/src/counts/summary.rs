//! What the verb prints without flags: a row for each crate, and the measures over all of them.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use super::circles::circles;
use super::measures::Measures;
use super::package::Package;
use super::source::Source;
use super::table::{self, percentile, rate};

/// The numbers of one crate.
struct Row {
    name: String,
    lines: usize,
    files: usize,
    largest_file: usize,
    largest_circle: usize,
    circles: usize,
}

impl Row {
    fn of(package: &Package) -> Self {
        let lines: Vec<usize> = package.sources.iter().map(Source::lines).collect();
        let circles = circles(&package.imports);
        Self {
            name: package.name.clone(),
            lines: lines.iter().sum(),
            files: lines.len(),
            largest_file: lines.iter().copied().max().unwrap_or_default(),
            largest_circle: circles.first().map_or(0, BTreeSet::len),
            circles: circles.len(),
        }
    }

    fn total(rows: &[Self]) -> Self {
        let largest = |number: fn(&Self) -> usize| rows.iter().map(number).max();
        Self {
            name: "total".to_owned(),
            lines: rows.iter().map(|row| row.lines).sum(),
            files: rows.iter().map(|row| row.files).sum(),
            largest_file: largest(|row| row.largest_file).unwrap_or_default(),
            largest_circle: largest(|row| row.largest_circle).unwrap_or_default(),
            circles: rows.iter().map(|row| row.circles).sum(),
        }
    }

    fn cells(&self) -> Vec<String> {
        let numbers =
            [self.lines, self.files, self.largest_file, self.largest_circle, self.circles];
        [self.name.clone()].into_iter().chain(numbers.map(|number| number.to_string())).collect()
    }
}

/// Both tables as lines.
pub(crate) fn shown(packages: &[Package]) -> Vec<String> {
    let mut rows: Vec<Row> = packages.iter().map(Row::of).collect();
    rows.sort_by_key(|row| Reverse(row.lines));
    let head = ["crate", "lines", "files", "largest file", "largest circle", "circles"];
    let mut cells = vec![head.map(str::to_owned).to_vec()];
    cells.extend(rows.iter().map(Row::cells));
    cells.push(Row::total(&rows).cells());
    let mut lines = table::lines(&cells);
    lines.push(String::new());
    let mut measures = Measures::default();
    for source in packages.iter().flat_map(|package| &package.sources) {
        measures.add(source);
    }
    lines.extend(table::lines(&overall(&measures)));
    lines
}

fn overall(measures: &Measures) -> Vec<Vec<String>> {
    let Measures { files, functions, .. } = measures;
    let at = |numbers: &[usize], percents: &[usize]| {
        let numbers = percents.iter().map(|percent| percentile(numbers, *percent).to_string());
        numbers.collect::<Vec<_>>().join("/")
    };
    let rows = [
        ("lines of a file, p50/p95/max", at(files, &[50, 95, 100])),
        ("lines of a function, p50/p95/p99/max", at(functions, &[50, 95, 99, 100])),
        ("functions", functions.len().to_string()),
        ("public items", measures.public.to_string()),
        ("of them with a doc comment, in percent", rate(measures.documented, measures.public, 100)),
        (
            "lines with a comment //, per 100 lines of code",
            rate(measures.comments, measures.code, 100),
        ),
        (
            "calls .unwrap() and .expect(..) of any type, per 1,000 functions",
            rate(measures.panicking, functions.len(), 1000),
        ),
        ("macro_rules!", measures.macros.to_string()),
    ];
    rows.into_iter().map(|(name, value)| vec![name.to_owned(), value]).collect()
}

//! The tables that the benchmark prints, as Markdown.

use crate::{measure::Cost, workload::Kind};

pub(crate) fn head(kind: Kind, sizes: &[usize]) {
    println!("\n**{kind:?}**, ns per decision (allocations)\n");
    let sizes: Vec<String> = sizes.iter().map(ToString::to_string).collect();
    println!("| engine | {} |", sizes.join(" | "));
    println!("|---|{}", "---|".repeat(sizes.len()));
}

pub(crate) fn row(name: &str, costs: &[Option<Cost>]) {
    let cells: Vec<String> = costs
        .iter()
        .map(|cost| match cost {
            Some(cost) => format!("{:.0} ({})", cost.nanos, cost.allocations),
            None => "cannot".to_owned(),
        })
        .collect();
    println!("| {name} | {} |", cells.join(" | "));
}

/// A line of the table of everything else.
pub(crate) fn line(what: &str, found: &str, aim: &str) {
    println!("| {what} | {found} | {aim} |");
}

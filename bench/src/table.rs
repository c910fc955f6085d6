//! The table that a benchmark prints, row by row as it goes.

use std::time::Duration;

use crate::{
    computed::Computed,
    load::{Kind, Measured},
};

/// One load and how it went.
pub(crate) struct Row<'a> {
    pub(crate) name: &'a str,
    pub(crate) kind: Kind,
    pub(crate) connections: usize,
    pub(crate) measured: &'a Measured,
    pub(crate) commits: i64,
    pub(crate) computed: Computed,
    pub(crate) peer: f64,
}

pub(crate) fn head() {
    println!(
        "| what | connections | per second | p50 | p99 | commits each | CPU each: service | PostgreSQL | client | cores in use | x pgbench |"
    );
    println!("|---|---|---|---|---|---|---|---|---|---|---|");
}

pub(crate) fn peer(connections: usize, rate: f64) {
    println!("| pgbench, one row | {connections} | {rate:.0} | | | 1 | | | | | 1 |");
}

pub(crate) fn end(peak: u64, stream: Option<u64>) {
    println!("\nPeak memory of the first process: {peak} MiB.");
    if let Some(stream) = stream {
        println!("Memory of an open stream: {stream} KiB.");
    }
}

impl Row<'_> {
    pub(crate) fn print(&self) {
        let Self { name, kind, connections, measured, commits, computed, peer } = self;
        #[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^52")]
        let actions = measured.actions as f64;
        #[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^52")]
        let commits = *commits as f64 / actions;
        let each = |span: Duration| span.as_secs_f64() * 1e3 / actions;
        let cores = computed.total().as_secs_f64() / measured.span.as_secs_f64();
        let aim = kind.aim().filter(|_| *connections == 64);
        let aim = aim.map(|aim| format!(" (aim {aim})")).unwrap_or_default();
        let millis = |hundredths| measured.percentile(hundredths).as_secs_f64() * 1e3;
        println!(
            "| {name} | {connections} | {:.0} | {:.1} ms | {:.1} ms | {commits:.2} | {:.2} ms | {:.2} ms | {:.2} ms | {cores:.1} | {:.2}{aim} |",
            measured.rate(),
            millis(50),
            millis(99),
            each(computed.services),
            each(computed.postgres),
            each(computed.client),
            measured.rate() / peer,
        );
    }
}

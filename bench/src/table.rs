//! The table that a benchmark prints, row by row as it goes.

use crate::load::{Kind, Measured};

/// One load and how it went.
pub(crate) struct Row<'a> {
    pub(crate) name: &'a str,
    pub(crate) kind: Kind,
    pub(crate) connections: usize,
    pub(crate) measured: &'a Measured,
    pub(crate) commits: Option<i64>,
    pub(crate) peer: f64,
}

pub(crate) fn head() {
    println!("| what | connections | per second | p50 | p99 | commits each | x pgbench |");
    println!("|---|---|---|---|---|---|---|");
}

pub(crate) fn peer(connections: usize, rate: f64) {
    println!("| pgbench, one row | {connections} | {rate:.0} | | | 1 | 1 |");
}

pub(crate) fn end(peak: u64) {
    println!("\nPeak memory of the first process: {peak} MiB.");
}

impl Row<'_> {
    pub(crate) fn print(&self) {
        let Self { name, kind, connections, measured, commits, peer } = self;
        #[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^52")]
        let each = commits.map(|commits| commits as f64 / measured.actions as f64);
        let each = each.map(|each| format!("{each:.2}")).unwrap_or_default();
        let aim = if *connections == 64 { format!(" (aim {})", kind.aim()) } else { String::new() };
        let millis = |hundredths| measured.percentile(hundredths).as_secs_f64() * 1e3;
        println!(
            "| {name} | {connections} | {:.0} | {:.1} ms | {:.1} ms | {each} | {:.2}{aim} |",
            measured.rate(),
            millis(50),
            millis(99),
            measured.rate() / peer,
        );
    }
}

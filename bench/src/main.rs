//! Benchmarks of the running service, each beside a peer in the same run.
//!
//! `cargo xtask bench gate` starts a PostgreSQL of its own and runs this; every figure in
//! `docs/performance.md` comes from here.

#![expect(
    clippy::disallowed_methods,
    clippy::indexing_slicing,
    clippy::print_stderr,
    clippy::print_stdout,
    reason = "a benchmark reads clocks, is told by the environment, prints a table, \
              and indexes JSON by name, which never panics"
)]

mod change_log;
mod client;
mod computed;
mod deeds;
mod descriptions;
mod evidence;
mod gate;
mod idle;
mod intents;
mod load;
mod neighbours;
mod options;
mod pages;
mod peer;
mod receiver;
mod recovery;
mod service;
mod sessions;
mod stops;
mod streams;
mod table;
mod tools;
mod webhooks;

use std::process::ExitCode;

use options::Options;

type Failure = Box<dyn std::error::Error + Send + Sync>;

type Run = fn(Options) -> Result<(), Failure>;

/// The benchmarks and what runs each.
#[rustfmt::skip]
const BENCHMARKS: [(&str, Run); 13] = [
    ("deeds",        |options| on_every_core(deeds::run(options.scale))),
    ("descriptions", |options| descriptions::run(options.scale)),
    ("evidence",     |options| on_one_core(evidence::run(options))),
    ("gate",         |options| on_one_core(gate::run(options))),
    ("idle",         |options| on_one_core(idle::run(options))),
    ("intents",      |options| intents::run(options.scale)),
    ("neighbours",   |options| on_one_core(neighbours::run(options))),
    ("pages",        |options| on_one_core(pages::run(options))),
    ("recovery",     |options| on_one_core(recovery::run(options))),
    ("sessions",     |options| on_one_core(sessions::run(options))),
    ("stops",        |options| on_one_core(stops::run(options))),
    ("tools",        |options| on_one_core(tools::run(options))),
    ("webhooks",     |options| on_one_core(webhooks::run(options))),
];

fn main() -> ExitCode {
    match run(std::env::args().skip(1)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("the benchmark stopped: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Runs the benchmark that the first argument names.
fn run(mut arguments: impl Iterator<Item = String>) -> Result<(), Failure> {
    let name = arguments.next().unwrap_or_default();
    if name == webhooks::BARE {
        return on_one_core(webhooks::post_bare(arguments.next()));
    }
    if name == descriptions::ONE {
        return descriptions::one(arguments);
    }
    let Some((_, measure)) = BENCHMARKS.into_iter().find(|(known, _)| *known == name) else {
        let names = BENCHMARKS.map(|(name, _)| name).join(", ");
        return Err(format!("`{name}` is no benchmark: expected one of {names}").into());
    };
    measure(Options::read(arguments)?)
}

fn on_one_core(work: impl Future<Output = Result<(), Failure>>) -> Result<(), Failure> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(work)
}

fn on_every_core(work: impl Future<Output = Result<(), Failure>>) -> Result<(), Failure> {
    tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(work)
}

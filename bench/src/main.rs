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
mod evidence;
mod gate;
mod idle;
mod intents;
mod load;
mod neighbours;
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

type Failure = Box<dyn std::error::Error + Send + Sync>;

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let outcome = match (arguments.next().as_deref(), runtime) {
        (Some("evidence"), Ok(runtime)) => {
            let options = gate::Options::read(arguments);
            options.and_then(|options| runtime.block_on(evidence::run(options)))
        }
        (Some("gate"), Ok(runtime)) => {
            let options = gate::Options::read(arguments);
            options.and_then(|options| runtime.block_on(gate::run(options)))
        }
        (Some("recovery"), Ok(runtime)) => {
            let options = gate::Options::read(arguments);
            options.and_then(|options| runtime.block_on(recovery::run(options)))
        }
        (Some("idle"), Ok(runtime)) => {
            let options = gate::Options::read(arguments);
            options.and_then(|options| runtime.block_on(idle::run(options)))
        }
        (Some("neighbours"), Ok(runtime)) => {
            let options = gate::Options::read(arguments);
            options.and_then(|options| runtime.block_on(neighbours::run(options)))
        }
        (Some("pages"), Ok(runtime)) => {
            let options = gate::Options::read(arguments);
            options.and_then(|options| runtime.block_on(pages::run(options)))
        }
        (Some("sessions"), Ok(runtime)) => {
            let options = gate::Options::read(arguments);
            options.and_then(|options| runtime.block_on(sessions::run(options)))
        }
        (Some("stops"), Ok(runtime)) => {
            let options = gate::Options::read(arguments);
            options.and_then(|options| runtime.block_on(stops::run(options)))
        }
        (Some("tools"), Ok(runtime)) => {
            let options = gate::Options::read(arguments);
            options.and_then(|options| runtime.block_on(tools::run(options)))
        }
        (Some("webhooks"), Ok(runtime)) => {
            let options = gate::Options::read(arguments);
            options.and_then(|options| runtime.block_on(webhooks::run(options)))
        }
        // A process of its own, so that what it computes can be told from the rest.
        (Some("webhooks-bare"), Ok(runtime)) => {
            runtime.block_on(webhooks::post_bare(arguments.next()))
        }
        (Some("intents"), Ok(_)) => intents::run(),
        (Some("deeds"), Ok(_)) => tokio::runtime::Builder::new_multi_thread()
            .enable_all()
            .build()
            .map_err(Failure::from)
            .and_then(|runtime| runtime.block_on(deeds::run())),
        (_, Err(error)) => Err(error.into()),
        _ => Err("expected the name of a benchmark: evidence, gate, idle, intents, neighbours, \
                     recovery, pages, sessions, stops, tools, webhooks or deeds"
            .into()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("the benchmark stopped: {error}");
            ExitCode::FAILURE
        }
    }
}

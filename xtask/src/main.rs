//! The project's own commands: `cargo xtask <verb>`. Everything a person or the build server does
//! with a checkout starts here; nothing here is part of the product.
#![expect(
    clippy::disallowed_methods,
    clippy::print_stderr,
    clippy::print_stdout,
    reason = "a command line tool: it prints, reads the environment, and waits for processes"
)]

mod bench;
mod citus;
mod cli;
mod conformance;
mod counts;
mod descriptions;
mod dist;
mod docs;
mod failure;
mod fuzz;
mod gate;
mod layers;
mod pg;
mod process;
mod public_api;
mod publish;
mod steps;
mod test;
mod tidy;
mod tools;
mod trials;
mod up;
mod versions;
mod workspace;

use std::process::ExitCode;

use cli::Verb;
use failure::{Failure, Result};
use pg::{Consent, Launcher};
use workspace::{Build, Workspace};

fn main() -> ExitCode {
    let (verb, rest) = cli::parse(std::env::args_os().collect());
    match run(verb, &rest) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("error: {failure}");
            ExitCode::from(failure.exit_code())
        }
    }
}

fn run(verb: Verb, rest: &[String]) -> Result<()> {
    process::watch_signals()?;
    let workspace = Workspace::find()?;
    match verb {
        Verb::Up(request) => up::run(&workspace, request),
        Verb::Test { yes } => test::run(&workspace, yes.into(), rest),
        Verb::Gate { yes } => gate::run(&workspace, yes.into()),
        Verb::ReleaseCheck => gate::release(&workspace, Consent::Given),
        Verb::Layers => layers::run(&workspace),
        Verb::Tidy => tidy::run(&workspace),
        Verb::Counts(request) => counts::run(&workspace, &request),
        Verb::Docs { check } => docs::run(&workspace, check.into(), Build::Plain),
        Verb::Api { check } => public_api::run(&workspace, check.into()),
        Verb::Bench { yes } => bench::run(&workspace, yes.into(), rest),
        Verb::Faults(request) => trials::faults(&workspace, &request),
        Verb::Soak(request) => trials::soak(&workspace, &request),
        Verb::Fuzz(request) => fuzz::run(&workspace, &request),
        Verb::Conformance { yes } => conformance::run(&workspace, yes.into()),
        Verb::Citus(request) => citus::run(&workspace, &request),
        Verb::Versions(request) => versions::run(&workspace, &request),
        Verb::Publish(request) => publish::run(&workspace, &request),
        Verb::Dist(request) => dist::run(&workspace, &request),
        Verb::Tools => tools::install(&workspace),
        Verb::Postgres { yes } => {
            println!("{}", Launcher::find(yes.into())?.folder().display());
            Ok(())
        }
    }
}

//! The binary `chancery`: parses the command line and runs the verb.

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    chancery_server::verbs::run(chancery_server::cli::Cli::parse()).into()
}

//! The binary `chancery`: parses the command line and runs the verb.

use std::process::ExitCode;

use clap::Parser;

/// A turn is made of many small texts; the system's allocator took a quarter of the service's time.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    server::verbs::run(server::cli::Cli::parse()).into()
}

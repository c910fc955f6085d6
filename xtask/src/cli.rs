//! The verbs and their flags, as typed at the terminal. Carries nothing out.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

/// The project's own commands.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Verb {
    /// Start the service on a private PostgreSQL and show what it does, until Ctrl-C.
    Up(Up),
    /// Run the tests of the crates and of the whole service, on a PostgreSQL of their own.
    #[command(override_usage = "cargo xtask test [--yes] [what `cargo test` takes]")]
    Test {
        /// Install PostgreSQL without asking.
        #[arg(long)]
        yes: bool,
    },
    /// Check what must hold before a change lands: format, lints, pages, and every test of `test`.
    #[command(alias = "check")]
    Gate {
        /// Install PostgreSQL without asking.
        #[arg(long)]
        yes: bool,
    },
    /// Check what must hold beside the gate before a release: dependencies, published interfaces, and
    /// the packages as an outsider builds them. Installs what it needs.
    ReleaseCheck,
    /// Check who uses whom among the crates.
    Layers,
    /// Check the rules that no compiler checks.
    Tidy,
    /// Count what a reviewer looks at: lengths of files and functions, circles of imports, comments.
    Counts(Counts),
    /// Write the generated pages of docs/.
    Docs {
        /// Write nothing, and fail when a page is out of date.
        #[arg(long)]
        check: bool,
    },
    /// Write what the published crates promise to those who link them.
    Api {
        /// Write nothing, and fail when a crate promises something else.
        #[arg(long)]
        check: bool,
    },
    /// Measure the release build beside a peer, or with `--smoke` run each benchmark for a few seconds.
    #[command(
        override_usage = "cargo xtask bench [--yes] <BENCHMARK> [what the benchmark takes]\n       \
                          cargo xtask bench [--yes] --smoke"
    )]
    Bench {
        /// Install PostgreSQL without asking.
        #[arg(long)]
        yes: bool,
    },
    /// Let faults strike the service at every failpoint and check what is left.
    #[command(alias = "crash")]
    Faults(Faults),
    /// Run the service under load, one test at a time; for a quiet machine.
    Soak(Soak),
    /// Let a fuzzer change the published vectors and the recorded streams and feed them to their
    /// readers; needs a nightly toolchain and cargo-fuzz.
    Fuzz(Fuzz),
    /// Send the live service what its interface description lets anybody think of.
    Conformance {
        /// Install PostgreSQL without asking.
        #[arg(long)]
        yes: bool,
    },
    /// Replay each statement that the tests send to the control database on a Citus cluster of its own,
    /// and tell which of them it does not take.
    Citus(Citus),
    /// Run the tests that need PostgreSQL on newer versions of it, which it installs from the npm
    /// registry.
    Versions(Versions),
    /// Pack the crates for programs of others as they would be published, and build the packages.
    Publish(Publish),
    /// Build the service as it is handed out: a binary, its debug information apart, a bill of
    /// materials, completions and checksums, below `target/dist`.
    Dist(Dist),
    /// Install what tests run beside PostgreSQL: Python's libraries, Node, Chromium, PgBouncer and
    /// what steps a clock.
    Tools,
    /// Print the folder of PostgreSQL's binaries, installing them when there are none.
    Postgres {
        /// Install PostgreSQL without asking.
        #[arg(long)]
        yes: bool,
    },
}

/// How the service is started.
#[derive(Debug, Args)]
pub(crate) struct Up {
    /// Remove what earlier runs left and start over.
    #[arg(long)]
    pub(crate) fresh: bool,
    /// Install PostgreSQL without asking.
    #[arg(long)]
    pub(crate) yes: bool,
    /// Listen on this port.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) port: Option<u16>,
    /// Keep everything in this folder instead of `.chancery` in the checkout.
    #[arg(long, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
}

/// Which numbers are printed.
#[derive(Debug, Args)]
pub(crate) struct Counts {
    /// Print the circles of this crate instead: the files of each, and the imports that close it.
    #[arg(long, value_name = "CRATE")]
    pub(crate) circles: Option<String>,
    /// Print what changed since this commit instead: files and lines, by area.
    #[arg(long, value_name = "REV", conflicts_with = "circles")]
    pub(crate) since: Option<String>,
}

/// How often faults strike.
#[derive(Debug, Args)]
pub(crate) struct Faults {
    /// Install PostgreSQL without asking.
    #[arg(long)]
    pub(crate) yes: bool,
    /// How often the service is killed at each failpoint, and its action's end looked at.
    #[arg(long, value_name = "N")]
    pub(crate) rounds: Option<u32>,
    /// How many faults of all kinds strike it under load, about, and a quarter as many four services
    /// of one org; instances restart for a minute.
    #[arg(long, value_name = "N", conflicts_with = "rounds")]
    pub(crate) kills: Option<u32>,
    /// Only at the points whose names begin so, such as `webhook.`, and only while clients work.
    #[arg(long, value_name = "POINT", requires = "kills")]
    pub(crate) at: Option<String>,
    /// Strike in the order of the run that printed this seed.
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
}

/// For how long the service is under load.
#[derive(Debug, Args)]
pub(crate) struct Soak {
    /// Install PostgreSQL without asking.
    #[arg(long)]
    pub(crate) yes: bool,
    /// Begin another round until so many minutes are over.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) minutes: u32,
}

/// What is fuzzed, and for how long.
#[derive(Debug, Args)]
pub(crate) struct Fuzz {
    /// The target; without one, each in its turn.
    pub(crate) target: Option<String>,
    /// How long each target runs.
    #[arg(long, value_name = "N", default_value_t = 60)]
    pub(crate) seconds: u32,
}

/// What the Citus cluster is made of.
#[derive(Debug, Args)]
pub(crate) struct Citus {
    /// The folder of the programs of a PostgreSQL server that has the extension `citus`.
    #[arg(long, value_name = "FOLDER")]
    pub(crate) bin_folder: PathBuf,
}

/// The versions of PostgreSQL.
#[derive(Debug, Args)]
pub(crate) struct Versions {
    /// A major version; every listed one if none is named.
    #[arg(long = "major", value_name = "N", value_parser = clap::value_parser!(u32).range(16..=18))]
    pub(crate) majors: Vec<u32>,
}

/// What is published, and how far.
#[derive(Debug, Args)]
pub(crate) struct Publish {
    /// Upload nothing. There is no other way yet.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// The crates, each with all that it is built from; without one, every crate for others.
    pub(crate) crates: Vec<String>,
}

/// What is handed out.
#[derive(Debug, Args)]
pub(crate) struct Dist {
    /// The target; the static one where it is installed, and else this machine's.
    #[arg(long, value_name = "TRIPLE")]
    pub(crate) target: Option<String>,
}

/// Parses the command line, or ends the process with what is wrong with it; also returns the words
/// that the verb hands on as they are.
pub(crate) fn parse(words: Vec<OsString>) -> (Verb, Vec<String>) {
    let (own, rest) = split(words);
    (Cli::parse_from(own).verb, rest)
}

/// Splits off the words that `test` and `bench` hand on: all from the first that is not a flag of
/// the verb itself. They may hold flags and a `--` that only their receiver understands.
fn split(words: Vec<OsString>) -> (Vec<OsString>, Vec<String>) {
    let hands_on = words.get(1).is_some_and(|verb| verb == "test" || verb == "bench");
    if !hands_on {
        return (words, Vec::new());
    }
    let is_own = |word: &&OsString| *word == "--yes" || *word == "--help" || *word == "-h";
    let own = 2 + words.iter().skip(2).take_while(is_own).count();
    let rest = words.iter().skip(own).map(|word| word.to_string_lossy().into_owned()).collect();
    (words.into_iter().take(own).collect(), rest)
}

#[cfg(test)]
mod tests;

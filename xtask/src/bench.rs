//! `cargo xtask bench`: a benchmark and what it measures, built as they are shipped, beside a PostgreSQL
//! of their own where they need one; and the smoke form of every benchmark, which measures nothing.
//! What is measured and printed is the benchmark's own work.

use std::process::Command;
use std::time::Instant;

use crate::descriptions;
use crate::failure::{Failure, Result};
use crate::pg::{Checkpoints, Consent, Launcher};
use crate::process;
use crate::steps::{self, Report, Step};
use crate::test;
use crate::workspace::{Build, Profile, Workspace};

/// Asks for a few seconds of a benchmark, or by itself for those of every one.
const SMOKE: &str = "--smoke";

/// Where a benchmark is, and what it runs beside.
#[derive(Debug, Clone, Copy)]
enum Program {
    /// In the crate `bench`, beside the service and PostgreSQL.
    Service,
    /// In the crate `bench`, beside PostgreSQL.
    Postgres,
    /// In the crate `bench`, beside nothing.
    Alone,
    /// In the crate `bench`, beside descriptions of public APIs.
    Described,
    /// Among the examples of the store, beside PostgreSQL.
    Store,
    /// In a workspace of its own with the peers of the policy engine, beside nothing.
    Peers,
}

#[rustfmt::skip]
const BENCHMARKS: [(&str, Program); 15] = [
    ("deeds",        Program::Postgres),
    ("descriptions", Program::Described),
    ("evidence",     Program::Service),
    ("gate",         Program::Service),
    ("idle",         Program::Service),
    ("intents",      Program::Alone),
    ("lists",        Program::Store),
    ("neighbours",   Program::Service),
    ("pages",        Program::Service),
    ("policy",       Program::Peers),
    ("recovery",     Program::Service),
    ("sessions",     Program::Service),
    ("stops",        Program::Service),
    ("tools",        Program::Service),
    ("webhooks",     Program::Service),
];

/// Runs the benchmark that the first argument names, with all of them; or, where only `--smoke` is
/// asked for, the smoke form of every benchmark.
pub(crate) fn run(workspace: &Workspace, consent: Consent, arguments: &[String]) -> Result<()> {
    if arguments == [SMOKE] {
        return steps::run("bench", workspace, consent, &[Step { name: "bench", run: smoke }]);
    }
    let name = arguments.first().map_or("", String::as_str);
    let Some((_, program)) = BENCHMARKS.into_iter().find(|(known, _)| *known == name) else {
        let names = BENCHMARKS.map(|(name, _)| name).join("`, `");
        return Err(Failure::because(format!(
            "`{name}` is no benchmark: expected one of `{names}`, or `{SMOKE}` for a few seconds of each"
        )));
    };
    // What measures nothing is built as quickly as the tests are.
    let is_smoke = arguments.iter().any(|argument| argument == SMOKE);
    let profile = if is_smoke { Profile::Dev } else { Profile::Release };
    for mut command in program.built(workspace, profile, arguments)? {
        program.run(workspace, consent, &mut command, process::run)?;
    }
    Ok(())
}

/// Runs the smoke form of every benchmark, whatever fails before it.
pub(crate) fn smoke(workspace: &Workspace, consent: Consent) -> Result<Report> {
    let mut report = Report::default();
    for (name, program) in BENCHMARKS {
        println!("\n     Running {name}");
        let started = Instant::now();
        let arguments = [name.to_owned(), SMOKE.to_owned()];
        let commands = program.built(workspace, Profile::Dev, &arguments);
        let ran = commands.and_then(|commands| {
            let run = process::shown_and_kept;
            commands
                .into_iter()
                .try_for_each(|mut it| program.run(workspace, consent, &mut it, run))
        });
        match ran {
            Ok(()) => {}
            Err(Failure::Interrupted) => return Err(Failure::Interrupted),
            Err(failure) => {
                report.failures.push(format!("{failure}\nalone: cargo xtask bench {name} {SMOKE}"));
            }
        }
        report.parts.push((format!("bench: {name}"), started.elapsed()));
    }
    Ok(report)
}

impl Program {
    /// Builds it, and returns the commands that run it.
    fn built(
        self,
        workspace: &Workspace,
        profile: Profile,
        arguments: &[String],
    ) -> Result<Vec<Command>> {
        let bench = || -> Result<Command> {
            let mut command = Command::new(workspace.build_bench(profile)?);
            command.args(arguments).current_dir(workspace.root());
            Ok(command)
        };
        let rest = arguments.get(1..).unwrap_or_default();
        match self {
            Self::Alone | Self::Postgres => Ok(vec![bench()?]),
            Self::Described => {
                let mut command = bench()?;
                command.env(descriptions::VARIABLE, descriptions::usual(workspace)?);
                Ok(vec![command])
            }
            Self::Service => {
                let build = match profile {
                    Profile::Release => Build::Release,
                    Profile::Dev => Build::WithTests,
                };
                let mut command = bench()?;
                command.env("CHANCERY_BIN", workspace.build_service(build)?);
                Ok(vec![command])
            }
            Self::Store => {
                let command = |program| {
                    let mut command = Command::new(program);
                    command.args(rest);
                    command
                };
                Ok(workspace.build_lists(profile)?.map(command).into())
            }
            Self::Peers => {
                let mut command = Command::new("cargo");
                command.current_dir(workspace.root().join("bench").join("policy-peers"));
                command.args(["run", "--quiet", "--locked"]).args(profile.flags());
                command.arg("--").args(rest);
                Ok(vec![command])
            }
        }
    }

    /// Runs a command of it beside what it needs.
    fn run(
        self,
        workspace: &Workspace,
        consent: Consent,
        command: &mut Command,
        run: fn(&mut Command) -> Result<()>,
    ) -> Result<()> {
        match self {
            Self::Alone | Self::Described | Self::Peers => run(command),
            Self::Service | Self::Postgres | Self::Store => {
                let launcher = Launcher::find(consent)?;
                test::on_a_cluster(workspace, &launcher, Checkpoints::Usual, command, run)
            }
        }
    }
}

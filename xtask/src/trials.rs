//! `cargo xtask faults` and `cargo xtask soak`: the end-to-end tests whose outcome hangs on what dies or
//! on how much the machine can take, one at a time, on a PostgreSQL of their own. What they do and what
//! they print is theirs.

use std::process::Command;
use std::time::{Duration, Instant};

use crate::cli;
use crate::failure::Result;
use crate::pg::{Checkpoints, Launcher};
use crate::process;
use crate::steps::{self, Report, Step};
use crate::test::on_a_cluster;
use crate::workspace::{ALL, Build, Workspace};

/// How long instances are restarted one after the other when many faults are asked for.
const ROLLING_SECONDS: &str = "75";

/// How often everybody who can end an approval does so at once.
const RACES: &str = "10000";

/// How often a Stop is asked for while 64 starters on three instances call.
const STOPS: &str = "500";

/// Lets faults strike: every test of the target `faults`, each point as often as asked for.
pub(crate) fn faults(workspace: &Workspace, request: &cli::Faults) -> Result<()> {
    let launcher = Launcher::find(request.yes.into())?;
    let service = workspace.build_service(Build::WithTests)?;
    let on_cluster = |command: &mut Command| {
        command.env("CHANCERY_BIN", &service).env("CHANCERY_FAILPOINT_BIN", &service);
        crate::tools::name(workspace, command);
        on_a_cluster(workspace, &launcher, Checkpoints::Rare, command)
    };
    if let (Some(kills), Some(point)) = (request.kills, &request.at) {
        return on_cluster(&mut struck_at(workspace, kills, point));
    }
    let mut races = workspace.cargo(["test"]);
    races.args(ALL).args(["--test", "actions", "--", "--nocapture", "judgements::of_all_who_end"]);
    process::run(races.env("CHANCERY_RACE_ROUNDS", RACES))?;
    let mut struck = trial(workspace, "faults");
    if let Some(rounds) = request.rounds {
        struck.env("CHANCERY_CRASH_ROUNDS", rounds.to_string());
    }
    if let Some(kills) = request.kills {
        struck.env("CHANCERY_CRASH_KILLS", kills.to_string());
    }
    on_cluster(&mut struck)?;
    if request.kills.is_none() {
        return Ok(());
    }
    let mut stops = trial(workspace, "load");
    on_cluster(stops.arg("stops::none_of_64_starters").env("CHANCERY_STOP_ROUNDS", STOPS))?;
    let mut rolling = trial(workspace, "load");
    on_cluster(rolling.arg("rolling::").env("CHANCERY_ROLLING_SECONDS", ROLLING_SECONDS))
}

/// How the names of the points around a call's evidence begin, which calls of another kind pass.
const WITNESS: [&str; 3] = ["witness.", "evidence.", "amend."];

/// The command that lets so many faults strike at some points, and does nothing else.
fn struck_at(workspace: &Workspace, kills: u32, point: &str) -> Command {
    let mut command = trial(workspace, "faults");
    command.env("CHANCERY_CRASH_KILLS", kills.to_string()).env("CHANCERY_CRASH_AT", point);
    if WITNESS.iter().any(|beginning| point.starts_with(beginning)) {
        command.arg("crash::witnessing::").env("CHANCERY_CRASH_ROUNDS", kills.to_string());
    } else {
        command.arg("storm::");
    }
    command
}

/// Runs every test of the target `load`, in rounds until the minutes are over, and at least once.
pub(crate) fn soak(workspace: &Workspace, request: &cli::Soak) -> Result<()> {
    let consent = request.yes.into();
    let until = Instant::now() + Duration::from_mins(request.minutes.into());
    loop {
        steps::run("soak", workspace, consent, &[Step { name: "load", run: load }])?;
        if Instant::now() >= until {
            return Ok(());
        }
    }
}

fn load(workspace: &Workspace, consent: crate::pg::Consent) -> Result<Report> {
    let launcher = Launcher::find(consent)?;
    let service = workspace.build_service(Build::WithTests)?;
    let mut command = trial(workspace, "load");
    command.env("CHANCERY_BIN", &service).env("CHANCERY_FAILPOINT_BIN", &service);
    crate::tools::name(workspace, &mut command);
    on_a_cluster(workspace, &launcher, Checkpoints::Rare, &mut command)?;
    Ok(Report::default())
}

/// The command that runs a target of trials, one test at a time: what is measured is not disturbed.
fn trial(workspace: &Workspace, target: &str) -> Command {
    let mut command = workspace.cargo(["test", "--no-fail-fast"]);
    command.args(ALL).args(["--test", target, "--", "--nocapture", "--test-threads=1"]);
    command
}

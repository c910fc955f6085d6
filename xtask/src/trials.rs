//! `cargo xtask faults` and `cargo xtask soak`: the end-to-end tests whose outcome hangs on what dies or
//! on how much the machine can take, each alone in a process of its own, on a PostgreSQL of their own.
//! What they do and what they print is theirs.

use std::time::{Duration, Instant};

use crate::cli;
use crate::failure::Result;
use crate::pg::Consent;
use crate::steps::{self, Report};
use crate::test::{self, Trial};
use crate::workspace::Workspace;

/// How long instances are restarted one after the other when many faults are asked for.
const ROLLING_SECONDS: &str = "75";

/// How often everybody who can end an approval does so at once.
const RACES: &str = "10000";

/// How often a Stop is asked for while 64 starters on three instances call.
const STOPS: &str = "500";

/// How long one fault may take where all of them strike at a few points, one after the other at each.
const STRUCK_WITHIN: Duration = Duration::from_secs(3);

/// How the names of the points around a call's evidence begin, which calls of another kind pass.
const WITNESS: [&str; 3] = ["witness.", "evidence.", "amend."];

/// Lets faults strike: every test of the target `faults`, each point as often as asked for.
pub(crate) fn faults(workspace: &Workspace, request: &cli::Faults) -> Result<()> {
    let mut trials = vec![Trial::of("tests", "faults")];
    match (request.kills, &request.at) {
        (Some(kills), Some(point)) => trials = vec![struck_at(kills, point)],
        (Some(kills), None) => {
            trials = vec![
                Trial::of("tests", "faults").with("CHANCERY_CRASH_KILLS", kills.to_string()),
                Trial::of("tests", "load")
                    .named("stops::none_of_64_starters")
                    .with("CHANCERY_STOP_ROUNDS", STOPS),
                Trial::of("tests", "load")
                    .named("rolling::")
                    .with("CHANCERY_ROLLING_SECONDS", ROLLING_SECONDS),
            ];
        }
        (None, _) => {}
    }
    if request.at.is_none() {
        let races = Trial::of("gate", "actions").named("judgements::of_all_who_end");
        trials.insert(0, races.with("CHANCERY_RACE_ROUNDS", RACES));
    }
    let asked = [
        ("CHANCERY_CRASH_ROUNDS", request.rounds.map(|rounds| rounds.to_string())),
        ("CHANCERY_CRASH_SEED", request.seed.map(|seed| seed.to_string())),
    ];
    for (name, value) in asked {
        if let Some(value) = value {
            trials = trials.into_iter().map(|it| it.with(name, &value)).collect();
        }
    }
    run("faults", workspace, request.yes.into(), &trials)
}

/// So many faults at some points, and nothing else.
fn struck_at(kills: u32, point: &str) -> Trial {
    let time = STRUCK_WITHIN.saturating_mul(kills);
    let kills = kills.to_string();
    let is_witness = WITNESS.iter().any(|beginning| point.starts_with(beginning));
    let trial = Trial::of("tests", "faults").with("CHANCERY_CRASH_AT", point).longer(time);
    if is_witness {
        trial.named("crash::witnessing::").with("CHANCERY_CRASH_ROUNDS", kills)
    } else {
        trial.named("storm::").with("CHANCERY_CRASH_KILLS", kills)
    }
}

/// Runs every test of the target `load`, in rounds until the minutes are over, and at least once.
pub(crate) fn soak(workspace: &Workspace, request: &cli::Soak) -> Result<()> {
    let until = Instant::now() + Duration::from_mins(request.minutes.into());
    loop {
        run("soak", workspace, request.yes.into(), &[Trial::of("tests", "load")])?;
        if Instant::now() >= until {
            return Ok(());
        }
    }
}

fn run(
    verb: &'static str,
    workspace: &Workspace,
    consent: Consent,
    trials: &[Trial],
) -> Result<()> {
    let began = Instant::now();
    let mut report = Report::default();
    for trial in trials {
        report.add(test::trial(workspace, consent, trial)?);
    }
    steps::ended(verb, &report, began.elapsed())
}

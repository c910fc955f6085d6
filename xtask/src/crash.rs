//! `cargo xtask crash`: many rounds of all who can end an approval and of Stops under load, and the
//! end-to-end tests in which faults strike, as often as asked for, on a PostgreSQL of their own. What
//! they do and what they print is theirs.

use crate::cli;
use crate::failure::Result;
use crate::pg::Launcher;
use crate::process;
use crate::test::{END_TO_END, on_a_cluster};
use crate::workspace::{Build, Workspace};

/// How long instances are restarted one after the other when many faults are asked for.
const ROLLING_SECONDS: &str = "75";

/// How often everybody who can end an approval does so at once.
const RACES: &str = "10000";

/// How often a Stop is asked for while 64 starters on three instances call.
const STOPS: &str = "500";

/// Runs the tests.
pub(crate) fn run(workspace: &Workspace, faults: &cli::Crash) -> Result<()> {
    let mut races = workspace.cargo(["test", "--package", "gate", "--test", "actions"]);
    races.args(["--", "--nocapture", "judgements::of_all_who_end"]);
    process::run(races.env("CHANCERY_RACE_ROUNDS", RACES))?;
    let launcher = Launcher::find(faults.yes.into())?;
    let binary = workspace.build_service(Build::Failpoints)?;
    let end_to_end = || {
        let mut command = workspace.cargo(["test", "--package", END_TO_END, "--", "--nocapture"]);
        command.env("CHANCERY_BIN", &binary).env("CHANCERY_FAILPOINT_BIN", &binary);
        command
    };
    // One after the other: each begins more than the machine takes.
    let mut stops = end_to_end();
    stops.args(["--test-threads=1", "stops::none_of_64_starters"]);
    on_a_cluster(workspace, &launcher, stops.env("CHANCERY_STOP_ROUNDS", STOPS))?;
    let mut command = end_to_end();
    match (faults.rounds, faults.kills) {
        (_, Some(kills)) => {
            // One after the other: what is measured is not disturbed.
            command.args(["--test-threads=1", "storm::", "four::", "rolling::"]);
            command.env("CHANCERY_CRASH_KILLS", kills.to_string());
            command.env("CHANCERY_ROLLING_SECONDS", ROLLING_SECONDS);
        }
        (Some(rounds), None) => {
            command.arg("crash::").env("CHANCERY_CRASH_ROUNDS", rounds.to_string());
        }
        (None, None) => {
            command.args(["crash::", "storm::", "four::", "rolling::"]);
        }
    }
    on_a_cluster(workspace, &launcher, &mut command)
}

//! Child processes: started in a group of their own, waited for, and told of Ctrl-C exactly once.
//! Knows nothing of what the children do.
//!
//! A child that shared our group would get the terminal's Ctrl-C from the terminal and again from
//! us, and many programs take the second one as "now, without cleaning up".

mod watched;

use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::failure::{Failure, Result};
pub(crate) use watched::{Watched, watched};

/// How often a waiting parent looks at its child and at the signals.
const LOOK: Duration = Duration::from_millis(20);

/// The longest that one step of a verb may take.
const STEP: Duration = Duration::from_mins(30);

/// How many lines of a failed step are repeated.
const REPEATED: usize = 60;

/// The last signal that asked us to stop and was not passed on yet; 0 when there is none.
static ASKED: AtomicUsize = AtomicUsize::new(0);

/// From here on a request to stop is noted and passed on, and no longer ends this process, so that
/// what was started is stopped as well.
pub(crate) fn watch_signals() -> Result<()> {
    for signal in [SIGHUP, SIGINT, SIGTERM] {
        let number = signal.unsigned_abs() as usize;
        signal_hook::flag::register_usize(signal, &ASKED, number)
            .map_err(|source| Failure::Io { attempt: "watch for Ctrl-C".to_owned(), source })?;
    }
    Ok(())
}

/// Runs the command to its end, its output going where ours goes.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let child = start(command)?;
    let status = wait(child, command, None)?;
    if status.success() {
        Ok(())
    } else {
        Err(Failure::Command { program: shown(command), status })
    }
}

/// Runs the command to its end as a step does: a failure repeats the end of what it printed.
pub(crate) fn shown_and_kept(command: &mut Command) -> Result<()> {
    let Watched { status, said } = watched(command, STEP, io::stdout())?;
    if status.success() {
        return Ok(());
    }
    let lines: Vec<&str> = said.lines().collect();
    let last = lines.get(lines.len().saturating_sub(REPEATED)..).unwrap_or_default().join("\n");
    Err(Failure::because(format!("`{}` ended with {status}:\n{last}", shown(command))))
}

/// Starts the command in a group of its own, without input.
pub(crate) fn start(command: &mut Command) -> Result<Child> {
    command.stdin(Stdio::null()).process_group(0);
    command.spawn().map_err(|source| not_run(command, source))
}

/// Waits for the child to end and passes every request to stop on to it and all it started. Beyond the
/// limit they are killed.
pub(crate) fn wait(
    mut child: Child,
    command: &Command,
    limit: Option<Duration>,
) -> Result<ExitStatus> {
    let began = Instant::now();
    let mut asked = false;
    loop {
        if limit.is_some_and(|limit| began.elapsed() > limit) {
            tell(&child, Signal::KILL);
        }
        if let Some(signal) = take_signal() {
            asked = true;
            tell(&child, signal);
        }
        match child.try_wait().map_err(|source| not_run(command, source))? {
            Some(_) if asked => return Err(Failure::Interrupted),
            Some(status) => return Ok(status),
            None => thread::sleep(LOOK),
        }
    }
}

/// Runs the command to its end and gives back what it printed, whether it succeeded or not.
pub(crate) fn capture(command: &mut Command) -> Result<Output> {
    command.stdin(Stdio::null()).process_group(0);
    command.output().map_err(|source| not_run(command, source))
}

/// The command as a person would type it.
pub(crate) fn shown(command: &Command) -> String {
    let program = Path::new(command.get_program());
    let name = program.file_name().unwrap_or(program.as_os_str());
    let words = std::iter::once(name).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

fn take_signal() -> Option<Signal> {
    let number = i32::try_from(ASKED.swap(0, Ordering::SeqCst)).ok()?;
    Signal::from_named_raw(number)
}

fn tell(child: &Child, signal: Signal) {
    let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    // A group that is gone has nothing left to hear it.
    let _ = group.map(|group| kill_process_group(group, signal));
}

fn not_run(command: &Command, source: io::Error) -> Failure {
    Failure::Io { attempt: format!("run `{}`", shown(command)), source }
}

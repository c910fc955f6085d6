//! A child whose output is shown while it comes and kept for whoever has to repeat it.

use std::io::{self, PipeReader, Read, Write};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::{LOOK, start, wait};
use crate::failure::{Failure, Result};

/// How long output is waited for once the child is gone: something it started may hold the pipe open.
const TRAILS: Duration = Duration::from_secs(5);

/// What became of a child.
#[derive(Debug)]
pub(crate) struct Watched {
    /// How it ended.
    pub(crate) status: ExitStatus,
    /// All it printed, on both streams, in the order in which it came.
    pub(crate) said: String,
}

/// Runs the command to its end, or to this limit, shows there what it prints and returns it.
pub(crate) fn watched(
    command: &mut Command,
    limit: Duration,
    shown: impl Write + Send + 'static,
) -> Result<Watched> {
    let pipe = |source| Failure::Io { attempt: "make a pipe".to_owned(), source };
    let (reader, writer) = io::pipe().map_err(pipe)?;
    command.stdout(writer.try_clone().map_err(pipe)?).stderr(writer);
    let child = start(command)?;
    // The command keeps the writing end, behind which no end of the output would ever be seen.
    command.stdout(Stdio::null()).stderr(Stdio::null());
    let kept = Arc::new(Mutex::new(Vec::new()));
    let showing = {
        let kept = Arc::clone(&kept);
        thread::spawn(move || show(reader, shown, &kept))
    };
    let status = wait(child, command, Some(limit))?;
    let trails = Instant::now() + TRAILS;
    while !showing.is_finished() && Instant::now() < trails {
        thread::sleep(LOOK);
    }
    let said = kept.lock().unwrap_or_else(PoisonError::into_inner);
    Ok(Watched { status, said: String::from_utf8_lossy(&said).into_owned() })
}

/// Hands on whatever comes until the end.
fn show(mut reader: PipeReader, mut shown: impl Write, kept: &Mutex<Vec<u8>>) {
    let mut part = [0; 8192];
    while let Ok(read @ 1..) = reader.read(&mut part) {
        let part = part.get(..read).unwrap_or_default();
        kept.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(part);
        // Nobody may be there to look any more; what is kept is still of use.
        let _ = shown.write_all(part).and_then(|()| shown.flush());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn both_streams_are_kept_in_their_order() {
        let watched =
            watched(&mut shell("echo a; echo b >&2; echo c; exit 3"), TRAILS, io::sink()).unwrap();
        assert_eq!((watched.said.as_str(), watched.status.code()), ("a\nb\nc\n", Some(3)));
    }

    #[test]
    fn a_child_that_outlasts_its_limit_is_killed_with_all_it_started() {
        let limit = Duration::from_millis(200);
        let watched = watched(&mut shell("echo a; sleep 600 & wait"), limit, io::sink()).unwrap();
        assert_eq!((watched.said.as_str(), watched.status.code()), ("a\n", None));
    }
}

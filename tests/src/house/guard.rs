//! Ends a process when this one ends, however that comes about.

use std::{
    path::Path,
    process::{Child, Command, Stdio},
};

/// Watches this process from outside, and kills another and removes its folder once this one is
/// gone.
///
/// The watcher reads from a pipe that nobody writes to: its end is the end of this process, be it
/// a panic, a signal or a normal exit that drops no statics.
#[derive(Debug)]
pub(super) struct Guard(Child);

impl Guard {
    /// Ties the process of this id and what it keeps in this folder to this process.
    pub(super) fn of(process: u32, folder: &Path) -> Self {
        let script = "trap '' INT TERM; cat >/dev/null; kill -9 \"$1\"; sleep 1; rm -rf \"$2\"";
        let watcher = Command::new("/bin/sh")
            .args(["-c", script, "sh"])
            .arg(process.to_string())
            .arg(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        Self(watcher.unwrap())
    }
}

impl Drop for Guard {
    /// Lets go of the process: whoever made the guard has seen to its end.
    fn drop(&mut self) {
        // A watcher that is gone already has nothing to be told.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

//! Named points at which a test can make the process die, wait or fail.
//!
//! Without the feature `failpoints` every call is empty and release builds carry none of it.
//! With it, there are two ways to arm a point. The environment variable `CHANCERY_FAILPOINTS`
//! arms points from the start, as in `gate.permitted=kill,turn.signed=3*pause:500`: an optional
//! count says which visit counts first, then comes what happens: `kill` (the process ends at once,
//! with nothing flushed), `pause:<ms>`, or `error`. And in the folder that
//! `CHANCERY_FAILPOINT_FOLDER` names, a file `turn.signed` holds the next visit of that point: the
//! visitor renames it to `turn.signed.held` and waits until that is gone, while whoever made it
//! does to the process, or to what it talks to, what they like. Who renames it on to
//! `turn.signed.panic` lets the visitor panic.
//!
//! A point is named by where it lies and what has happened there: at `gate.permitted` the call is
//! permitted and nothing else of it has happened.

/// What an armed point asks its place in the code to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Injected;

/// Visits a point; an `Err` means that the place must fail as if its own work had.
#[cfg(not(feature = "failpoints"))]
#[inline]
pub fn hit(_point: &str) -> Result<(), Injected> {
    Ok(())
}

#[cfg(feature = "failpoints")]
pub use armed::hit;

#[cfg(feature = "failpoints")]
mod armed {
    use std::{
        collections::HashMap,
        fs,
        path::{Path, PathBuf},
        sync::{
            OnceLock,
            atomic::{AtomicU32, Ordering},
        },
        time::Duration,
    };

    use super::Injected;

    /// How often a held visitor looks whether it may go on.
    const LOOK: Duration = Duration::from_millis(1);

    #[derive(Debug)]
    enum Action {
        Kill,
        Pause(Duration),
        Error,
    }

    #[derive(Debug)]
    struct Point {
        visits_left: AtomicU32,
        action: Action,
    }

    /// What the environment armed.
    #[derive(Debug)]
    struct Armed {
        points: HashMap<String, Point>,
        folder: Option<PathBuf>,
    }

    /// Visits a point; an `Err` means that the place must fail as if its own work had.
    pub fn hit(point: &str) -> Result<(), Injected> {
        static ARMED: OnceLock<Armed> = OnceLock::new();
        let armed = ARMED.get_or_init(read);
        if let Some(folder) = &armed.folder {
            hold(folder, point);
        }
        let Some(point) = armed.points.get(point) else { return Ok(()) };
        let left = point
            .visits_left
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| Some(left.saturating_sub(1)));
        if left.unwrap_or_default() > 1 {
            return Ok(());
        }
        match point.action {
            Action::Kill => std::process::abort(),
            Action::Pause(span) => pause(span),
            Action::Error => return Err(Injected),
        }
        Ok(())
    }

    /// Waits here if somebody asked for that; of several visitors the one that renames the file.
    fn hold(folder: &Path, point: &str) {
        let held = folder.join(format!("{point}.held"));
        if fs::rename(folder.join(point), &held).is_ok() {
            while held.exists() {
                pause(LOOK);
            }
            let panics = fs::remove_file(folder.join(format!("{point}.panic"))).is_ok();
            assert!(!panics, "a panic was injected at `{point}`");
        }
    }

    #[expect(clippy::disallowed_methods, reason = "a pause blocks the thread on purpose")]
    fn pause(span: Duration) {
        std::thread::sleep(span);
    }

    #[expect(clippy::disallowed_methods, reason = "a test arms points from outside the process")]
    fn read() -> Armed {
        let text = std::env::var("CHANCERY_FAILPOINTS").unwrap_or_default();
        let folder = std::env::var_os("CHANCERY_FAILPOINT_FOLDER").map(PathBuf::from);
        Armed { points: text.split(',').filter_map(point).collect(), folder }
    }

    fn point(text: &str) -> Option<(String, Point)> {
        let (name, rest) = text.split_once('=')?;
        let (visit, action) = match rest.split_once('*') {
            Some((count, action)) => (count.parse().ok()?, action),
            None => (1, rest),
        };
        let action = match action.split_once(':') {
            Some(("pause", millis)) => Action::Pause(Duration::from_millis(millis.parse().ok()?)),
            _ if action == "kill" => Action::Kill,
            _ if action == "error" => Action::Error,
            _ => return None,
        };
        Some((name.to_owned(), Point { visits_left: AtomicU32::new(visit), action }))
    }
}

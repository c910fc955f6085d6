//! Logs: JSON lines in prod, readable lines in dev, both on standard error.
//!
//! It formats what the crates say and adds nothing; that no argument, result or credential is
//! ever an event's field is kept where events are made.

use std::io::IsTerminal;

use tracing_subscriber::{
    Layer, filter::Targets, fmt, layer::SubscriberExt, util::SubscriberInitExt,
};

use crate::settings::{Environment, LogLevel};

/// Sends events to standard error from here on; the second call of a process changes nothing.
pub fn start(env: Environment, level: LogLevel) {
    let stderr = std::io::stderr;
    let layer = match env {
        Environment::Prod => fmt::layer().json().flatten_event(true).with_writer(stderr).boxed(),
        Environment::Dev => {
            let ansi = stderr().is_terminal();
            fmt::layer().compact().with_ansi(ansi).with_writer(stderr).boxed()
        }
    };
    // An error says that somebody listens already, a test for one.
    let _ = tracing_subscriber::registry().with(layer.with_filter(targets(level))).try_init();
}

/// Libraries that speak at length stay at `warn`: at `debug` the database driver logs statements,
/// and nothing of a call's own may come into a log.
fn targets(level: LogLevel) -> Targets {
    const WORDY: [&str; 6] =
        ["tokio_postgres", "deadpool", "deadpool_postgres", "hyper", "hyper_util", "rustls"];
    let quiet = level.level().min(tracing::Level::WARN);
    WORDY.iter().fold(Targets::new().with_default(level.level()), |targets, name| {
        targets.with_target(*name, quiet)
    })
}

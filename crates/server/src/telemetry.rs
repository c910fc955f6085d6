//! Logs: JSON lines in prod, readable lines in dev, both on standard error.
//!
//! It formats what the crates say and adds nothing but how often something was not said again;
//! that no argument, result or credential is ever an event's field is kept where events are made.

mod throttle;

use std::io::IsTerminal;

use tracing::Subscriber;
use tracing_subscriber::{
    Layer,
    filter::Targets,
    fmt::{self, MakeWriter},
    layer::SubscriberExt,
    registry::LookupSpan,
    util::SubscriberInitExt,
};

use crate::settings::{Environment, LogLevel};
use throttle::{Form, Throttled};

/// Sends events to standard error from here on; the second call of a process changes nothing.
pub fn start(env: Environment, level: LogLevel) {
    let stderr = std::io::stderr;
    let layer = lines(env, stderr().is_terminal(), stderr);
    // An error says that somebody listens already, a test for one.
    let _ = tracing_subscriber::registry().with(layer.with_filter(targets(level))).try_init();
}

/// Logs a panic as any other error, in place of the lines that the standard library would write.
pub fn log_panics() {
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(ToString::to_string).unwrap_or_default();
        let cause = panic.payload_as_str().unwrap_or("not text");
        tracing::error!(place, cause, "a task panicked");
    }));
}

/// What writes each event as a line.
fn lines<S, W>(env: Environment, ansi: bool, to: W) -> Box<dyn Layer<S> + Send + Sync>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    W: for<'w> MakeWriter<'w> + Send + Sync + 'static,
{
    match env {
        Environment::Prod => {
            let layer = fmt::layer().json().flatten_event(true).with_writer(to);
            layer.map_event_format(|lines| Throttled::new(lines, Form::Json)).boxed()
        }
        Environment::Dev => {
            let layer = fmt::layer().compact().with_ansi(ansi).with_writer(to);
            layer.map_event_format(|lines| Throttled::new(lines, Form::Text)).boxed()
        }
    }
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

/// The lines that this thread would write in dev while this is done.
#[cfg(test)]
pub(crate) fn said(work: impl FnOnce()) -> Vec<String> {
    tests::said(Environment::Dev, work)
}

#[cfg(test)]
mod tests;

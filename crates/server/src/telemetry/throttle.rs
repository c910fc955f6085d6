//! Says once a second what would be said with every request.
//!
//! A database that is away fails whatever is asked of it, and so many equal lines hide all others.
//! What tells of one org, log or lease is no such line and is never left out.

use std::{
    collections::HashMap,
    fmt,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use tokio::time::Instant;
use tracing::{Event, Level, Metadata, Subscriber, callsite::Identifier};
use tracing_subscriber::{
    fmt::{
        FmtContext, FormatEvent, FormatFields,
        format::Writer,
        time::{FormatTime, SystemTime},
    },
    registry::LookupSpan,
};

/// How long a line stands for others of its kind.
const STANDS_FOR: Duration = Duration::from_secs(1);
/// Where warnings and errors come with requests, turns or rounds, however many there are.
const OF_REQUESTS: [&str; 9] = [
    "connectors",
    "gate::gate",
    "http_api",
    "ledger::commit",
    "ledger::draft",
    "server::adapters",
    "server::workers",
    "store_postgres",
    "web",
];

/// How a line about lines is written.
#[derive(Debug, Clone, Copy)]
pub(super) enum Form {
    Json,
    Text,
}

/// Writes events as `lines` does, and of each kind that comes with requests one a second.
pub(super) struct Throttled<F> {
    lines: F,
    form: Form,
    // Each kind's last line, and how many of its kind were left out since.
    said: Mutex<HashMap<Identifier, (Instant, u64)>>,
}

impl<F> Throttled<F> {
    pub(super) fn new(lines: F, form: Form) -> Self {
        Self { lines, form, said: Mutex::default() }
    }

    /// How many of this kind were left out since the last one; nothing for one to leave out.
    fn admits(&self, kind: &'static Metadata<'static>, now: Instant) -> Option<u64> {
        if *kind.level() > Level::WARN || !is_of_requests(kind.target()) {
            return Some(0);
        }
        let mut said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        let Some((last, left_out)) = said.get_mut(&kind.callsite()) else {
            said.insert(kind.callsite(), (now, 0));
            return Some(0);
        };
        if now.saturating_duration_since(*last) < STANDS_FOR {
            *left_out += 1;
            return None;
        }
        *last = now;
        Some(std::mem::take(left_out))
    }

    fn tell(&self, left_out: u64, kind: &Metadata<'_>, to: &mut Writer<'_>) -> fmt::Result {
        const WHAT: &str = "lines similar to the next one were omitted";
        let (level, target) = (kind.level(), kind.target());
        let mut time = String::new();
        SystemTime.format_time(&mut Writer::new(&mut time))?;
        match self.form {
            Form::Json => {
                let message = serde_json::json!({
                    "timestamp": time, "level": level.as_str(), "target": target, "message": WHAT, "left_out": left_out,
                });
                writeln!(to, "{message}")
            }
            Form::Text => writeln!(to, "{time} {level:>5} {target}: {WHAT} left_out={left_out}"),
        }
    }
}

/// Whether a line of this module may come with every request.
fn is_of_requests(target: &str) -> bool {
    OF_REQUESTS.iter().any(|of| {
        target.strip_prefix(of).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
    })
}

impl<S, N, F> FormatEvent<S, N> for Throttled<F>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
    F: FormatEvent<S, N>,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut to: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let kind = event.metadata();
        let Some(left_out) = self.admits(kind, Instant::now()) else { return Ok(()) };
        if left_out > 0 {
            self.tell(left_out, kind, &mut to)?;
        }
        self.lines.format_event(context, to, event)
    }
}

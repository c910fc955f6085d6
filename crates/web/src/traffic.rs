//! What was answered, route by route, as numbers for monitoring.
//!
//! A request is counted under the template of its route and never under its own path, so that
//! there are as many series as there are rows in the table and statuses in the catalogue.

use std::{
    sync::{
        Arc,
        atomic::{
            AtomicU64,
            Ordering::{Acquire, Relaxed, Release},
        },
    },
    time::Duration,
};

use http::StatusCode;
use prometheus::{Histogram, HistogramOpts};
use tokio::time::Instant;

/// Seconds that an answer may take, bucket by bucket.
const SECONDS: &[f64] =
    &[0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 25.0];
/// Every status that is answered here.
const STATUSES: [u16; 24] = [
    200, 201, 202, 204, 303, 304, 400, 401, 403, 404, 405, 406, 409, 410, 411, 413, 414, 415, 422,
    429, 431, 500, 503, 0,
];

/// The answers of one route.
#[derive(Debug)]
pub struct RouteTraffic {
    /// The method; `other` for what matched no route.
    pub method: &'static str,
    /// The path's template; `none` for what matched no route.
    pub path: &'static str,
    /// Seconds from a request's head to its answer's head.
    pub seconds: Histogram,
    answers: [AtomicU64; STATUSES.len()],
}

/// How many of something are open.
#[derive(Debug)]
pub struct Open {
    now: AtomicU64,
    begun: Instant,
    // Milliseconds after `begun` at which the last one was closed; none yet is `NEVER`.
    closed: AtomicU64,
}

const NEVER: u64 = u64::MAX;

impl Default for Open {
    fn default() -> Self {
        Self { now: AtomicU64::new(0), begun: Instant::now(), closed: AtomicU64::new(NEVER) }
    }
}

/// One of what is open; dropping it closes it.
#[derive(Debug)]
pub(crate) struct Held(Arc<Open>);

impl Open {
    /// How many there are now.
    pub fn get(&self) -> u64 {
        self.now.load(Relaxed)
    }

    /// For how long nothing has been open: `None` where something is, the longest time there is
    /// where nothing ever was.
    pub fn idle_for(&self) -> Option<Duration> {
        // What is closed is noted first, so whoever sees that nothing is open sees since when.
        match (self.now.load(Acquire), self.closed.load(Relaxed)) {
            (0, NEVER) => Some(Duration::MAX),
            (0, at) => Some(self.begun.elapsed().saturating_sub(Duration::from_millis(at))),
            (_, _) => None,
        }
    }

    /// Counts one more for as long as what comes back lives.
    pub(crate) fn hold(self: &Arc<Self>) -> Held {
        self.now.fetch_add(1, Relaxed);
        Held(Arc::clone(self))
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let open = &self.0;
        let at = u64::try_from(open.begun.elapsed().as_millis()).unwrap_or(NEVER - 1);
        open.closed.store(at, Relaxed);
        open.now.fetch_sub(1, Release);
    }
}

/// The answers of every route.
#[derive(Debug)]
pub struct Traffic {
    /// Requests without an answer yet.
    pub in_flight: Arc<Open>,
    // Invariant: one for each route, and one more at the end for what matched none.
    routes: Vec<RouteTraffic>,
}

impl RouteTraffic {
    fn new((method, path): (&'static str, &'static str)) -> prometheus::Result<Self> {
        let seconds = HistogramOpts::new("seconds", "seconds").buckets(SECONDS.to_vec());
        let (seconds, answers) = (Histogram::with_opts(seconds)?, Default::default());
        Ok(Self { method, path, seconds, answers })
    }

    /// Each status that was answered, `other` for one that is not known, and how often.
    pub fn answers(&self) -> impl Iterator<Item = (String, u64)> {
        let given = STATUSES.iter().zip(&self.answers).map(|(status, count)| {
            let shown = if *status == 0 { "other".to_owned() } else { status.to_string() };
            (shown, count.load(Relaxed))
        });
        given.filter(|(_, count)| *count > 0)
    }
}

impl Traffic {
    pub(crate) fn new(
        routes: impl Iterator<Item = (&'static str, &'static str)>,
    ) -> prometheus::Result<Self> {
        let routes = routes.chain([("other", "none")]).map(RouteTraffic::new);
        Ok(Self { in_flight: Arc::default(), routes: routes.collect::<Result<_, _>>()? })
    }

    /// Every route's answers.
    pub fn routes(&self) -> &[RouteTraffic] {
        &self.routes
    }

    /// Counts an answer of the route at this place of the table.
    pub(crate) fn answered(&self, place: Option<usize>, status: StatusCode, took: Duration) {
        let none = self.routes.len().saturating_sub(1);
        let Some(route) = self.routes.get(place.unwrap_or(none)) else { return };
        route.seconds.observe(took.as_secs_f64());
        let other = STATUSES.len() - 1;
        let at = STATUSES.iter().position(|known| *known == status.as_u16()).unwrap_or(other);
        if let Some(count) = route.answers.get(at) {
            count.fetch_add(1, Relaxed);
        }
    }
}

//! What was answered, route by route, as numbers for monitoring.
//!
//! A request is counted under the template of its route and never under its own path, so that
//! there are as many series as there are rows in the table and statuses in the catalogue.

use std::{sync::Arc, time::Duration};

use http::StatusCode;
use meter::{Counter, Gauge, Histogram};

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
    answers: [Counter; STATUSES.len()],
}

/// The answers of every route.
#[derive(Debug)]
pub struct Traffic {
    /// Requests without an answer yet.
    pub in_flight: Arc<Gauge>,
    // Invariant: one for each route, and one more at the end for what matched none.
    routes: Vec<RouteTraffic>,
}

impl RouteTraffic {
    fn new((method, path): (&'static str, &'static str)) -> Self {
        let answers = std::array::from_fn(|_| Counter::default());
        Self { method, path, seconds: Histogram::new(SECONDS), answers }
    }

    /// Each status that was answered, `other` for one that is not known, and how often.
    pub fn answers(&self) -> impl Iterator<Item = (String, u64)> {
        let given = STATUSES.iter().zip(&self.answers).map(|(status, count)| {
            let shown = if *status == 0 { "other".to_owned() } else { status.to_string() };
            (shown, count.get())
        });
        given.filter(|(_, count)| *count > 0)
    }
}

impl Traffic {
    pub(crate) fn new(routes: impl Iterator<Item = (&'static str, &'static str)>) -> Self {
        let routes = routes.chain([("other", "none")]).map(RouteTraffic::new).collect();
        Self { in_flight: Arc::default(), routes }
    }

    /// Every route's answers.
    pub fn routes(&self) -> &[RouteTraffic] {
        &self.routes
    }

    /// Counts an answer of the route at this place of the table.
    pub(crate) fn answered(&self, place: Option<usize>, status: StatusCode, took: Duration) {
        let none = self.routes.len().saturating_sub(1);
        let Some(route) = self.routes.get(place.unwrap_or(none)) else { return };
        route.seconds.add(took.as_secs_f64());
        let other = STATUSES.len() - 1;
        let at = STATUSES.iter().position(|known| *known == status.as_u16()).unwrap_or(other);
        if let Some(count) = route.answers.get(at) {
            count.one();
        }
    }
}

//! The page that monitoring reads, `GET /metrics` on a listener of its own.
//!
//! What is served stands in one table, from which `docs/metrics.md` is made. No series names an
//! org, an agent or anything else of a caller's.

mod page;
mod process;
mod table;

use std::{
    convert::Infallible,
    sync::Arc,
    task::{Context, Poll},
};

use futures_util::future::{Ready, ready};
use http::{Method, Request, Response, StatusCode};
use http_api::{App, HeldOpen};
use ledger::{Backlog, Ledger};
use store_postgres::{Pools, PostgresStore};
use web::{Open, Reply, ReplyBody, Router};

use crate::{
    change_logs::{ChangeLogs, Figures},
    outages::Outages,
    work::Work,
};
use page::Series;
use process::Process;

pub use table::metrics_markdown;

/// The media type of the text form that Prometheus reads.
const MEDIA_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// What the metrics are read of.
#[derive(Clone)]
pub(crate) struct Watched {
    pub(crate) router: Router<App>,
    pub(crate) connections: Arc<Open>,
    pub(crate) ledger: Ledger,
    pub(crate) store: Arc<PostgresStore>,
    pub(crate) work: Arc<Work>,
    pub(crate) logs: Arc<ChangeLogs>,
    pub(crate) outages: Arc<Outages>,
}

/// What is read once for a whole page.
struct Moment<'w> {
    watched: &'w Watched,
    process: Option<Process>,
    pools: Pools,
    backlog: Backlog,
    held_open: HeldOpen,
    logs: Figures,
}

impl Watched {
    /// The page of this moment.
    pub(crate) fn page(&self) -> prometheus::Result<String> {
        let moment = Moment {
            watched: self,
            process: Process::read(),
            pools: self.store.pools(),
            backlog: self.ledger.backlog(),
            held_open: self.router.state().held_open(),
            logs: self.logs.figures(),
        };
        let mut page = String::new();
        for row in table::ROWS {
            let mut series = Series::default();
            (row.read)(&moment, &mut series);
            series.write(row, &mut page)?;
        }
        Ok(page)
    }

    fn answer(&self, method: &Method, path: &str) -> Reply {
        match (method, path) {
            (&Method::GET | &Method::HEAD, "/metrics") => match self.page() {
                Ok(page) => Reply::bytes(StatusCode::OK, MEDIA_TYPE, page),
                Err(error) => {
                    tracing::error!(%error, "the metrics could not be written");
                    Reply::empty(StatusCode::INTERNAL_SERVER_ERROR)
                }
            },
            (_, "/metrics") => Reply::empty(StatusCode::METHOD_NOT_ALLOWED)
                .with(http::header::ALLOW, http::HeaderValue::from_static("GET, HEAD")),
            _ => Reply::empty(StatusCode::NOT_FOUND),
        }
    }
}

impl<B> tower::Service<Request<B>> for Watched {
    type Response = Response<ReplyBody>;
    type Error = Infallible;
    type Future = Ready<Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        ready(Ok(self.answer(request.method(), request.uri().path()).into_response()))
    }
}

//! From a request to a response: framing, version, match, access, body, handler, envelope.
//!
//! One envelope serves every failure on the way. The router knows routes only as rows of a table
//! and is generic over the state that handlers share.

use std::{
    collections::BTreeMap,
    convert::Infallible,
    net::IpAddr,
    panic::AssertUnwindSafe,
    sync::Arc,
    task::{Context, Poll},
};

use bytes::Bytes;
use futures_util::{FutureExt, future::BoxFuture};
use http::{
    HeaderMap, HeaderName, HeaderValue, Method, Request, Response,
    header::{ACCEPT, CONNECTION},
    request::Parts,
};
use http_body_util::BodyExt;
use hyper::body::Body;
use model::{Mint, RequestId};
use tokio::time::Instant;
use tracing::Instrument;

use crate::{
    arrival::{Arrival, is_form},
    call::Params,
    client::{Peer, counted},
    codes,
    error::{ApiError, excerpt},
    lifecycle::Phase,
    listener,
    reply::{Reply, ReplyBody},
    setup::Setup,
    site::Site,
    slots::{Slot, Slots},
    state::{Refused, State},
    table::{Route, Table},
    traffic::Traffic,
    unread::{self, BrokenOff, RequestBody},
};

/// The API versions that this server serves, the default one last.
pub const API_VERSIONS: [&str; 1] = ["2026-10-01"];
/// The version of requests that name none.
pub const API_VERSION: &str = "2026-10-01";

/// The most requests of one client that are under way at once.
const REQUESTS_OF_ONE: usize = 1024;

const REQUEST_ID: HeaderName = HeaderName::from_static("service-request-id");
const VERSION: HeaderName = HeaderName::from_static("service-version");

/// A service that answers requests from a table of routes.
pub struct Router<S>(Arc<Inner<S>>);

struct Inner<S> {
    setup: Setup,
    site: Arc<Site>,
    state: Arc<S>,
    // Each route with its place in the table.
    paths: matchit::Router<BTreeMap<&'static str, (usize, Route<S>)>>,
    traffic: Arc<Traffic>,
    // Requests under way from each client.
    clients: Slots<IpAddr>,
}

impl<S> Clone for Router<S> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<S> std::fmt::Debug for Router<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Router").field("setup", &self.0.setup).finish_non_exhaustive()
    }
}

/// A table of routes that contradicts itself, or whose answers cannot be counted.
#[derive(Debug, thiserror::Error)]
pub enum BadTableError {
    /// A path contradicts another.
    #[error("could not add the path `{0}`")]
    Path(&'static str, #[source] matchit::InsertError),
    /// The answers cannot be counted.
    #[error("could not count responses")]
    Figures(#[from] prometheus::Error),
}

impl<S: State> Router<S> {
    /// The router of a table, or says which path contradicts another.
    pub fn new(setup: Setup, state: Arc<S>, table: Table<S>) -> Result<Self, BadTableError> {
        let traffic = Traffic::new(table.iter().map(|route| (route.method, route.path)))?;
        let mut by_path: BTreeMap<&'static str, BTreeMap<_, _>> = BTreeMap::new();
        for (place, route) in table.into_iter().enumerate() {
            by_path.entry(route.path).or_default().insert(route.method, (place, route));
        }
        let mut paths = matchit::Router::new();
        for (path, methods) in by_path {
            paths.insert(path, methods).map_err(|source| BadTableError::Path(path, source))?;
        }
        let traffic = Arc::new(traffic);
        let clients = Slots::new(REQUESTS_OF_ONE);
        let site = Arc::new(Site::of(&setup.base_url));
        Ok(Self(Arc::new(Inner { setup, site, state, paths, traffic, clients })))
    }

    /// What was answered so far.
    pub fn traffic(&self) -> Arc<Traffic> {
        Arc::clone(&self.0.traffic)
    }

    /// How many bytes of bodies are held in memory.
    pub fn body_bytes(&self) -> usize {
        self.0.setup.room.held()
    }

    /// The state that handlers share.
    pub fn state(&self) -> &S {
        &self.0.state
    }

    /// The response to a request; it never fails and never panics.
    pub async fn answer<B>(&self, request: Request<B>) -> Response<ReplyBody>
    where
        B: Body<Data = Bytes, Error: std::error::Error>,
        B: Send + 'static,
    {
        let setup = &self.0.setup;
        let id = Mint::new(setup.clock.now(), &*setup.entropy).id(RequestId::from_uuid);
        let (head, body) = request.into_parts();
        let marks = Marks { id, versioned: is_versioned(&head), phase: setup.lifecycle.phase() };
        let (started, _under_way) = (Instant::now(), self.0.traffic.in_flight.hold());
        let heads = head.extensions.get::<listener::Refused>().cloned();
        let (place, pattern) = self.0.row(&head).unzip();
        let client = self.0.client(&head);
        // The span names the route's pattern: nothing of ids, arguments or credentials.
        let route = pattern.unwrap_or("none");
        let from = client.map(tracing::field::display);
        let method = head.method.as_str();
        let span = tracing::info_span!("request", request = %id, method, route, from);
        let broken = |error: B::Error| {
            tracing::debug!(%error, "a request body was incomplete");
            BrokenOff
        };
        let (uri, is_form) =
            (head.uri.clone(), is_form(&head.headers) && takes_html(&head.headers));
        let refused = Refused { id: marks.id, uri: &uri, is_form };
        let (body, unread) = unread::split(&head.headers, body.map_err(broken).boxed_unsync());
        let work = AssertUnwindSafe(self.0.dispatch(marks.id, client, (head, body))).catch_unwind();
        let outcome = work.instrument(span.clone()).await;
        let mut reply = span.in_scope(|| match outcome {
            Ok(Ok(reply)) => reply,
            Ok(Err(error)) => self.0.refuse(&refused, error),
            Err(_panic) => {
                tracing::error!("a handler panicked");
                self.0.refuse(&refused, ApiError::internal())
            }
        });
        self.0.traffic.answered(place, reply.status, started.elapsed());
        let goes_on = !reply.headers.contains_key(CONNECTION)
            && unread.throw_away(setup.unread_time).await
            && !heads.is_some_and(|heads| heads.is_lost());
        if !goes_on {
            reply.headers.insert(CONNECTION, HeaderValue::from_static("close"));
        }
        finish(reply, marks)
    }
}

impl<S: State> Inner<S> {
    async fn dispatch(
        &self,
        request: RequestId,
        client: Option<IpAddr>,
        (head, body): (Parts, RequestBody),
    ) -> Result<Reply, ApiError> {
        crate::framing::check(&head)?;
        if is_versioned(&head) {
            check_version(&head.headers)?;
        }
        let _turn = client.map(|client| self.take_turn(client)).transpose()?;
        let (route, params) = self.find(&head)?;
        let (body_time, room) = (self.setup.body_time, Arc::clone(&self.setup.room));
        let site = Arc::clone(&self.site);
        let shown = None;
        let arrival = Arrival { request, head, params, body, body_time, room, site, client, shown };
        route.call(&self.state, arrival).await
    }

    /// The client, where the request came over a socket.
    fn client(&self, head: &Parts) -> Option<IpAddr> {
        let Peer(peer) = head.extensions.get::<Peer>()?;
        Some(self.setup.proxies.client(*peer, &head.headers))
    }

    fn take_turn(&self, client: IpAddr) -> Result<Slot<IpAddr>, ApiError> {
        self.clients.take(counted(client)).ok_or_else(|| {
            ApiError::rate_limited(format!(
                "{REQUESTS_OF_ONE} requests from this address are in progress; wait until one of \
                 them has ended"
            ))
        })
    }

    /// The place in the table and the pattern of the route that will be found.
    fn row(&self, head: &Parts) -> Option<(usize, &'static str)> {
        let methods = self.paths.at(head.uri.path()).ok()?.value;
        methods.get(method(head)).map(|(place, route)| (*place, route.path))
    }

    fn find(&self, head: &Parts) -> Result<(&Route<S>, Params), ApiError> {
        let found = self.paths.at(head.uri.path()).map_err(|_| {
            let path = excerpt(head.uri.path());
            ApiError::new(codes::ROUTE_UNKNOWN, format!("there is nothing at `{path}`"))
        })?;
        let Some((_, route)) = found.value.get(method(head)) else {
            return Err(ApiError::method_not_allowed(&allowed(found.value.keys())));
        };
        let params =
            found.params.iter().map(|(name, raw)| (name.to_owned(), raw.to_owned())).collect();
        Ok((route, params))
    }

    fn refuse(&self, refused: &Refused<'_>, error: ApiError) -> Reply {
        let status = error.status().as_u16();
        tracing::debug!(status, code = %error.code(), "refused");
        let page = self.state.refused(&error, refused);
        page.unwrap_or_else(|| error.into_reply(refused.id, &self.setup.base_url))
    }
}

/// Whether whoever sent it reads pages, as browsers say of themselves and other clients do not.
fn takes_html(headers: &HeaderMap) -> bool {
    let mut accepted = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
    accepted.any(|accepted| accepted.contains("text/html"))
}

/// The method of the route: a HEAD request is a GET whose body hyper leaves out.
fn method(head: &Parts) -> &str {
    if head.method == Method::HEAD { "GET" } else { head.method.as_str() }
}

fn is_versioned(head: &Parts) -> bool {
    head.uri.path().starts_with("/v1/")
}

fn allowed<'a>(methods: impl Iterator<Item = &'a &'static str>) -> String {
    let mut names: Vec<&str> = methods.copied().collect();
    if names.contains(&"GET") {
        names.push("HEAD");
    }
    names.join(", ")
}

fn check_version(headers: &HeaderMap) -> Result<(), ApiError> {
    let mut values = headers.get_all(&VERSION).iter();
    match (values.next(), values.next()) {
        (None, _) => Ok(()),
        (Some(value), None) if API_VERSIONS.iter().any(|known| value == known) => Ok(()),
        _ => {
            let message = format!("this server serves {}", API_VERSIONS.join(", "));
            Err(ApiError::new(codes::VERSION_UNSUPPORTED, message).on("Service-Version"))
        }
    }
}

/// What decides the headers that the router itself adds.
#[derive(Clone, Copy)]
struct Marks {
    id: RequestId,
    versioned: bool,
    phase: Phase,
}

/// Adds what every response carries.
fn finish(mut reply: Reply, marks: Marks) -> Response<ReplyBody> {
    if let Ok(id) = HeaderValue::from_str(&marks.id.to_string()) {
        reply.headers.insert(REQUEST_ID, id);
    }
    if marks.versioned {
        reply.headers.insert(VERSION, HeaderValue::from_static(API_VERSION));
    }
    // Whoever keeps a connection open must not find the next answer missing.
    if marks.phase != Phase::Serving {
        reply.headers.insert(CONNECTION, HeaderValue::from_static("close"));
    }
    reply.into_response()
}

impl<S, B> tower::Service<Request<B>> for Router<S>
where
    S: State,
    B: Body<Data = Bytes, Error: std::error::Error>,
    B: Send + 'static,
{
    type Response = Response<ReplyBody>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let router = self.clone();
        Box::pin(async move { Ok(router.answer(request).await) })
    }
}

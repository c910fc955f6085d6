//! One request and its answer.

use std::{fmt, sync::Arc, time::Duration};

use bytes::Bytes;
use egress::Egress;
use http::{HeaderMap, HeaderValue, Method, Request, header};
use http_body_util::Full;
use hyper_util::{
    client::legacy::{
        self,
        connect::{CaptureConnection, capture_connection},
    },
    rt::{TokioExecutor, TokioTimer},
};
use tokio::time::timeout;

use crate::{
    Address, Answer, Open, Sent, Trust, TrustError, UpstreamError, answer, connect::Connector,
};

/// For how long a connection is kept that nobody uses.
const KEPT_FOR: Duration = Duration::from_secs(15);
/// How many such connections are kept to one host.
const KEPT: usize = 4;
/// The longest head of an answer, and the most that is read at once.
const LONGEST_HEAD: usize = 64 * 1024;
/// The most headers of an answer.
const MOST_HEADERS: usize = 128;

/// How long one request may take, and how much of its answer is read.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// All of it.
    pub whole: Duration,
    /// Between two pieces of a body.
    pub idle: Duration,
    /// What is read of a body; the rest is left.
    pub answer_bytes: usize,
}

/// On which connection a request goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reuse {
    /// One that another request left open, if there is one: the other side may close it at the
    /// moment of writing, and then nobody knows whether the request was received.
    Kept,
    /// A new one.
    Fresh,
}

type Http = legacy::Client<Connector, Full<Bytes>>;

/// A client of other systems.
#[derive(Clone)]
pub struct Client {
    kept: Http,
    fresh: Http,
    egress: Egress,
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("egress", &self.egress).finish_non_exhaustive()
    }
}

impl Client {
    /// A client over this egress whose connections are ready within `connect`.
    pub fn new(egress: Egress, trust: &Trust, connect: Duration) -> Result<Self, TrustError> {
        let tls = trust.config()?;
        let connector = Connector { egress: egress.clone(), tls: Arc::clone(&tls), limit: connect };
        Ok(Self { kept: http(connector.clone(), KEPT), fresh: http(connector, 0), egress })
    }

    /// The way out.
    pub fn egress(&self) -> &Egress {
        &self.egress
    }

    /// Sends one request and reads its answer.
    pub async fn send(
        &self,
        (method, to): (Method, &Address),
        (headers, body): (HeaderMap, Bytes),
        (limits, reuse): (&Limits, Reuse),
    ) -> Result<Answer, UpstreamError> {
        let mut request = request((method, to), (headers, body));
        let connection = capture_connection(&mut request);
        let client = match reuse {
            Reuse::Kept => &self.kept,
            Reuse::Fresh => &self.fresh,
        };
        let sent = || sent(&connection);
        let answer = async {
            let answer = client.request(request).await;
            let (parts, incoming) =
                answer.map_err(|error| UpstreamError::of(error, sent()))?.into_parts();
            let body = answer::body(incoming, limits).await?;
            Ok(Answer { status: parts.status, headers: parts.headers, body })
        };
        match timeout(limits.whole, answer).await {
            Ok(answer) => answer,
            Err(_) => Err(UpstreamError::Late { sent: sent() }),
        }
    }

    /// Sends one request without a body on a connection of its own, and returns an answer that is read
    /// as it comes.
    pub async fn open(
        &self,
        (method, to): (Method, &Address),
        headers: HeaderMap,
        answered_within: Duration,
    ) -> Result<Open, UpstreamError> {
        let mut request = request((method, to), (headers, Bytes::new()));
        let connection = capture_connection(&mut request);
        match timeout(answered_within, self.fresh.request(request)).await {
            Ok(Ok(answer)) => Ok(Open::of(answer)),
            Ok(Err(error)) => Err(UpstreamError::of(error, sent(&connection))),
            Err(_) => Err(UpstreamError::Late { sent: sent(&connection) }),
        }
    }
}

fn request(
    (method, to): (Method, &Address),
    (headers, body): (HeaderMap, Bytes),
) -> Request<Full<Bytes>> {
    let mut request = Request::new(Full::new(body));
    *request.method_mut() = method;
    *request.uri_mut() = to.uri().clone();
    *request.headers_mut() = headers;
    // Whatever is packed stays packed, so nothing is asked to be.
    let plain = HeaderValue::from_static("identity");
    request.headers_mut().insert(header::ACCEPT_ENCODING, plain);
    request
}

fn sent(connection: &CaptureConnection) -> Sent {
    match &*connection.connection_metadata() {
        Some(_) => Sent::Perhaps,
        None => Sent::Never,
    }
}

fn http(connector: Connector, kept: usize) -> Http {
    legacy::Client::builder(TokioExecutor::new())
        .pool_idle_timeout(KEPT_FOR)
        .pool_max_idle_per_host(kept)
        .pool_timer(TokioTimer::new())
        .http1_max_buf_size(LONGEST_HEAD)
        .http1_max_headers(MOST_HEADERS)
        .build(connector)
}

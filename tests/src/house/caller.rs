//! Somebody who calls the HTTP interface, over connections that stay open between calls.
//!
//! Every answer is held against the interface description before a test sees it.

use std::{
    io::{self, Write},
    net::SocketAddr,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
    time::{Duration, Instant},
};

use bytes::Bytes;
use http::{HeaderMap, Method, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::{body::Incoming, client::conn::http1::SendRequest};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use testkit::eventually::WITHIN;
use tokio::net::TcpStream;

use super::judge;

/// Longer than any answer may take.
const PATIENCE: Duration = Duration::from_secs(40);
/// A connection that was idle for longer is not used again: the service closes those that are idle
/// for ten seconds, and a request must not meet that.
const FRESH: Duration = Duration::from_secs(5);

/// The pause before a request that was turned away is sent again.
const PAUSE: Duration = Duration::from_millis(200);

const IDEMPOTENCY_KEY: &str = "Idempotency-Key";

/// Somebody with a key, or without one.
#[derive(Debug, Clone)]
pub struct Caller {
    /// Where the service is.
    pub address: SocketAddr,
    /// The text of the key.
    pub key: Option<String>,
    idle: Arc<Mutex<Vec<Idle>>>,
}

/// A connection that nothing is under way on, and since when.
type Idle = (Instant, SendRequest<Full<Bytes>>);

/// A request.
#[derive(Debug, Clone)]
pub struct Request {
    method: Method,
    path: String,
    headers: Vec<(String, String)>,
    body: Bytes,
}

/// What the service answered.
#[derive(Debug, Clone)]
pub struct Answer {
    /// The status.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    /// The whole body.
    pub body: Bytes,
}

/// No whole answer came.
#[derive(Debug)]
pub struct NoAnswer;

/// The body of a call in gateway mode.
pub fn call(tool: &str, args: Value) -> Value {
    json!({ "tool": tool, "args": args, "mode": "gateway" })
}

impl Request {
    /// A GET.
    pub fn get(path: &str) -> Self {
        let (headers, body) = (Vec::new(), Bytes::new());
        Self { method: Method::GET, path: path.to_owned(), headers, body }
    }

    /// A DELETE.
    pub fn delete(path: &str) -> Self {
        Self { method: Method::DELETE, ..Self::get(path) }
    }

    /// A POST of JSON.
    pub fn post(path: &str, body: &Value) -> Self {
        Self::raw(path, body.to_string()).header("Content-Type", "application/json")
    }

    /// The request with another method.
    pub fn by(self, method: Method) -> Self {
        Self { method, ..self }
    }

    /// A POST of anything.
    pub fn raw(path: &str, body: impl Into<Bytes>) -> Self {
        Self { method: Method::POST, body: body.into(), ..Self::get(path) }
    }

    /// The request with another header.
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// The request under this idempotency key.
    pub fn keyed(self, key: &str) -> Self {
        self.header(IDEMPOTENCY_KEY, key)
    }

    fn has_key(&self) -> bool {
        self.headers.iter().any(|(name, _)| name == IDEMPOTENCY_KEY)
    }
}

impl Caller {
    /// A caller that has sent nothing yet.
    pub fn new(address: SocketAddr, key: Option<&str>) -> Self {
        Self { address, key: key.map(str::to_owned), idle: Arc::default() }
    }

    /// Reads a resource.
    pub async fn get(&self, path: &str) -> Answer {
        self.send(Request::get(path)).await
    }

    /// Sends a call in gateway mode.
    pub async fn call(&self, tool: &str, args: Value) -> Answer {
        self.send(Request::post("/v1/actions", &call(tool, args))).await
    }

    /// Sends a call in gateway mode that must be answered 200, and returns its action.
    pub async fn executed(&self, tool: &str, args: Value) -> Value {
        self.insist(Request::post("/v1/actions", &call(tool, args))).await.ok()
    }

    /// The action with its payloads, events and deeds.
    pub async fn detail(&self, action: &Value) -> Value {
        self.read(&format!("/v1/actions/{}", action["id"].as_str().unwrap())).await
    }

    /// The body of a resource that must be there.
    pub async fn read(&self, path: &str) -> Value {
        self.insist(Request::get(path)).await.ok()
    }

    /// Sends a request that reads or that calls a tool, and sends it again while the answer is 503: a
    /// service on a busy machine may turn a request away. All tries of a call have one idempotency
    /// key, so that it runs once at most. Standard error says how many requests were sent again.
    pub async fn insist(&self, request: Request) -> Answer {
        static AGAIN: AtomicU32 = AtomicU32::new(0);
        let request = match (&request.method, &*request.path) {
            (&Method::GET, _) => request,
            (&Method::POST, "/v1/actions") if request.has_key() => request,
            (&Method::POST, "/v1/actions") => request.keyed(&super::name()),
            (method, path) => panic!("{method} {path} may be done twice"),
        };
        let began = Instant::now();
        loop {
            let answer = self.send(request.clone()).await;
            if answer.status != StatusCode::SERVICE_UNAVAILABLE || began.elapsed() > WITHIN {
                return answer;
            }
            let (again, path) = (AGAIN.fetch_add(1, Ordering::Relaxed) + 1, &request.path);
            let line = format!("sent again after a 503 ({again} so far): {path}\n");
            // The harness captures what the macros print, and shows it of failed tests alone.
            io::stderr().write_all(line.as_bytes()).unwrap();
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Sends a request that must be answered.
    pub async fn send(&self, request: Request) -> Answer {
        let what = format!("{} {}", request.method, request.path);
        self.try_send(request).await.unwrap_or_else(|NoAnswer| panic!("{what}: no answer"))
    }

    /// Sends a request whose answer may never come.
    pub async fn try_send(&self, request: Request) -> Result<Answer, NoAnswer> {
        let (method, path) = (request.method.clone(), request.path.clone());
        let exchange = tokio::time::timeout(PATIENCE, self.exchange(request));
        let answer = exchange.await.map_err(|_| NoAnswer)??;
        judge::check(&method, &path, &answer);
        Ok(answer)
    }

    /// Sends a request that must be answered, and does not hold the answer against the
    /// description: for tests that send very many.
    pub async fn glance(&self, request: Request) -> Answer {
        let exchange = tokio::time::timeout(PATIENCE, self.exchange(request));
        exchange.await.expect("an answer in time").expect("an answer")
    }

    async fn exchange(&self, request: Request) -> Result<Answer, NoAnswer> {
        let mut sender = self.connection().await?;
        let response = sender.send_request(self.build(request)).await.map_err(|_| NoAnswer)?;
        let (head, body) = response.into_parts();
        let body = body.collect().await.map_err(|_| NoAnswer)?.to_bytes();
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push((Instant::now(), sender));
        Ok(Answer { status: head.status, headers: head.headers, body })
    }

    /// Sends a request on a connection of its own and returns the answer as it begins, if it does.
    pub async fn open(&self, request: Request) -> Result<http::Response<Incoming>, NoAnswer> {
        let mut sender = self.connect().await?;
        let response = sender.send_request(self.build(request)).await.map_err(|_| NoAnswer)?;
        // The connection lives as long as the body does.
        tokio::spawn(async move {
            let _ = sender.ready().await;
        });
        Ok(response)
    }

    fn build(&self, request: Request) -> http::Request<Full<Bytes>> {
        let Request { method, path, headers, body } = request;
        let mut built = http::Request::builder().method(method).uri(path);
        built = built.header("Host", self.address.to_string());
        if let Some(key) = &self.key {
            built = built.header("Authorization", format!("Bearer {key}"));
        }
        for (name, value) in headers {
            built = built.header(name, value);
        }
        built.body(Full::new(body)).unwrap()
    }

    async fn connection(&self) -> Result<SendRequest<Full<Bytes>>, NoAnswer> {
        loop {
            let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
            match idle {
                Some((since, mut sender)) => {
                    if since.elapsed() < FRESH && sender.ready().await.is_ok() {
                        return Ok(sender);
                    }
                }
                None => return self.connect().await,
            }
        }
    }

    async fn connect(&self) -> Result<SendRequest<Full<Bytes>>, NoAnswer> {
        let socket = TcpStream::connect(self.address).await.map_err(|_| NoAnswer)?;
        socket.set_nodelay(true).map_err(|_| NoAnswer)?;
        let shaken = hyper::client::conn::http1::handshake(TokioIo::new(socket)).await;
        let (sender, connection) = shaken.map_err(|_| NoAnswer)?;
        // Its end shows in the exchange that it cuts short.
        tokio::spawn(async move { drop(connection.await) });
        Ok(sender)
    }
}

impl Answer {
    /// The body as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|_| panic!("no JSON: {:?}", self.body))
    }

    /// The JSON body of an answer that must be 200.
    pub fn ok(&self) -> Value {
        self.is(200)
    }

    /// The JSON body of an answer that must have this status.
    pub fn is(&self, status: u16) -> Value {
        assert_eq!(self.status.as_u16(), status, "{}", String::from_utf8_lossy(&self.body));
        self.json()
    }

    /// The error of an answer that must have this status, code and `param`.
    pub fn error(&self, status: u16, code: &str, param: Option<&str>) -> Value {
        let error = self.is(status)["error"].clone();
        assert_eq!(error["code"], code, "{error}");
        assert_eq!(error["param"], json!(param), "{error}");
        error
    }

    /// A header.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }
}

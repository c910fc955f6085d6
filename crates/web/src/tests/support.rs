//! A table of odd routes behind a real socket, and a client that sends bytes as they are.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use async_trait::async_trait;
use crypto::Secret;
use http::StatusCode;
use model::{Clock, Entropy, Scope, Timestamp};
use serde_json::{Value, json};
pub(super) use testkit::eventually::{WITHIN, until};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    task::JoinHandle,
};

use crate::*;

pub(super) struct FixedClock;

impl Clock for FixedClock {
    fn now(&self) -> Timestamp {
        "2026-10-01T12:00:00.000Z".parse().unwrap()
    }
}

pub(super) struct Sevens;

impl Entropy for Sevens {
    fn fill(&self, buffer: &mut [u8]) {
        buffer.fill(7);
    }
}

pub(super) const AGENT: &str = "svc_live_agent";
pub(super) const READ_ONLY: &str = "svc_live_reader";
pub(super) const SECOND: &str = "svc_live_second";
pub(super) const ORG: &str = "svc_live_org";
pub(super) const SESSION: &str = "session";

/// The bytes of bodies that are held at once, of all and of one holder.
pub(super) const ROOM: usize = 10 * 64;
pub(super) const SHARE: usize = 8 * 64;

/// The state of the odd routes.
pub(super) struct Odd;

/// Who holds a key.
pub(super) enum Holder {
    Agent(&'static [Scope]),
    Second,
    Org,
    Person,
}

/// A caller that an agent's key makes.
struct Agent;

const PUBLIC: Access<Holder, ()> = Access::anyone("PUBLIC", "anybody", || ());
const AGENTS: Access<Holder, Agent> = Access::holder("AGENTS", "an agent", |holder| match holder {
    Holder::Agent(scopes) if scopes.contains(&Scope::ActionsExecute) => Ok(Agent),
    Holder::Second => Ok(Agent),
    Holder::Agent(_) | Holder::Org | Holder::Person => {
        Err(ApiError::insufficient_scope(Scope::ActionsExecute))
    }
});
const ORGS: Access<Holder, ()> = Access::holder("ORGS", "an org", |holder| match holder {
    Holder::Org | Holder::Person => Ok(()),
    Holder::Agent(_) | Holder::Second => Err(ApiError::insufficient_scope(Scope::Admin)),
});

#[async_trait]
impl State for Odd {
    type Holder = Holder;

    async fn holder(
        &self,
        key: &Secret<String>,
        _: Option<std::net::IpAddr>,
    ) -> Result<Option<Holder>, LookupError> {
        match key.expose().as_str() {
            AGENT => Ok(Some(Holder::Agent(&[Scope::ActionsExecute, Scope::ActionsRead]))),
            READ_ONLY => Ok(Some(Holder::Agent(&[Scope::ActionsRead]))),
            ORG => Ok(Some(Holder::Org)),
            SECOND => Ok(Some(Holder::Second)),
            "svc_live_down" => Err(LookupError("the test says so".into())),
            _ => Ok(None),
        }
    }

    async fn signed_in(
        &self,
        token: &Secret<String>,
        _: Trust,
    ) -> Result<Option<Holder>, LookupError> {
        match token.expose().as_str() {
            SESSION => Ok(Some(Holder::Person)),
            "down" => Err(LookupError("the test says so".into())),
            _ => Ok(None),
        }
    }

    fn is_csrf(&self, shown: &str, token: &Secret<String>) -> bool {
        shown == format!("csrf of {}", token.expose())
    }

    fn number(&self, holder: &Holder) -> u128 {
        match holder {
            Holder::Agent(_) => 1,
            Holder::Second => 2,
            Holder::Org => 3,
            Holder::Person => 4,
        }
    }
}

type Answer = Result<Reply, ApiError>;

async fn ping(_: Arc<Odd>, (): (), call: Call) -> Answer {
    Ok(Reply::ok(&json!({ "pong": call.query.text("n") })))
}

async fn echo(_: Arc<Odd>, _: Agent, call: Call) -> Answer {
    let mut fields = call.fields()?;
    let name: String = fields.required("name")?;
    let args = fields.any("args");
    fields.finish()?;
    Ok(Reply::ok(&json!({ "name": name, "args": args, "key": call.idempotency_key()? })))
}

async fn item(_: Arc<Odd>, (): (), call: Call) -> Answer {
    Ok(Reply::ok(&json!({ "name": call.param::<String>("name")? })))
}

async fn panics(_: Arc<Odd>, (): (), _: Call) -> Answer {
    panic!("as the test asks")
}

async fn slow(_: Arc<Odd>, (): (), _: Call) -> Answer {
    tokio::time::sleep(Duration::from_millis(300)).await;
    Ok(Reply::empty(StatusCode::OK))
}

async fn never(_: Arc<Odd>, (): (), _: Call) -> Answer {
    std::future::pending().await
}

async fn settings(_: Arc<Odd>, (): (), _: Call) -> Answer {
    Ok(Reply::ok(&json!({})))
}

async fn flood(_: Arc<Odd>, (): (), call: Call) -> Answer {
    call.will_stream();
    let chunk = bytes::Bytes::from(vec![b'x'; 64 * 1024]);
    let chunks = futures_util::stream::repeat_with(move || chunk.clone());
    Ok(Reply::stream("text/plain", chunks))
}

#[rustfmt::skip]
fn table() -> Table<Odd> {
    vec![
        at("GET",  "/v1/ping",        "ping")    .with(PUBLIC,        query(&[Param::One("n")]), Patience::Short, ping),
        at("POST", "/v1/echo",        "echo")    .with(AGENTS,        json(64),                  Patience::Short, echo),
        at("GET",  "/v1/item/{name}", "item")    .with(PUBLIC,        NOTHING,                   Patience::Short, item),
        at("POST", "/v1/panic",       "panic")   .with(PUBLIC,        NOTHING,                   Patience::Short, panics),
        at("GET",  "/v1/slow",        "slow")    .with(PUBLIC,        NOTHING,                   Patience::Short, slow),
        at("GET",  "/v1/never",       "never")   .with(PUBLIC,        NOTHING,                   Patience::Short, never),
        at("GET",  "/v1/settings",    "settings").with(ORGS,          NOTHING,                   Patience::Short, settings),
        at("POST", "/v1/settings",    "set")     .with(ORGS,          json(64),                  Patience::Short, settings),
        at("GET",  "/flood",          "flood")   .with(PUBLIC,        NOTHING,                   Patience::Short, flood),
    ]
}

pub(super) fn router(proxies: TrustedProxies, lifecycle: Lifecycle) -> Router<Odd> {
    router_with(Duration::from_millis(200), proxies, lifecycle)
}

fn router_with(within: Duration, proxies: TrustedProxies, lifecycle: Lifecycle) -> Router<Odd> {
    let setup = Setup {
        base_url: "http://test".to_owned(),
        clock: Arc::new(FixedClock),
        entropy: Arc::new(Sevens),
        body_time: within,
        unread_time: within,
        room: Arc::new(Room::new(ROOM, SHARE)),
        proxies,
        lifecycle,
    };
    Router::new(setup, Arc::new(Odd), table()).unwrap()
}

pub(super) struct Server {
    pub(super) address: SocketAddr,
    pub(super) control: Control,
    pub(super) lifecycle: Lifecycle,
    pub(super) done: JoinHandle<usize>,
    pub(super) router: Router<Odd>,
    /// The connections that are open.
    pub(super) open: Arc<Open>,
}

/// Waits until a request is under way.
pub(super) async fn until_under_way(router: &Router<Odd>) {
    until("a request is under way", async || router.traffic().in_flight.get() == 1).await;
}

pub(super) fn quick() -> Bounds {
    Bounds {
        connections: 64,
        connections_of_one: 64,
        header_time: Duration::from_millis(200),
        write_stall: Duration::from_millis(300),
        drain_time: Duration::from_secs(5),
    }
}

pub(super) async fn start(bounds: Bounds) -> Server {
    start_behind(TrustedProxies::default(), bounds).await
}

/// Starts a server that trusts these proxies.
pub(super) async fn start_behind(proxies: TrustedProxies, bounds: Bounds) -> Server {
    let (control, lifecycle) = Control::new();
    let router = router(proxies.clone(), lifecycle.clone());
    serve_with(router, proxies, bounds, (control, lifecycle)).await
}

/// Starts a server that waits for bodies longer than any test does.
pub(super) async fn start_patient(bounds: Bounds) -> Server {
    let (control, lifecycle) = Control::new();
    let proxies = TrustedProxies::default();
    let router = router_with(WITHIN * 2, proxies.clone(), lifecycle.clone());
    serve_with(router, proxies, bounds, (control, lifecycle)).await
}

async fn serve_with(
    router: Router<Odd>,
    proxies: TrustedProxies,
    bounds: Bounds,
    (control, lifecycle): (Control, Lifecycle),
) -> Server {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let door = Door { proxies, ..Door::new(listener) };
    let open = Arc::clone(&door.open);
    let done = tokio::spawn(serve(door, router.clone(), lifecycle.clone(), bounds));
    Server { address, control, lifecycle, done, router, open }
}

/// Sends the bytes and returns everything until the server closes.
pub(super) async fn exchange(address: SocketAddr, bytes: impl AsRef<[u8]>) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(bytes.as_ref()).await.unwrap();
    let mut answer = Vec::new();
    let mut buffer = [0; 4096];
    while let Ok(Ok(read)) = tokio::time::timeout(WITHIN, stream.read(&mut buffer)).await {
        if read == 0 {
            break;
        }
        answer.extend_from_slice(&buffer[..read]);
    }
    String::from_utf8_lossy(&answer).into_owned()
}

/// Returns status and JSON body of the first response in the text.
pub(super) fn parsed(answer: &str) -> (u16, Value) {
    let status = answer.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or(0);
    let body = answer.split_once("\r\n\r\n").map_or("", |(_, body)| body);
    let mut values = serde_json::Deserializer::from_str(body).into_iter();
    (status, values.next().and_then(Result::ok).unwrap_or(Value::Null))
}

/// A response's header.
pub(super) fn header<'a>(answer: &'a str, name: &str) -> Option<&'a str> {
    let head = answer.split_once("\r\n\r\n").map_or(answer, |(head, _)| head);
    head.lines()
        .filter_map(|line| line.split_once(": "))
        .find(|(known, _)| known.eq_ignore_ascii_case(name))
        .map(|(_, value)| value)
}

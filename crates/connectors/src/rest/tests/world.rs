use std::{
    collections::{BTreeMap, VecDeque},
    net::SocketAddr,
    sync::{Arc, Mutex},
    time::Duration,
};

use crypto::{Secret, SystemEntropy, sha256, vault::Ring};
use egress::{Egress, PrivateNetworks, Rules};
use model::{ActionId, Outcome, ToolName};
use serde_json::{Value, json};
use testkit::eventually::until;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};
use tool::{Run, Tool};

use crate::{Blueprint, BuildError, Connector, Credential, Deps, build};

pub(super) const ACTION: &str = "act_01h2xcejqtf2nbrexx3vqjhp42";

/// What a stub does with one request.
#[derive(Debug, Clone)]
pub(super) enum Reply {
    /// Writes these bytes and hangs up.
    Bytes(Vec<u8>),
    /// Writes these bytes with a pause before each, and hangs up.
    Slowly(Vec<u8>, Duration),
    /// Writes these bytes and says nothing more.
    ThenSilence(Vec<u8>),
    /// Writes these bytes and tears the connection down.
    ThenReset(Vec<u8>),
}

/// An API that nobody would write so: it answers with whatever bytes it was given, one reply after
/// the other, the last for ever.
pub(super) struct Stub {
    pub(super) at: SocketAddr,
    pub(super) seen: Arc<Mutex<Vec<String>>>,
}

impl Stub {
    pub(super) async fn new(replies: Vec<Reply>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let at = listener.local_addr().unwrap();
        let seen: Arc<Mutex<Vec<String>>> = Arc::default();
        let (noted, mut replies) = (Arc::clone(&seen), VecDeque::from(replies));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let reply = match replies.len() {
                    1 => replies[0].clone(),
                    _ => replies.pop_front().unwrap(),
                };
                tokio::spawn(answer(stream, reply, Arc::clone(&noted)));
            }
        });
        Self { at, seen }
    }

    pub(super) async fn saying(head: &str, body: &[u8]) -> Self {
        Self::new(vec![Reply::Bytes(said(head, body))]).await
    }

    /// Stops the clock once so many requests were read: it then jumps to the limit of whoever waits
    /// for an answer, and a busy machine makes no answer late.
    pub(super) async fn pause_after(&self, requests: usize) {
        let is_read = async || self.seen().len() >= requests;
        until("the request is read", is_read).await;
        tokio::time::pause();
    }

    /// The requests, whole.
    pub(super) fn seen(&self) -> Vec<String> {
        self.seen.lock().unwrap().clone()
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}", self.at)
    }
}

/// An answer with this head, its length and this body.
pub(super) fn said(head: &str, body: &[u8]) -> Vec<u8> {
    let head = format!("HTTP/1.1 {head}\r\nContent-Length: {}\r\n\r\n", body.len());
    [head.as_bytes(), body].concat()
}

async fn answer(mut stream: TcpStream, reply: Reply, seen: Arc<Mutex<Vec<String>>>) {
    let request = read_request(&mut stream).await;
    if request.is_empty() {
        return;
    }
    seen.lock().unwrap().push(request);
    match reply {
        Reply::Bytes(bytes) => {
            let _ = stream.write_all(&bytes).await;
            let _ = stream.shutdown().await;
        }
        Reply::Slowly(bytes, pause) => {
            for byte in bytes {
                tokio::time::sleep(pause).await;
                if stream.write_all(&[byte]).await.is_err() {
                    return;
                }
            }
        }
        Reply::ThenSilence(bytes) => {
            let _ = stream.write_all(&bytes).await;
            std::future::pending::<()>().await;
        }
        Reply::ThenReset(bytes) => {
            let _ = stream.write_all(&bytes).await;
            let _ = stream.flush().await;
            socket2::SockRef::from(&stream).set_linger(Some(Duration::ZERO)).unwrap();
        }
    }
}

/// One request, its body by its length.
pub(super) async fn read_request(stream: &mut TcpStream) -> String {
    let mut read = Vec::new();
    let mut byte = [0];
    while !read.ends_with(b"\r\n\r\n") {
        if stream.read(&mut byte).await.unwrap_or(0) == 0 {
            return String::new();
        }
        read.extend_from_slice(&byte);
    }
    let head = String::from_utf8_lossy(&read).to_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    let mut body = vec![0; length.map_or(0, |length| length.parse().unwrap())];
    stream.read_exact(&mut body).await.unwrap();
    read.extend(body);
    String::from_utf8(read).unwrap()
}

pub(super) fn deps(private_networks: PrivateNetworks) -> Deps {
    deps_over(Egress::new(Rules { private_networks, ..Rules::default() }).unwrap())
}

pub(super) fn deps_over(egress: Egress) -> Deps {
    let ring = Secret::new("AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=".to_owned());
    let vault = Arc::new(Ring::parse(&ring).unwrap());
    Deps { egress, vault, entropy: Arc::new(SystemEntropy::new()) }
}

pub(super) fn blueprint(config: Value) -> Blueprint {
    Blueprint {
        org: "org_01h2xcejqtf2nbrexx3vqjhp41".parse().unwrap(),
        id: "con_01h2xcejqtf2nbrexx3vqjhp41".parse().unwrap(),
        name: "pets".parse().unwrap(),
        kind: super::super::KIND.to_owned(),
        revision: 1,
        config,
        credential: Credential::default(),
        tools: BTreeMap::new(),
    }
}

pub(super) fn credential(kind: &str, fields: &[(&str, &str)]) -> Credential {
    let fields =
        fields.iter().map(|(name, value)| ((*name).to_owned(), Secret::new((*value).to_owned())));
    Credential::new(fields.collect()).of_kind(Some(kind.to_owned()))
}

/// A config with these tools at the stub, which asks nobody who they are.
pub(super) fn config(stub: &Stub, tools: Value) -> Value {
    json!({"base_url": stub.url(), "auth": "none", "timeout_ms": 30_000, "tools": tools})
}

/// A tool that takes any of these arguments.
pub(super) fn tool(method: &str, path: &str, args: &[&str]) -> Value {
    let properties: serde_json::Map<_, _> =
        args.iter().map(|name| ((*name).to_owned(), json!({}))).collect();
    let required: Vec<_> =
        args.iter().filter(|name| path.contains(&format!("{{{name}}}"))).collect();
    json!({
        "name": "tool",
        "title": "A tool",
        "description": "Calls an operation.",
        "method": method,
        "path": path,
        "args": {
            "type": "object",
            "additionalProperties": false,
            "required": required,
            "properties": properties,
        },
    })
}

/// The same with other members.
pub(super) fn with(mut tool: Value, members: Value) -> Value {
    let members = members.as_object().unwrap().clone();
    tool.as_object_mut().unwrap().extend(members);
    tool
}

pub(super) async fn built(blueprint: &Blueprint) -> Result<Arc<dyn Connector>, BuildError> {
    build(blueprint, &deps(PrivateNetworks::Allowed)).await
}

pub(super) fn named(connector: &dyn Connector, name: &str) -> Arc<dyn Tool> {
    let name: ToolName = name.parse().unwrap();
    connector.tools().into_iter().find(|tool| tool.definition().name == name).unwrap()
}

pub(super) async fn run(tool: &dyn Tool, args: Value) -> Outcome {
    tool.check_args(&args).unwrap();
    let action: ActionId = ACTION.parse().unwrap();
    tool.run(Run {
        org: "org_01h2xcejqtf2nbrexx3vqjhp41".parse().unwrap(),
        action,
        request_digest: sha256("x"),
        args: &args,
        place: None,
        level: model::Level::L0,
        time_limit: Duration::from_mins(1),
    })
    .await
}

/// What a call of the one tool comes to.
pub(super) async fn outcome(stub: &Stub, tool: Value, args: Value) -> Outcome {
    let connector = built(&blueprint(config(stub, json!([tool])))).await.unwrap();
    run(&*named(&*connector, "pets.tool"), args).await
}

/// An outcome in a word, with its code where it has one.
pub(super) fn word(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Succeeded { .. } => "succeeded".to_owned(),
        Outcome::Applied => "applied".to_owned(),
        Outcome::Failed(fault) => format!("failed {}", fault.code.as_str()),
        Outcome::Unknown(fault) => format!("unknown {}", fault.code.as_str()),
    }
}

/// The result of a call that succeeds.
pub(super) async fn result(stub: &Stub, tool: Value, args: Value) -> Value {
    match outcome(stub, tool, args).await {
        Outcome::Succeeded { result, .. } => result,
        other => panic!("{other:?}"),
    }
}

//! Connectors over an HTTP API: from a description to governed calls.

mod proxies;
mod read_back;

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex},
};

use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

use crate::{
    calls::assert_sealed,
    connectors::printed,
    eventually::until,
    house::{Browser, Caller, House, Request, binaries, call},
    receiver::{Manner, Receiver},
};

const PAGE: &str = include_str!("../../docs/connectors-rest.md");

/// What the API answers who shows this.
pub(crate) const TOKEN: &str = "C4NARY-of-a-token/+%";
/// What its token server wants to be shown.
pub(crate) const SECRET: &str = "C4NARY of a client's secret/+%";

/// An API with pets, and a token server beside it.
pub(crate) struct Pets {
    pub(crate) at: SocketAddr,
    seen: Arc<Mutex<Vec<String>>>,
}

impl Pets {
    pub(crate) async fn open() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let at = listener.local_addr().unwrap();
        let seen: Arc<Mutex<Vec<String>>> = Arc::default();
        let noted = Arc::clone(&seen);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, Arc::clone(&noted)));
            }
        });
        Self { at, seen }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.at)
    }

    /// A config whose tools are those of the description.
    pub(crate) fn config(&self) -> Value {
        json!({"base_url": self.url(), "openapi": description().to_string()})
    }

    /// The requests but those for the description, each with its head in lowercase.
    fn seen(&self) -> Vec<String> {
        self.seen.lock().unwrap().clone()
    }
}

/// Answers one request and hangs up.
async fn serve(mut stream: TcpStream, seen: Arc<Mutex<Vec<String>>>) {
    let mut read = Vec::new();
    let mut byte = [0];
    while !read.ends_with(b"\r\n\r\n") {
        if stream.read(&mut byte).await.unwrap_or(0) == 0 {
            return;
        }
        read.extend_from_slice(&byte);
    }
    let head = String::from_utf8(read).unwrap();
    let length = head.lines().find_map(|line| {
        line.to_lowercase().strip_prefix("content-length: ").map(|it| it.parse().unwrap())
    });
    let mut body = vec![0; length.unwrap_or(0)];
    stream.read_exact(&mut body).await.unwrap();
    let body = String::from_utf8(body).unwrap();
    let (status, answer) = answer(&head, &body);
    if !head.starts_with("GET /openapi.json") {
        seen.lock().unwrap().push(format!("{head}{body}"));
    }
    let answer = answer.to_string();
    let head = format!(
        "HTTP/1.1 {status} Well\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: {}\r\n\r\n",
        answer.len()
    );
    let _ = stream.write_all(format!("{head}{answer}").as_bytes()).await;
    let _ = stream.shutdown().await;
}

fn answer(head: &str, body: &str) -> (u16, Value) {
    let line: Vec<&str> = head.split_whitespace().take(2).collect();
    let path = line[1].split('?').next().unwrap();
    match (line[0], path) {
        ("GET", "/openapi.json") => return (200, description()),
        ("HEAD", _) => return (404, Value::Null),
        ("POST", "/token") => {
            let granted = json!({"access_token": TOKEN, "token_type": "Bearer", "expires_in": 600});
            return (200, granted);
        }
        _ => {}
    }
    if !head.contains(&format!("\r\nauthorization: Bearer {TOKEN}\r\n")) {
        return (401, json!({"error": "who are you?"}));
    }
    match (line[0], path) {
        ("GET", "/pets") => (200, json!({"pets": [{"id": 1, "name": "Rex"}]})),
        ("GET", "/pets/1") => (200, json!({"id": 1, "name": "Rex"})),
        ("POST", "/pets") => (201, json!({"id": 9_007_199_254_740_993_u64, "sent": body})),
        ("PATCH", "/pets/1") => (200, json!({"id": 1, "sent": body})),
        ("DELETE", "/pets/1") => (204, Value::Null),
        ("PATCH", "/pets/500") => (500, json!({"error": "C4NARY of a failure"})),
        _ => (404, json!({"error": "C4NARY of a failure"})),
    }
}

/// A description with five operations that can be served and one that cannot.
fn description() -> Value {
    let pet =
        json!({"in": "path", "name": "petId", "required": true, "schema": {"type": "integer"}});
    let body = json!({"required": true, "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Pet"}}}});
    json!({
        "openapi": "3.0.3",
        "info": {"title": "Pets", "version": "1.0.0"},
        "paths": {
            "/pets": {
                "get": {"operationId": "listPets", "summary": "List pets", "parameters": [
                    {"in": "query", "name": "limit", "schema": {"type": "integer", "maximum": 100}},
                ]},
                "post": {"operationId": "createPet", "summary": "Add a pet", "requestBody": body},
            },
            "/pets/{petId}": {
                "parameters": [pet],
                "get": {"operationId": "getPet", "summary": "Look a pet up"},
                "patch": {"operationId": "updatePet", "summary": "Rename a pet", "requestBody": body},
                "delete": {"summary": "Remove a pet"},
            },
            "/pets/{petId}/photo": {
                "parameters": [pet],
                "put": {"operationId": "setPhoto", "requestBody": {"content": {"image/png": {}}}},
            },
        },
        "components": {"schemas": {"Pet": {
            "type": "object",
            "required": ["name"],
            "properties": {
                "id": {"type": "integer", "readOnly": true},
                "name": {"type": "string", "maxLength": 100},
            },
        }}},
    })
}

#[tokio::test]
async fn the_pages_own_commands_make_five_governed_tools_of_a_description() {
    let Some(house) = House::new("").await else { return };
    let pets = Pets::open().await;
    let service = house.serve().await;
    let key = house.agent("keeper").await.key;
    std::os::unix::fs::symlink(binaries().unwrap().plain, house.folder().join("chancery")).unwrap();
    let mut command = tokio::process::Command::new("bash");
    command.args(["-euo", "pipefail", "-c", &printed(PAGE)]).current_dir(house.folder());
    command.env_clear().envs(house.verbs.environment().iter().cloned());
    command.env("PATH", format!("{}:/usr/bin:/bin", house.folder().display()));
    command.env("API", pets.url()).env("API_TOKEN", TOKEN).env("AGENT_KEY", &key);
    command.env("CHANCERY", format!("http://{}", service.address));
    let output = command.output().await.unwrap();
    let (said, failed) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{said}\n{failed}");
    assert!(said.contains("ok    all 5 tools fit") && !said.contains("FAIL"), "{said}");
    // Both `convert` and `create` say it.
    let shown = "5 tools; an agent that may call all is shown ";
    assert_eq!(failed.matches(shown).count(), 2, "{failed}");
    let answers: Vec<Value> = said
        .lines()
        .filter(|line| line.starts_with('{'))
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let [listed, renamed, removed, held] = &answers[..] else { panic!("{said}") };
    assert_sealed(listed, "executed");
    assert_eq!(listed["execution"]["result"], json!({"pets": [{"id": 1, "name": "Rex"}]}));
    assert_sealed(renamed, "executed");
    assert_eq!(renamed["execution"]["result"]["sent"], r#"{"name":"Rex"}"#);
    assert_eq!(removed["error"]["code"], "policy_denied");
    assert_sealed(&removed["error"]["action"], "denied");
    assert_eq!(held["status"], "pending_approval");
    let asked: Vec<String> =
        pets.seen().iter().map(|seen| seen.lines().next().unwrap().to_owned()).collect();
    let expected = ["HEAD / HTTP/1.1", "GET /pets?limit=5 HTTP/1.1", "PATCH /pets/1 HTTP/1.1"];
    assert_eq!(asked, expected);
}

/// Makes a connector over the interface and says what came of it.
async fn made(org: &Caller, body: Value) -> Value {
    org.send(Request::post("/v1/connectors", &body)).await.is(201)
}

/// The config with about as much text as a description may have.
fn large(mut config: Value) -> Value {
    let mut description = description();
    description["info"]["description"] = json!("words ".repeat(160_000));
    config["openapi"] = json!(description.to_string());
    config
}

/// Lets agents do everything with this connector.
fn open_policy(connector: &str) -> String {
    format!(
        "schema: 1\ndefault: {{outcome: deny, reason: No.}}\nrules:\n  - {{id: all, match: {connector}.*, outcome: allow}}\n"
    )
}

fn connector(pets: &Pets) -> Value {
    json!({
        "name": "zoo", "type": "rest",
        "config": large(pets.config()),
        "credential": {"kind": "bearer", "fields": {"token": TOKEN}},
    })
}

#[tokio::test]
async fn a_connector_is_made_changed_and_called_over_the_interface() {
    let Some(house) = House::new("").await else { return };
    let pets = Pets::open().await;
    let service = house.serve().await;
    let (org, agent) = (service.caller(&house.org_key().await), house.agent("keeper").await);
    house.activate("zoo", &open_policy("zoo")).await;
    let caller = service.caller(&agent.key);
    let made = made(&org, connector(&pets)).await;
    let counts = &made["tools"];
    let counted = ["pinned", "new", "changed", "gone"].map(|state| counts[state].as_u64().unwrap());
    assert_eq!(counted, [5, 0, 0, 0]);
    let listed = caller.read("/v1/tools").await;
    assert_eq!(counts["shown_bytes"], shown_bytes(&listed, "zoo"), "{listed}");
    assert_eq!(made["credential"]["fields"], json!(["token"]));
    let at = format!("/v1/connectors/{}", made["id"].as_str().unwrap());
    let checks = org.send(Request::raw(&format!("{at}/test"), "")).await.ok();
    let advice = checks["checks"]
        .as_array()
        .unwrap()
        .iter()
        .find(|it| it["name"] == "PUT /pets/{petId}/photo");
    assert!(advice.unwrap()["detail"].as_str().unwrap().contains("`image/png`"), "{checks}");
    let not_served = org.read(&format!("{at}/not_served")).await;
    let parts = not_served["data"].as_array().unwrap();
    assert_eq!((parts.len(), &parts[0]["operation"]), (1, &json!("PUT /pets/{petId}/photo")));
    assert!(parts[0]["reason"].as_str().unwrap().contains("`image/png`"), "{not_served}");
    let created = caller.executed("zoo.createPet", json!({"name": "Mia"})).await;
    // What a double would round is kept as the text of its digits.
    assert_eq!(created["execution"]["result"]["id"], "9007199254740993");
    caller.call("zoo.createPet", json!({"name": 1})).await.error(
        400,
        "validation_failed",
        Some("args"),
    );
    let missing = caller
        .insist(Request::post("/v1/actions", &call("zoo.getPet", json!({"petId": 7}))))
        .await
        .ok();
    assert_sealed(&missing, "failed");
    let unknown = caller
        .insist(Request::post(
            "/v1/actions",
            &call("zoo.updatePet", json!({"petId": 500, "name": "x"})),
        ))
        .await
        .ok();
    assert_sealed(&unknown, "executed");
    assert_eq!(unknown["execution"]["status"], "unknown");
    assert_eq!(unknown["witness"]["verdict"], "UNVERIFIABLE");
    assert!(!unknown.to_string().contains("C4NARY"), "{unknown}");
    // Under another config its tools are others, which nobody accepted yet.
    let mut config = large(pets.config());
    config["headers"] = json!({"X-New": "1"});
    let edit = json!({ "config": config });
    let edited = org.send(Request::post(&at, &edit)).await.ok();
    assert_eq!(edited["tools"]["changed"], 5, "{edited}");
    until_refused(&caller).await;
    let tools = org.read(&format!("{at}/tools")).await;
    let tool =
        tools["data"].as_array().unwrap().iter().find(|it| it["name"] == "zoo.getPet").unwrap();
    assert_eq!(tool["definition"]["headers"], json!({"X-New": "1"}));
    assert_eq!(tool["pinned_definition"]["headers"], Value::Null);
    let pin =
        Request::post(&format!("{at}/tools/zoo.getPet/pin"), &json!({"digest": tool["digest"]}));
    org.send(pin).await.ok();
    until("the pinned tool runs", async || {
        caller.call("zoo.getPet", json!({"petId": 1})).await.json()["status"] == "executed"
    })
    .await;
    assert!(pets.seen().last().unwrap().contains("\r\nx-new: 1\r\n"));
}

/// The bytes of names, texts and schemas of a connector's tools in a list for an agent.
fn shown_bytes(listed: &Value, connector: &str) -> usize {
    let tools = listed["data"].as_array().unwrap().iter();
    let part = |tool: &Value, name: &str| tool[name].to_string().len();
    let bytes = |tool| -> usize {
        ["name", "title", "description", "input_schema"].iter().map(|name| part(tool, name)).sum()
    };
    tools.filter(|tool| tool["connector"] == connector).map(bytes).sum()
}

/// A list of so many tools, each with a text of a kilobyte.
fn many_tools(count: usize) -> Value {
    let tool = |at: usize| {
        let (name, path) = (format!("op{at}"), format!("/things/{at}"));
        json!({
            "name": name, "title": name, "description": "words ".repeat(170), "method": "GET",
            "path": path, "args": {"type": "object", "additionalProperties": false, "properties": {}},
        })
    };
    json!((0..count).map(tool).collect::<Vec<_>>())
}

/// Two connectors of the most tools: an agent that may call twelve is shown twelve, and not what its
/// model has no room for.
#[tokio::test]
async fn an_agent_that_may_call_twelve_of_four_hundred_tools_is_shown_twelve() {
    const FEW: [usize; 6] = [0, 3, 77, 100, 150, 199];
    let Some(house) = House::new("").await else { return };
    let pets = Pets::open().await;
    let service = house.serve().await;
    let (org, agent) = (service.caller(&house.org_key().await), house.agent("reader").await);
    let mut policy = "schema: 1\ndefault: {outcome: deny, reason: No.}\nrules:\n".to_owned();
    for name in ["left", "right"] {
        let mut config = pets.config();
        config.as_object_mut().unwrap().remove("openapi");
        config["tools"] = many_tools(200);
        let body = json!({
            "name": name, "type": "rest", "config": config,
            "credential": {"kind": "bearer", "fields": {"token": TOKEN}},
        });
        let made = made(&org, body).await;
        assert_eq!(made["tools"]["pinned"], 200, "{}", made["tools"]);
        assert!(made["tools"]["shown_bytes"].as_u64().unwrap() > 200_000, "{}", made["tools"]);
        for at in FEW {
            let rule = format!("  - {{id: {name}-{at}, match: {name}.op{at}, outcome: allow}}\n");
            policy.push_str(&rule);
        }
    }
    house.activate("few", &policy).await;
    let caller = service.caller(&agent.key);
    let shown = caller.read("/v1/tools").await;
    let names = |listed: &Value| -> Vec<String> {
        let tools = listed["data"].as_array().unwrap().iter();
        let of_apis =
            tools.filter(|tool| tool["connector"] == "left" || tool["connector"] == "right");
        of_apis.map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
    };
    let mut expected: Vec<String> = ["left", "right"]
        .iter()
        .flat_map(|name| FEW.iter().map(move |at| format!("{name}.op{at}")))
        .collect();
    let mut found = names(&shown);
    found.sort();
    expected.sort();
    assert_eq!(found, expected);
    assert!(shown.to_string().len() < 20_000, "{} bytes", shown.to_string().len());
    let all = caller.read("/v1/tools?include_hidden=true").await;
    assert_eq!(names(&all).len(), 400);
    // What it is not shown is refused, too.
    caller.call("left.op1", json!({})).await.error(403, "policy_denied", None);
}

async fn until_refused(caller: &Caller) {
    until("the changed tool is refused", async || {
        let answer = caller.call("zoo.getPet", json!({"petId": 1})).await.json();
        answer["error"]["code"] == "tool_changed"
    })
    .await;
}

const ASKING: &str = "schema: 1
default: {outcome: deny, reason: No.}
rules:
  - {id: new, match: zoo.createPet, outcome: require_approval, reason: A person looks at every new pet.}
";

#[tokio::test(flavor = "multi_thread")]
async fn a_persons_yes_runs_a_call_of_an_api_and_a_webhook_tells_of_it_signed() {
    let Some(house) = House::new("").await else { return };
    let pets = Pets::open().await;
    let service = house.serve().await;
    let org = service.caller(&house.org_key().await);
    made(&org, connector(&pets)).await;
    house.activate("asking", ASKING).await;
    let receiver = Receiver::start(Manner::Takes).await;
    let hook = json!({ "url": receiver.url(), "types": ["action.*"] });
    let hook = org.send(Request::post("/v1/webhook_endpoints", &hook)).await.is(201);
    let agent = service.caller(&house.agent("keeper").await.key);
    let denied = agent.call("zoo.listPets", json!({ "limit": 1 })).await;
    denied.error(403, "policy_denied", None);
    let held = agent.call("zoo.createPet", json!({ "name": "Mia" })).await.is(202);
    let ann = Browser::owner(&house, &service, "ann@example.com").await;
    let path = format!("/v1/approvals/{}", held["approval"]["id"].as_str().unwrap());
    let anybody = service.anonymous();
    let asked = anybody.send(ann.page(Request::get(&path))).await.ok();
    assert!(!pets.seen().iter().any(|seen| seen.starts_with("POST")));
    let yes = json!({ "context_digest": asked["context_digest"] });
    let yes = Request::post(&format!("{path}/approve"), &yes);
    assert_eq!(anybody.send(ann.page(yes)).await.ok()["status"], "approved");
    let path = format!("/v1/actions/{}?wait=10", held["id"].as_str().unwrap());
    let sealed = agent.read(&path).await;
    assert_sealed(&sealed, "executed");
    assert!(pets.seen().iter().any(|seen| seen.ends_with(r#"{"name":"Mia"}"#)));
    let of_it = || -> Vec<String> {
        let seen = receiver.seen();
        let is_of_it = seen.iter().filter(|seen| seen.body.contains(held["id"].as_str().unwrap()));
        is_of_it.map(|seen| seen.header("service-event-type").to_owned()).collect()
    };
    until("its end is told", async || of_it().contains(&"action.witnessed".to_owned())).await;
    assert_eq!(of_it(), ["action.pending_approval", "action.witnessed"]);
    let secret = hook["secret"].as_str().unwrap();
    assert!(receiver.seen().iter().all(|seen| seen.is_signed(secret)));
}

//! What must never be told: credentials and payloads are planted everywhere and looked for in
//! logs at their most talkative, in errors, in metrics and in events, in every form that they may
//! be written in.

use base64::{Engine, engine::general_purpose::STANDARD_NO_PAD};
use serde_json::{Value, json};

use crate::{
    edge::{edge_call, report},
    eventually::until,
    house::{Answer, Caller, House, Request, Service, Stream, call},
    receiver::{Manner, Receiver},
    rest::{self, Pets},
    untold::{Canary, assert_untold, forms},
};

const ARGS: &str = "C4NARY of args \"quoted\" \u{fc}/+%";
const RESULT: &str = "C4NARY of a result \"quoted\" \u{fc}/+%";
const BEHALF: &str = "C4NARY+person/of@example.org";
const PASSWORD: &str = "C4NARY of an API's password \u{fc}";
const API_KEY: &str = "C4NARY/of an API key+%";
/// A private key and its certificate, which nothing but this test trusts.
const CLIENT_KEY: &str = include_str!("secrets/client.key.pem");
const CLIENT_CERTIFICATE: &str = include_str!("secrets/client.pem");
const WRONG_KEY: &str = "svc_live_C4NARYofAKeyThatIsNone";
const SETTINGS: &str = "server: { log_level: trace, metrics_listen: '127.0.0.1:0' }\n";

/// Returns everything that this house must keep to itself.
fn canaries(house: &House, keys: &[&str]) -> Vec<Canary> {
    let named = |name: &str, text: &str| (name.to_owned(), text.to_owned());
    let mut canaries = vec![
        named("an argument", ARGS),
        named("a result", RESULT),
        named("whom a call is for", BEHALF),
        named("a wrong key", WRONG_KEY),
        named("the password of the database", "app-password"),
        named("the password of the migrator", "migrator-password"),
        named("a credential of a connector", "conn-password"),
        named("another credential of a connector", "read-password"),
        named("a token, given and fetched", rest::TOKEN),
        named("a client's secret", rest::SECRET),
        named("an API's password", PASSWORD),
        named("an API's key", API_KEY),
        named("an API's password as it is sent", &STANDARD_NO_PAD.encode(format!("u:{PASSWORD}"))),
    ];
    // However it is wrapped, a line of it would be told.
    let lines = CLIENT_KEY.lines().filter(|line| !line.starts_with('-'));
    canaries.extend(lines.map(|line| named("the key of a certificate", line)));
    canaries.extend(keys.iter().map(|key| named("an API key", key)));
    // The pepper and the vault key as they are written, and the bytes that they stand for.
    for (name, value) in house.verbs.environment() {
        if matches!(*name, "SERVICE_VAULT_KEY" | "SERVICE_API_KEY_PEPPER") {
            canaries.push(named(name, value.trim_end_matches('=')));
            let bytes = STANDARD_NO_PAD.decode(value.trim_end_matches('=')).unwrap();
            canaries.push(named(name, std::str::from_utf8(&bytes).unwrap()));
        }
    }
    canaries
}

fn for_somebody(body: &Value) -> Request {
    Request::post("/v1/actions", body).header("Service-On-Behalf-Of", BEHALF)
}

/// Does everything that may go right or wrong with the canaries, and returns the errors.
async fn live(house: &House, service: &Service, caller: &Caller) -> Vec<Answer> {
    let note = |mark: &str| for_somebody(&call("lab.note", json!({ "mark": mark })));
    let executed = caller.send(note(ARGS)).await.ok();
    assert_eq!(executed["execution"]["result"]["mark"], ARGS);
    let authorized = caller.send(for_somebody(&edge_call(&json!({ "text": ARGS })))).await.ok();
    caller.send(report(&authorized, json!({ "result": { "text": RESULT } }))).await.ok();
    assert_eq!(caller.detail(&authorized).await["result"]["text"], RESULT);
    let held = json!({ "order": 3, "amount": 9_999, "reason": ARGS });
    caller.send(for_somebody(&call("shop.refunds.create", held))).await;
    let failed = caller.send(note("refused by a constraint")).await.ok();
    assert_eq!(failed["status"], "failed");
    let wrong_key = service.caller(WRONG_KEY);
    let misfit = call("lab.note", json!({ "mark": [ARGS] }));
    let broken = format!("{{\"tool\":\"lab.note\",\"args\":{{\"mark\":{ARGS:?}");
    let unused = edge_call(&json!({ "text": ARGS }));
    let open = caller.insist(Request::post("/v1/actions", &unused)).await.ok();
    let digest = json!({ "result": RESULT, "result_digest": authorized["request_digest"] });
    let key = house.org_key().await;
    vec![
        wrong_key.send(note(ARGS)).await,
        wrong_key.get("/v1/events").await,
        caller.send(for_somebody(&misfit)).await,
        caller
            .send(Request::raw("/v1/actions", broken).header("Content-Type", "application/json"))
            .await,
        caller.send(Request::raw("/v1/actions", ARGS).header("Content-Type", "text/plain")).await,
        caller.send(for_somebody(&call("lab.nothing", json!({ "mark": ARGS })))).await,
        caller.send(for_somebody(&call("lab.hidden", json!({ "mark": ARGS })))).await,
        caller.send(report(&open, digest)).await,
        caller.send(report(&authorized, json!({ "result": RESULT, "more": RESULT }))).await,
        caller.send(note(ARGS).header("Service-Session", "two words")).await,
        service.caller(&key).send(note(ARGS)).await,
    ]
}

/// Makes a connector for each kind of credentials over the interface and calls its tool, and returns
/// the errors. Whether the API takes the credential does not matter.
async fn reach_out(service: &Service, org_key: &str, caller: &Caller) -> Vec<Answer> {
    let (pets, org) = (Pets::open().await, service.caller(org_key));
    let tokens = format!("{}/token", pets.url());
    let kinds = [
        ("bearer", json!({ "token": rest::TOKEN }), "executed"),
        ("basic", json!({ "username": "u", "password": PASSWORD }), "failed"),
        ("header", json!({ "name": "X-API-Key", "value": API_KEY }), "failed"),
        (
            "oauth2_client_credentials",
            json!({ "token_url": tokens, "client_id": "u", "client_secret": rest::SECRET }),
            "executed",
        ),
        ("client_certificate", json!({ "client_key": CLIENT_KEY }), "failed"),
    ];
    let mut config = pets.config();
    config["tls"] = json!({ "client_certificate_pem": CLIENT_CERTIFICATE });
    let mut errors = Vec::new();
    for (at, (kind, fields, status)) in kinds.into_iter().enumerate() {
        let name = format!("api-{at}");
        let credential = json!({ "kind": kind, "fields": fields });
        let body = json!({
            "name": name, "type": "rest", "config": config, "credential": credential,
        });
        let made = org.send(Request::post("/v1/connectors", &body)).await.is(201);
        let id = made["id"].as_str().unwrap();
        let answer = caller.executed(&format!("{name}.listPets"), json!({ "limit": 1 })).await;
        assert_eq!(answer["status"], status, "{kind}: {answer}");
        let put = format!("/v1/connectors/{id}/credential");
        let put = |body: &Value| Request::post(&put, body).by(http::Method::PUT);
        org.send(put(&credential)).await.ok();
        let unknown = json!({ "kind": kind, "fields": { "token": rest::TOKEN, "more": API_KEY } });
        errors.push(org.send(put(&unknown)).await);
        errors.push(org.send(put(&json!({ "kind": kind, "fields": PASSWORD }))).await);
        let test = Request::raw(&format!("/v1/connectors/{id}/test"), "");
        let answers = [
            org.send(test).await.ok(),
            org.read(&format!("/v1/connectors/{id}")).await,
            org.read(&format!("/v1/connectors/{id}/tools")).await,
        ];
        let canaries = [rest::TOKEN, rest::SECRET, PASSWORD, CLIENT_KEY.lines().nth(1).unwrap()]
            .map(|it| (kind.to_owned(), it.to_owned()));
        assert_untold("an answer about a connector", &json!(answers).to_string(), &canaries);
    }
    errors
}

/// Makes a webhook endpoint, rolls its secret and has an event posted to it, and returns its secrets
/// as canaries.
async fn sign(org: &Caller, receiver: &Receiver) -> Vec<Canary> {
    let body = json!({ "url": receiver.url(), "types": ["webhook.*"] });
    let made = org.send(Request::post("/v1/webhook_endpoints", &body)).await.is(201);
    let path = format!("/v1/webhook_endpoints/{}", made["id"].as_str().unwrap());
    let roll = Request::post(&format!("{path}/secret/roll"), &json!({ "expires_in": 3600 }));
    let rolled = org.send(roll).await.ok();
    org.send(Request::raw(&format!("{path}/ping"), "")).await.is(202);
    until("a ping arrives", async || {
        receiver.seen().iter().any(|it| it.header("service-event-type") == "webhook.ping")
    })
    .await;
    let canary = |made: &Value| {
        let secret = made["secret"].as_str().unwrap().strip_prefix("whsec_").unwrap();
        ("a signing secret".to_owned(), secret.trim_end_matches('=').to_owned())
    };
    vec![canary(&made), canary(&rolled)]
}

/// The text of an error, less what a recorded refusal must show of its action.
fn shown(answer: &Answer) -> String {
    let mut body = answer.json();
    assert!(answer.status.is_client_error(), "{body}");
    if let Some(action) = body.pointer_mut("/error/action/on_behalf_of") {
        *action = Value::Null;
    }
    format!("{:?}\n{body}", answer.headers)
}

/// The page of metrics of this service.
async fn metrics(service: &Service) -> String {
    let caller = service.monitor();
    assert_eq!(caller.get("/").await.status, 404);
    assert_eq!(caller.get("/metrics/more").await.status, 404);
    assert_eq!(caller.send(Request::raw("/metrics", "")).await.status, 405);
    let page = caller.get("/metrics").await;
    assert_eq!(page.status, 200);
    assert_eq!(page.header("content-type"), Some("text/plain; version=0.0.4; charset=utf-8"));
    String::from_utf8(page.body.to_vec()).unwrap()
}

#[tokio::test]
async fn no_credential_and_no_payload_is_told_in_logs_errors_metrics_or_events() {
    let Some(house) = House::new(SETTINGS).await else { return };
    let service = house.serve().await;
    let agent = house.agent("keeper").await;
    let org_key = house.org_key().await;
    let caller = service.caller(&agent.key);
    let org = service.caller(&org_key);
    let mut stream = Stream::open(&org, Request::get("/v1/events")).await;
    let mut errors = live(&house, &service, &caller).await;
    errors.extend(reach_out(&service, &org_key, &caller).await);
    let receiver = Receiver::start(Manner::Takes).await;
    let signing = sign(&org, &receiver).await;
    let last = caller.executed("lab.note", json!({ "mark": "last" })).await;
    let events = stream.until_sealed(&last).await;
    let mut canaries = canaries(&house, &[&agent.key, &org_key]);
    canaries.extend(signing);
    for posted in receiver.seen() {
        assert_untold("a posted event", &posted.body, &canaries);
    }
    for error in &errors {
        assert_untold("an error", &shown(error), &canaries);
    }
    let streamed: Vec<String> = events.iter().map(|event| event.data.to_string()).collect();
    let streamed = streamed.join("\n");
    assert!(streamed.contains(last["id"].as_str().unwrap()));
    assert_untold("the stream", &streamed, &canaries);
    for action in caller.read("/v1/actions").await["data"].as_array().unwrap() {
        let detail = caller.detail(action).await;
        assert_untold("the events of an action", &detail["events"].to_string(), &canaries);
    }
    let page = metrics(&service).await;
    assert!(page.contains("chancery_http_requests_total{route=\"/v1/actions\""), "{page}");
    assert_untold("the metrics", &page, &canaries);
    for id in [&agent.id, &house.org] {
        assert!(!page.contains(id.as_str()), "the metrics name {id}");
    }
    let log = service.log();
    assert!(log.contains("TRACE") || log.contains("DEBUG"), "the log is not talkative");
    assert!(log.contains("from=127.0.0.1"), "requests are logged with their client");
    assert_untold("the log", &log, &canaries);
}

#[tokio::test]
async fn what_is_served_as_metrics_is_what_is_documented() {
    let Some(house) = House::new(SETTINGS).await else { return };
    let service = house.serve().await;
    let page = metrics(&service).await;
    let served: Vec<_> = page.lines().filter_map(|line| line.strip_prefix("# TYPE ")).collect();
    let docs = include_str!("../../docs/metrics.md");
    let documented: Vec<_> = docs
        .lines()
        .filter_map(|line| line.strip_prefix("| `"))
        .map(|line| line.split('|').take(2).map(str::trim).collect::<Vec<_>>().join(" "))
        .map(|line| line.replace('`', ""))
        .collect();
    assert_eq!(served, documented);
    // Every series belongs to the metric above it.
    let mut name = "";
    for line in page.lines() {
        match line.strip_prefix("# TYPE ") {
            Some(declared) => name = declared.split(' ').next().unwrap(),
            None => assert!(line.starts_with("# HELP ") || line.starts_with(name), "{line}"),
        }
    }
}

#[test]
fn the_search_finds_what_is_hidden_in_any_form() {
    let canary = [("it".to_owned(), ARGS.to_owned())];
    for (form, written) in forms(ARGS) {
        let text = format!("before {written} after");
        let told = std::panic::catch_unwind(|| assert_untold("a text", &text, &canary));
        assert!(told.is_err(), "{form} is not found");
    }
    let deeper = STANDARD_NO_PAD.encode(format!("xy{ARGS}z"));
    assert!(std::panic::catch_unwind(|| assert_untold("a text", &deeper, &canary)).is_err());
    assert_untold("a text", "nothing of it", &canary);
}

//! Where a tool runs: a password goes to no other place than the one that it was set for, and a call runs
//! where it was pinned and approved to run, or not at all.

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex},
};

use http::Method;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

use crate::{
    eventually::{eventually, until},
    house::{Browser, Caller, House, Request, name},
    rest::{Pets, TOKEN},
};

/// Asks a person before each note.
const ASKS: &str = "
schema: 1
default: { outcome: deny }
rules:
  - { id: notes, match: lab.note, outcome: require_approval }
  - { id: rest, match: '*', outcome: allow }
";

/// A server in the place of a governed database that asks for passwords in clear.
struct Impostor {
    address: SocketAddr,
    /// What each connection sent, the first message included.
    heard: Arc<Mutex<Vec<Vec<u8>>>>,
}

impl Impostor {
    async fn listen() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (address, heard) = (listener.local_addr().unwrap(), Arc::default());
        let told: Arc<Mutex<Vec<Vec<u8>>>> = Arc::clone(&heard);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let sent = asked(client).await;
                told.lock().unwrap().push(sent);
            }
        });
        Self { address, heard }
    }

    fn heard(&self) -> Vec<Vec<u8>> {
        self.heard.lock().unwrap().clone()
    }
}

/// Takes the start-up message, asks for the password in clear and returns all that came.
async fn asked(mut client: TcpStream) -> Vec<u8> {
    let mut sent = vec![0; 4096];
    let size = client.read(&mut sent).await.unwrap();
    sent.truncate(size);
    client.write_all(b"R\0\0\0\x08\0\0\0\x03").await.unwrap();
    // A client that hangs up in the middle of it has sent what it has sent.
    let _ = client.read_to_end(&mut sent).await;
    sent
}

/// A listener that nobody is to come to, and that hangs up on whoever does.
pub(crate) struct Unvisited {
    pub(crate) address: SocketAddr,
    visitors: Arc<Mutex<Vec<SocketAddr>>>,
}

impl Unvisited {
    pub(crate) async fn listen() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (address, visitors) = (listener.local_addr().unwrap(), Arc::default());
        let noted: Arc<Mutex<Vec<SocketAddr>>> = Arc::clone(&visitors);
        tokio::spawn(async move {
            while let Ok((_, visitor)) = listener.accept().await {
                noted.lock().unwrap().push(visitor);
            }
        });
        Self { address, visitors }
    }

    /// How many came. The test itself comes last, so that nobody before it is left out.
    pub(crate) async fn visits(self) -> usize {
        let last = TcpStream::connect(self.address).await.unwrap().local_addr().unwrap();
        let came = || self.visitors.lock().unwrap().clone();
        until("the last visitor is noted", async || came().contains(&last)).await;
        came().len() - 1
    }
}

/// A connector of the house by its name, with its config.
async fn connector(org: &Caller, named: &str) -> (String, Value) {
    let all = org.read("/v1/connectors").await;
    let found = all["data"].as_array().unwrap().iter().find(|it| it["name"] == named).unwrap();
    let path = format!("/v1/connectors/{}", found["id"].as_str().unwrap());
    let config = org.read(&path).await["config"].clone();
    (path, config)
}

fn with(config: &Value, parts: &Value) -> Value {
    let mut config = config.clone();
    for (name, value) in parts.as_object().unwrap() {
        config[name] = value.clone();
    }
    json!({ "config": config })
}

/// What the org's ledger tells of connectors, newest first, by type.
async fn told(org: &Caller) -> Vec<String> {
    let told = org.read("/v1/ledger?kind=connector&limit=100").await;
    let told = told["data"].as_array().unwrap().iter();
    told.map(|it| it["type"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn a_password_goes_to_no_other_place_than_the_one_it_was_set_for() {
    let Some(house) = House::new("").await else { return };
    let (key, org_key) = (house.agent("steady").await.key, house.org_key().await);
    let service = house.serve().await;
    let (caller, org) = (service.caller(&key), service.caller(&org_key));
    let impostor = Impostor::listen().await;
    let (path, config) = connector(&org, "lab").await;
    let there = json!({ "host": "127.0.0.1", "port": impostor.address.port() });
    let refusals = [
        there.clone(),
        json!({ "host": "localhost" }),
        json!({ "database": "postgres" }),
        json!({ "user": "somebody" }),
        json!({ "read_user": "somebody" }),
        json!({ "decoder_user": "somebody" }),
        json!({ "tls": { "mode": "verify-full" } }),
    ];
    let before = told(&org).await.len();
    for parts in &refusals {
        let refused = org.send(Request::post(&path, &with(&config, parts))).await;
        refused.error(400, "validation_failed", Some("credential"));
    }
    assert!(impostor.heard().is_empty(), "nobody was asked");
    assert_eq!(org.read(&path).await["config"], config);
    let deeds = told(&org).await;
    assert_eq!(deeds.len(), before + refusals.len());
    let newest = &deeds[..refusals.len()];
    assert!(newest.iter().all(|it| it == "connector.change_refused"), "{newest:?}");

    // One's own password may be tried anywhere, and whoever asks for it in clear does not get it.
    let canary = "canary-of-a-password";
    let mut moved = with(&config, &there);
    let fields = json!({ "conn_password": canary, "read_password": canary });
    moved["credential"] = json!({ "fields": fields });
    let refused = org.send(Request::post(&path, &moved)).await;
    let message = refused.error(409, "connector_unreachable", Some("config"));
    assert!(message.to_string().contains("a cleartext password"), "{message}");
    let heard = impostor.heard();
    assert!(!heard.is_empty());
    for sent in heard {
        assert!(!String::from_utf8_lossy(&sent).contains(canary), "{sent:?}");
    }
    let refused = org.send(
        Request::post(&format!("{path}/credential"), &json!({ "fields": fields })).by(Method::PUT),
    );
    refused.await.error(409, "connector_unreachable", Some("config"));
    caller.executed("lab.note", json!({ "mark": name() })).await;
}

/// A certificate that nobody needs to trust.
const AUTHORITY: &str = include_str!("secrets/client.pem");

#[tokio::test]
async fn a_token_goes_to_no_other_api_than_the_one_it_was_set_for() {
    let Some(house) = House::new("").await else { return };
    house.activate("asks", ASKS).await;
    let (pets, impostor) = (Pets::open().await, Unvisited::listen().await);
    let (key, org_key) = (house.agent("steady").await.key, house.org_key().await);
    let service = house.serve().await;
    let (caller, org) = (service.caller(&key), service.caller(&org_key));
    let new = json!({
        "name": "zoo", "type": "rest", "config": pets.config(),
        "credential": { "kind": "bearer", "fields": { "token": TOKEN } },
    });
    org.send(Request::post("/v1/connectors", &new)).await.is(201);
    let (path, config) = connector(&org, "zoo").await;
    let at = |url: String| json!({ "base_url": url });
    let (home, there) = (pets.at, impostor.address);
    let refusals = [
        at(format!("http://{there}")),
        at(format!("http://localhost:{}", home.port())),
        at(format!("http://localhost:{}", there.port())),
        at(format!("https://{home}")),
        at(format!("https://{there}")),
        json!({ "tls": { "ca_pem": AUTHORITY } }),
    ];
    let before = told(&org).await.len();
    for parts in &refusals {
        let mut moved = with(&config, parts);
        moved["pin_tools"] = json!(true);
        let refused = org.send(Request::post(&path, &moved)).await;
        refused.error(400, "validation_failed", Some("credential"));
    }
    assert_eq!(org.read(&path).await["config"], config);
    let deeds = told(&org).await;
    assert_eq!(deeds.len(), before + refusals.len());
    let newest = &deeds[..refusals.len()];
    assert!(newest.iter().all(|it| it == "connector.change_refused"), "{newest:?}");

    // Whatever reaches out afterwards reaches the API that was there before.
    let checks = org.send(Request::raw(&format!("{path}/test"), "")).await.ok();
    assert_eq!(checks["ok"], true, "{checks}");
    org.send(Request::raw(&format!("{path}/tools/refresh"), "")).await.ok();
    assert_eq!(standing(&org, &path).await, ["pinned"]);
    let run = caller.executed("zoo.listPets", json!({ "limit": 1 })).await;
    assert_eq!(run["status"], "executed", "{run}");
    // All of a host is one receiver, so that another path needs no credential.
    let path_only = with(&config, &at(format!("http://{home}/v2")));
    org.send(Request::post(&path, &path_only)).await.ok();
    assert_eq!(standing(&org, &path).await, ["changed"]);
    assert_eq!(impostor.visits().await, 0);
}

/// The tools of a connector, by how they stand.
async fn standing(org: &Caller, path: &str) -> Vec<String> {
    let tools = org.read(&format!("{path}/tools")).await;
    let mut states: Vec<String> = tools["data"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["state"].as_str().unwrap().to_owned())
        .collect();
    states.sort();
    states.dedup();
    states
}

#[tokio::test]
async fn what_a_person_said_yes_to_runs_where_it_was_shown_or_not_at_all() {
    let Some(house) = House::new("").await else { return };
    house.activate("asks", ASKS).await;
    house
        .governed
        .run(
            "create schema other;
            grant usage on schema other to svc_conn, svc_read;
            create table other.lab_notes (
                id bigint generated always as identity primary key, mark text not null);
            grant select, insert on other.lab_notes to svc_conn",
        )
        .await;
    let (key, org_key) = (house.agent("steady").await.key, house.org_key().await);
    let service = house.serve().await;
    let (caller, org) = (service.caller(&key), service.caller(&org_key));
    let ada = Browser::owner(&house, &service, "ada@example.com").await;
    let (path, config) = connector(&org, "lab").await;
    let mark = name();
    let waiting = caller.call("lab.note", json!({ "mark": mark })).await.is(202);
    let approval = format!("/v1/approvals/{}", waiting["approval"]["id"].as_str().unwrap());
    let page = async |request| service.anonymous().send(ada.page(request)).await;
    let shown = page(Request::get(&approval)).await.ok();
    let target = &shown["context"]["target"];
    let part = |name: &str| (&target[name], &config[name]);
    for name in ["host", "port", "database", "user", "read_user"] {
        assert_eq!(part(name).0, part(name).1, "{name}");
    }
    assert_eq!(target["search_path"], json!(["public"]));
    let yes = Request::post(
        &format!("{approval}/approve"),
        &json!({ "context_digest": shown["context_digest"] }),
    );

    let elsewhere = with(&config, &json!({ "search_path": ["other", "public"] }));
    let moved = org.send(Request::post(&path, &elsewhere)).await.ok();
    let counts = &moved["tools"];
    assert_eq!(
        (&counts["pinned"], &counts["new"], &counts["gone"]),
        (&json!(0), &json!(0), &json!(0))
    );
    assert_eq!(standing(&org, &path).await, ["changed"]);
    let tools = org.read(&format!("{path}/tools")).await;
    assert_eq!(tools["data"][0]["pinned_target"]["search_path"], json!(["public"]));
    assert_eq!(tools["data"][0]["target"]["search_path"], json!(["other", "public"]));
    page(yes.clone()).await.error(409, "approval_stale", None);
    eventually(async || {
        let read = caller.call("lab.values", json!({})).await;
        (read.json()["error"]["code"] == "tool_changed").then_some(())
    })
    .await;
    assert_eq!(page(Request::get(&approval)).await.ok()["status"], "pending");

    // Somebody pins it there: the call runs, by a question that tells of that place.
    let pinning = json!({ "config": elsewhere["config"], "pin_tools": true });
    let pinned = org.send(Request::post(&path, &pinning)).await.ok();
    assert_eq!(pinned["tools"]["changed"], 0);
    page(yes.clone()).await.error(409, "approval_stale", None);
    let notes = async || {
        let of = |table: &str| format!("select count(*) from {table} where mark = '{mark}'");
        let (home, other) = (of("public.lab_notes"), of("other.lab_notes"));
        (house.governed.count(&home).await, house.governed.count(&other).await)
    };
    assert_eq!(notes().await, (0, 0));

    // Back where it was shown to run, the yes counts.
    let back = json!({ "config": config, "pin_tools": true });
    org.send(Request::post(&path, &back)).await.ok();
    page(yes).await.ok();
    let action = format!("/v1/actions/{}?wait=10", waiting["id"].as_str().unwrap());
    assert_eq!(caller.read(&action).await["status"], "executed");
    assert_eq!(notes().await, (1, 0));
}

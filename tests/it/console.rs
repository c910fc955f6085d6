//! The Console in a real browser: signing in, deciding, what two do at once, and how every page looks.

use std::{
    fs,
    path::Path,
    process::{Command, Output},
};

use serde_json::{Value, json};

use crate::{
    eventually::until,
    house::{Caller, House, POLICY, Request, call, invited, program},
    rest::{Pets, TOKEN},
};

/// What an agent sends that no page may hand on as markup.
const CANARY: &str = "<img src=x onerror=\"document.title='ran'\"> \u{202e}";

/// Where pictures of every page are left, below the folder of what is built.
fn pictures() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/pages")
}

#[tokio::test]
async fn people_sign_in_and_decide_in_a_browser_and_every_page_can_be_read_by_all() {
    let names = ["CHANCERY_NODE", "CHANCERY_CHROMIUM", "CHANCERY_NODE_LIBRARIES"];
    let [Some(node), Some(browser), Some(libraries)] = names.map(program) else { return };
    let Some(house) = House::new("").await else { return };
    let service = house.serve().await;
    let agent = house.agent("asks").await;
    let caller = service.caller(&agent.key);
    let call = |mark: &str| call("lab.note", json!({ "mark": mark }));
    let done = caller.insist(Request::post("/v1/actions", &call(CANARY))).await.ok();
    let asking = POLICY.replace(
        "match: lab.*\n    outcome: allow",
        "match: lab.*\n    outcome: require_approval\n    reason: A person looks at each.",
    );
    assert_ne!(asking, POLICY);
    house.activate("asking", &asking).await;
    let mut waiting = Vec::new();
    for number in 0..6 {
        let mut held = call(&format!("{number} {CANARY}"));
        held["wait"] = json!(0);
        let held = caller.send(Request::post("/v1/actions", &held)).await.is(202);
        waiting.push(held["approval"]["id"].clone());
    }
    let email = "ada@example.com";
    let (base, invite) = invited(&house, email).await;
    let org = service.caller(&house.org_key().await);
    let policies = org.read("/v1/policies").await;
    let pets = Pets::open().await;
    let lab = org.read("/v1/connectors").await["data"][0]["id"].clone();
    let connectors = [changed(&org, &pets).await, lab];
    let webhooks = [failing(&org, &pets).await];
    let case = json!({
        "base": base,
        "address": service.address.to_string(),
        "invite": invite,
        "email": email,
        "outbox": house.folder().join("outbox"),
        "pictures": pictures(),
        "libraries": libraries,
        "waiting": waiting,
        "agent": done["agent"]["id"],
        "action": done["id"],
        "deed": done["deed"],
        "policy": policies["data"][0]["id"],
        "connectors": connectors,
        "webhooks": webhooks,
        "api": pets.url(),
    });
    let file = house.folder().join("console.json");
    fs::write(&file, case.to_string()).unwrap();
    let driver = Path::new(env!("CARGO_MANIFEST_DIR")).join("it/console/drive.mjs");
    let mut command = Command::new(node);
    command.arg(driver).arg(browser).arg(file);
    let ended = tokio::task::spawn_blocking(move || command.output().unwrap());
    let Output { status, stdout, stderr } = ended.await.unwrap();
    let seen = String::from_utf8_lossy(&stdout).into_owned();
    assert!(status.success(), "{seen}{}", String::from_utf8_lossy(&stderr));
    let seen: Vec<Value> = seen.lines().map(|line| line.parse().unwrap()).collect();
    assert_eq!(seen.len(), 21, "{seen:?}");
    // What was decided there is what the record says.
    let mut ends = Vec::new();
    for id in &waiting {
        let asked = org.read(&format!("/v1/approvals/{}", id.as_str().unwrap())).await;
        ends.push(asked["status"].clone());
    }
    assert_eq!(ends, ["approved", "denied", "approved", "pending", "approved", "approved"]);
}

/// An endpoint that does not take what it is sent, and a delivery that was tried.
async fn failing(org: &Caller, pets: &Pets) -> Value {
    let body = json!({
        "url": format!("{}/nothing", pets.url()), "description": CANARY, "types": ["webhook.*"],
    });
    let made = org.send(Request::post("/v1/webhook_endpoints", &body)).await.is(201);
    let path = format!("/v1/webhook_endpoints/{}", made["id"].as_str().unwrap());
    let sent = org.send(Request::raw(&format!("{path}/ping"), "")).await.is(202);
    let delivery = format!("/v1/webhook_deliveries/{}", sent["id"].as_str().unwrap());
    let is_retrying = async || org.read(&delivery).await["status"] == "retrying";
    until("the ping is tried again", is_retrying).await;
    json!({ "id": made["id"], "delivery": sent["id"] })
}

/// A connector whose tools are others than those that were accepted.
async fn changed(org: &Caller, pets: &Pets) -> Value {
    // A title takes no letter that turns it.
    let title = CANARY.trim_end_matches([' ', '\u{202e}']);
    let body = json!({
        "name": "pets", "type": "rest", "title": title, "config": pets.config(),
        "credential": { "kind": "bearer", "fields": { "token": TOKEN } },
    });
    let made = org.send(Request::post("/v1/connectors", &body)).await.is(201);
    let mut config = pets.config();
    config["timeout_ms"] = json!(1000);
    let path = format!("/v1/connectors/{}", made["id"].as_str().unwrap());
    org.send(Request::post(&path, &json!({ "config": config }))).await.ok();
    made["id"].clone()
}

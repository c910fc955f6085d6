//! The Console in a real browser: signing in, deciding, what two do at once, and how every page looks.

use std::{
    fs,
    path::Path,
    process::{Command, Output},
};

use serde_json::{Value, json};

use crate::{
    house::program,
    house::{House, POLICY, Request, call, invited},
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
    let done = caller.send(Request::post("/v1/actions", &call(CANARY))).await.ok();
    let asking = POLICY.replace(
        "match: lab.*\n    outcome: allow",
        "match: lab.*\n    outcome: require_approval\n    reason: A person looks at each.",
    );
    assert_ne!(asking, POLICY);
    house.activate("asking", &asking).await;
    let mut waiting = Vec::new();
    for number in 0..4 {
        let mut held = call(&format!("{number} {CANARY}"));
        held["wait"] = json!(0);
        let held = caller.send(Request::post("/v1/actions", &held)).await.is(202);
        waiting.push(held["approval"]["id"].clone());
    }
    let email = "ada@example.com";
    let (base, invite) = invited(&house, email).await;
    let org = service.caller(&house.org_key().await);
    let policies = org.get("/v1/policies").await.ok();
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
    assert_eq!(seen.len(), 10, "{seen:?}");
    // What was decided there is what the record says.
    let mut ends = Vec::new();
    for id in &waiting {
        let asked = org.get(&format!("/v1/approvals/{}", id.as_str().unwrap())).await.ok();
        ends.push(asked["status"].clone());
    }
    assert_eq!(ends, ["approved", "denied", "approved", "pending"]);
}

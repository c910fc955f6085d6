//! Governed databases that are away or altered: what an operator and an agent see of it.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::{
    calls::assert_sealed,
    house::{Caller, Database, House, POLICY, binaries, name},
};

/// Longer than anything here needs.
const BACK_WITHIN: Duration = Duration::from_secs(30);

/// Lets nobody into the governed database, or everybody again.
async fn let_in(house: &House, anybody: bool) {
    let governed = &house.governed;
    governed
        .cluster
        .run(&format!("alter database \"{}\" allow_connections {anybody}", governed.name))
        .await;
    let end = "select pg_terminate_backend(pid, 5000) from pg_stat_activity where datname = ";
    governed.cluster.run(&format!("{end} '{}'", governed.name)).await;
}

/// How health says that connectors are.
async fn connectors(caller: &Caller) -> Value {
    let health = caller.get("/v1/health").await.ok();
    health["checks"]["connectors"].clone()
}

/// Calls the tool until its action is this, which it must be in time.
async fn until(caller: &Caller, tool: &str, status: &str) -> Value {
    let began = Instant::now();
    loop {
        let answer = caller.call(tool, json!({ "mark": name() })).await.json();
        let action = answer["error"].get("action").unwrap_or(&answer).clone();
        if action["status"] == status {
            return action;
        }
        assert!(began.elapsed() < BACK_WITHIN, "{action}");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

#[tokio::test]
async fn a_database_that_is_away_when_the_service_starts_is_a_sealed_failure() {
    let Some(house) = House::new("").await else { return };
    let key = house.agent("early").await.key;
    let_in(&house, false).await;
    let service = house.serve().await;
    let caller = service.caller(&key);
    let tools = caller.get("/v1/tools").await.ok();
    let listed = tools["data"].as_array().unwrap().iter().any(|tool| tool["name"] == "lab.note");
    assert!(listed, "{tools}");
    caller.call("lab.hidden", json!({ "mark": name() })).await.error(403, "policy_denied", None);
    let failed = caller.call("lab.note", json!({ "mark": name() })).await.ok();
    assert_sealed(&failed, "failed");
    assert_eq!(failed["execution"]["error_code"], "connector_unreachable");
    assert_eq!(connectors(&caller).await, "degraded");
    let_in(&house, true).await;
    until(&caller, "lab.note", "executed").await;
    let began = Instant::now();
    while connectors(&caller).await != "ok" {
        // Health is looked at once a second.
        assert!(began.elapsed() < BACK_WITHIN);
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

/// A connector whose roles nobody made.
const BARE: &str = r"
host: 127.0.0.1
database: none
tls: {mode: disable}
tools:
  - name: note
    title: Read
    description: Reads.
    side_effect: read
    sql: select $mark as mark
    args: {type: object, additionalProperties: false, required: [mark], properties: {mark: {type: string}}}
    returns: row
    max_rows: 1
";

#[tokio::test]
async fn a_connector_that_never_was_reached_decides_and_records() {
    let Some(house) = House::new("").await else { return };
    let file = house.write("bare.yaml", &format!("{BARE}{}", second_tool()));
    let create = ["connector", "create", file.to_str().unwrap(), "--org", &house.org];
    house.verbs.run(&create).await;
    house.activate("bare", &POLICY.replace("lab.hidden", "bare.hidden")).await;
    let key = house.agent("first").await.key;
    let service = house.serve().await;
    let caller = service.caller(&key);
    let tools = caller.get("/v1/tools").await.ok();
    let listed = tools["data"].as_array().unwrap().iter().any(|tool| tool["name"] == "bare.note");
    assert!(listed, "{tools}");
    let mark = json!({ "mark": name() });
    caller.call("bare.hidden", mark.clone()).await.error(403, "policy_denied", None);
    let failed = caller.call("bare.note", mark).await.ok();
    assert_sealed(&failed, "failed");
    assert_eq!(failed["execution"]["error_code"], "connector_auth_failed");
    caller.call("bare.note", json!({ "mark": 1 })).await.error(
        400,
        "validation_failed",
        Some("args"),
    );
    caller.call("bare.other", json!({})).await.error(404, "tool_unknown", Some("tool"));
    assert_eq!(connectors(&caller).await, "degraded");
}

/// One that the policy denies.
fn second_tool() -> String {
    let tool = BARE.split_once("tools:\n").unwrap().1;
    tool.replace("name: note", "name: hidden")
}

#[tokio::test]
async fn a_table_that_was_altered_changes_no_tool_unasked() {
    let Some(house) = House::new("").await else { return };
    let key = house.agent("steady").await.key;
    let service = house.serve().await;
    let caller = service.caller(&key);
    caller.executed("lab.note", json!({ "mark": name() })).await;
    house.governed.run("alter table lab_notes alter mark type varchar(200000)").await;
    // What runs first finds out; from then on the call is not let run at all.
    let refused = until(&caller, "lab.note", "denied").await;
    assert_eq!(refused["decision"]["code"], "tool_changed");
    let told = caller.get("/v1/ledger?kind=connector").await.ok();
    let told: Vec<_> = told["data"].as_array().unwrap().iter().collect();
    assert_eq!(told.len(), 1, "{told:?}");
    assert_eq!((&told[0]["type"], &told[0]["deed"]), (&json!("tool.changed"), &refused["deed"]));
    assert_eq!(told[0]["summary"], "tool.changed lab.note");
    let detail = caller.get(&format!("/v1/actions/{}", refused["id"].as_str().unwrap())).await.ok();
    let events = detail["events"].as_array().unwrap();
    let changed = events.iter().find(|event| event["type"] == "tool.changed").unwrap();
    let changed = &changed["data"]["object"];
    assert_eq!((&changed["object"], &changed["name"]), (&json!("tool"), &json!("lab.note")));
    assert_ne!(changed["accepted_digest"], changed["digest"]);
    drop(service);
    let service = house.serve().await;
    let caller = service.caller(&key);
    let refused = caller.call("lab.note", json!({ "mark": name() })).await;
    refused.error(403, "tool_changed", None);
    house.governed.run("alter table lab_notes alter mark type text").await;
    until(&caller, "lab.note", "executed").await;
}

const PAGE: &str = include_str!("../../docs/connectors.md");

/// The shell commands that the page prints, in their order.
fn printed() -> String {
    let mut script = String::new();
    let mut fence: Option<usize> = None;
    for line in PAGE.lines() {
        let text = line.trim_start();
        match fence {
            None if text == "```bash" => fence = Some(line.len() - text.len()),
            Some(_) if text == "```" => fence = None,
            Some(indent) => {
                script.push_str(line.get(indent..).unwrap_or_default());
                script.push('\n');
            }
            None => {}
        }
    }
    script
}

/// A database whose owner may make roles and no more, as managed services give it.
async fn store(house: &House) -> (Database, String, String) {
    let cluster = &house.governed.cluster;
    let (store, owner) = (cluster.database(&format!("{}-store", name())), name());
    cluster.run(&format!("create role \"{owner}\" login createrole password 'owner'")).await;
    cluster.run(&format!("create database \"{}\" owner \"{owner}\"", store.name)).await;
    let url = store.url(&owner, "owner");
    let (client, connection) = tokio_postgres::connect(&url, tokio_postgres::NoTls).await.unwrap();
    tokio::spawn(connection);
    let seed = "create table orders (id int primary key, status text not null);
        insert into orders values (7, 'paid')";
    client.batch_execute(seed).await.unwrap();
    (store, owner, url)
}

#[tokio::test]
async fn the_pages_own_commands_govern_a_database_that_nobody_here_made() {
    let Some(house) = House::new("").await else { return };
    let (store, owner, url) = store(&house).await;
    let (host, port) = (&store.cluster.host, store.cluster.port);
    let here =
        format!("host: {host}\nport: {port}\ntls: {{mode: disable}}\ndatabase: {}", store.name);
    let script = printed().replace("host: db.internal\ndatabase: store", &here);
    assert!(script.contains(&here) && script.contains("connector archive"), "{script}");
    std::os::unix::fs::symlink(binaries().unwrap().plain, house.folder().join("chancery")).unwrap();
    let mut command = tokio::process::Command::new("bash");
    command.args(["-euo", "pipefail", "-c", &script]).current_dir(house.folder()).env_clear();
    command.envs(house.verbs.environment().iter().cloned()).env("STORE_OWNER_URL", url);
    command.env("PATH", format!("{}:/usr/bin:/bin", house.folder().display()));
    let output = command.output().await.unwrap();
    let cluster = &store.cluster;
    cluster.run(&format!("drop database \"{}\" with (force)", store.name)).await;
    cluster.run(&format!("drop role store_conn, store_read, store_owner, \"{owner}\"")).await;
    let (said, failed) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{said}\n{failed}");
    for told in [
        "ok    all 2 tools fit",
        "store  postgres  enabled  live  1",
        "\"status\":\"enabled\"",
        "is archived",
    ] {
        assert!(said.contains(told), "{told}: {said}");
    }
    assert!(!said.contains("FAIL") && !said.contains("lacks"), "{said}");
}

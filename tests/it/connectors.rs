//! Governed databases that are away or altered: what an operator and an agent see of it.

use serde_json::{Value, json};

use crate::{
    calls::assert_sealed,
    eventually::eventually,
    house::{Caller, Cluster, Database, House, OwnPostgres, POLICY, Request, binaries, call, name},
};

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
    let health = caller.read("/v1/health").await;
    health["checks"]["connectors"].clone()
}

/// Calls the tool until its action is this, which it must be in time.
async fn until(caller: &Caller, tool: &str, status: &str) -> Value {
    eventually(async || {
        let answer = caller.call(tool, json!({ "mark": name() })).await.json();
        let action = answer["error"].get("action").unwrap_or(&answer).clone();
        (action["status"] == status).then_some(action)
    })
    .await
}

#[tokio::test]
async fn a_database_that_is_away_when_the_service_starts_is_a_sealed_failure() {
    let Some(house) = House::new("server: { metrics_listen: '127.0.0.1:0' }\n").await else {
        return;
    };
    let key = house.agent("early").await.key;
    let_in(&house, false).await;
    let service = house.serve().await;
    let caller = service.caller(&key);
    let tools = caller.read("/v1/tools").await;
    let listed = tools["data"].as_array().unwrap().iter().any(|tool| tool["name"] == "lab.note");
    assert!(listed, "{tools}");
    caller.call("lab.hidden", json!({ "mark": name() })).await.error(403, "policy_denied", None);
    let failed = caller
        .insist(Request::post("/v1/actions", &call("lab.note", json!({ "mark": name() }))))
        .await
        .ok();
    assert_sealed(&failed, "failed");
    assert_eq!(failed["execution"]["error_code"], "connector_unreachable");
    assert_eq!(connectors(&caller).await, "degraded");
    let admin = service.caller(&house.org_key().await);
    let all = admin.read("/v1/connectors").await;
    let lab = all["data"].as_array().unwrap().iter().find(|it| it["name"] == "lab").unwrap();
    let lab = lab["id"].as_str().unwrap().to_owned();
    let told = || named(&service.log(), &lab);
    eventually(async || (told().len() == 1).then_some(())).await;
    for word in ["WARN", "a connector is unreachable", "name=lab", "connector_unreachable"] {
        assert!(told()[0].contains(word), "{word} is not in {:?}", told());
    }
    let series = format!("connector=\"{lab}\",reason=\"connector_unreachable\"}} 1");
    let metrics = service.metrics().await;
    assert!(metrics.contains(&series), "{metrics}");
    let wants = admin.read("/v1/overview").await["attention"][0].clone();
    assert_eq!(
        (&wants["kind"], &wants["data"]["connector"], &wants["data"]["code"]),
        (&json!("connector_unreachable"), &json!(lab), &json!("connector_unreachable"))
    );
    let_in(&house, true).await;
    until(&caller, "lab.note", "executed").await;
    // Health is looked at once a second.
    eventually(async || (connectors(&caller).await == "ok").then_some(())).await;
    eventually(async || (told().len() == 2).then_some(())).await;
    assert!(told()[1].contains("INFO") && told()[1].contains("is reachable again"), "{:?}", told());
    assert!(!service.metrics().await.contains("chancery_connectors_out_of_reach{"));
    assert_eq!(admin.read("/v1/overview").await["attention"], json!([]));
}

/// The lines of a log about whether a connector is reached.
fn named(log: &str, connector: &str) -> Vec<String> {
    let about = |line: &&str| line.contains("a connector is") && line.contains(connector);
    log.lines().filter(about).map(str::to_owned).collect()
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
    let tools = caller.read("/v1/tools").await;
    let listed = tools["data"].as_array().unwrap().iter().any(|tool| tool["name"] == "bare.note");
    assert!(listed, "{tools}");
    let mark = json!({ "mark": name() });
    caller.call("bare.hidden", mark.clone()).await.error(403, "policy_denied", None);
    let failed = caller.insist(Request::post("/v1/actions", &call("bare.note", mark))).await.ok();
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
    let told = caller.read("/v1/ledger?kind=connector").await;
    let told: Vec<_> = told["data"].as_array().unwrap().iter().collect();
    assert_eq!(told.len(), 1, "{told:?}");
    assert_eq!((&told[0]["type"], &told[0]["deed"]), (&json!("tool.changed"), &refused["deed"]));
    assert_eq!(told[0]["summary"], "tool.changed lab.note");
    let detail = caller.read(&format!("/v1/actions/{}", refused["id"].as_str().unwrap())).await;
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

/// The shell commands that a page prints, in their order.
pub(crate) fn printed(page: &str) -> String {
    let mut script = String::new();
    let mut fence: Option<usize> = None;
    for line in page.lines() {
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
async fn store(cluster: &Cluster) -> (Database, String) {
    let (store, owner) = (cluster.database(&format!("{}-store", name())), name());
    cluster.run(&format!("create role \"{owner}\" login createrole password 'owner'")).await;
    cluster.run(&format!("create database \"{}\" owner \"{owner}\"", store.name)).await;
    let url = store.url(&owner, "owner");
    let (client, connection) = tokio_postgres::connect(&url, tokio_postgres::NoTls).await.unwrap();
    tokio::spawn(connection);
    let seed = "create table orders (id int primary key, status text not null);
        insert into orders values (7, 'paid')";
    client.batch_execute(seed).await.unwrap();
    (store, url)
}

#[tokio::test]
async fn the_pages_own_commands_govern_a_database_that_nobody_here_made() {
    // The page's roles are the whole server's, so that it is one of its own.
    let (Some(house), Some(postgres)) = (House::new("").await, OwnPostgres::new()) else { return };
    let (store, url) = store(&postgres.cluster).await;
    let (host, port) = (&store.cluster.host, store.cluster.port);
    let here =
        format!("host: {host}\nport: {port}\ntls: {{mode: disable}}\ndatabase: {}", store.name);
    let script = printed(PAGE).replace("host: db.internal\ndatabase: store", &here);
    assert!(script.contains(&here) && script.contains("connector archive"), "{script}");
    std::os::unix::fs::symlink(binaries().unwrap().plain, house.folder().join("chancery")).unwrap();
    let mut command = tokio::process::Command::new("bash");
    command.args(["-euo", "pipefail", "-c", &script]).current_dir(house.folder()).env_clear();
    command.envs(house.verbs.environment().iter().cloned()).env("STORE_OWNER_URL", url);
    command.env("PATH", format!("{}:/usr/bin:/bin", house.folder().display()));
    let output = command.output().await.unwrap();
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

/// The word of an admin, and why.
fn because() -> Value {
    json!({ "reason": "A test." })
}

#[tokio::test]
async fn a_database_is_governed_over_the_interface_from_its_making_to_its_end() {
    let Some(house) = House::new("").await else { return };
    let service = house.serve().await;
    let org = service.caller(&house.org_key().await);
    house.activate("second", &POLICY.replace("match: lab.*", "match: [lab.*, second.*]")).await;
    let caller = service.caller(&house.agent("driver").await.key);
    let mark = || json!({ "mark": name() });
    let send = async |path: &str, body: Value| org.send(Request::post(path, &body)).await;
    let new = json!({ "name": "second", "type": "postgres", "config": house.lab() });
    let made = send("/v1/connectors", new).await.is(201);
    let at = format!("/v1/connectors/{}", made["id"].as_str().unwrap());
    assert_eq!((&made["credential"], &made["tools"]["pinned"]), (&Value::Null, &json!(0)));
    let setup = org.read(&format!("{at}/setup")).await;
    assert!(setup["script"].as_str().unwrap().contains("service.ledger"), "{setup}");
    let looked = async || org.send(Request::raw(&format!("{at}/test"), "")).await.ok();
    assert_eq!(looked().await["ok"], false);
    let failed = until(&caller, "second.note", "failed").await;
    assert_eq!(failed["execution"]["error_code"], "connector_auth_failed");
    let fields = json!({ "conn_password": "conn-password", "read_password": "read-password" });
    let put = Request::post(&format!("{at}/credential"), &json!({ "fields": fields }));
    let set = org.send(put.by(http::Method::PUT)).await.ok();
    assert_eq!((&set["tools"]["new"], &set["tools"]["changed"]), (&json!(0), &json!(0)));
    let looked = looked().await;
    assert_eq!(looked["ok"], true, "{looked}");
    until(&caller, "second.note", "executed").await;
    send(&format!("{at}/disable"), because()).await.ok();
    caller.call("second.note", mark()).await.error(403, "connector_disabled", None);
    send(&format!("{at}/enable"), because()).await.ok();
    until(&caller, "second.note", "executed").await;
    // Another table makes another tool of it, which somebody has to accept.
    house.governed.run("alter table lab_notes alter mark type varchar(200000)").await;
    let tools = org.send(Request::raw(&format!("{at}/tools/refresh"), "")).await.ok();
    let tools = tools["data"].as_array().unwrap();
    let note = tools.iter().find(|tool| tool["name"] == "second.note").unwrap();
    assert_eq!(note["state"], "changed", "{note}");
    assert_ne!(note["digest"], note["pinned_digest"]);
    until(&caller, "second.note", "denied").await;
    let pin = json!({ "digest": note["digest"] });
    let pinned = send(&format!("{at}/tools/second.note/pin"), pin).await.ok();
    assert_eq!(pinned["state"], "pinned");
    until(&caller, "second.note", "executed").await;
    let archived = org.send(Request::post(&at, &because()).by(http::Method::DELETE)).await.ok();
    assert_eq!((&archived["status"], &archived["credential"]), (&json!("disabled"), &Value::Null));
    let subject = made["id"].as_str().unwrap();
    let told = org.read(&format!("/v1/ledger?subject={subject}&limit=50")).await;
    let told: Vec<_> = told["data"].as_array().unwrap().iter().map(|it| &it["type"]).collect();
    for word in ["created", "credential_set", "disabled", "enabled", "archived"] {
        assert!(told.contains(&&json!(format!("connector.{word}"))), "{word}: {told:?}");
    }
}

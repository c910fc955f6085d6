//! What becomes of an org whose database was put back: it is withheld, and goes on in a new log
//! that tells of the loss.

use std::{fs, time::Duration};

use serde_json::{Value, json};

use crate::{
    calls::note,
    house::{Agent, Database, House, Request, Service, Start, Verbs},
    upkeep::{copy, stop, until},
};

/// A house whose database was put back to a copy from before its last deeds.
struct Restored {
    house: House,
    agent: Agent,
    org_key: String,
    /// The database that is served from now on.
    database: Database,
    verbs: Verbs,
    /// An action that is still there, in its API form, and its org's log.
    kept: Value,
    log: String,
    /// What a caller kept of the lost part: a file of evidence and a checkpoint.
    evidence: String,
    checkpoint: String,
}

impl Restored {
    async fn new() -> Option<Self> {
        let house = House::new("").await?;
        let service = house.serve().await;
        let (agent, org_key) = (house.agent("restored").await, house.org_key().await);
        let kept = note(&service.caller(&agent.key), "kept").await;
        stop(service).await;
        let database = copy(&house.control, "backup").await;
        let service = house.serve().await;
        let caller = service.caller(&agent.key);
        let lost = note(&caller, "lost").await;
        let text = |answer: crate::house::Answer| String::from_utf8(answer.body.to_vec()).unwrap();
        let path = format!("/v1/deeds/{}/bundle", lost["deed"].as_str().unwrap());
        let evidence = text(caller.get(&path).await);
        let checkpoint = text(caller.get("/v1/log/checkpoint").await);
        let log = checkpoint.lines().next().unwrap().to_owned();
        stop(service).await;
        let verbs = Verbs::new(house.folder(), &database, "");
        Some(Self { house, agent, org_key, database, verbs, kept, log, evidence, checkpoint })
    }

    async fn serve(&self) -> Service {
        Service::start(&self.verbs, Start::Plain).await
    }

    async fn recover(&self) -> String {
        let words = ["log", "recover", "--org", &self.house.org, "--reason", "A disk died."];
        self.verbs.run(&words).await
    }

    async fn count(&self, sql: &str) -> i64 {
        self.database.count(sql).await
    }
}

#[tokio::test]
async fn an_org_whose_database_was_put_back_goes_on_in_a_log_that_tells_of_the_loss() {
    let Some(restored) = Restored::new().await else { return };
    let service = restored.serve().await;
    let (agent, org) = (service.caller(&restored.agent.key), service.caller(&restored.org_key));
    until(&service, "sealer", "degraded").await;
    agent.call("lab.note", json!({ "mark": "withheld" })).await.is(503);
    let size = restored.count("select max(size) from org_head").await;

    let said = restored.recover().await;
    assert!(said.contains(&format!("closed `{}` with {size} deeds", restored.log)), "{said}");
    // The service that runs takes the new log up by itself.
    until(&service, "sealer", "ok").await;
    let after = note(&agent, "after").await;
    let listed = restored.verbs.run(&["log", "list", "--org", &restored.house.org]).await;
    assert_eq!(listed.lines().count(), 2, "{listed}");
    assert!(listed.lines().next().unwrap().contains("closed"), "{listed}");

    // The first deed of the new log names the old one and what is lost of it.
    let state = org.get("/v1/ledger?kind=state&limit=50").await.ok();
    let told = state["data"].as_array().unwrap();
    let told = told.iter().find(|it| it["type"] == "log.recovered").expect("an event");
    let first = org.get(&format!("/v1/deeds/{}", told["deed"].as_str().unwrap())).await.ok();
    let (body, data) = (&first["body"], &first["body"]["admin"]["data"]);
    assert_eq!((&body["seq"], &body["admin"]["event"]), (&json!(0), &json!("log.recovered")));
    assert_eq!(body["actor"]["type"], "system");
    assert_eq!(body["subject"]["type"], "log");
    assert_eq!(data["log"], restored.log.as_str());
    let known: i64 = restored.checkpoint.lines().nth(1).unwrap().parse().unwrap();
    assert_eq!((&data["size"], &data["known_size"]), (&json!(size), &json!(known)));
    assert_eq!(data["lost_from_seq"], size);
    assert_eq!(data["lost_to_seq"], known - 1);
    assert_eq!(first["disclosures"].as_array().unwrap().len(), 1, "the reason is a commitment");

    the_old_log_is_read_and_proved(&restored, &service).await;
    let bundle = format!("/v1/deeds/{}/bundle", after["deed"].as_str().unwrap());
    let verified = org.get(&bundle).await.ok();
    assert_eq!(verified["deeds"].as_array().unwrap().len(), 1);
    let verified = agent.send(Request::post("/v1/deeds/verify", &verified)).await.ok();
    assert_eq!(verified["valid"], true, "{verified}");
    until(&service, "logs", "ok").await;
    stop(service).await;
    // Nothing more is to be recovered, and a start finds all well.
    let words = ["log", "recover", "--org", &restored.house.org];
    let output = restored.verbs.output(&words).await;
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8(output.stdout).unwrap().contains("needs no new log"));
    let check = restored.verbs.output(&["check"]).await;
    let said = String::from_utf8_lossy(&check.stdout);
    assert_eq!(check.status.code(), Some(0), "{said}");
    note(&restored.serve().await.caller(&restored.agent.key), "again").await;
}

async fn the_old_log_is_read_and_proved(restored: &Restored, service: &Service) {
    let org = service.caller(&restored.org_key);
    let log = &restored.log;
    let deed = restored.kept["deed"].as_str().unwrap();
    let evidence = org.get(&format!("/v1/deeds/{deed}/bundle?from=2")).await.ok();
    let verified = org.send(Request::post("/v1/deeds/verify", &evidence)).await.ok();
    assert_eq!(verified["valid"], true, "{verified}");
    let proof = org.get(&format!("/v1/log/proof?deed={deed}")).await;
    assert!(String::from_utf8_lossy(&proof.body).contains(log.as_str()));
    let head = org.get("/v1/ledger/head").await.ok();
    assert_ne!(head["log"], log.as_str());
    assert_eq!(head["closed_logs"][0]["log"], log.as_str(), "{head}");
    let closed = org.get(&format!("/v1/log/checkpoint?log={log}")).await;
    assert!(String::from_utf8_lossy(&closed.body).starts_with(log.as_str()));
    let size = head["closed_logs"][0]["size"].as_u64().unwrap();
    let grew = org.get(&format!("/v1/log/consistency?log={log}&from=2")).await.ok();
    assert_eq!((&grew["log"], &grew["to"]), (&json!(log), &json!(size)));
    org.get("/v1/log/checkpoint?log=nobody.example/logs/log_00000000000000000000000007")
        .await
        .error(400, "validation_failed", Some("log"));
    let old = org.get(&format!("/v1/deeds?log={log}&limit=100")).await.ok();
    assert_eq!(old["data"].as_array().unwrap().len() as u64, size);
    let both = org.get("/v1/deeds?limit=100").await.ok();
    assert!(both["data"].as_array().unwrap().len() as u64 > size, "{both}");
    let page = org.get("/v1/deeds?limit=2").await.ok();
    let next = page["next_cursor"].as_str().unwrap();
    let more = org.get(&format!("/v1/deeds?limit=100&cursor={next}")).await.ok();
    let ids = |list: &Value| -> Vec<Value> {
        list["data"].as_array().unwrap().iter().map(|it| it["id"].clone()).collect()
    };
    assert_eq!([ids(&page), ids(&more)].concat(), ids(&both), "pages go on across logs");
    // Each entry of the history leads to its own deed.
    let entries = org.get("/v1/ledger?limit=100").await.ok();
    let of_deeds = entries["data"].as_array().unwrap().iter();
    let of_deeds: Vec<_> = of_deeds.filter(|entry| entry["subject"]["kind"] == "deed").collect();
    assert!(of_deeds.len() > 3, "{entries}");
    for entry in of_deeds {
        assert_eq!(entry["subject"]["id"], entry["deed"], "{entry}");
    }
    let asked = org.send(Request::post("/v1/ledger/chain_checks", &json!({ "log": log }))).await;
    let asked = asked.is(202);
    let path = format!("/v1/ledger/chain_checks/{}", asked["id"].as_str().unwrap());
    loop {
        let check = org.get(&path).await.ok();
        if check["result"] != Value::Null {
            assert_eq!((&check["result"], &check["checked"]), (&json!("passed"), &json!(size)));
            break;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

#[tokio::test]
async fn whoever_kept_something_of_the_lost_part_can_show_it() {
    let Some(restored) = Restored::new().await else { return };
    restored.recover().await;
    let service = restored.serve().await;
    let org = service.caller(&restored.org_key);
    let text = |answer: crate::house::Answer| String::from_utf8(answer.body.to_vec()).unwrap();
    let deed = restored.kept["deed"].as_str().unwrap();
    let keys = text(org.get("/.well-known/service/keys.json").await);
    let closed = text(org.get(&format!("/v1/log/checkpoint?log={}", restored.log)).await);
    let now = text(org.get("/v1/log/checkpoint").await);
    let evidence = text(org.get(&format!("/v1/deeds/{deed}/bundle")).await);
    let house = &restored.house;
    let file = |name: &str, text: &str| house.write(name, text).to_str().unwrap().to_owned();
    let [keys, known, closed, now] =
        [("keys", &keys), ("known", &restored.checkpoint), ("closed", &closed), ("now", &now)]
            .map(|(name, text)| file(name, text));
    let (lost, kept) = (file("lost.json", &restored.evidence), file("kept.json", &evidence));
    let ended = async |words: &[&str]| {
        let output = restored.verbs.output(words).await;
        (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
    };
    // What was sealed and lost is still valid by itself.
    let (code, said) = ended(&["verify", &lost, "--keys", &keys]).await;
    assert_eq!(code, Some(0), "{said}");
    // The database's own evidence does not reach the checkpoint of the lost part.
    let words = ["verify", &kept, "--keys", &keys, "--known-checkpoint", &known];
    let (code, said) = ended(&words).await;
    assert_ne!(code, Some(0), "{said}");
    let (code, _) = ended(&["verify", &kept, "--keys", &keys]).await;
    assert_eq!(code, Some(0));
    // Neither the closed log nor the new one grew from it.
    for newer in [&closed, &now] {
        let (code, said) = ended(&["consistency", &known, newer, "--keys", &keys]).await;
        assert_ne!(code, Some(0), "{said}");
    }
}

#[tokio::test]
async fn a_second_instance_takes_the_new_log_and_one_without_a_memory_is_told_by_a_checkpoint() {
    let Some(restored) = Restored::new().await else { return };
    let (folder, house) = (restored.house.folder(), &restored.house);
    // The other instance has a copy of the seal keys and a memory of its own.
    let other = folder.join("other");
    fs::create_dir_all(other.join("seal.pem.checkpoints")).unwrap();
    fs::copy(folder.join("seal.pem"), other.join("seal.pem")).unwrap();
    let name = restored.log.rsplit('/').next().unwrap();
    let remembered = other.join(format!("seal.pem.checkpoints/{name}.checkpoint"));
    fs::write(&remembered, &restored.checkpoint).unwrap();
    let second = Verbs::new(&other, &restored.database, "");
    let service = Service::start(&second, Start::Plain).await;
    until(&service, "sealer", "degraded").await;
    // The operator's machine lost its memory, and somebody's checkpoint stands in for it.
    fs::remove_dir_all(folder.join("seal.pem.checkpoints")).unwrap();
    let words = ["log", "recover", "--org", &house.org];
    let output = restored.verbs.output(&words).await;
    assert_eq!(output.status.code(), Some(2), "nothing is known to be lost");
    let kept = house.write("kept.checkpoint", &restored.checkpoint);
    let words = [&words[..], &["--known-checkpoint", kept.to_str().unwrap()]].concat();
    restored.verbs.run(&words).await;
    until(&service, "sealer", "ok").await;
    note(&service.caller(&restored.agent.key), "by the second").await;
    stop(service).await;
    let service = Service::start(&second, Start::Plain).await;
    until(&service, "sealer", "ok").await;
    assert!(remembered.is_file(), "the old memory stays as evidence");
    note(&service.caller(&restored.agent.key), "by the second again").await;
}

#[tokio::test]
async fn a_recovery_that_is_killed_leaves_the_old_log_or_the_new_one() {
    let Some(restored) = Restored::new().await else { return };
    let org = &restored.house.org;
    let logs = "select count(*) from closed_log";
    for (point, closed) in [("append.unsent=kill", 0), ("append.unanswered=kill", 1)] {
        let words = ["log", "recover", "--org", org];
        let output = restored.verbs.armed(point, &words).await;
        assert!(!output.status.success(), "{point}");
        assert_eq!(restored.count(logs).await, closed, "{point}");
        let check = restored.verbs.output(&["check"]).await;
        let said = String::from_utf8_lossy(&check.stdout);
        assert_eq!(check.status.code(), Some(0), "{point}: {said}");
    }
    let service = restored.serve().await;
    until(&service, "sealer", "ok").await;
    note(&service.caller(&restored.agent.key), "in the new log").await;
}

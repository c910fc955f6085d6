//! The log of deeds as it is read, proved and checked from outside, and what becomes of a service
//! whose database was put back or changed behind its back.

use std::{fs, time::Duration};

use serde_json::{Value, json};

use crate::{
    calls::note,
    eventually::eventually,
    house::{House, Request, Service, Verbs},
    upkeep::{TOLD_WITHIN, copy, stop, until},
};

#[tokio::test]
async fn a_log_that_was_put_back_and_grew_differently_is_found_and_not_sealed_on() {
    let Some(house) = House::new("").await else { return };
    let service = house.serve().await;
    let agent = house.agent("restored").await;
    note(&service.caller(&agent.key), "before").await;
    stop(service).await;
    let backup = copy(&house.control, "backup").await;
    let service = house.serve().await;
    note(&service.caller(&agent.key), "lost").await;
    stop(service).await;
    // The backup is restored; an instance that knows nothing of the lost deeds seals others, more
    // than there were.
    let restored = Verbs::new(house.folder(), &backup, "");
    let kept = house.folder().join("seal.pem.checkpoints");
    fs::rename(&kept, house.folder().join("aside")).unwrap();
    let service = Service::start(&restored, crate::house::Start::Plain).await;
    for mark in ["other", "another", "and more"] {
        note(&service.caller(&agent.key), mark).await;
    }
    stop(service).await;
    fs::remove_dir_all(&kept).unwrap();
    fs::rename(house.folder().join("aside"), &kept).unwrap();
    // The instance that signed for the lost deeds comes back.
    let service = Service::start(&restored, crate::house::Start::Plain).await;
    let health = until(&service, "sealer", "degraded").await;
    assert_eq!(health["status"], "degraded");
    let caller = service.caller(&agent.key);
    let before = backup.count("select count(*) from deed").await;
    let refused = caller.call("lab.note", json!({ "mark": "after" })).await.is(503);
    assert_eq!(refused["error"]["code"], "service_unavailable");
    assert_eq!(backup.count("select count(*) from deed").await, before, "nothing is sealed");
    // What is there can be read, and nothing new is signed for it.
    caller.get("/v1/deeds").await.ok();
    caller.get("/v1/log/checkpoint").await.is(503);
    let log = service.log();
    assert!(
        log.contains("other deeds than the") && log.contains("Restore a newer backup"),
        "{log}"
    );
    stop(service).await;
    // With the newer database all is well again.
    let service = house.serve().await;
    note(&service.caller(&agent.key), "after all").await;
}

#[tokio::test]
async fn every_column_of_a_stored_deed_is_watched() {
    let Some(house) = House::new("").await else { return };
    let service = house.serve().await;
    let agent = house.agent("watched").await;
    let other = house.agent("other").await;
    note(&service.caller(&agent.key), "watched").await;
    let org_key = house.org_key().await;
    stop(service).await;
    let of = "org_id = (select org_id from action limit 1) and action_id is not null";
    let flips = [
        ("id", format!("update deed set id = org_id where {of}")),
        ("seq", format!("update deed set seq = seq + 1000 where {of}")),
        ("org_id", format!("update deed set org_id = id where {of}")),
        ("kind", format!("update deed set kind = 'amendment' where {of}")),
        (
            "agent_id",
            format!(
                "update deed set agent_id = (select id from agent where name = 'other') where {of}"
            ),
        ),
        ("no agent", format!("update deed set agent_id = null where {of}")),
        ("action_id", format!("update deed set action_id = null where {of}")),
        (
            "issued_at",
            format!("update deed set issued_at = issued_at + interval '1 ms' where {of}"),
        ),
        (
            "body",
            format!(
                "update deed set body = replace(body, '\"livemode\":true', '\"livemode\":false') where {of}"
            ),
        ),
        ("digest", format!("update deed set digest = sha256('another') where {of}")),
        (
            "signature",
            format!(
                "update deed set signature = set_byte(signature, 5, get_byte(signature, 5) # 1) where {of}"
            ),
        ),
        ("key_id", format!("update deed set key_id = 'another' where {of}")),
        ("gone", format!("delete from deed where {of}")),
        (
            "body and digest",
            format!(
                "update deed set body = replace(body, '\"livemode\":true', '\"livemode\":false'), digest = sha256(replace(body, '\"livemode\":true', '\"livemode\":false')::bytea) where {of}"
            ),
        ),
    ];
    assert_ne!(agent.id, other.id);
    for (number, (column, sql)) in flips.iter().enumerate() {
        let broken = copy(&house.control, &format!("flip-{number}")).await;
        broken.run(sql).await;
        let verbs = Verbs::new(house.folder(), &broken, "");
        let service = Service::start(&verbs, crate::house::Start::Plain).await;
        let caller = service.caller(&org_key);
        let asked = Request::post("/v1/ledger/chain_checks", &json!({}));
        let asked = caller.send(asked).await.is(202);
        let path = format!("/v1/ledger/chain_checks/{}", asked["id"].as_str().unwrap());
        let deadline = std::time::Instant::now() + TOLD_WITHIN;
        let done = loop {
            let check = caller.get(&path).await.ok();
            if check["result"] != Value::Null {
                break check;
            }
            assert!(std::time::Instant::now() < deadline, "{column}: {check}");
            tokio::time::sleep(Duration::from_millis(100)).await;
        };
        assert_eq!(done["result"], "failed", "{column}: {done}");
        assert!(done["first_bad"]["problem"].is_string(), "{column}: {done}");
        stop(service).await;
    }
}

#[tokio::test]
async fn a_deed_that_is_changed_is_told_of_by_health_and_by_an_event_and_reading_goes_on() {
    let Some(house) = House::new("").await else { return };
    let service = house.serve().await;
    let agent = house.agent("robbed").await;
    let sealed = note(&service.caller(&agent.key), "robbed").await;
    let org = service.caller(&house.org_key().await);
    until(&service, "logs", "ok").await;
    stop(service).await;
    let sql = "update deed set signature = set_byte(signature, 5, get_byte(signature, 5) # 1)
        where action_id is not null";
    house.control.run(sql).await;
    let service = house.serve().await;
    let org = service.caller(org.key.as_deref().unwrap());
    until(&service, "logs", "degraded").await;
    // Health knows it first, and the record a turn later.
    let broken = eventually(async || {
        let told = org.get("/v1/ledger?kind=state").await.ok();
        let rows = told["data"].as_array().unwrap().iter();
        let broken = rows.filter(|row| row["type"] == "chain.broken").count();
        (broken > 0).then_some(broken)
    });
    assert_eq!(broken.await, 1);
    let deed = sealed["deed"].as_str().unwrap();
    org.get(&format!("/v1/deeds/{deed}")).await.ok();
    note(&service.caller(&agent.key), "goes on").await;
}

#[tokio::test]
async fn the_log_is_read_proved_and_shown_as_evidence_from_outside() {
    let Some(house) = House::new("").await else { return };
    let service = house.serve().await;
    let (agent, stranger) = (house.agent("shown").await, house.agent("stranger").await);
    let (mine, other) = (service.caller(&agent.key), service.caller(&stranger.key));
    let org = service.caller(&house.org_key().await);
    let first = note(&mine, "first").await;
    let early = mine.get("/v1/log/checkpoint").await;
    let early = String::from_utf8(early.body.to_vec()).unwrap();
    let size: u64 = early.lines().nth(1).unwrap().parse().unwrap();
    note(&mine, "second").await;
    note(&other, "not mine").await;
    let deed = first["deed"].as_str().unwrap();

    // Evidence checks offline, against the checkpoint that was kept.
    let bundle = mine.get(&format!("/v1/deeds/{deed}/bundle?from={size}")).await.ok();
    let keys = mine.get("/.well-known/service/keys.json").await.ok();
    let files = [
        house.write("bundle.json", &bundle.to_string()),
        house.write("published.json", &keys.to_string()),
        house.write("early.checkpoint", &early),
    ];
    let [file, keys, known] = files.each_ref().map(|file| file.to_str().unwrap());
    let words = ["verify", file, "--keys", keys, "--known-checkpoint", known];
    let output = house.verbs.output(&words).await;
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stdout));
    let verified = mine.send(Request::post("/v1/deeds/verify", &bundle)).await.ok();
    assert_eq!(verified["valid"], true, "{verified}");

    // The exact bytes are those of the API form, named by their digest.
    let form = mine.get(&format!("/v1/deeds/{deed}")).await.ok();
    let exact = Request::get(&format!("/v1/deeds/{deed}"))
        .header("Accept", "application/vnd.service.deed+json");
    let exact = mine.send(exact).await;
    assert_eq!(exact.headers["etag"], format!("{}", form["digest"]).as_str());
    assert_eq!(serde_json::from_slice::<Value>(&exact.body).unwrap(), form["body"]);

    // An agent reads its own; what it may not read looks like what is not there.
    let foreign = other.get(&format!("/v1/deeds/{deed}")).await.is(404);
    assert_eq!(foreign["error"]["code"], "not_found");
    let all = org.get("/v1/deeds?limit=100").await.ok();
    let own = mine.get("/v1/deeds?limit=100").await.ok();
    assert_eq!(own["data"].as_array().unwrap().len(), 2);
    assert!(all["data"].as_array().unwrap().len() > 5, "{all}");
    let tool = org.get("/v1/deeds?tool=lab.*&verdict=VERIFIED").await.ok();
    assert_eq!(tool["data"].as_array().unwrap().len(), 3, "{tool}");
    let page = org.get("/v1/deeds?limit=2").await.ok();
    let next = page["next_cursor"].as_str().unwrap();
    let more = org.get(&format!("/v1/deeds?limit=2&cursor={next}")).await.ok();
    assert_eq!(more["data"][0]["seq"].as_u64(), page["data"][1]["seq"].as_u64().map(|seq| seq - 1));
    mine.get(&format!("/v1/deeds?cursor={next}")).await.is(400);

    // The proofs lead to the present checkpoint.
    let proof = mine.get(&format!("/v1/log/proof?deed={deed}")).await;
    assert!(proof.body.starts_with(b"c2sp.org/tlog-proof@v1\nindex "));
    let grew = mine.get(&format!("/v1/log/consistency?from={size}")).await.ok();
    assert_eq!(grew["from"], size);
    mine.get("/v1/log/consistency?from=1000000").await.is(400);
    let head = org.get("/v1/ledger/head").await.ok();
    assert_eq!(head["size"], grew["to"]);
    assert_eq!(head["unsealed_count"], 0);
}

#[tokio::test]
async fn the_history_is_searched_and_read_out_whole() {
    let Some(house) = House::new("").await else { return };
    let service = house.serve().await;
    let agent = house.agent("busy").await;
    let mine = service.caller(&agent.key);
    let org = service.caller(&house.org_key().await);
    let sealed = note(&mine, "one").await;
    mine.call("shop.orders.delete", json!({ "order": 5 })).await.is(403);
    let all = org.get("/v1/ledger?limit=100").await.ok();
    let entries = all["data"].as_array().unwrap();
    let places: Vec<_> = entries.iter().map(|it| it["seq"].as_u64().unwrap()).collect();
    assert!(places.windows(2).all(|pair| pair[0] == pair[1] + 1), "{places:?}");
    assert!(entries.iter().all(|it| it["deed"].is_string()), "each has its deed: {all}");
    let made = entries
        .iter()
        .find(|it| it["type"] == "agent.created" && it["subject"]["id"] == agent.id.as_str());
    let made = made.expect("the agent was made");
    assert_eq!(made["actor"]["kind"], "system");
    let about = org.get(&format!("/v1/deeds?subject={}", agent.id)).await.ok();
    assert_eq!(about["data"][0]["id"], made["deed"], "{about}");
    let of_agent = org.get(&format!("/v1/ledger?subject={}", agent.id)).await.ok();
    assert!(of_agent["data"].as_array().unwrap().contains(made), "{of_agent}");
    let of_action =
        org.get(&format!("/v1/ledger?subject={}", sealed["id"].as_str().unwrap())).await.ok();
    let types: Vec<_> = of_action["data"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["type"].as_str().unwrap())
        .collect();
    assert_eq!(types, ["deed.sealed", "action.witnessed", "action.created"]);
    let denied = org.get("/v1/ledger?tool=shop.*").await.ok();
    assert!(denied["data"].as_array().unwrap().iter().all(|it| it["tool"] == "shop.orders.delete"));
    let none = org.get("/v1/ledger?kind=witness").await.ok();
    assert_eq!(none["data"], json!([]));
    org.get("/v1/ledger?kind=gossip").await.is(400);

    let from = "2020-01-01T00:00:00Z";
    org.get(&format!("/v1/ledger/export?created_at[gte]={from}")).await.is(400);
    let day = all["data"][0]["at"].as_str().unwrap().split('T').next().unwrap();
    let path = format!("/v1/ledger/export?created_at[gte]={day}T00:00:00Z");
    let read = org.get(&path).await;
    let text = String::from_utf8(read.body.to_vec()).unwrap();
    let (lines, last) = text.trim_end().rsplit_once('\n').unwrap();
    let lines = format!("{lines}\n");
    let last: Value = serde_json::from_str(last).unwrap();
    assert_eq!(last["count"].as_u64().unwrap(), lines.lines().count() as u64);
    assert_eq!(last["sha256"], crypto::sha256(&lines).to_string());
    assert_eq!(lines.lines().count(), entries.len(), "from the first to the last");
    // The same as a table, with the columns named first.
    let table = org.get(&format!("{path}&format=csv")).await;
    assert_eq!(table.headers["content-type"], "text/csv; charset=utf-8; header=present");
    let table = String::from_utf8(table.body.to_vec()).unwrap();
    let (rows, last) = table.trim_end().rsplit_once("\r\n").unwrap();
    let rows = format!("{rows}\r\n");
    assert!(rows.starts_with("\"id\",\"seq\",\"at\","), "{rows}");
    let count = rows.lines().count() - 1;
    let told = format!("\"ledger_export\",\"{count}\",\"{}\",", crypto::sha256(&rows));
    assert!(last.starts_with(&told), "{last}");
    org.get(&format!("{path}&format=xlsx")).await.error(400, "validation_failed", Some("format"));
    // Who acted.
    for (actor, kind) in [(agent.id.as_str(), "agent"), ("operator", "system")] {
        let by = org.get(&format!("/v1/ledger?limit=100&actor={actor}")).await.ok();
        let all_of = all["data"].as_array().unwrap().iter();
        let all_of: Vec<_> = all_of.filter(|it| it["actor"]["id"] == actor).collect();
        let by: Vec<_> = by["data"].as_array().unwrap().iter().collect();
        assert_eq!(by, all_of, "{actor}");
        assert!(!by.is_empty() && by.iter().all(|it| it["actor"]["kind"] == kind), "{by:?}");
    }
    org.get("/v1/ledger?actor=a%20b").await.error(400, "validation_failed", Some("actor"));
    let told = org.get("/v1/ledger?limit=3").await.ok();
    let told: Vec<_> =
        told["data"].as_array().unwrap().iter().map(|it| it["type"].as_str().unwrap()).collect();
    assert!(told.contains(&"ledger.exported"), "{told:?}");
}

//! Webhooks that arrive: real receivers, good ones and bad ones, and several instances.

mod listen;
mod page;

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    time::Duration,
};

use model::Timestamp;
use serde_json::{Value, json};

use crate::{
    eventually::until,
    house::{Browser, Caller, House, Message, Request, Start, Stream, name},
    receiver::{Manner, Receiver, Seen},
};

/// What fails is tried once more and no more, in a time that tests can wait for.
const SETTINGS: &str = "webhooks: {timeout: 1s, max_attempts: 1}\n";

async fn endpoint(admin: &Caller, url: &str, types: &[&str]) -> Value {
    let body = json!({ "url": url, "types": types });
    admin.send(Request::post("/v1/webhook_endpoints", &body)).await.is(201)
}

/// The deliveries of an endpoint by their status.
async fn statuses(admin: &Caller, id: &Value) -> BTreeMap<String, usize> {
    let path = format!("/v1/webhook_endpoints/{}/deliveries?limit=100", id.as_str().unwrap());
    let mut counts = BTreeMap::new();
    for delivery in admin.read(&path).await["data"].as_array().unwrap() {
        *counts.entry(delivery["status"].as_str().unwrap().to_owned()).or_default() += 1;
    }
    counts
}

/// The letters that name this endpoint.
fn letters(house: &House, id: &Value) -> Vec<String> {
    let files = fs::read_dir(house.folder().join("outbox")).into_iter().flatten().flatten();
    let letters = files.filter_map(|file| fs::read_to_string(file.path()).ok());
    letters.filter(|letter| letter.contains(id.as_str().unwrap())).collect()
}

/// The ids of the org's events behind this place, in the order of commits.
async fn events(house: &House, behind: i64) -> Vec<String> {
    let sql = "select id, seq from event where seq > $1 order by seq";
    let rows = house.control.client().await.query(sql, &[&behind]).await.unwrap();
    rows.iter().map(|row| model::EventId::from_uuid(row.get(0)).to_string()).collect()
}

async fn last_event(house: &House) -> i64 {
    house.control.count("select max(seq) from event").await
}

/// How many of these bodies the stream had, as the same envelope: it may show the object as it stands
/// by then, and says whether it does.
fn same_as_streamed(seen: &[Seen], streamed: Vec<Message>) -> usize {
    let mut count = 0;
    for Message { mut data, .. } in streamed {
        let Some(seen) = seen.iter().find(|it| data["id"] == it.header("webhook-id")) else {
            continue;
        };
        let body: Value = serde_json::from_str(&seen.body).unwrap();
        let is_hydrated = data.as_object_mut().unwrap().remove("hydrated").unwrap();
        if is_hydrated == json!(true) {
            let object = data["data"]["object"].take();
            assert_eq!(object["id"], body["data"]["object"]["id"]);
            data["data"]["object"] = body["data"]["object"].clone();
        }
        assert_eq!(data, body);
        count += 1;
    }
    count
}

#[tokio::test(flavor = "multi_thread")]
async fn every_event_arrives_once_signed_in_order_however_many_instances_post() {
    let Some(house) = House::new(SETTINGS).await else { return };
    let agent = house.agent(&name()).await;
    let key = house.org_key().await;
    let (mut one, two) = (house.serve().await, house.serve().await);
    let admin = one.caller(&key);
    let receiver = Receiver::start(Manner::Takes).await;
    let made = endpoint(&admin, &receiver.url(), &[]).await;
    let behind = last_event(&house).await;
    let mut stream = Stream::open(&admin, Request::get("/v1/events")).await;
    let callers = [one.caller(&agent.key), two.caller(&agent.key)];
    let mut last = Value::Null;
    for round in 0..20 {
        let caller = &callers[round % 2];
        last = caller.executed("lab.note", json!({ "mark": format!("note {round}") })).await;
    }
    let expected = events(&house, behind).await;
    assert!(expected.len() >= 40, "{}", expected.len());
    until("every event arrives", async || receiver.seen().len() >= expected.len()).await;
    let seen = receiver.seen();
    let ids: Vec<_> = seen.iter().map(|it| it.header("webhook-id").to_owned()).collect();
    assert_eq!(ids, expected, "once each, in the order of commits");
    for one in &seen {
        assert!(one.is_signed(made["secret"].as_str().unwrap()), "{one:?}");
        let body: Value = serde_json::from_str(&one.body).unwrap();
        assert_eq!(body["id"], one.header("webhook-id"));
        assert_eq!(body["type"], one.header("service-event-type"));
        assert_eq!(one.header("content-type"), "application/json");
    }
    assert_eq!(same_as_streamed(&seen, stream.until_sealed(&last).await), expected.len());
    // What the API shows as posted is what came, byte for byte.
    let newest =
        format!("/v1/webhook_endpoints/{}/deliveries?limit=40", made["id"].as_str().unwrap());
    let mut shown = Vec::new();
    until("deliveries are noted", async || {
        shown = admin.read(&newest).await["data"].as_array().unwrap().clone();
        shown.len() == 40
    })
    .await;
    for delivery in shown {
        let came = seen.iter().find(|it| delivery["event"] == it.header("webhook-id")).unwrap();
        assert_eq!(delivery["body"], came.body);
    }
    // A process that was killed leaves its endpoint to the others once its claim is over.
    one.kill();
    let before = last_event(&house).await;
    callers[1].executed("lab.note", json!({ "mark": "after" })).await;
    let more = events(&house, before).await;
    let all: BTreeSet<_> = expected.into_iter().chain(more).collect();
    until("what happened after arrives, too", async || {
        let seen = receiver.seen().into_iter().map(|it| it.header("webhook-id").to_owned());
        seen.collect::<BTreeSet<_>>() == all
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn receivers_that_misbehave_are_tried_again_and_delay_nobody() {
    let Some(house) = House::new(SETTINGS).await else { return };
    let agent = house.agent(&name()).await;
    let key = house.org_key().await;
    let service = house.serve().await;
    let admin = service.caller(&key);
    let bad = [
        (Manner::Hangs, "timeout", Value::Null),
        (Manner::Answers(301), "redirect", json!(301)),
        (Manner::Answers(410), "http_status", json!(410)),
        (Manner::Answers(500), "http_status", json!(500)),
        (Manner::Resets, "connection", Value::Null),
        (Manner::Drips, "timeout", Value::Null),
    ];
    let mut made = Vec::new();
    for (manner, class, status) in bad {
        let receiver = Receiver::start(manner).await;
        let endpoint = endpoint(&admin, &receiver.url(), &["action.witnessed"]).await;
        made.push((receiver, endpoint["id"].clone(), class, status));
    }
    // A success whose body has no end is one: nobody reads it.
    let gigabyte = Receiver::start(Manner::SendsAGigabyte).await;
    let endless = endpoint(&admin, &gigabyte.url(), &["action.witnessed"]).await["id"].clone();
    let good = Receiver::start(Manner::Takes).await;
    endpoint(&admin, &good.url(), &["action.witnessed"]).await;
    service.caller(&agent.key).executed("lab.note", json!({ "mark": "one" })).await;
    until("the good one gets it", async || good.seen().len() == 1).await;
    until("the endless answer is a success", async || {
        statuses(&admin, &endless).await.get("delivered") == Some(&1)
    })
    .await;
    for (receiver, id, class, status) in &made {
        until(class, async || statuses(&admin, id).await.get("retrying") == Some(&1)).await;
        let path = format!("/v1/webhook_endpoints/{}", id.as_str().unwrap());
        assert_eq!(admin.read(&path).await["status"], "failing");
        let listed = admin.read(&format!("{path}/deliveries")).await;
        let delivery = &listed["data"][0];
        assert_eq!((&delivery["error_class"], &delivery["http_status"]), (&json!(class), status));
        // Whatever `Retry-After` says.
        let at = |text: &Value| text.as_str().unwrap().parse::<Timestamp>().unwrap();
        let wait = at(&delivery["next_attempt_at"]).since(at(&delivery["attempts"][0]["at"]));
        assert_eq!(wait, Duration::from_secs(30));
        receiver.now(Manner::Takes);
    }
    // They have mended their ways by the time of the next try.
    for (receiver, id, class, _) in &made {
        until(class, async || statuses(&admin, id).await.get("delivered") == Some(&1)).await;
        let seen = receiver.seen();
        let ids: BTreeSet<_> = seen.iter().map(|it| it.header("webhook-id")).collect();
        assert_eq!((seen.len(), ids.len()), (2, 1), "{class}: twice, under one id");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_inside_is_refused_unless_the_operator_allows_it() {
    let Some(house) = House::new(SETTINGS).await else { return };
    let key = house.org_key().await;
    let guarded = house.verbs.with("SERVICE_ALLOW_PRIVATE_NETWORKS", "false");
    let service = crate::house::Service::start(&guarded, Start::Plain).await;
    let admin = service.caller(&key);
    for url in [
        "https://169.254.169.254/latest",
        "https://10.1.2.3",
        "https://[::1]/",
        "https://127.0.0.1",
    ] {
        let body = json!({ "url": url });
        let refused = admin.send(Request::post("/v1/webhook_endpoints", &body)).await;
        refused.error(400, "egress_refused", Some("url"));
    }
    let plain = json!({ "url": "http://example.com" });
    let refused = admin.send(Request::post("/v1/webhook_endpoints", &plain)).await;
    refused.error(400, "validation_failed", Some("url"));
    drop(service);
    let open = guarded.with("SERVICE_EGRESS_ALLOW_CIDRS", "10.1.0.0/16");
    let service = crate::house::Service::start(&open, Start::Plain).await;
    let inside = json!({ "url": "https://10.1.2.3" });
    service.caller(&key).send(Request::post("/v1/webhook_endpoints", &inside)).await.is(201);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_endpoint_whose_instance_dies_before_disabling_it_is_disabled_once_and_says_so() {
    if crate::house::binaries().is_none_or(|binaries| binaries.failpoints.is_none()) {
        eprintln!("left out: it needs `CHANCERY_FAILPOINT_BIN`; `cargo xtask test` sets it");
        return;
    }
    let Some(house) = House::new(SETTINGS).await else { return };
    let agent = house.agent(&name()).await;
    let key = house.org_key().await;
    let mut doomed = house.start(Start::Holdable).await;
    Browser::owner(&house, &doomed, "olga@example.com").await;
    let admin = doomed.caller(&key);
    let receiver = Receiver::start(Manner::Answers(500)).await;
    let id = endpoint(&admin, &receiver.url(), &["action.witnessed"]).await["id"].clone();
    let caller = doomed.caller(&agent.key);
    for mark in ["fails", "fails too"] {
        caller.executed("lab.note", json!({ "mark": mark })).await;
    }
    until("both fail", async || statuses(&admin, &id).await.get("retrying") == Some(&2)).await;
    // Its last failure was four days ago and its events failed several times, so the next failure ends
    // more than it may fail for. Whoever still serves it would note what it knows from before.
    let longer = "update webhook_lane set failing_since = failing_since - interval '4 days', \
                  failed_at = failed_at - interval '4 days', failed_event = 1, \
                  failed_other_event = 2 where lease_until <= now()";
    let control = house.control.client().await;
    until("nobody serves it", async || control.execute(longer, &[]).await.unwrap() == 1).await;
    doomed.arm("webhook.noted");
    // One is tried again, and no call is under way: who is held might hold up its answer.
    let again = "with first as (select min(seq) as seq from webhook_delivery), \
                     due as (update webhook_lane set due_at = now()) \
                 update webhook_delivery set next_at = case when webhook_delivery.seq = first.seq \
                     then now() else now() + interval '1 hour' end from first";
    house.control.run(again).await;
    let noted = "select count(*) from webhook_lane where failed_at > now() - interval '1 day'";
    until("that fails too", async || house.control.count(noted).await == 1).await;
    assert!(doomed.is_held("webhook.noted", Duration::from_secs(20)).await);
    doomed.kill();
    let (one, two) = (house.serve().await, house.serve().await);
    let admin = one.caller(&key);
    let path = format!("/v1/webhook_endpoints/{}", id.as_str().unwrap());
    until("it is disabled", async || admin.read(&path).await["status"] == "disabled").await;
    two.caller(&agent.key).executed("lab.note", json!({ "mark": "untold" })).await;
    // What waits is swept every ten minutes, and whenever an instance starts.
    let _three = house.serve().await;
    until("what waited is dropped", async || {
        let statuses = statuses(&admin, &id).await;
        statuses.values().sum::<usize>() == 2 && !statuses.contains_key("retrying")
    })
    .await;
    until("its owner gets one mail", async || letters(&house, &id).len() == 1).await;
    let letter = &letters(&house, &id)[0];
    assert!(letter.contains("To: olga@example.com") && !letter.contains("/hook"), "{letter}");
    let is_it = |body: &Value| body["admin"]["event"] == "webhook.disabled";
    let deeds = house.deeds().await.iter().filter(|deed| is_it(&deed.json())).count();
    assert_eq!((deeds, receiver.seen().len()), (1, 3));
}

//! A service that is told to stop: it ends what it has begun, and leaves a checkpoint behind.

use std::{fs, path::PathBuf, time::Duration};

use rustix::process::Signal;
use serde_json::json;

use crate::{
    calls::assert_sealed,
    house::{House, Request, Stream, call, lines},
};

const STOPPED_WITHIN: Duration = Duration::from_secs(10);

#[tokio::test]
async fn a_stop_ends_streams_and_waits_and_seals_what_runs() {
    let Some(house) = House::new("").await else { return };
    let mut service = house.serve().await;
    let agent = house.agent("last").await;
    let caller = service.caller(&agent.key);
    let mut stream = Stream::open(&caller, Request::get("/v1/events")).await;
    let held = json!({ "order": 14, "amount": 77, "reason": "broken" });
    let held = caller.call("shop.refunds.create", held).await.is(202);
    let waiting = {
        let path = format!("/v1/actions/{}?wait=25", held["id"].as_str().unwrap());
        let caller = caller.clone();
        tokio::spawn(async move { caller.get(&path).await })
    };
    let args = json!({ "mark": "last", "milliseconds": 1500 });
    let running = {
        let (caller, body) = (caller.clone(), call("lab.slow-note", args));
        let request = Request::post("/v1/actions", &body).keyed("last");
        tokio::spawn(async move { caller.send(request).await })
    };
    tokio::time::sleep(Duration::from_millis(400)).await;
    service.signal(Signal::TERM);
    // Both requests are answered: the wait as it stands, the call with how far it is.
    assert_eq!(waiting.await.unwrap().ok()["status"], "pending_approval");
    let answer = running.await.unwrap();
    let action = answer.json();
    assert!(matches!(answer.status.as_u16(), 200 | 202), "{action}");
    while stream.try_next().await.is_some() {}
    let status = service.ended(STOPPED_WITHIN).await;
    assert!(status.success(), "{status:?}: {}", service.log());
    assert_eq!(house.notes("last").await, 1, "what runs is run to its end");
    // Another instance finds it sealed; nothing is left to be taken over.
    let next = house.serve().await;
    let path = format!("/v1/actions/{}", action["id"].as_str().unwrap());
    let sealed = next.caller(&agent.key).get(&path).await.ok();
    assert_sealed(&sealed, "executed");
    assert_eq!(sealed["execution"]["status"], "succeeded");
}

#[tokio::test]
async fn a_second_signal_stops_at_once_and_the_next_start_ends_the_rest() {
    let Some(house) = House::new("").await else { return };
    let mut service = house.serve().await;
    let agent = house.agent("hurried").await;
    let mut body = call("lab.slow-note", json!({ "mark": "hurried", "milliseconds": 20_000 }));
    body["wait"] = json!(0.1);
    let caller = service.caller(&agent.key);
    let running = caller.send(Request::post("/v1/actions", &body)).await.is(202);
    service.signal(Signal::TERM);
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert!(service.runs(), "it did not wait for what runs");
    service.signal(Signal::TERM);
    service.ended(Duration::from_secs(3)).await;
    let next = house.serve().await;
    let path = format!("/v1/actions/{}?wait=25", running["id"].as_str().unwrap());
    assert_sealed(&next.caller(&agent.key).get(&path).await.ok(), "failed");
    assert_eq!(house.notes("hurried").await, 0);
}

/// The checkpoint that the service kept of the house's log.
fn checkpoint(house: &House, origin: &str) -> PathBuf {
    let folder = house.folder().join("seal.pem.checkpoints");
    let notes = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let of_log = |path: &PathBuf| fs::read_to_string(path).unwrap().starts_with(origin);
    notes.into_iter().find(of_log).expect("a checkpoint of the org's log")
}

#[tokio::test]
async fn a_stopped_service_leaves_a_checkpoint_that_vouches_for_its_log() {
    let Some(house) = House::new("").await else { return };
    let mut service = house.serve().await;
    let caller = service.caller(&house.agent("kept").await.key);
    for number in 0..3 {
        caller.executed("lab.note", json!({ "mark": format!("kept {number}") })).await;
    }
    let published = caller.get("/.well-known/service/keys.json").await.ok();
    service.signal(Signal::TERM);
    assert!(service.ended(STOPPED_WITHIN).await.success());
    let log = house.deeds().await;
    let origin = log[0].json()["log"].as_str().unwrap().to_owned();
    let known = checkpoint(&house, &origin);
    let keys = house.write("published.json", &published.to_string());
    let verify = async |deeds: &str| {
        let file = house.write("log.jsonl", deeds);
        let words = ["verify", file.to_str().unwrap(), "--keys", keys.to_str().unwrap()];
        let known = ["--known-checkpoint", known.to_str().unwrap()];
        let output = house.verbs.output(&[words.as_slice(), &known].concat()).await;
        output.status.code().unwrap()
    };
    assert_eq!(verify(&lines(&log)).await, 0);
    assert_eq!(verify(&lines(&log[..log.len() - 1])).await, 1, "a cut tail is found");
}

#[tokio::test]
async fn a_database_that_lost_deeds_is_not_sealed_on() {
    let Some(house) = House::new("").await else { return };
    let mut service = house.serve().await;
    let caller = service.caller(&house.agent("robbed").await.key);
    caller.executed("lab.note", json!({ "mark": "first" })).await;
    service.signal(Signal::TERM);
    assert!(service.ended(STOPPED_WITHIN).await.success());
    // As a backup from before would have it.
    let tail = "with gone as (delete from deed where seq = (select max(seq) from deed
                    where org_id = (select org_id from action limit 1))
                  and org_id = (select org_id from action limit 1) returning org_id, seq)
                update org_head set size = gone.seq from gone where org_head.org_id = gone.org_id";
    house.control.run(tail).await;
    let next = house.serve().await;
    let health = next.anonymous().get("/v1/health").await.ok();
    assert_eq!(
        (&health["status"], &health["checks"]["sealer"]),
        (&json!("degraded"), &json!("degraded"))
    );
    let caller = next.caller(&caller.key.unwrap());
    caller.call("lab.note", json!({ "mark": "second" })).await.is(503);
    assert_eq!(house.notes("second").await, 0);
    assert!(next.log().contains("were signed for"), "{}", next.log());
}

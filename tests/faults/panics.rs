//! What panics costs itself: the same process ends what it left behind, and its workers go on.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::{
    calls::assert_sealed,
    edge::authorized,
    house::{Caller, House, POLICY, Request, Service, Start, binaries, call},
};

/// Longer than a lease and the sweep after it.
const ENDED_WITHIN: Duration = Duration::from_mins(1);
/// Longer than a request or a sweep takes to come by.
const COMES_BY_WITHIN: Duration = Duration::from_secs(20);

async fn service(house: &House) -> Option<Service> {
    binaries().filter(|binaries| binaries.failpoints.is_some())?;
    Some(house.start(Start::Holdable).await)
}

/// The action once it is sealed.
async fn sealed(caller: &Caller, action: &Value) -> Value {
    let deadline = Instant::now() + ENDED_WITHIN;
    loop {
        let now = caller.detail(action).await;
        if now["state"] == "sealed" {
            return now;
        }
        assert!(Instant::now() < deadline, "{now}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

#[tokio::test]
async fn a_run_that_panics_is_taken_over_by_the_instance_that_ran_it() {
    let Some(house) = House::new("").await else { return };
    let agent = house.agent("unlucky").await;
    let Some(service) = service(&house).await else { return };
    let caller = service.caller(&agent.key);
    service.arm("gate.answered");
    let mut body = call("lab.note", json!({ "mark": "a run that panics" }));
    body["wait"] = json!(0);
    let begun = caller.send(Request::post("/v1/actions", &body)).await.is(202);
    assert!(service.is_held("gate.answered", COMES_BY_WITHIN).await);
    service.panics("gate.answered");
    // The tool had committed, and the governed database says so.
    assert_sealed(&sealed(&caller, &begun).await, "executed");
    assert_sealed(&caller.executed("lab.note", json!({ "mark": "the next" })).await, "executed");
}

#[tokio::test]
async fn a_worker_that_panics_begins_again() {
    let Some(house) = House::new("gate: { edge_result_timeout: 1s }\n").await else { return };
    let agent = house.agent("silent").await;
    let Some(service) = service(&house).await else { return };
    let caller = service.caller(&agent.key);
    service.arm("edge.report_overdue");
    let late = authorized(&caller).await;
    assert!(service.is_held("edge.report_overdue", COMES_BY_WITHIN).await);
    service.panics("edge.report_overdue");
    let ended = sealed(&caller, &late).await;
    assert_eq!(ended["execution"]["error_code"], "edge_lost", "{ended}");
}

#[tokio::test]
async fn a_service_that_gets_no_more_threads_answers_and_goes_on() {
    if !rustix::process::geteuid().is_root() {
        eprintln!("left out: only root may start a service as an account of its own");
        return;
    }
    let Some(house) = House::new("").await else { return };
    let (agent, org_key) = (house.agent("crowded").await, house.org_key().await);
    // Its first thread, one for each processor, and one that waits for disks and names; and two for what
    // gives way, one of which waits.
    let at_rest = 4 + std::thread::available_parallelism().unwrap().get();
    let mut service = house.start(Start::Threads(at_rest)).await;
    let (caller, org) = (service.caller(&agent.key), service.caller(&org_key));
    // What an agent sends, what is worked on in threads of its own, and what is signed and kept.
    let document = json!({ "document": POLICY });
    for _ in 0..4 {
        let (one, other, lint, checkpoint) = tokio::join!(
            caller.call("lab.note", json!({ "mark": "without a thread" })),
            caller.call("lab.note", json!({ "mark": "without a thread" })),
            org.send(Request::post("/v1/policies/lint", &document)),
            org.get("/v1/log/checkpoint"),
        );
        for answer in [one, other, lint, checkpoint] {
            assert_eq!(answer.status, 200, "{answer:?}");
        }
    }
    assert!(service.runs(), "{}", service.log());
    assert!(!service.log().contains("panicked"), "{}", service.log());
}

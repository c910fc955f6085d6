//! Races, five hundred rounds of each: of all who try, one wins, and everybody is told the same.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use tokio::{sync::Semaphore, task::JoinSet};

use crate::{
    edge::{edge_call, report},
    house::{Caller, House, Plan, Request, Service, Site, Wire, call},
    kill::Evidence,
};

const ROUNDS: usize = 500;
const CLIENTS: usize = 64;
/// Requests on the way at a time, of races that send all of theirs at a moment.
static IN_FLIGHT: Semaphore = Semaphore::const_new(256);

/// Waits for every task and returns what they did.
async fn all<T: 'static>(mut tasks: JoinSet<T>) -> Vec<T> {
    let mut done = Vec::new();
    while let Some(task) = tasks.join_next().await {
        done.push(task.unwrap());
    }
    done
}

async fn services(house: &House, count: usize) -> Vec<Service> {
    let mut services = Vec::new();
    for _ in 0..count {
        services.push(house.serve().await);
    }
    services
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_64_clients_on_three_instances_with_one_key_one_acts_each_time() {
    let Some(house) = House::new("").await else { return };
    let services = services(&house, 3).await;
    let agent = house.agent("racer").await;
    let mut clients = JoinSet::new();
    for number in 0..CLIENTS {
        let caller = services[number % services.len()].caller(&agent.key);
        // Whoever waits for the first of a round is in the next round at the same time as it.
        clients.spawn(async move {
            let mut ids = Vec::with_capacity(ROUNDS);
            for round in 0..ROUNDS {
                ids.push(acted(&caller, &format!("race {round}")).await);
            }
            ids
        });
    }
    let clients = all(clients).await;
    let mut ids = BTreeSet::new();
    for round in 0..ROUNDS {
        let told: BTreeSet<_> = clients.iter().map(|ids| &ids[round]).collect();
        assert_eq!(told.len(), 1, "round {round}: {told:?}");
        ids.extend(told);
    }
    assert_eq!(ids.len(), ROUNDS);
    let twice = "select count(*) from (select mark from lab_notes group by mark
                     having count(*) > 1) as t";
    assert_eq!(house.governed.count(twice).await, 0);
    assert_eq!(house.governed.count("select count(*) from lab_notes").await, 500);
    assert_eq!(house.control.count("select count(*) from action").await, 500);
    assert_eq!(house.broken_invariants().await, Vec::<String>::new());
    house.sound_log(&services[0].anonymous()).await;
}

/// Sends the call and returns the id of the action that answers it.
async fn acted(caller: &Caller, mark: &str) -> String {
    let body = call("lab.note", json!({ "mark": mark }));
    let answer = caller.glance(Request::post("/v1/actions", &body).keyed(mark)).await;
    let Value::String(id) = answer.ok()["id"].clone() else { panic!("{answer:?}") };
    id
}

/// How an action's attempts were answered, and what it is now.
#[derive(Debug)]
struct Outcome {
    statuses: BTreeMap<u16, usize>,
    now: Value,
}

/// Sends the requests around a moment, spread over this span before and after it, and returns how
/// they were answered and how the action stands when its end is due.
async fn around(
    callers: &[Caller],
    action: &Value,
    moment: Instant,
    spread: Duration,
    requests: Vec<Request>,
) -> Outcome {
    let mut tries = JoinSet::new();
    let count = u32::try_from(requests.len()).unwrap();
    let first = moment.checked_sub(spread).unwrap();
    for (number, request) in (0_u32..).zip(requests) {
        let caller = callers[number as usize % callers.len()].clone();
        tokio::time::sleep_until((first + spread * 2 * number / count).into()).await;
        tries.spawn(async move {
            // A service takes so many connections and no more.
            let _permit = IN_FLIGHT.acquire().await.unwrap();
            caller.glance(request).await.status.as_u16()
        });
    }
    let mut statuses = BTreeMap::new();
    for status in all(tries).await {
        *statuses.entry(status).or_default() += 1;
    }
    Outcome { statuses, now: sealed(&callers[0], action).await }
}

/// The action once it is sealed, which the sweep sees to.
async fn sealed(caller: &Caller, action: &Value) -> Value {
    let path = format!("/v1/actions/{}", action["id"].as_str().unwrap());
    let patience = Instant::now() + Duration::from_secs(20);
    loop {
        let now = {
            let _permit = IN_FLIGHT.acquire().await.unwrap();
            caller.glance(Request::get(&path)).await.ok()
        };
        if now["state"] == "sealed" {
            return now;
        }
        assert!(Instant::now() < patience, "not sealed: {now}");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_64_reports_at_the_deadline_one_is_taken_or_the_sweep_ends_the_action() {
    let Some(house) = House::new("gate: { edge_result_timeout: 1s }\n").await else { return };
    let services = services(&house, 2).await;
    let agent = house.agent("edge").await;
    let callers: Arc<[Caller]> =
        services.iter().map(|service| service.caller(&agent.key)).collect();
    let at_once = Arc::new(Semaphore::new(20));
    let mut rounds = JoinSet::new();
    for round in 0..ROUNDS {
        let (callers, at_once) = (Arc::clone(&callers), Arc::clone(&at_once));
        rounds.spawn(async move {
            let _permit = at_once.acquire().await.unwrap();
            let body = edge_call(&json!({ "round": round }));
            let action = callers[0].glance(Request::post("/v1/actions", &body)).await.ok();
            let deadline = Instant::now() + Duration::from_secs(1);
            let reports =
                (0..CLIENTS).map(|number| report(&action, json!({ "result": number }))).collect();
            around(&callers, &action, deadline, Duration::from_millis(400), reports).await
        });
    }
    let rounds = all(rounds).await;
    let taken = |round: &&Outcome| round.statuses.contains_key(&200);
    for round in &rounds {
        let Outcome { statuses, now } = round;
        let wins = statuses.get(&200).copied().unwrap_or_default();
        assert!(wins <= 1, "{statuses:?}");
        assert_eq!(statuses.get(&409), Some(&(CLIENTS - wins)), "{statuses:?}");
        assert_eq!(now["deeds"].as_array().unwrap().len(), 1, "{now}");
        let end = if wins == 1 { "succeeded" } else { "unknown" };
        assert_eq!(now["execution"]["status"], end, "{statuses:?}: {now}");
    }
    let taken = rounds.iter().filter(taken).count();
    println!("{taken} of {ROUNDS} reports came in time");
    assert_eq!(house.broken_invariants().await, Vec::<String>::new());
    house.sound_log(&services[0].anonymous()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_a_cancellation_and_an_expiry_at_the_same_time_one_ends_the_action() {
    let Some(house) = House::new("approvals: { default_expires_in: 1m }\n").await else { return };
    let services = services(&house, 2).await;
    let agent = house.agent("waiting").await;
    let callers: Arc<[Caller]> =
        services.iter().map(|service| service.caller(&agent.key)).collect();
    let mut rounds = JoinSet::new();
    for _ in 0..ROUNDS {
        let args = json!({ "order": 10, "amount": 60, "reason": "broken" });
        let body = call("shop.refunds.create", args);
        let action = callers[0].glance(Request::post("/v1/actions", &body)).await.is(202);
        let expires = Instant::now() + Duration::from_mins(1);
        let callers = Arc::clone(&callers);
        rounds.spawn(async move {
            let path = format!("/v1/actions/{}/cancel", action["id"].as_str().unwrap());
            let cancels = vec![Request::raw(&path, ""); 4];
            around(&callers, &action, expires, Duration::from_millis(900), cancels).await
        });
    }
    let mut ends: BTreeMap<String, usize> = BTreeMap::new();
    for Outcome { statuses, now } in all(rounds).await {
        let wins = statuses.get(&200).copied().unwrap_or_default();
        assert_eq!(statuses.get(&409).copied().unwrap_or_default(), 4 - wins, "{statuses:?}");
        let (status, approval) =
            if wins == 1 { ("cancelled", "cancelled") } else { ("denied", "expired") };
        assert_eq!(now["status"], status, "{statuses:?}: {now}");
        assert_eq!(now["approval"]["status"], approval, "{now}");
        assert_eq!(now["deeds"].as_array().unwrap().len(), 1, "{now}");
        *ends.entry(approval.to_owned()).or_default() += 1;
    }
    println!("{ends:?}");
    assert_eq!(house.broken_invariants().await, Vec::<String>::new());
    house.sound_log(&services[0].anonymous()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_whose_answer_is_dropped_is_never_guessed() {
    let Some(common) = Site::common().await else { return };
    let wires = [Wire::before(&common.cluster).await, Wire::before(&common.cluster).await];
    let [control, governed] = wires.each_ref().map(|wire| common.reached_at(wire.cluster.clone()));
    let plan = Plan { control: &control, governed: &governed, settings: "" };
    let house = House::build(plan).await;
    let service = house.serve().await;
    let caller = service.caller(&house.agent("doubtful").await.key);
    let mut rounds = JoinSet::new();
    let at_once = Arc::new(Semaphore::new(4));
    let [record, tools] = wires.map(Arc::new);
    for round in 0..ROUNDS + ROUNDS / 5 {
        let (caller, at_once) = (caller.clone(), Arc::clone(&at_once));
        // Mostly the record's own commits, the first or the second of an action, now and then
        // the tool's.
        let wire = Arc::clone(if round % 6 == 5 { &tools } else { &record });
        rounds.spawn(async move {
            let _permit = at_once.acquire().await.unwrap();
            let key = format!("doubt {round}");
            wire.swallow_a_commit();
            let action = answered(&caller, &key).await;
            (key, action)
        });
    }
    let mut evidence = Evidence::default();
    for (key, action) in all(rounds).await {
        evidence.note(&key, Some(action));
    }
    let dropped = (record.swallowed(), tools.swallowed());
    assert!(dropped.0 >= ROUNDS && dropped.1 >= ROUNDS / 5, "dropped only {dropped:?}");
    let unknown = "select count(*) from action where execution_status = 'unknown'";
    let unknown = house.control.count(unknown).await;
    println!("{dropped:?} answers to COMMIT were dropped, {unknown} runs are unknown");
    let found = evidence.violations(&house, &caller).await;
    assert!(found.is_empty(), "{found:#?}");
}

/// Sends the call under its key until it is answered with its action.
async fn answered(caller: &Caller, key: &str) -> Value {
    let mut body = call("lab.note", json!({ "mark": key }));
    body["wait"] = json!(25);
    loop {
        let answer = caller.send(Request::post("/v1/actions", &body).keyed(key)).await;
        if answer.status.is_success() {
            return answer.json();
        }
        answer.is(503);
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

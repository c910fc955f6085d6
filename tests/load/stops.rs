//! Stop under load: how soon it ends what waits, and that nothing starts behind its answer.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::house::{Answer, Caller, House, Request, Service, SharedHouse, call, name};

#[tokio::test]
async fn a_stop_ends_the_agents_waits_at_once() {
    let Some(shared) = SharedHouse::get().await else { return };
    let agent = shared.house.agent(&name()).await;
    let caller = shared.service.caller(&agent.key);
    let args = json!({ "order": 15, "amount": 88, "reason": "broken" });
    let held = caller.call("shop.refunds.create", args).await.is(202);
    let path = format!("/v1/actions/{}?wait=25", held["id"].as_str().unwrap());
    let waiting = {
        let (caller, path) = (caller.clone(), path.clone());
        tokio::spawn(async move { caller.get(&path).await })
    };
    tokio::time::sleep(Duration::from_millis(300)).await;
    let began = Instant::now();
    // What is waited for goes on waiting, so that nothing but the Stop ends the wait.
    let words = ["agent", "stop", &agent.id, "--keep-approvals", "--reason", "A test.", "--org"];
    shared.house.verbs.run(&[&words[..], &[&shared.house.org]].concat()).await;
    waiting.await.unwrap().error(403, "agent_stopped", None);
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    // Another process stopped it; what this one knows of the key is a second old at most.
    tokio::time::sleep(Duration::from_millis(1100)).await;
    caller.get(&path).await.error(403, "agent_stopped", None);
    // It may still read.
    caller.get(&path.replace("wait=25", "wait=0")).await.ok();
}

/// How many wait for approval when the org is stopped. The benchmark has 10,000.
const WAITING: i64 = 300;

#[tokio::test]
async fn a_stop_of_the_org_ends_every_wait_for_approval_soon() {
    let Some(house) = House::new("").await else { return };
    let service = house.serve().await;
    let agent = house.agent("asker").await;
    let callers = (0..10).map(|_| {
        let caller = service.caller(&agent.key);
        tokio::spawn(async move {
            for _ in 0..WAITING / 10 {
                let args = json!({ "order": 15, "amount": 88, "reason": "broken" });
                caller.call("shop.refunds.create", args).await.is(202);
            }
        })
    });
    for caller in callers.collect::<Vec<_>>() {
        caller.await.unwrap();
    }
    let waiting = "select count(*) from action where state = 'pending_approval'";
    assert_eq!(house.control.count(waiting).await, WAITING);
    let told = house.verbs.run(&["org", "stop", "--reason", "A test.", "--org", &house.org]).await;
    assert!(told.contains("the actions that waited for them are denied"), "{told}");
    assert!(told.contains("No call that had started before is still running"), "{told}");
    let began = Instant::now();
    while house.control.count(waiting).await > 0 {
        assert!(began.elapsed() < Duration::from_secs(30), "what waits in vain is not ended");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    let void = "select count(*) from action where status = 'denied' and approval_status = 'voided'";
    assert_eq!(house.control.count(void).await, WAITING);
    house.tell_all("start").await;
    let args = json!({ "order": 15, "amount": 88, "reason": "broken" });
    let again = service.caller(&agent.key).call("shop.refunds.create", args).await.is(202);
    assert_eq!(again["status"], "pending_approval");
    house.sound_log(&service.caller(&agent.key)).await;
}

#[tokio::test]
async fn nothing_starts_on_any_instance_after_a_stop_was_answered() {
    let Some(house) = House::new("").await else { return };
    let (one, other) = tokio::join!(house.serve(), house.serve());
    let agent = house.agent("runaway").await;
    for round in 0..3 {
        let clients = (0..16).map(|number| {
            let service = if number % 2 == 0 { &one } else { &other };
            let caller = service.caller(&agent.key);
            tokio::spawn(async move { until_refused(&caller, &format!("{round}.{number}")).await })
        });
        let clients: Vec<_> = clients.collect();
        tokio::time::sleep(Duration::from_millis(200)).await;
        let began = Instant::now();
        house.tell("stop", &agent).await;
        println!("a Stop under load took {:?}", began.elapsed());
        assert!(began.elapsed() < Duration::from_secs(5), "a Stop starves under load");
        for client in clients {
            client.await.unwrap();
        }
        house.tell("start", &agent).await;
    }
    // In the order of commits, no action begins between a Stop and the start behind it.
    let sql = "with told as (
                   select seq, kind, data, count(*) filter (where kind = 'agent.stopped')
                                   over (order by seq) as stops,
                          count(*) filter (where kind = 'agent.started')
                                   over (order by seq) as starts
                   from event where org_id = (select org_id from action limit 1))
               select count(*) from told
               where kind = 'action.created' and stops > starts and data like '%executing%'";
    assert_eq!(house.control.count(sql).await, 0);
    let stops = "select count(*) from event where kind = 'agent.stopped'";
    assert_eq!(house.control.count(stops).await, 3, "the events are not those that are looked for");
    let begun = "select count(*) from event where kind = 'action.created'
                 and data like '%executing%'";
    assert!(house.control.count(begun).await > 0);
    house.sound_log(&one.anonymous()).await;
}

/// Sends calls until one is refused.
async fn until_refused(caller: &Caller, mark: &str) {
    let body = call("lab.note", json!({ "mark": mark }));
    loop {
        let answer = caller.send(Request::post("/v1/actions", &body)).await;
        if answer.status == 403 {
            answer.error(403, "agent_stopped", None);
            return;
        }
        answer.ok();
    }
}

const STARTERS: usize = 64;

/// How many rounds of Stops, of an agent and of its org in turn, and half as many of revocations;
/// `CHANCERY_STOP_ROUNDS` asks for more.
fn rounds() -> usize {
    let asked = std::env::var("CHANCERY_STOP_ROUNDS").ok();
    asked.map_or(40, |asked| asked.parse().expect("`CHANCERY_STOP_ROUNDS` is a number"))
}

/// Lets 64 starters on three instances call until they are refused, while `end` is asked for; none of
/// what is sent behind its answer may start.
async fn ended_under_starters(callers: Vec<Caller>, end: impl Future<Output = Answer>, pause: u64) {
    let answered = Arc::new(AtomicBool::new(false));
    let mut starters = JoinSet::new();
    for caller in callers {
        let answered = Arc::clone(&answered);
        starters.spawn(async move {
            loop {
                let late = answered.load(Ordering::SeqCst);
                let body = call("lab.sleep", json!({ "milliseconds": 0 }));
                let answer = caller.glance(Request::post("/v1/actions", &body)).await;
                if late && !is_unheard(&answer) {
                    assert!(matches!(answer.status.as_u16(), 401 | 403), "started: {answer:?}");
                    return;
                }
            }
        });
    }
    tokio::time::sleep(Duration::from_millis(pause)).await;
    end.await.ok();
    answered.store(true, Ordering::SeqCst);
    while let Some(starter) = starters.join_next().await {
        starter.unwrap();
    }
}

/// Whether the service was too busy to look up whose call it is. Such a call begins nothing, which
/// tells nothing of what the next one would.
fn is_unheard(answer: &Answer) -> bool {
    let why = "credentials cannot be checked at the moment";
    answer.status == 503 && answer.json()["error"]["message"] == why
}

/// The starters of an agent, spread over the instances.
fn starters(services: &[Service], key: &str) -> Vec<Caller> {
    (0..STARTERS).map(|number| services[number % services.len()].caller(key)).collect()
}

async fn three(house: &House) -> [Service; 3] {
    let (one, two, three) = tokio::join!(house.serve(), house.serve(), house.serve());
    [one, two, three]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn none_of_64_starters_on_three_instances_starts_behind_the_answer_of_a_stop() {
    let Some(house) = House::new("").await else { return };
    let services = three(&house).await;
    let (agent, org_key) = (house.agent("runaway").await, house.org_key().await);
    for round in 0..rounds() {
        let admin = services[round % 3].caller(&org_key);
        // Each agent by itself and the whole org, in turn.
        let path = match round % 2 {
            0 => format!("/v1/agents/{}", agent.id),
            _ => "/v1/org".to_owned(),
        };
        let stop = admin.send(Request::post(&format!("{path}/stop"), &because()));
        let pause = u64::try_from(round % 8).unwrap() * 7;
        ended_under_starters(starters(&services, &agent.key), stop, pause).await;
        admin.send(Request::post(&format!("{path}/start"), &because())).await.ok();
    }
    let begun = "select count(*) from action where status = 'executed'";
    assert!(house.control.count(begun).await > 0, "nothing ever started");
    assert_eq!(house.broken_invariants().await, Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn none_of_64_starters_on_three_instances_starts_behind_the_revocation_of_its_key() {
    let Some(house) = House::new("").await else { return };
    let services = three(&house).await;
    let (agent, org_key) = (house.agent("runaway").await, house.org_key().await);
    let keys = format!("/v1/agents/{}/keys", agent.id);
    for round in 0..rounds() / 2 {
        let admin = services[round % 3].caller(&org_key);
        let new = json!({ "name": "one", "scopes": ["actions:execute"] });
        let made = admin.send(Request::post(&keys, &new)).await.is(201);
        let path = format!("{keys}/{}", made["id"].as_str().unwrap());
        let revocation = admin.send(Request::delete(&path));
        let pause = u64::try_from(round % 8).unwrap() * 7;
        let callers = starters(&services, made["secret"].as_str().unwrap());
        ended_under_starters(callers, revocation, pause).await;
    }
    assert_eq!(house.broken_invariants().await, Vec::<String>::new());
}

fn because() -> Value {
    json!({ "reason": "A test." })
}

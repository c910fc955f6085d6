//! A service under strain: many connections, and runs that nobody can settle.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::{
    edge::edge_call,
    eventually::until,
    house::{Caller, House, OwnPostgres, Plan, Request, Site, call},
};

const CONNECTIONS: usize = 64;
const LASTS: Duration = Duration::from_secs(4);
/// Runs that are lost with their instance and whose database is dead.
const ORPHANS: usize = 150;
/// How long after its deadline a report of another org may be waited for.
const SEALED_WITHIN: Duration = Duration::from_secs(5);

/// Sends calls of three kinds until then: refused, run here, and let run by an edge.
async fn keeps_calling(caller: Caller, until: Instant) {
    let calls = [
        call("shop.orders.delete", json!({ "order": 42 })),
        call("lab.note", json!({ "mark": "busy" })),
        edge_call(&json!({ "text": "hello" })),
    ];
    for body in calls.iter().cycle() {
        if Instant::now() > until {
            return;
        }
        caller.glance(Request::post("/v1/actions", body)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sixty_four_busy_connections_write_no_warning() {
    let Some(house) = House::new("").await else { return };
    let service = house.serve().await;
    let caller = service.caller(&house.agent("busy").await.key);
    let before = service.log().lines().count();
    let until = Instant::now() + LASTS;
    let tasks = (0..CONNECTIONS).map(|_| tokio::spawn(keeps_calling(caller.clone(), until)));
    for task in tasks.collect::<Vec<_>>() {
        task.await.unwrap();
    }
    // Leases are renewed, and everything due is looked for, some times more.
    tokio::time::sleep(Duration::from_secs(6)).await;
    let log = service.log();
    let loud = |line: &&str| line.contains(" WARN ") || line.contains("ERROR");
    let said: Vec<_> = log.lines().skip(before).filter(loud).collect();
    assert_eq!(said, Vec::<&str>::new());
}

/// Another org of the house, whose agent may have its edge run calls; returns the agent's key.
async fn another_org(house: &House) -> String {
    let first = |text: String| text.split_whitespace().next().unwrap_or_default().to_owned();
    let verbs = &house.verbs;
    let org = first(verbs.run(&["org", "create", "other"]).await);
    let policy = house.write("other.yaml", "schema: 1\ndefault: { outcome: allow }\n");
    let policy = policy.to_str().unwrap();
    let activate = ["policy", "activate", policy, "--new", "--yes", "--reason", "A test."];
    verbs.run(&[activate.as_slice(), &["--org", &org]].concat()).await;
    let agent = first(verbs.run(&["agent", "create", "other", "--org", &org]).await);
    first(verbs.run(&["key", "create", "--agent", &agent, "--org", &org]).await)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lost_runs_on_a_dead_database_hold_up_no_deadline_of_another_org() {
    let Some(common) = Site::common().await else { return };
    let Some(postgres) = OwnPostgres::new() else { return };
    let own = Site::prepare(postgres.cluster.clone()).await;
    let settings = "gate: { edge_result_timeout: 2s }\n";
    let house = House::build(Plan { control: common, governed: &own, settings }).await;
    let (key, other) = (house.agent("lost").await.key, another_org(&house).await);
    let mut service = house.serve().await;
    let caller = service.caller(&key);
    caller.executed("lab.note", json!({ "mark": "before" })).await;
    postgres.pause();
    let note = call("lab.note", json!({ "mark": "lost" }));
    for _ in 0..ORPHANS {
        let (caller, note) = (caller.clone(), note.clone());
        // No answer comes once the service is killed.
        tokio::spawn(async move { caller.try_send(Request::post("/v1/actions", &note)).await });
    }
    let under_way = "select count(*) from action where state = 'executing'";
    let orphans = i64::try_from(ORPHANS).unwrap();
    until("all are under way", async || house.control.count(under_way).await >= orphans).await;
    service.kill();
    let service = house.serve().await;
    // Their leases have run out, and their database is asked in vain.
    tokio::time::sleep(Duration::from_secs(17)).await;
    let caller = service.caller(&other);
    for _ in 0..3 {
        let call = edge_call(&json!({ "text": "hello" }));
        let action = caller.send(Request::post("/v1/actions", &call)).await.ok();
        assert_eq!(action["status"], "authorized", "{action}");
        let began = Instant::now();
        while caller.detail(&action).await["deed"] == Value::Null {
            let late = began.elapsed() > Duration::from_secs(2) + SEALED_WITHIN;
            assert!(!late, "the deadline of another org waits");
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }
    assert!(house.control.count(under_way).await > 0, "the lost runs are not settled yet");
    postgres.resume();
}

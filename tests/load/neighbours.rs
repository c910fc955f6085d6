//! What one key or one org asks for takes nothing from the others: connections, searches at once.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::{
    calls::note,
    house::{Caller, House, Request, Service},
    upkeep::{neighbour, refused},
};

/// More than a key may have under way, and more than there are connections.
const SEARCHES: usize = 60;

/// Makes whatever reads the history of the house's own org slow, row by row.
async fn slow_history(house: &House) {
    let org = house.org_uuid();
    let sql = format!(
        "alter table event enable row level security;
         create policy slow on event using (
             case when org_id = '{org}' then pg_sleep(0.4) is not null else true end
         ) with check (true)"
    );
    house.control.run(&sql).await;
}

/// Searches for ever.
fn search(caller: &Caller) -> tokio::task::JoinHandle<()> {
    let caller = caller.clone();
    tokio::spawn(async move {
        loop {
            caller.glance(Request::get("/v1/ledger")).await;
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    })
}

#[tokio::test]
async fn many_searches_of_one_key_stop_no_other_org_and_health_stays_ok() {
    let Some(house) = House::new("").await else { return };
    let (_, neighbour) = neighbour(&house).await;
    let own = house.agent("curious").await;
    let service = house.serve().await;
    let curious = service.caller(&own.key);
    for n in 0..4 {
        note(&curious, &format!("seed-{n}")).await;
    }
    slow_history(&house).await;
    let searches: Vec<_> = (0..SEARCHES).map(|_| search(&curious)).collect();
    for _ in 0..10 {
        tokio::time::sleep(Duration::from_millis(200)).await;
        refused(&service, &neighbour).await;
        let health = service.anonymous().get("/v1/health").await.ok();
        assert_eq!(health["checks"]["database"], "ok", "{health}");
    }
    searches.iter().for_each(tokio::task::JoinHandle::abort);
}

/// A policy whose every decision takes as much as it may, and a file of tests with as many of them
/// as there may be.
fn endless_tests() -> Value {
    let document = "{ schema: 1, default: { outcome: allow }, rules: [{ id: a, match: '*', \
                     when: 'args.l.exists(a, args.l.exists(b, a + b > 1000))', outcome: deny }] }";
    let list: Vec<usize> = (0..300).collect();
    let suite = json!({
        "now": "2026-10-01T12:00:00Z",
        "agents": { "bot": {} },
        "calls": { "heavy": { "tool": "a.b", "args": { "l": list } } },
        "cases": [{ "agent": "bot", "call": "heavy", "steps": [
            { "repeat": 9_999, "expect": { "code": "policy_unavailable" } },
        ] }],
    });
    json!({ "document": document, "suite": suite.to_string() })
}

/// Waits until so many tests of policies are being worked on.
async fn runs(service: &Service, wanted: u64) {
    let deadline = Instant::now() + Duration::from_mins(1);
    while service.metric("chancery_policy_runs").await != wanted {
        assert!(Instant::now() < deadline, "never {wanted} runs");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_test_runs_of_one_org_are_told_to_wait_and_end_with_their_callers() {
    let Some(house) = House::new("server: { metrics_listen: '127.0.0.1:0' }\n").await else {
        return;
    };
    let (_, neighbour) = neighbour(&house).await;
    let key = house.org_key().await;
    let service = house.serve().await;
    let caller = service.caller(&key);
    let request = Request::post("/v1/policies/test", &endless_tests());
    let running: Vec<_> = (0..100)
        .map(|_| {
            let (caller, request) = (caller.clone(), request.clone());
            tokio::spawn(async move { caller.send(request).await })
        })
        .collect();
    refused(&service, &neighbour).await;
    let mut too_many = 0;
    for task in running {
        let answer = task.await.unwrap();
        if answer.status == 400 {
            answer.error(400, "validation_failed", Some("suite"));
        } else if answer.status == 503 {
            // It had a place, and on a busy machine it lets others go first.
            answer.error(503, "service_unavailable", None);
        } else {
            answer.error(429, "rate_limited", None);
            assert_eq!(answer.header("Retry-After"), Some("1"));
            too_many += 1;
        }
    }
    assert!((1..100).contains(&too_many), "{too_many} were told to wait");
    runs(&service, 0).await;
    let before = service.metric("chancery_policy_run_steps_total").await;
    let left = tokio::spawn(async move { caller.try_send(request).await.is_ok() });
    runs(&service, 1).await;
    left.abort();
    let _ = left.await;
    runs(&service, 0).await;
    let after = service.metric("chancery_policy_run_steps_total").await;
    assert!(after - before < 20_000_000, "what nobody waited for was done to its end");
}

#[tokio::test]
async fn the_fifth_list_of_one_key_is_told_to_wait() {
    let Some(house) = House::new("").await else { return };
    let own = house.agent("curious").await;
    let other = house.agent("patient").await;
    let service = house.serve().await;
    let curious = service.caller(&own.key);
    note(&curious, "seed").await;
    slow_history(&house).await;
    let searches: Vec<_> = (0..4).map(|_| search(&curious)).collect();
    for path in ["/v1/ledger", "/v1/actions", "/v1/deeds"] {
        let deadline = Instant::now() + Duration::from_secs(20);
        let refused = loop {
            let fifth = curious.get(path).await;
            // One that has a place may be too slow for an answer.
            if fifth.status == 429 {
                break fifth;
            }
            assert!(Instant::now() < deadline, "{path} is never refused");
        };
        refused.error(429, "rate_limited", None);
        // Whoever keeps the database busy is told to wait for longer than for a place.
        let seconds: u64 = refused.header("Retry-After").unwrap().parse().unwrap();
        assert!((1..=20).contains(&seconds), "{seconds}");
    }
    service.caller(&other.key).get("/v1/actions").await.ok();
    for search in searches {
        search.abort();
        let _ = search.await;
    }
    let deadline = Instant::now() + Duration::from_mins(1);
    while curious.get("/v1/actions").await.status != 200 {
        assert!(Instant::now() < deadline, "its places never came free again");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

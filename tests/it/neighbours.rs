//! What one key or one org asks for takes nothing from the others: connections, searches at once.

use std::time::{Duration, Instant};

use crate::{
    house::{Caller, House, Request},
    log::note,
    one_org::{neighbour, refused},
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
        assert_eq!(refused.header("Retry-After"), Some("1"));
    }
    service.caller(&other.key).get("/v1/actions").await.ok();
    for search in searches {
        search.abort();
        let _ = search.await;
    }
    let deadline = Instant::now() + Duration::from_secs(20);
    while curious.get("/v1/actions").await.status != 200 {
        assert!(Instant::now() < deadline, "its places never came free again");
    }
}

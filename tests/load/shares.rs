//! Several instances on one org, all of them busy: each has its share, and nobody is sent away.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

use rustix::process::Signal;
use serde_json::json;

use crate::house::{Caller, House, Request, Start, binaries, call};

/// Callers of all instances together.
const CALLERS: usize = 32;
const LASTS: Duration = Duration::from_secs(5);
/// By when the org must go on after an instance stopped where it holds the head.
const STOPPED: Duration = Duration::from_secs(1);

/// Has a call refused, again and again until then, and says how it was answered how often.
async fn keeps_asking(caller: Caller, until: Instant) -> BTreeMap<u16, usize> {
    let mut statuses = BTreeMap::new();
    let body = call("shop.orders.delete", json!({ "order": 42 }));
    while Instant::now() < until {
        let status = caller.glance(Request::post("/v1/actions", &body)).await.status.as_u16();
        *statuses.entry(status).or_default() += 1;
    }
    statuses
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn busy_instances_share_an_org_and_nobody_is_sent_away() {
    let Some(house) = House::new("").await else { return };
    let agent = house.agent("busy").await;
    for instances in [2, 4] {
        let mut services = Vec::new();
        for _ in 0..instances {
            services.push(house.serve().await);
        }
        let until = Instant::now() + LASTS;
        let tasks = (0..CALLERS).map(|number| {
            let instance = number % instances;
            let caller = services[instance].caller(&agent.key);
            tokio::spawn(async move { (instance, keeps_asking(caller, until).await) })
        });
        let mut shares = vec![0; instances];
        for task in tasks.collect::<Vec<_>>() {
            let (instance, statuses) = task.await.unwrap();
            assert_eq!(statuses.keys().copied().collect::<Vec<_>>(), [403], "{statuses:?}");
            shares[instance] += statuses[&403];
        }
        println!("{instances} instances: {shares:?}");
        let (least, most) = (shares.iter().min().unwrap(), shares.iter().max().unwrap());
        assert!(most <= &(2 * least), "{shares:?}");
        house.sound_log(&services[0].anonymous()).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_instance_that_stops_where_it_holds_the_head_holds_the_org_for_less_than_a_second() {
    let Some(house) = House::new("").await else { return };
    if binaries().is_none_or(|binaries| binaries.failpoints.is_none()) {
        eprintln!("left out: this test needs `CHANCERY_FAILPOINT_BIN`");
        return;
    }
    let agent = house.agent("busy").await;
    let (stops, other) = (house.start(Start::Holdable).await, house.serve().await);
    let until = Instant::now() + Duration::from_secs(20);
    // Both lose heads to each other, so that both ask for it in order.
    let mut asking = Vec::new();
    for service in [&stops, &other] {
        let caller = service.caller(&agent.key);
        asking.push(tokio::spawn(async move {
            let body = call("shop.orders.delete", json!({ "order": 42 }));
            let mut longest = Duration::ZERO;
            while Instant::now() < until {
                let begun = Instant::now();
                let sent = caller.send(Request::post("/v1/actions", &body));
                // Of the one that is stopped no answer comes.
                let Ok(answer) = tokio::time::timeout_at(until.into(), sent).await else { break };
                answer.error(403, "policy_denied", None);
                longest = longest.max(begun.elapsed());
            }
            longest
        }));
    }
    stops.arm("turn.held");
    assert!(stops.is_held("turn.held", Duration::from_secs(10)).await, "heads were lost");
    stops.signal(Signal::STOP);
    let longest = asking.pop().unwrap().await.unwrap();
    assert!(longest < STOPPED, "{longest:?}");
    println!("the longest answer of the other took {longest:?}");
    stops.release("turn.held");
    stops.signal(Signal::CONT);
    // What it held was given to the other, and it finds that out.
    let body = call("shop.orders.delete", json!({ "order": 42 }));
    stops.caller(&agent.key).send(Request::post("/v1/actions", &body)).await.is(403);
    house.sound_log(&other.anonymous()).await;
}

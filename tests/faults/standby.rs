//! A standby that had not heard of the last commits takes its primary's place while services work.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use serde_json::{Value, json};

use crate::{
    calls::note,
    house::{Caller, House, OwnPostgres, Plan, Site},
    upkeep::until,
    upkeep::{neighbour, refused},
};

/// For how long agents go on calling after the standby took over.
const GO_ON_FOR: Duration = Duration::from_secs(5);

/// Has calls refused until it is told to end, and returns the deeds of those that were.
fn work(caller: Caller, stop: &Arc<AtomicBool>) -> tokio::task::JoinHandle<Vec<Value>> {
    let stop = Arc::clone(stop);
    tokio::spawn(async move {
        let mut deeds = Vec::new();
        while !stop.load(Ordering::Relaxed) {
            let call = json!({ "tool": "nobody.serves", "args": {}, "mode": "gateway" });
            let request = crate::house::Request::post("/v1/actions", &call);
            match caller.try_send(request).await {
                Ok(answer) if answer.status == 404 => {
                    deeds.push(answer.json()["error"]["action"]["deed"].clone());
                }
                _ => tokio::time::sleep(Duration::from_millis(20)).await,
            }
        }
        deeds
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_promoted_standby_that_is_behind_gets_no_second_history() {
    let Some(common) = Site::common().await else { return };
    let Some(mut postgres) = OwnPostgres::new() else { return };
    let own = Site::prepare(postgres.cluster.clone()).await;
    let house = House::build(Plan { control: &own, governed: common, settings: "" }).await;
    let (_, neighbour) = neighbour(&house).await;
    let agent = house.agent("busy").await;
    let services = tokio::join!(house.serve(), house.serve());
    let services = [services.0, services.1];
    let callers = || services.iter().map(|service| service.caller(&agent.key));
    for caller in callers() {
        note(&caller, "before").await;
    }
    refused(&services[0], &neighbour).await;

    tokio::task::block_in_place(|| postgres.make_standby());
    // Each of the two has seen, in its own turns, more than the standby will know of.
    for caller in callers() {
        note(&caller, "unknown to the standby").await;
    }
    let stop: Arc<AtomicBool> = Arc::default();
    let work: Vec<_> =
        callers().flat_map(|it| [it.clone(), it]).map(|it| work(it, &stop)).collect();
    tokio::time::sleep(Duration::from_secs(1)).await;
    tokio::task::block_in_place(|| postgres.fail_over());
    let deeds = format!(
        "select count(*) from deed join org using (org_id) where record::jsonb ->> 'id' = '{}'",
        house.org
    );
    let known = house.control.count(&deeds).await;
    tokio::time::sleep(GO_ON_FOR).await;
    stop.store(true, Ordering::Relaxed);
    let mut told = 0;
    for work in work {
        told += work.await.unwrap().len();
    }
    assert!(told > 0, "nobody was told of a deed that the standby does not know");
    assert_eq!(house.control.count(&deeds).await, known, "it was sealed on, on either instance");
    for service in &services {
        until(service, "sealer", "degraded").await;
        // What lost nothing goes on.
        refused(service, &neighbour).await;
    }

    let words = ["log", "recover", "--org", &house.org, "--reason", "The standby was behind."];
    house.verbs.run(&words).await;
    for (service, caller) in services.iter().zip(callers()) {
        until(service, "sealer", "ok").await;
        note(&caller, "after").await;
    }
}

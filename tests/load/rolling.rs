//! Three instances under load, restarted one after the other as an update does it: whoever calls
//! sees answers, or is told to try again.
//!
//! `CHANCERY_ROLLING_SECONDS` says for how long; a few seconds without it.

use std::{
    collections::BTreeMap,
    env,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use rustix::process::Signal;
use serde_json::json;

use crate::{
    house::{Caller, House, Request, Service, call},
    kill::Evidence,
};

const INSTANCES: usize = 3;
const CLIENTS: usize = 6;
/// How long an instance works between its start and its stop.
const WORKS_FOR: Duration = Duration::from_millis(700);

/// What a client was told, by key, and how its tries ended.
#[derive(Debug, Default)]
struct Seen {
    evidence: Evidence,
    tries: BTreeMap<String, usize>,
}

/// Where the instances are now.
type Instances = Arc<Mutex<Vec<Caller>>>;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn instances_that_are_restarted_one_after_the_other_lose_nothing() {
    let Some(house) = House::new("").await else { return };
    let agent = house.agent("rolling").await;
    let mut services = Vec::new();
    for _ in 0..INSTANCES {
        services.push(house.serve().await);
    }
    let callers = services.iter().map(|service| service.caller(&agent.key)).collect();
    let instances: Instances = Arc::new(Mutex::new(callers));
    let stop = Arc::new(AtomicBool::new(false));
    let clients = (0..CLIENTS).map(|number| {
        let (instances, stop) = (Arc::clone(&instances), Arc::clone(&stop));
        tokio::spawn(client(number, instances, stop))
    });
    let clients: Vec<_> = clients.collect();
    let restarts = restart(&house, &mut services, &instances, &agent.key).await;
    stop.store(true, Ordering::Relaxed);
    let mut all = Seen::default();
    for client in clients {
        let seen = client.await.unwrap();
        all.evidence.extend(seen.evidence);
        for (word, count) in seen.tries {
            *all.tries.entry(word).or_default() += count;
        }
    }
    let found = all.evidence.violations(&house, &services[0].caller(&agent.key)).await;
    println!("{restarts} restarts, {} calls, tries ended as {:?}", all.evidence.calls(), all.tries);
    assert!(found.is_empty(), "{found:#?}");
    let wrong = |word: &&String| !matches!(word.as_str(), "answered" | "503" | "no answer");
    assert_eq!(all.tries.keys().filter(wrong).count(), 0, "{:?}", all.tries);
}

/// Restarts one instance after the other for as long as it is asked for, and returns how often.
async fn restart(
    house: &House,
    services: &mut [Service],
    instances: &Instances,
    key: &str,
) -> usize {
    let seconds = env::var("CHANCERY_ROLLING_SECONDS").map_or(6, |text| text.parse().unwrap());
    let (began, mut restarts) = (Instant::now(), 0);
    while began.elapsed() < Duration::from_secs(seconds) {
        tokio::time::sleep(WORKS_FOR).await;
        let place = restarts % INSTANCES;
        services[place].signal(Signal::TERM);
        let ended = services[place].ended(Duration::from_secs(20)).await;
        assert!(ended.success(), "{}", services[place].log());
        services[place] = house.serve().await;
        instances.lock().unwrap()[place] = services[place].caller(key);
        restarts += 1;
    }
    restarts
}

/// Sends one call after the other, each to the next instance, and again under its key until it is
/// answered.
async fn client(number: usize, instances: Instances, stop: Arc<AtomicBool>) -> Seen {
    let (mut seen, mut turn) = (Seen::default(), number);
    let mut call_number = 0;
    while !stop.load(Ordering::Relaxed) {
        let key = format!("rolling {number}.{call_number}");
        call_number += 1;
        let body = call("lab.note", json!({ "mark": key }));
        let request = Request::post("/v1/actions", &body).keyed(&key);
        seen.evidence.note(&key, None);
        loop {
            let caller = instances.lock().unwrap()[turn % INSTANCES].clone();
            turn += 1;
            let word = match caller.try_send(request.clone()).await {
                Ok(answer) if answer.status.is_success() => {
                    seen.evidence.note(&key, Some(answer.json()));
                    "answered".to_owned()
                }
                Ok(answer) => answer.status.as_str().to_owned(),
                Err(_) => "no answer".to_owned(),
            };
            let answered = word == "answered";
            *seen.tries.entry(word).or_default() += 1;
            if answered {
                break;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
    seen
}

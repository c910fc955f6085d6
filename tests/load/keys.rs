//! Seal keys exchanged under load: nobody who calls the service notices.

use std::{
    collections::BTreeSet,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use serde_json::{Value, json};

use crate::{
    house::{Caller, House, name},
    seal_keys::{exchange, kid, once_published},
};

/// Calls until it is told to stop; each call must succeed.
async fn load(caller: Caller, stop: Arc<AtomicBool>) -> usize {
    let mut calls = 0;
    while !stop.load(Ordering::Relaxed) {
        caller.executed("lab.note", json!({ "mark": name() })).await;
        calls += 1;
    }
    calls
}

#[tokio::test]
async fn keys_are_exchanged_under_load_and_nobody_notices() {
    let Some(house) = House::new("").await else { return };
    let (one, other) = tokio::join!(house.serve(), house.serve());
    let agent = house.agent("busy").await;
    let stop = Arc::new(AtomicBool::new(false));
    let tasks: Vec<_> = [&one, &other, &one, &other]
        .map(|service| tokio::spawn(load(service.caller(&agent.key), Arc::clone(&stop))))
        .into();
    let caller = one.caller(&house.org_key().await);
    let (old, new) = exchange(&house, &caller).await;
    house.verbs.run(&["keys", "retire", kid(&old)]).await;
    let retired = |keys: &[Value]| !keys[0]["retired_at"].is_null();
    let retired = once_published(&caller, retired).await.swap_remove(0);
    tokio::time::sleep(Duration::from_secs(20)).await;
    let (_, newest) = exchange(&house, &caller).await;
    stop.store(true, Ordering::Relaxed);
    for task in tasks {
        assert!(task.await.unwrap() > 0, "a caller got nothing done");
    }
    let deeds = house.sound_log(&caller).await;
    let used: BTreeSet<_> = deeds.iter().map(|deed| deed.key_id.clone()).collect();
    let all: BTreeSet<_> = [&old, &new, &newest].iter().map(|key| kid(key).to_owned()).collect();
    assert_eq!(used, all);
    let until = retired["retired_at"].as_str().unwrap();
    let issued = |body: &Value| body["issued_at"].as_str().unwrap() >= until;
    let late = deeds.iter().find(|deed| deed.key_id == kid(&old) && issued(&deed.json()));
    assert_eq!(late.map(|deed| deed.seq), None);
}

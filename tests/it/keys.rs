//! Seal keys exchanged while the service works: nobody who calls it notices, and every deed that was
//! ever sealed still checks.

use std::{
    collections::BTreeSet,
    process::Command,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use tokio::sync::Mutex;

use crate::house::{Caller, House, lines, name};

/// Calls until it is told to stop; each call must succeed.
async fn load(caller: Caller, stop: Arc<AtomicBool>) -> usize {
    let mut calls = 0;
    while !stop.load(Ordering::Relaxed) {
        caller.executed("lab.note", json!({ "mark": name() })).await;
        calls += 1;
    }
    calls
}

/// The published keys of this purpose, the oldest first.
async fn published(caller: &Caller, purpose: &str) -> Vec<Value> {
    let set = caller.get("/.well-known/service/keys.json").await.ok();
    let keys = set["keys"].as_array().unwrap();
    keys.iter().filter(|key| key["purpose"] == purpose).cloned().collect()
}

fn kid(key: &Value) -> &str {
    key["kid"].as_str().unwrap()
}

/// Puts a new key of each purpose into the house's seal key file, as an operator would.
pub(crate) async fn add_new_keys(house: &House) {
    // One at a time: what is added to is read first.
    static ADDING: Mutex<()> = Mutex::const_new(());
    let _adding = ADDING.lock().await;
    let file = format!("{}.pem", name());
    house.verbs.run(&["keys", "new", "--out", &file]).await;
    add_keys(house, &std::fs::read_to_string(house.folder().join(file)).unwrap());
}

fn add_keys(house: &House, text: &str) {
    let file = house.folder().join("seal.pem");
    let draft = house.write("seal.draft", &(std::fs::read_to_string(&file).unwrap() + text));
    std::fs::rename(draft, file).unwrap();
}

/// Waits until the last deed of the org names this key.
async fn sealed_by(house: &House, kid: &str) {
    let deadline = Instant::now() + Duration::from_secs(30);
    while house.deeds().await.last().unwrap().key_id != kid {
        assert!(Instant::now() < deadline, "the new key does not seal");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

/// The published deed keys once they are as they should be: each instance publishes a change
/// within seconds.
async fn once_published(caller: &Caller, expected: impl Fn(&[Value]) -> bool) -> Vec<Value> {
    let deadline = Instant::now() + Duration::from_secs(30);
    loop {
        let keys = published(caller, "deed").await;
        if expected(&keys) {
            return keys;
        }
        assert!(Instant::now() < deadline, "{keys:?}");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

/// Adds a new key for each purpose that counts at once, and returns the old and the new deed key.
async fn exchange(house: &House, caller: &Caller) -> (Value, Value) {
    let mut known = published(caller, "deed").await;
    let count = known.len();
    let old = known.pop().unwrap();
    add_new_keys(house).await;
    let listed = house.verbs.run(&["keys", "activate", "--at-once"]).await;
    let new = once_published(caller, |keys| keys.len() > count).await.pop().unwrap();
    assert_eq!(new["introduced_by"]["kid"], old["kid"]);
    assert!(listed.contains(kid(&new)), "{listed}");
    sealed_by(house, kid(&new)).await;
    (old, new)
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

#[tokio::test]
async fn a_revoked_key_signs_no_more_and_its_deeds_are_told_to_be_invalid() {
    let Some(house) = House::new("").await else { return };
    let service = house.serve().await;
    let agent = house.agent("busy").await;
    let (caller, org) = (service.caller(&agent.key), service.caller(&house.org_key().await));
    caller.executed("lab.note", json!({ "mark": name() })).await;
    let old = published(&org, "deed").await.swap_remove(0);
    // Without another key nothing could be sealed, so the last one stays.
    let words = ["keys", "revoke", kid(&old), "--reason", "key_compromise"];
    let refused = house.verbs.output(&words).await;
    assert_eq!(refused.status.code(), Some(2));
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(said.contains("activate another first"), "{said}");
    let file = format!("{}.pem", name());
    house.verbs.run(&["keys", "new", "--out", &file]).await;
    add_keys(&house, &std::fs::read_to_string(house.folder().join(file)).unwrap());
    house.verbs.run(&["keys", "activate", "--at-once"]).await;
    let told = house.verbs.run(&words).await;
    assert!(told.contains("revoked") && told.contains("deed deed_"), "{told}");
    let revoked = |keys: &[Value]| keys.len() > 1 && !keys[0]["revoked_at"].is_null();
    let new = once_published(&org, revoked).await.pop().unwrap();
    let deadline = Instant::now() + Duration::from_secs(30);
    loop {
        caller.executed("lab.note", json!({ "mark": name() })).await;
        if house.deeds().await.last().unwrap().key_id == kid(&new) {
            break;
        }
        assert!(Instant::now() < deadline, "the revoked key still seals");
    }
    let deeds = house.deeds().await;
    let (before, after) = (&deeds[..1], &deeds[deeds.len() - 1..]);
    let checked = house.verify(&org, &lines(before), &[]).await;
    assert_eq!((checked.code, &checked.report["verdict"]), (1, &json!("invalid")));
    let checked = house.verify(&org, &lines(after), &[]).await;
    assert_eq!(checked.code, 0, "{}", checked.report);
}

#[tokio::test]
async fn keys_made_by_openssl_are_taken() {
    let Some(house) = House::new("").await else { return };
    let pem = |purpose: &str| {
        let made =
            Command::new("openssl").args(["genpkey", "-algorithm", "ed25519"]).output().ok()?;
        Some(format!("purpose: {purpose}\n{}", String::from_utf8(made.stdout).unwrap()))
    };
    let (Some(deed), Some(checkpoint)) = (pem("deed"), pem("checkpoint")) else {
        eprintln!("`openssl` is not here: its keys are left out");
        return;
    };
    add_keys(&house, &(deed + &checkpoint));
    let listed = house.verbs.run(&["keys", "activate"]).await;
    let rows: Vec<_> = listed.lines().collect();
    assert_eq!(rows.len(), 4, "{listed}");
    for row in &rows[2..] {
        assert!(row.contains("  published  "), "{listed}");
    }
    assert_eq!(house.verbs.run(&["keys", "list"]).await, listed);
}

#[tokio::test]
async fn a_seal_key_file_of_another_service_is_refused_and_nothing_of_it_is_published() {
    let Some(house) = House::new("").await else { return };
    let registered = async || {
        let listed = house.verbs.run(&["keys", "list"]).await;
        listed.lines().map(|row| row.split(' ').next().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let before = registered().await;
    house.verbs.run(&["keys", "new", "--out", "other.pem"]).await;
    let (file, other) = (house.folder().join("seal.pem"), house.folder().join("other.pem"));
    std::fs::rename(&file, house.folder().join("kept.pem")).unwrap();
    std::fs::rename(other, &file).unwrap();
    for words in [&["serve"][..], &["org", "list"], &["keys", "activate", "--at-once"]] {
        let refused = house.verbs.output(words).await;
        let said = String::from_utf8_lossy(&refused.stderr);
        assert_eq!(refused.status.code(), Some(2), "{words:?}: {said}");
        assert!(said.contains(&before[0]) && said.contains("--adopt-keys"), "{words:?}: {said}");
    }
    assert_eq!(house.verbs.output(&["check"]).await.status.code(), Some(1));
    // New keys that count later cannot seal now, so that start does not come up either.
    let ahead = house.verbs.output(&["keys", "activate", "--adopt-keys"]).await;
    assert_eq!(ahead.status.code(), Some(5), "{ahead:?}");
    assert_eq!(registered().await, before);
    house.verbs.run(&["keys", "activate", "--at-once", "--adopt-keys"]).await;
    assert_eq!(registered().await.len(), before.len() + 2);
    house.verbs.run(&["org", "list"]).await;
}

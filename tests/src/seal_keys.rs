//! Seal keys as an operator exchanges them, and as the service publishes them.

use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::sync::Mutex;

use crate::house::{Caller, House, name};

/// Puts a new key of each purpose into the house's seal key file, as an operator would.
pub async fn add_new_keys(house: &House) {
    // One at a time: what is added to is read first.
    static ADDING: Mutex<()> = Mutex::const_new(());
    let _adding = ADDING.lock().await;
    let file = format!("{}.pem", name());
    house.verbs.run(&["keys", "new", "--out", &file]).await;
    add_keys(house, &std::fs::read_to_string(house.folder().join(file)).unwrap());
}

/// Appends these keys to the house's seal key file.
pub fn add_keys(house: &House, text: &str) {
    let file = house.folder().join("seal.pem");
    let draft = house.write("seal.draft", &(std::fs::read_to_string(&file).unwrap() + text));
    std::fs::rename(draft, file).unwrap();
}

/// The published keys of this purpose, the oldest first.
pub async fn published(caller: &Caller, purpose: &str) -> Vec<Value> {
    let set = caller.get("/.well-known/service/keys.json").await.ok();
    let keys = set["keys"].as_array().unwrap();
    keys.iter().filter(|key| key["purpose"] == purpose).cloned().collect()
}

/// The id of a published key.
pub fn kid(key: &Value) -> &str {
    key["kid"].as_str().unwrap()
}

/// Waits until the last deed of the org names this key.
pub async fn sealed_by(house: &House, kid: &str) {
    let deadline = Instant::now() + Duration::from_secs(30);
    while house.deeds().await.last().unwrap().key_id != kid {
        assert!(Instant::now() < deadline, "the new key does not seal");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

/// The published deed keys once they are as they should be: each instance publishes a change
/// within seconds.
pub async fn once_published(caller: &Caller, expected: impl Fn(&[Value]) -> bool) -> Vec<Value> {
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
pub async fn exchange(house: &House, caller: &Caller) -> (Value, Value) {
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

//! Seal keys exchanged while the service works: nobody who calls it notices, and every deed that was
//! ever sealed still checks.

use std::process::Command;

use serde_json::{Value, json};

use crate::{
    eventually::until,
    house::{House, lines, name},
    seal_keys::{add_keys, kid, once_published, published},
};

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
    assert!(said.contains("activate another key first"), "{said}");
    let file = format!("{}.pem", name());
    house.verbs.run(&["keys", "new", "--out", &file]).await;
    add_keys(&house, &std::fs::read_to_string(house.folder().join(file)).unwrap());
    house.verbs.run(&["keys", "activate", "--at-once"]).await;
    let told = house.verbs.run(&words).await;
    assert!(told.contains("revoked") && told.contains("deed deed_"), "{told}");
    let revoked = |keys: &[Value]| keys.len() > 1 && !keys[0]["revoked_at"].is_null();
    let new = once_published(&org, revoked).await.pop().unwrap();
    until("the revoked key seals no more", async || {
        caller.executed("lab.note", json!({ "mark": name() })).await;
        house.deeds().await.last().unwrap().key_id == kid(&new)
    })
    .await;
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

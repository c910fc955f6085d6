//! The vault's key is changed: the new one stands in front, `vault rotate` moves every credential
//! under it, and then the old one goes.

use std::os::unix::process::ExitStatusExt;

use serde_json::{Value, json};

use crate::{
    eventually::until,
    house::{House, Request, Service, Start, VAULT_KEY, name},
    kill::rounds,
    receiver::{Manner, Receiver},
};

const SETTING: &str = "SERVICE_VAULT_KEY";
/// How a failpoint that kills ends its process: SIGABRT.
const ABORTED: i32 = 6;
const NEW_KEY: &str = "YW5vdGhlciB2YXVsdCBrZXkgb2YgdGhlIHRlc3RzICE=";

#[tokio::test]
async fn a_vault_key_is_changed_while_calls_go_on_and_the_change_may_be_cut_off() {
    let Some(house) = House::new("").await else { return };
    let agent = house.agent(&name()).await;
    let both = house.verbs.with(SETTING, &format!("{NEW_KEY},{VAULT_KEY}"));
    let service = Service::start(&both, Start::Plain).await;
    let caller = service.caller(&agent.key);
    let mark = name();
    caller.executed("lab.note", json!({ "mark": mark })).await;

    // The house has two connectors; the process is gone when one of them is done.
    let cut = both.armed("vault.reencrypted=kill", &["vault", "rotate"]).await;
    assert_eq!(cut.status.signal(), Some(ABORTED), "{}", String::from_utf8_lossy(&cut.stderr));
    caller.executed("lab.note", json!({ "mark": mark })).await;
    caller.executed("shop.customers.read", json!({ "customer": 7 })).await;

    let told = both.run(&["vault", "rotate"]).await;
    assert!(told.contains("\n1 re-encrypted, 1 already under the first key\n"), "{told}");
    let again = both.run(&["vault", "rotate"]).await;
    assert_eq!(again, "0 re-encrypted, 2 already under the first key\n");
    caller.executed("lab.note", json!({ "mark": mark })).await;
    assert_eq!(house.notes(&mark).await, 3);
    drop(service);

    // Without the old key everything works, and without the new one nothing does.
    let new = house.verbs.with(SETTING, NEW_KEY);
    new.run(&["check"]).await;
    assert!(!house.verbs.output(&["check"]).await.status.success());
    let stuck = house.verbs.output(&["vault", "rotate"]).await;
    assert!(String::from_utf8_lossy(&stuck.stderr).contains("no key of the vault ring"));
    let service = Service::start(&new, Start::Plain).await;
    service.caller(&agent.key).executed("lab.note", json!({ "mark": mark })).await;
    assert_eq!(house.notes(&mark).await, 4);
    let event = json!("connector.credential_reencrypted");
    let moved =
        house.deeds().await.iter().filter(|deed| deed.json()["admin"]["event"] == event).count();
    assert_eq!(moved, 2, "each connector's move is one deed");
}

#[tokio::test]
async fn the_secrets_of_webhook_endpoints_are_moved_too() {
    let Some(house) = House::new("").await else { return };
    let key = house.org_key().await;
    let service = house.serve().await;
    let new = json!({ "url": "https://127.0.0.1/hook" });
    let made =
        service.caller(&key).send(Request::post("/v1/webhook_endpoints", &new)).await.is(201);
    let both = house.verbs.with(SETTING, &format!("{NEW_KEY},{VAULT_KEY}"));
    let told = both.run(&["vault", "rotate"]).await;
    assert!(told.contains(made["id"].as_str().unwrap()), "{told}");
    assert!(told.ends_with("\n3 re-encrypted, 0 already under the first key\n"), "{told}");
    let again = both.run(&["vault", "rotate"]).await;
    assert_eq!(again, "0 re-encrypted, 3 already under the first key\n");
    house.verbs.with(SETTING, NEW_KEY).run(&["vault", "rotate"]).await;
}

/// Sealed under a key that nobody has.
const LOST: &str = "AQAAAAAAAAAAAAAA";

#[tokio::test]
async fn a_secret_that_does_not_open_is_told_and_keeps_no_other_from_being_moved() {
    let Some(house) = House::new("").await else { return };
    let key = house.org_key().await;
    let service = house.serve().await;
    let admin = service.caller(&key);
    let mut made = Vec::new();
    for _ in 0..3 {
        let new = json!({ "url": "https://127.0.0.1/hook" });
        let endpoint = admin.send(Request::post("/v1/webhook_endpoints", &new)).await.is(201);
        made.push(endpoint["id"].as_str().unwrap().to_owned());
    }
    let roll = format!("/v1/webhook_endpoints/{}/secret/roll", made[0]);
    admin.send(Request::post(&roll, &json!({ "expires_in": 3600 }))).await.ok();
    let rolled = "update webhook set record = \
                  jsonb_set(record::jsonb, '{previous_secret,sealed}', '\"LOST\"')::text \
                  where record::jsonb -> 'previous_secret' is not null";
    house.control.run(&rolled.replace("LOST", LOST)).await;
    let check = house.verbs.output(&["check", "--json"]).await;
    let report: Value = serde_json::from_slice(&check.stdout).unwrap();
    let vault = report["record"].as_array().unwrap().iter().find(|line| line["name"] == "vault");
    assert_eq!(vault.unwrap()["violations"], 1, "{report}");
    let connector = "update connector set record = \
                     jsonb_set(record::jsonb, '{credential,conn_password}', '\"LOST\"')::text \
                     where name = 'shop'";
    house.control.run(&connector.replace("LOST", LOST)).await;

    let both = house.verbs.with(SETTING, &format!("{NEW_KEY},{VAULT_KEY}"));
    let stuck = both.output(&["vault", "rotate"]).await;
    let (told, why) =
        (String::from_utf8_lossy(&stuck.stdout), String::from_utf8_lossy(&stuck.stderr));
    assert!(!stuck.status.success(), "{told}");
    assert!(told.ends_with("\n3 re-encrypted, 0 already under the first key\n"), "{told}");
    assert!(why.contains(&made[0]) && why.contains("2 could not be re-encrypted"), "{why}");
    for moved in &made[1..] {
        assert!(told.contains(moved.as_str()), "{told}");
    }
}

/// As many secrets as a house of this test has: two connectors' and three endpoints'.
const SECRETS: usize = 5;

#[tokio::test(flavor = "multi_thread")]
async fn a_rotation_that_is_killed_behind_any_secret_leaves_all_in_use_and_is_gone_on_with() {
    let Some(house) = House::new("webhooks: { timeout: 5s }\n").await else { return };
    let agent = house.agent(&name()).await;
    // Everything is under the old key at first.
    let both = house.verbs.with(SETTING, &format!("{VAULT_KEY},{NEW_KEY}"));
    let service = Service::start(&both, Start::Plain).await;
    let (admin, caller) = (service.caller(&house.org_key().await), service.caller(&agent.key));
    let mut receivers = Vec::new();
    for _ in 0..SECRETS - 2 {
        let receiver = Receiver::start(Manner::Takes).await;
        let new = json!({ "url": receiver.url(), "types": ["action.witnessed"] });
        let made = admin.send(Request::post("/v1/webhook_endpoints", &new)).await.is(201);
        receivers.push((receiver, made["secret"].as_str().unwrap().to_owned()));
    }
    let mut from = [VAULT_KEY, NEW_KEY];
    for round in 0..usize::try_from(rounds()).unwrap() * SECRETS {
        // The key that was the old one is the new one of the next round.
        from.reverse();
        let ring = house.verbs.with(SETTING, &from.join(","));
        let done = round % SECRETS + 1;
        let cut = format!("vault.reencrypted={done}*kill");
        let cut = ring.armed(&cut, &["vault", "rotate"]).await;
        assert_eq!(cut.status.signal(), Some(ABORTED), "{}", String::from_utf8_lossy(&cut.stderr));
        let mark = name();
        caller.executed("lab.note", json!({ "mark": mark })).await;
        caller.executed("shop.customers.read", json!({ "customer": 7 })).await;
        let told = ring.run(&["vault", "rotate"]).await;
        let left = SECRETS - done;
        let expected = format!("{left} re-encrypted, {done} already under the first key\n");
        assert!(told.ends_with(&expected), "{told}");
        for (receiver, secret) in &receivers {
            until("both calls are told of", async || receiver.seen().len() == 2 * (round + 1))
                .await;
            assert!(receiver.seen().iter().all(|seen| seen.is_signed(secret)));
        }
    }
}

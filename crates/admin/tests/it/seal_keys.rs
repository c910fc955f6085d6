//! Registering seal keys.

use admin::{
    OPERATOR_ORG, PUBLISHED_BEFORE, RETIRED_AFTER, Revocation,
    SealKeyActivation::{Ahead, AtOnce},
    SealKeyError, SealKeyStore, register_seal_keys,
};
use crypto::Secret;
use deed::{Purpose, SealKeys, Sealer, Standing, Thumbprint};
use serde_json::json;
use std::{sync::Arc, time::Duration};
use store_memory::MemoryStore;
use testkit::ManualClock;

use crate::world::{START, World};

fn pem() -> Secret<String> {
    SealKeys::generate_pem(&crypto::SystemEntropy::new())
}

fn loaded(pem: &str) -> SealKeys {
    SealKeys::from_pem(pem).unwrap()
}

fn empty() -> MemoryStore {
    MemoryStore::new(Arc::new(ManualClock::at(START)))
}

#[tokio::test]
async fn the_first_keys_count_at_once_and_are_registered_once() {
    let (store, pem) = (empty(), pem());
    let first = register_seal_keys(&store, &loaded(pem.expose()), (START, Ahead)).await.unwrap();
    assert_eq!(first.new.len(), 2);
    for purpose in [Purpose::Deed, Purpose::Checkpoint] {
        assert!(first.new.iter().any(|key| key.admits(purpose, START).is_ok()));
    }
    let later = START + PUBLISHED_BEFORE;
    let again = register_seal_keys(&store, &loaded(pem.expose()), (later, Ahead)).await.unwrap();
    assert_eq!((again.new, again.set), (vec![], first.set));
}

#[tokio::test]
async fn a_further_key_is_published_first_and_introduced_by_the_older_one() {
    let (store, old, new) = (empty(), pem(), pem());
    register_seal_keys(&store, &loaded(old.expose()), (START, Ahead)).await.unwrap();
    let both = format!("{}{}", new.expose(), old.expose());
    let rotated = register_seal_keys(&store, &loaded(&both), (START, Ahead)).await.unwrap();
    assert_eq!(rotated.new.len(), 2);
    for key in &rotated.new {
        assert_eq!(key.activated_at, START + PUBLISHED_BEFORE);
        let introduction = key.introduced_by.as_ref().unwrap();
        assert_eq!(rotated.set.find(&introduction.kid).unwrap().purpose, key.purpose);
    }
    assert_eq!(rotated.set.keys().len(), 4);
}

#[tokio::test]
async fn a_registration_is_sealed_in_the_operators_own_log() {
    let world = World::new();
    let registered =
        register_seal_keys(world.store.as_ref(), &loaded(pem().expose()), (START, Ahead))
            .await
            .unwrap();
    for key in registered.new.clone() {
        world.deployment().seal_key_registered(key).await.unwrap();
    }
    let sealed = world.sealed(OPERATOR_ORG);
    assert_eq!(
        sealed,
        ["log.started", "org.created", "seal_key.registered", "seal_key.registered"]
    );
    let body = &world.bodies(OPERATOR_ORG)[2];
    let kid = registered.new[0].kid();
    assert_eq!(body["subject"], json!({ "type": "seal_key", "id": kid }));
    assert_eq!(body["admin"]["data"]["activated_at"], json!(START));
}

#[tokio::test]
async fn the_key_set_is_whole_or_an_error() {
    let world = World::new();
    let registered =
        register_seal_keys(world.store.as_ref(), &loaded(pem().expose()), (START, Ahead))
            .await
            .unwrap();
    assert_eq!(world.admin.key_set().await.unwrap(), registered.set);
    let mut forged = registered.new[0].clone();
    forged.introduced_by =
        Some(deed::Introduction { kid: registered.new[1].kid(), signature: "AAAA".to_owned() });
    world.store.put_seal_key(&forged).await.unwrap();
    assert!(world.admin.key_set().await.is_err());
    world.store.go_down();
    assert!(world.admin.key_set().await.is_err());
}

/// A deployment whose sealer has the keys of both files, registered as they would be.
async fn rotated() -> (World, [Thumbprint; 2]) {
    let world = World::new();
    let (old, new) = (pem(), pem());
    let store = world.store.as_ref();
    let long_ago = START.before(Duration::from_hours(1));
    register_seal_keys(store, &loaded(old.expose()), (long_ago, Ahead)).await.unwrap();
    let both = || loaded(&format!("{}{}", old.expose(), new.expose()));
    let registered = register_seal_keys(store, &both(), (START, AtOnce)).await.unwrap();
    let kids = registered.set.keys().iter().filter(|key| key.purpose == Purpose::Deed);
    let mut kids: Vec<_> = kids.collect();
    kids.sort_by_key(|key| key.introduced_by.is_some());
    let kids = [kids[0].kid(), kids[1].kid()];
    world.sealer.replace(&Sealer::new(both(), registered.set));
    (world, kids)
}

#[tokio::test]
async fn a_key_registered_at_once_counts_and_is_introduced() {
    let (world, [_, new]) = rotated().await;
    let set = world.admin.key_set().await.unwrap();
    let key = set.find(&new).unwrap();
    assert_eq!((key.activated_at, key.standing(START)), (START, Standing::Active));
    assert!(key.introduced_by.is_some());
}

#[tokio::test]
async fn a_key_that_waits_for_its_time_can_be_let_count_at_once() {
    let (store, old, new) = (empty(), pem(), pem());
    let long_ago = START.before(Duration::from_hours(1));
    register_seal_keys(&store, &loaded(old.expose()), (long_ago, Ahead)).await.unwrap();
    let both = loaded(&format!("{}{}", old.expose(), new.expose()));
    let waiting = register_seal_keys(&store, &both, (START, Ahead)).await.unwrap();
    let hurried = register_seal_keys(&store, &both, (START, AtOnce)).await.unwrap();
    assert_eq!(hurried.new.len(), 2);
    assert_eq!(hurried.set.keys().len(), waiting.set.keys().len());
    assert!(hurried.set.keys().iter().all(|key| key.standing(START) == Standing::Active));
    let again = register_seal_keys(&store, &both, (START, AtOnce)).await.unwrap();
    assert_eq!(again.new, vec![]);
}

#[tokio::test]
async fn a_retired_key_signs_nothing_new_and_its_deeds_stay_valid() {
    let (world, [old, new]) = rotated().await;
    let at = START + RETIRED_AFTER;
    let retired = world.deployment().retire_seal_key(&old, at).await.unwrap().object;
    assert_eq!(retired.retired_at, Some(at));
    assert_eq!(retired.standing(START), Standing::Active);
    assert_eq!(retired.standing(at), Standing::Retired);
    assert_eq!(*world.sealer.registered(), world.admin.key_set().await.unwrap());
    assert_eq!(world.sealed(OPERATOR_ORG).last().unwrap(), "seal_key.retired");
    world.clock.pass(RETIRED_AFTER);
    let acme = world.org().await;
    assert_eq!(world.last_body(&acme)["key_id"], json!(new));
    let again = world.deployment().retire_seal_key(&old, at + RETIRED_AFTER).await.unwrap_err();
    assert!(matches!(again, SealKeyError::Ended(_)), "{again}");
}

#[tokio::test]
async fn a_retirement_is_told_early_enough_for_every_instance() {
    let (world, [old, _]) = rotated().await;
    let soon = START + Duration::from_secs(14);
    let error = world.deployment().retire_seal_key(&old, soon).await.unwrap_err();
    assert!(matches!(error, SealKeyError::TooSoon { .. }), "{error}");
    assert_eq!(world.admin.key_set().await.unwrap().find(&old).unwrap().retired_at, None);
}

#[tokio::test]
async fn a_revoked_key_counts_for_nothing_and_does_not_seal_the_deed_about_it() {
    let (world, [old, new]) = rotated().await;
    let why = || Revocation {
        reason: "key_compromise".parse().unwrap(),
        compromised_since: Some(START.before(Duration::from_hours(1))),
    };
    // The newest key seals by itself; it is the one that is lost.
    let revoked = world.deployment().revoke_seal_key(&new, why()).await.unwrap().object;
    assert_eq!(revoked.standing(START), Standing::Revoked);
    let told = world.bodies(OPERATOR_ORG).pop().unwrap();
    assert_eq!(told["admin"]["event"], "seal_key.revoked");
    assert_eq!(told["admin"]["data"]["revocation_reason"], "key_compromise");
    assert_eq!((&told["subject"]["id"], &told["key_id"]), (&json!(new), &json!(old)));
    // Whoever was cut off asks again: the set stays, and the deed follows.
    world.clock.pass(Duration::from_secs(5));
    let again = world.deployment().revoke_seal_key(&new, why()).await.unwrap().object;
    assert_eq!(again, revoked);
    let retired = world.deployment().retire_seal_key(&new, START + Duration::from_hours(1)).await;
    assert!(matches!(retired.unwrap_err(), SealKeyError::Ended(_)));
}

#[tokio::test]
async fn the_last_key_of_a_purpose_can_be_neither_retired_nor_revoked() {
    let (world, [old, new]) = rotated().await;
    world.deployment().retire_seal_key(&old, START + RETIRED_AFTER).await.unwrap();
    let why = Revocation { reason: "key_compromise".parse().unwrap(), compromised_since: None };
    let later = START + Duration::from_mins(1);
    let error = world.deployment().retire_seal_key(&new, later).await.unwrap_err();
    assert!(matches!(error, SealKeyError::Last(_)), "{error}");
    world.clock.pass(RETIRED_AFTER);
    let error = world.deployment().revoke_seal_key(&new, why.clone()).await.unwrap_err();
    assert!(matches!(error, SealKeyError::Last(_)), "{error}");
    let stranger = "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k".parse().unwrap();
    let error = world.deployment().revoke_seal_key(&stranger, why).await.unwrap_err();
    assert!(matches!(error, SealKeyError::Unknown(_)), "{error}");
}

#[tokio::test]
async fn a_retirement_that_was_cut_off_is_told_when_it_is_asked_for_again() {
    let (world, [old, _]) = rotated().await;
    let at = START + RETIRED_AFTER;
    world.deployment().retire_seal_key(&old, at).await.unwrap();
    let sealed = world.sealed(OPERATOR_ORG).len();
    world.clock.pass(RETIRED_AFTER);
    world.deployment().retire_seal_key(&old, at).await.unwrap();
    assert_eq!(world.sealed(OPERATOR_ORG).len(), sealed + 1);
}

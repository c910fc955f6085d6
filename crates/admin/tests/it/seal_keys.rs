//! Registering seal keys.

use crypto::Secret;
use deed::{Purpose, SealKeys};
use model::Clock;
use serde_json::json;
use std::sync::Arc;
use store_memory::MemoryStore;

use crate::{
    admin::{OPERATOR_ORG, PUBLISHED_BEFORE, SealKeyStore, register_seal_keys},
    world::{START, World},
};

fn pem() -> Secret<String> {
    SealKeys::generate_pem(&crypto::SystemEntropy::new())
}

fn loaded(pem: &str) -> SealKeys {
    SealKeys::from_pem(pem).unwrap()
}

struct At;

impl Clock for At {
    fn now(&self) -> model::Timestamp {
        START
    }
}

fn empty() -> MemoryStore {
    MemoryStore::new(Arc::new(At))
}

#[tokio::test]
async fn the_first_keys_count_at_once_and_are_registered_once() {
    let (store, pem) = (empty(), pem());
    let first = register_seal_keys(&store, &loaded(pem.expose()), START).await.unwrap();
    assert_eq!(first.new.len(), 2);
    for purpose in [Purpose::Deed, Purpose::Checkpoint] {
        assert!(first.new.iter().any(|key| key.admits(purpose, START).is_ok()));
    }
    let later = START + PUBLISHED_BEFORE;
    let again = register_seal_keys(&store, &loaded(pem.expose()), later).await.unwrap();
    assert_eq!((again.new, again.set), (vec![], first.set));
}

#[tokio::test]
async fn a_further_key_is_published_first_and_introduced_by_the_older_one() {
    let (store, old, new) = (empty(), pem(), pem());
    register_seal_keys(&store, &loaded(old.expose()), START).await.unwrap();
    let both = format!("{}{}", new.expose(), old.expose());
    let rotated = register_seal_keys(&store, &loaded(&both), START).await.unwrap();
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
        register_seal_keys(world.store.as_ref(), &loaded(pem().expose()), START).await.unwrap();
    for key in registered.new.clone() {
        world.admin.seal_key_registered(key).await.unwrap();
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
        register_seal_keys(world.store.as_ref(), &loaded(pem().expose()), START).await.unwrap();
    assert_eq!(world.admin.key_set().await.unwrap(), registered.set);
    let mut forged = registered.new[0].clone();
    forged.introduced_by =
        Some(deed::Introduction { kid: registered.new[1].kid(), signature: "AAAA".to_owned() });
    world.store.put_seal_key(&forged).await.unwrap();
    assert!(world.admin.key_set().await.is_err());
    world.store.go_down();
    assert!(world.admin.key_set().await.is_err());
}

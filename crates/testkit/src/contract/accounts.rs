//! Accounts and seal keys as administration reads them.

use std::time::Duration;

use deed::{Purpose, SealKey, SealKeys};
use ledger::{
    Changes,
    record::{Holder, Suspension},
};
use model::{AgentId, ConnectorId, KeyId};

use super::Store;
use crate::{Scribe, SeededEntropy, sample};

pub(super) async fn check(store: &dyn Store) {
    orgs_are_listed_oldest_first(store).await;
    of_two_orgs_with_one_name_the_second_is_refused(store).await;
    accounts_are_found_in_their_own_org(store).await;
    seal_keys_are_listed_oldest_first(store).await;
}

async fn orgs_are_listed_oldest_first(store: &dyn Store) {
    let mut seeded = Vec::new();
    for (seed, age) in [(800, 2), (801, 3), (802, 1)] {
        let mut scribe = Scribe::created(seed, store).await;
        let mut row = scribe.org_row();
        row.created_at = scribe.now.before(Duration::from_hours(24 * age));
        row.pro = false;
        // An org's age is set when it is made and stays.
        let late = Scribe::new(seed + 50, row.created_at);
        let row = ledger::record::Org { id: late.org, name: late.org_row().name, ..row };
        let turn = late.turn(vec![Changes::from(row.clone())]);
        store.append(&turn).await.unwrap();
        scribe.append(store, Vec::new()).await.unwrap();
        seeded.push(row);
    }
    seeded.sort_by_key(|org| org.created_at);
    let orgs = store.orgs().await.unwrap();
    let ours: Vec<_> = orgs.into_iter().filter(|org| seeded.contains(org)).collect();
    assert_eq!(ours, seeded);
}

async fn of_two_orgs_with_one_name_the_second_is_refused(store: &dyn Store) {
    let first = Scribe::created(803, store).await;
    let second = Scribe::new(804, first.now);
    let row = ledger::record::Org { name: first.org_row().name, ..second.org_row() };
    let refused = store.append(&second.turn(vec![Changes::from(row)])).await;
    assert!(matches!(refused, Err(ledger::AppendError::Refused(_))), "{refused:?}");
    assert_eq!(store.org(second.org).await.unwrap(), None);
}

async fn accounts_are_found_in_their_own_org(store: &dyn Store) {
    let mut scribe = Scribe::created(810, store).await;
    let start = scribe.now;
    let mut agents = Vec::new();
    let mut connectors = Vec::new();
    for (name, age) in [("new", 0), ("old", 2), ("older", 3)] {
        scribe.now = start.before(Duration::from_hours(age));
        agents.push(scribe.agent(name));
        connectors.push(sample::connector(scribe.org, name, &scribe.mint()));
    }
    scribe.now = start;
    let agent_key = sample::api_key(scribe.org, Holder::Agent(agents[0].id), &scribe.mint());
    let org_key = sample::api_key(scribe.org, Holder::Org, &scribe.mint());
    let mut changes: Vec<_> = agents.iter().cloned().map(Changes::from).collect();
    changes.extend(connectors.iter().cloned().map(Changes::from));
    changes.extend([agent_key.clone(), org_key.clone()].map(Changes::from));
    scribe.append(store, changes).await.unwrap();
    let oldest_first = |one: &model::Timestamp, other: &model::Timestamp| one.cmp(other);
    agents.sort_by(|a, b| oldest_first(&a.created_at, &b.created_at));
    connectors.sort_by(|a, b| oldest_first(&a.created_at, &b.created_at));
    assert_eq!(store.agents(scribe.org).await.unwrap(), agents);
    let named = store.agent_named(scribe.org, "old").await.unwrap();
    assert_eq!(named.as_ref(), agents.iter().find(|agent| agent.name == "old"));
    assert!(store.agent_named(scribe.org, "ol").await.unwrap().is_none());
    assert_eq!(store.connectors(scribe.org).await.unwrap(), connectors);
    assert_eq!(store.api_key(agent_key.id).await.unwrap(), Some(agent_key.clone()));
    assert_eq!(store.api_key(org_key.id).await.unwrap(), Some(org_key.clone()));
    let mut keys = store.api_keys(scribe.org).await.unwrap();
    keys.retain(|key| key.id != org_key.id);
    assert_eq!(keys, std::slice::from_ref(&agent_key));
    let (agent, connector) = (agents[0].id, connectors[0].id);
    assert_eq!(store.agent(scribe.org, agent).await.unwrap().as_ref(), agents.first());
    let found = store.connector(scribe.org, connector).await.unwrap();
    assert_eq!(found.as_ref(), connectors.first());

    let mut revoked = agent_key;
    revoked.revoked_at = Some(scribe.now);
    let mut suspended = agents[0].clone();
    let (by, reason) = ("operator".to_owned(), "too fast".to_owned());
    suspended.suspension =
        Some(Suspension { suspended_at: scribe.now, by, reason, until: Some(scribe.now) });
    let changes = vec![Changes::from(revoked.clone()), Changes::from(suspended.clone())];
    scribe.append(store, changes).await.unwrap();
    assert_eq!(store.api_key(revoked.id).await.unwrap(), Some(revoked));
    assert_eq!(store.agent(scribe.org, agent).await.unwrap(), Some(suspended));

    let other = Scribe::created(811, store).await;
    assert!(store.agent(other.org, agent).await.unwrap().is_none());
    assert!(store.connector(other.org, connector).await.unwrap().is_none());
    assert!(store.agents(other.org).await.unwrap().is_empty());
    assert!(store.agent_named(other.org, "old").await.unwrap().is_none());
    assert!(store.connectors(other.org).await.unwrap().is_empty());
    assert!(store.api_keys(other.org).await.unwrap().is_empty());
    let mint = other.mint();
    assert!(store.api_key(mint.id(KeyId::from_uuid)).await.unwrap().is_none());
    assert!(store.agent(scribe.org, mint.id(AgentId::from_uuid)).await.unwrap().is_none());
    let absent = mint.id(ConnectorId::from_uuid);
    assert!(store.connector(scribe.org, absent).await.unwrap().is_none());
    assert!(store.org(model::OrgId::from_uuid(uuid::Uuid::nil())).await.unwrap().is_none());
}

async fn seal_keys_are_listed_oldest_first(store: &dyn Store) {
    assert!(store.seal_keys().await.unwrap().is_empty());
    let (dice, at) = (SeededEntropy::new(830), Scribe::created(831, store).await.now);
    let old = SealKeys::from_pem(SealKeys::generate_pem(&dice).expose()).unwrap();
    let new = SealKeys::from_pem(SealKeys::generate_pem(&dice).expose()).unwrap();
    let [(_, older), (_, checkpoint)] = old.keys().collect::<Vec<_>>()[..] else {
        panic!("a key file has two keys")
    };
    let (_, newer) = new.keys().next().unwrap();
    let first = SealKey::new(*older.public(), Purpose::Deed, at);
    let second =
        SealKey::new(*checkpoint.public(), Purpose::Checkpoint, at + Duration::from_millis(1));
    let third = SealKey::new(*newer.public(), Purpose::Deed, at + Duration::from_mins(10))
        .introduced(older);
    for key in [&third, &first, &second] {
        store.put_seal_key(key).await.unwrap();
    }
    let keys = vec![first.clone(), second.clone(), third.clone()];
    assert_eq!(store.seal_keys().await.unwrap(), keys);
    let mut revoked = first;
    revoked.retired_at = Some(at + Duration::from_mins(20));
    revoked.revoked_at = Some(at + Duration::from_mins(30));
    revoked.revocation_reason = Some("lost".parse().unwrap());
    revoked.compromised_since = Some(at);
    store.put_seal_key(&revoked).await.unwrap();
    assert_eq!(store.seal_keys().await.unwrap(), [revoked, second, third]);
}

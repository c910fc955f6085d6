//! Accounts and seal keys as administration reads them.

use std::{cmp::Reverse, time::Duration};

use admin::{AgentList, AgentPlace, ConnectorTest, KeyUse, Looked, LookedAt};
use deed::{Purpose, SealKey, SealKeys};
use ledger::{
    Changes,
    record::{Agent, ApiKey, Holder, OrgRenamed, Stop, Suspension},
};
use model::{AgentId, AgentStatus, ConnectorId, KeyId, SuspensionCause};

use super::Store;
use crate::{Scribe, SeededEntropy, sample};

pub(super) async fn check(store: &dyn Store) {
    orgs_are_listed_oldest_first(store).await;
    of_two_orgs_with_one_name_the_second_is_refused(store).await;
    an_org_takes_a_free_name_and_gives_its_own_back(store).await;
    accounts_are_found_in_their_own_org(store).await;
    agents_are_listed_by_page_status_and_name(store).await;
    the_keys_of_a_holder_are_listed_by_page(store).await;
    of_the_uses_of_a_key_the_last_is_kept(store).await;
    of_the_tests_of_a_connector_the_last_is_kept(store).await;
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
    let ours: Vec<_> = orgs.found.into_iter().filter(|org| seeded.contains(org)).collect();
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

async fn an_org_takes_a_free_name_and_gives_its_own_back(store: &dyn Store) {
    let mut first = Scribe::created(805, store).await;
    let mut second = Scribe::created(806, store).await;
    let named = |scribe: &Scribe, name: &str| ledger::record::Org {
        name: name.to_owned(),
        ..scribe.org_row()
    };
    let renamed = |scribe: &Scribe, before: &str, after: &str| {
        let row = OrgRenamed { before: before.to_owned(), after: after.to_owned() };
        vec![Changes::from(named(scribe, after)), Changes::from(row)]
    };
    let (one, other) = (first.org_row().name, second.org_row().name);
    let refused = second.append(store, renamed(&second, &other, &one)).await;
    assert!(matches!(refused, Err(ledger::AppendError::Refused(_))), "{refused:?}");
    assert_eq!(store.org_named(&other).await.unwrap(), Some(second.org));
    let free = format!("{one}, anders");
    first.append(store, renamed(&first, &one, &free)).await.unwrap();
    assert_eq!(store.org_named(&free).await.unwrap(), Some(first.org));
    assert_eq!(store.org_named(&one).await.unwrap(), None);
    second.append(store, renamed(&second, &other, &one)).await.unwrap();
    assert_eq!(store.org_named(&one).await.unwrap(), Some(second.org));
    assert_eq!(store.org(second.org).await.unwrap().unwrap().name, one);
    // Twice in one turn.
    let mut there_and_back = renamed(&second, &one, &other);
    there_and_back.extend(renamed(&second, &other, &one));
    second.append(store, there_and_back).await.unwrap();
    assert_eq!(store.org_named(&one).await.unwrap(), Some(second.org));
    assert_eq!(store.org_named(&other).await.unwrap(), None);
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
    let cause = SuspensionCause::Person;
    suspended.suspension =
        Some(Suspension { suspended_at: scribe.now, by, cause, reason, until: Some(scribe.now) });
    let changes = vec![Changes::from(revoked.clone()), Changes::from(suspended.clone())];
    scribe.append(store, changes).await.unwrap();
    assert_eq!(store.api_key(revoked.id).await.unwrap(), Some(revoked));
    assert_eq!(store.agent(scribe.org, agent).await.unwrap(), Some(suspended));

    let other = Scribe::created(811, store).await;
    assert!(store.agent(other.org, agent).await.unwrap().is_none());
    assert!(store.connector(other.org, connector).await.unwrap().is_none());
    assert!(store.agents(other.org, &AgentList::all(), 1).await.unwrap().is_empty());
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

async fn agents_are_listed_by_page_status_and_name(store: &dyn Store) {
    let mut scribe = Scribe::created(812, store).await;
    let start = scribe.now;
    let mut agents = Vec::new();
    for (age, name) in
        ["bot-a", "bot-b", "bot-c", "bot-d", "car", "cat", "end", "era"].into_iter().enumerate()
    {
        scribe.now = start.before(Duration::from_mins(age as u64));
        agents.push(scribe.agent(name));
    }
    scribe.now = start;
    let suspended = |until| Suspension {
        suspended_at: start,
        by: "operator".to_owned(),
        cause: SuspensionCause::Person,
        reason: r#"it said "stop":null"#.to_owned(),
        until,
    };
    let stop = Stop { stopped_at: start, by: "operator".to_owned(), reason: "odd".to_owned() };
    agents[1].stop = Some(stop);
    agents[2].suspension = Some(suspended(None));
    agents[3].suspension = Some(suspended(Some(start.before(Duration::from_hours(24 * 365 * 9)))));
    agents[4].archived_at = Some(start);
    agents[6].expires_at = Some(start.before(Duration::from_hours(24 * 365 * 9)));
    agents[7].expires_at = Some(start + Duration::from_hours(24 * 365 * 90));
    let other = agents[4].clone();
    let again = Agent { archived_at: None, ..scribe.agent("car") };
    let changes = agents.iter().cloned().chain([again.clone()]).map(Changes::from);
    scribe.append(store, changes.collect::<Vec<_>>()).await.unwrap();
    let names = async |asked: AgentList| {
        let mut names = Vec::new();
        let mut asked = asked;
        // A page of two and what it begins behind, until there is nothing more.
        loop {
            let page = store.agents(scribe.org, &asked, 2).await.unwrap();
            asked.after = page.last().map(AgentPlace::from);
            names.extend(page.iter().map(|agent| agent.name.clone()));
            if page.len() < 2 {
                return names.join(" ");
            }
        }
    };
    let listed = |status, archived, named: Option<&str>| {
        names(AgentList { status, archived, named: named.map(str::to_owned), after: None })
    };
    let newest = store.agents(scribe.org, &AgentList::all(), 9).await.unwrap();
    assert!(newest.is_sorted_by_key(|agent| Reverse((agent.created_at, agent.id))));
    assert!(newest.contains(&other) && newest.contains(&again) && newest.len() == 9);
    let (active, archived) = (Some(AgentStatus::Active), Some(AgentStatus::Archived));
    assert_eq!(listed(Some(AgentStatus::Stopped), false, None).await, "bot-b");
    assert_eq!(listed(Some(AgentStatus::Suspended), false, None).await, "bot-c end");
    assert_eq!(listed(Some(AgentStatus::Suspended), false, Some("e")).await, "end");
    assert_eq!(listed(active, false, Some("e")).await, "era");
    assert_eq!(listed(archived, false, None).await, "car");
    let found = listed(active, false, None).await;
    assert!(
        ["car bot-a bot-d cat era", "bot-a car bot-d cat era"].contains(&found.as_str()),
        "{found}"
    );
    assert_eq!(listed(None, false, Some("bot-")).await, "bot-a bot-b bot-c bot-d");
    assert_eq!(listed(None, false, Some("car")).await, "car");
    assert_eq!(listed(None, true, Some("ca")).await, "car car cat");
    assert_eq!(listed(archived, false, Some("ca")).await, "car");
    assert_eq!(listed(active, true, Some("bot")).await, "bot-a bot-d");
    assert_eq!(listed(None, true, Some("d")).await, "");
}

async fn the_keys_of_a_holder_are_listed_by_page(store: &dyn Store) {
    let mut scribe = Scribe::created(813, store).await;
    let (agent, other) = (scribe.agent("one"), scribe.agent("other"));
    let changes = [agent.clone(), other.clone()].map(Changes::from).to_vec();
    scribe.append(store, changes).await.unwrap();
    // The keys of each stand beside those of the others.
    for holder in [Holder::Agent(other.id), Holder::Org, Holder::Agent(agent.id)] {
        let keys = keys_of_every_age(&scribe, holder);
        let changes: Vec<_> = keys.iter().cloned().map(Changes::from).collect();
        scribe.append(store, changes).await.unwrap();
        let page = async |after: Option<&ApiKey>, limit| {
            let after = after.map(|key| (key.created_at, key.id));
            store.keys_of(scribe.org, holder, after, limit).await.unwrap()
        };
        assert_eq!(page(None, 3).await, keys[..3]);
        assert_eq!(page(keys.get(2), 3).await, keys[3..]);
        let mut valid = store.valid_keys_of(scribe.org, holder).await.unwrap();
        valid.sort_by_key(|key| Reverse(key.created_at));
        assert_eq!(valid, [keys[0].clone(), keys[3].clone()]);
    }
    let elsewhere = Scribe::created(816, store).await;
    assert!(store.keys_of(elsewhere.org, Holder::Org, None, 9).await.unwrap().is_empty());
    assert!(store.valid_keys_of(elsewhere.org, Holder::Org).await.unwrap().is_empty());
}

/// Four keys, newest first: a valid one, a revoked one, an expired one and one that ends late.
fn keys_of_every_age(scribe: &Scribe, holder: Holder) -> Vec<ApiKey> {
    let start = scribe.now;
    let mut keys: Vec<_> = (0..4)
        .map(|age| {
            let key = sample::api_key(scribe.org, holder, &scribe.mint());
            let created_at = start.before(Duration::from_mins(age));
            ApiKey { created_at, expires_at: None, ..key }
        })
        .collect();
    keys[1].revoked_at = Some(start);
    keys[2].expires_at = Some(start.before(Duration::from_hours(24 * 365 * 9)));
    keys[3].expires_at = Some(start + Duration::from_hours(24 * 365 * 90));
    keys
}

async fn of_the_uses_of_a_key_the_last_is_kept(store: &dyn Store) {
    let mut scribe = Scribe::created(814, store).await;
    let mut keys = Vec::new();
    for _ in 0..3 {
        keys.push(sample::api_key(scribe.org, Holder::Org, &scribe.mint()));
    }
    let changes: Vec<_> = keys.iter().cloned().map(Changes::from).collect();
    scribe.append(store, changes).await.unwrap();
    let [one, two, unused] = [keys[0].id, keys[1].id, keys[2].id];
    let network = |text: &str| Some(text.parse().unwrap());
    let early = KeyUse { at: scribe.now, network: network("203.0.113.0/24") };
    let late =
        KeyUse { at: scribe.now + Duration::from_mins(1), network: network("2001:db8:1::/48") };
    store.note_key_uses(scribe.org, &[(one, late), (two, early)]).await.unwrap();
    store.note_key_uses(scribe.org, &[(one, early), (two, late)]).await.unwrap();
    store.note_key_uses(scribe.org, &[]).await.unwrap();
    let again = KeyUse { at: late.at + Duration::from_secs(1), network: None };
    store.note_key_uses(scribe.org, &[(one, again)]).await.unwrap();
    let found = store.key_uses(scribe.org, &[one, unused]).await.unwrap();
    assert_eq!(found, [(one, KeyUse { at: again.at, ..late })].into());
    assert_eq!(store.key_uses(scribe.org, &[two]).await.unwrap(), [(two, late)].into());
    let other = Scribe::created(815, store).await;
    assert!(store.key_uses(other.org, &[one, two]).await.unwrap().is_empty());
}

async fn of_the_tests_of_a_connector_the_last_is_kept(store: &dyn Store) {
    let mut scribe = Scribe::created(817, store).await;
    let [one, other] =
        ["one", "other"].map(|name| sample::connector(scribe.org, name, &scribe.mint()));
    let changes = [one.clone(), other.clone()].map(Changes::from).to_vec();
    scribe.append(store, changes).await.unwrap();
    let last = async |id| store.last_connector_test(scribe.org, id).await.unwrap();
    assert_eq!(last(one.id).await, None);
    let check = |found: LookedAt| Looked {
        name: format!("a \0 {}", found.as_str()),
        found,
        detail: "\u{1f512} \"quoted\"".to_owned(),
    };
    let early = ConnectorTest {
        revision: 1,
        tested_at: scribe.now,
        duration: Duration::from_millis(400),
        checks: LookedAt::ALL.map(check).to_vec(),
    };
    let late = ConnectorTest {
        revision: u32::MAX,
        tested_at: scribe.now + Duration::from_secs(1),
        duration: Duration::ZERO,
        checks: Vec::new(),
    };
    // The clocks of two instances may differ.
    for test in [&early, &late, &early] {
        store.keep_connector_test(scribe.org, one.id, test).await.unwrap();
        assert_eq!(last(one.id).await.as_ref(), Some(test));
    }
    assert_eq!(last(other.id).await, None);
    let elsewhere = Scribe::created(818, store).await;
    assert_eq!(store.last_connector_test(elsewhere.org, one.id).await.unwrap(), None);
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
    let mut revoked = first.clone();
    revoked.retired_at = Some(at + Duration::from_mins(20));
    revoked.revoked_at = Some(at + Duration::from_mins(30));
    revoked.revocation_reason = Some("lost".parse().unwrap());
    revoked.compromised_since = Some(at);
    store.put_seal_key(&revoked).await.unwrap();
    assert_eq!(store.seal_keys().await.unwrap(), [revoked.clone(), second.clone(), third.clone()]);
    // Whoever read the key before that and writes now does not take its revocation back.
    store.put_seal_key(&SealKey { retired_at: revoked.retired_at, ..first }).await.unwrap();
    assert_eq!(store.seal_keys().await.unwrap(), [revoked.clone(), second.clone(), third.clone()]);
    // Another instance that read the set before registers the third for a later time.
    let later =
        SealKey { activated_at: third.activated_at + Duration::from_mins(10), ..third.clone() };
    store.put_seal_key(&later).await.unwrap();
    assert_eq!(store.seal_keys().await.unwrap(), [revoked.clone(), second.clone(), third.clone()]);
    let sooner = SealKey { activated_at: at + Duration::from_mins(5), ..third };
    store.put_seal_key(&sooner).await.unwrap();
    assert_eq!(store.seal_keys().await.unwrap(), [revoked, second, sooner]);
}

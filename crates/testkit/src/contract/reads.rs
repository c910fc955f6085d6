//! What a turn loads: bases, rows that are there, rows that are not.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use deed::Path;
use ledger::{
    Changes, Needs,
    record::{Holder, PolicyMode, Stop},
};
use model::{ActionId, AgentId, DeedId, KeyId, PolicyVersionId};
use serde_json::json;

use super::Store;
use crate::{Draft, Scribe, sample};

pub(super) async fn check(store: &dyn Store) {
    a_base_has_the_active_policies_and_the_connectors(store).await;
    what_is_needed_is_found_and_what_is_absent_is_not(store).await;
    an_action_shows_its_disclosures_events_and_deeds(store).await;
}

async fn a_base_has_the_active_policies_and_the_connectors(store: &dyn Store) {
    let mut scribe = Scribe::created(200, store).await;
    let mint = scribe.mint();
    let policy = sample::policy(scribe.org, "house", &mint);
    let [one, two] = [1, 2].map(|number| sample::policy_version(&policy, number, &mint));
    let [shop, mail] = ["shop", "mail"].map(|name| sample::connector(scribe.org, name, &mint));
    let enforced = sample::active(&one, PolicyMode::Enforce);
    let shadow = sample::active(&two, PolicyMode::Shadow);
    let changes = vec![
        Changes::from(policy),
        Changes::from(one.clone()),
        Changes::from(two.clone()),
        Changes::from(shadow),
        Changes::from(enforced),
        Changes::from(shop.clone()),
        Changes::from(mail.clone()),
    ];
    scribe.append(store, changes).await.unwrap();
    let base = store.base(scribe.org).await.unwrap().0.unwrap();
    assert_eq!(base.active, [enforced, shadow]);
    assert_eq!(base.connectors.into_values().collect::<Vec<_>>(), by_id(vec![shop, mail.clone()]));
    let document = store.policy_document(scribe.org, two.id).await.unwrap();
    assert_eq!(document.as_deref(), Some(two.document.as_str()));

    let promoted = sample::active(&two, PolicyMode::Enforce);
    let mut moved = mail;
    (moved.config, moved.revision) = (json!({ "host": "elsewhere", "n": [1, 2.5, null] }), 2);
    let mut stopped = scribe.org_row();
    let (by, reason) = ("operator".to_owned(), "drill".to_owned());
    stopped.stop = Some(Stop { stopped_at: scribe.now, by, reason });
    let changes = vec![
        Changes::from(promoted),
        Changes::from(ledger::record::ActiveChange { mode: PolicyMode::Shadow, active: None }),
        Changes::from(moved.clone()),
        Changes::from(stopped.clone()),
    ];
    scribe.append(store, changes).await.unwrap();
    let base = store.base(scribe.org).await.unwrap().0.unwrap();
    assert_eq!(base.active, [promoted]);
    assert_eq!(base.connectors.get(&moved.id), Some(&moved));
    assert_eq!(base.org, stopped);

    let other = Scribe::created(201, store).await;
    assert!(store.policy_document(other.org, two.id).await.unwrap().is_none());
    let absent = other.mint().id(PolicyVersionId::from_uuid);
    assert!(store.policy_document(scribe.org, absent).await.unwrap().is_none());
}

fn by_id(mut rows: Vec<ledger::record::Connector>) -> Vec<ledger::record::Connector> {
    rows.sort_by_key(|row| row.id);
    rows
}

async fn what_is_needed_is_found_and_what_is_absent_is_not(store: &dyn Store) {
    let mut scribe = Scribe::created(202, store).await;
    let (agent, unneeded) = (scribe.agent("needed"), scribe.agent("unneeded"));
    let mint = scribe.mint();
    let key = sample::api_key(scribe.org, Holder::Agent(agent.id), &mint);
    let (request, _) = sample::request(&json!({}), &mint);
    let action = sample::action(&agent, request, &mint);
    // An expired key is loaded too: who asks compares the times.
    let known = sample::idempotency_key(&action, "old", scribe.now.before(Duration::from_hours(1)));
    let windows = [scribe.now, scribe.now + Duration::from_hours(24)];
    let budgets = windows.map(|start| sample::budget("day", start, "12.000000000000000001"));
    let absent =
        (mint.id(AgentId::from_uuid), mint.id(KeyId::from_uuid), mint.id(ActionId::from_uuid));
    let changes = vec![
        Changes::from(agent.clone()),
        Changes::from(unneeded),
        Changes::from(key.clone()),
        sample::begun(action.clone(), Vec::new()),
        Changes::from(known.clone()),
        Changes::from(budgets[0].clone()),
        Changes::from(budgets[1].clone()),
    ];
    let needs = Needs {
        agents: BTreeSet::from([agent.id, absent.0]),
        keys: BTreeSet::from([key.id, absent.1]),
        actions: BTreeSet::from([action.id, absent.2]),
        idempotency_keys: BTreeSet::from([
            (agent.id, "old".to_owned()),
            (agent.id, "OLD".to_owned()),
            (absent.0, "old".to_owned()),
        ]),
        budgets: BTreeSet::from([
            ("day".to_owned(), windows[1]),
            ("night".to_owned(), windows[1]),
            ("day".to_owned(), windows[1] + Duration::from_millis(1)),
        ]),
        ..Needs::default()
    };
    scribe.append(store, changes).await.unwrap();
    let found = store.load(scribe.org, &needs).await.unwrap();
    assert_eq!(found.agents, [agent]);
    assert_eq!(found.keys, [key]);
    assert_eq!(found.actions, [Arc::new(action)]);
    assert_eq!(found.idempotency_keys, [known]);
    assert_eq!(found.budgets, [budgets[1].clone()]);

    let nothing = store.load(scribe.org, &Needs::default()).await.unwrap();
    assert!(
        nothing.agents.is_empty()
            && nothing.actions.is_empty()
            && nothing.idempotency_keys.is_empty()
    );
    let other = Scribe::created(203, store).await;
    let foreign = store.load(other.org, &needs).await.unwrap();
    assert!(foreign.agents.is_empty() && foreign.keys.is_empty() && foreign.actions.is_empty());
    assert!(foreign.idempotency_keys.is_empty() && foreign.budgets.is_empty());
}

async fn an_action_shows_its_disclosures_events_and_deeds(store: &dyn Store) {
    let mut scribe = Scribe::created(204, store).await;
    let agent = scribe.agent("shown");
    let mint = scribe.mint();
    let (request, disclosure) = sample::request(&json!({ "order": 7 }), &mint);
    let (_, session) = deed::commit(&mint, Path::SESSION, &json!("s-1"));
    let action = sample::action(&agent, request, &mint);
    let beside = sample::action(&agent, request, &mint);
    let id = action.id;
    let begin = Draft {
        changes: Changes::from_iter([
            sample::begun(action.clone(), vec![disclosure.clone(), session.clone()]),
            sample::begun(beside.clone(), vec![disclosure.clone()]),
        ]),
        deeds: vec![scribe.deed(Some(beside.id)), scribe.deed(None)],
        events: vec![scribe.event(Some(id)), scribe.event(Some(beside.id)), scribe.event(None)],
    };
    let first = scribe.append(store, begin).await.unwrap();
    let ended = sample::sealed(&action, scribe.mint().id(DeedId::from_uuid));
    let end = Draft {
        changes: sample::moved(ended.clone()),
        deeds: vec![scribe.deed(Some(id)), scribe.deed(Some(id))],
        events: (0..203).map(|_| scribe.event(Some(id))).collect(),
    };
    let second = scribe.append(store, end).await.unwrap();

    let detail = store.detail(scribe.org, id).await.unwrap().unwrap();
    assert_eq!(detail.action, ended);
    let own = second.deeds.iter().flat_map(|deed| deed.disclosures.clone());
    let expected: Vec<_> = [disclosure, session].into_iter().chain(own).collect();
    assert_eq!(texts(&detail.disclosures), texts(&expected));
    let mut events: Vec<_> = vec![first.events[0].clone()];
    events.extend(second.events.iter().cloned());
    events.truncate(200);
    assert_eq!(detail.events, events, "the first 200 events, in order");
    assert_eq!(detail.deeds.len(), 2);
    for (shown, placed) in detail.deeds.iter().zip(&second.deeds) {
        let sealed = &placed.sealed;
        assert_eq!((shown.id, shown.kind, shown.seq), (sealed.id, sealed.kind, sealed.seq));
        assert_eq!((&shown.body, shown.digest), (&sealed.body, sealed.digest));
        assert_eq!((shown.signature, shown.issued_at), (sealed.signature, sealed.issued_at));
        assert_eq!((shown.key_id.as_str(), shown.agent), (sealed.key_id.as_str(), placed.agent));
        assert_eq!(shown.action, Some(id));
    }
    let other = Scribe::created(205, store).await;
    assert!(store.detail(other.org, id).await.unwrap().is_none());
    assert!(store.action(other.org, id).await.unwrap().is_none());
}

fn texts(disclosures: &[deed::Disclosure]) -> BTreeSet<String> {
    disclosures.iter().map(deed::Disclosure::text).collect()
}

//! What retention finds and removes, and what it leaves; rows that stand for themselves.

use std::time::Duration;

use ledger::{
    Changes, LogNo, Needs, Place,
    record::{
        AcceptedTool, Action, Agent, AnswerTime, ApprovalSettings, IntentKey, IntentKeys,
        OrgSettings, Pruned,
    },
};
use model::{DeedId, IntentKeyId, Timestamp};
use serde_json::json;

use super::Store;
use crate::{Draft, Scribe, sample};

const DAY: Duration = Duration::from_hours(24);

pub(super) async fn check(store: &dyn Store) {
    a_log_is_read_from_a_place_on(store).await;
    what_is_pruned_is_gone_and_its_deeds_stay(store).await;
    a_pruning_that_is_lost_removes_nothing(store).await;
    what_means_nothing_any_more_is_swept_out(store).await;
    an_orgs_settings_are_kept_in_their_last_form_and_for_it_alone(store).await;
    an_accepted_tool_is_kept_in_its_last_form_and_is_the_agents_own(store).await;
    intent_keys_are_kept_in_their_last_form_and_are_the_agents_own(store).await;
}

/// Writes an action with a deed of its own and returns both.
async fn sealed(store: &dyn Store, scribe: &mut Scribe) -> (Action, DeedId) {
    let mint = scribe.mint();
    let (request, disclosure) = sample::request(&json!({ "amount": 5 }), &mint);
    let begun = sample::action(&scribe.agent("one"), request, &mint);
    let change = sample::begun(begun.clone(), vec![disclosure]);
    scribe.append(store, vec![change]).await.unwrap();
    let deed = scribe.deed(Some(begun.id));
    let id = deed.draft.id;
    let ended = sample::sealed(&begun, id);
    let changes = sample::moved(ended.clone());
    scribe.append(store, Draft { changes, deeds: vec![deed], events: vec![] }).await.unwrap();
    (ended, id)
}

fn pruning(action: &Action, deed: DeedId, at: Timestamp) -> Vec<Changes> {
    let pruned = Action { payload_pruned_at: Some(at), ..action.clone() };
    vec![
        sample::moved(pruned),
        Changes::from(Pruned { actions: vec![action.id], deeds: vec![deed] }),
    ]
}

fn at(seq: u64) -> Place {
    Place::of(LogNo::FIRST, seq)
}

async fn a_log_is_read_from_a_place_on(store: &dyn Store) {
    let mut scribe = Scribe::created(900, store).await;
    let deeds = vec![scribe.deed(None)];
    scribe.append(store, Draft { deeds, ..Draft::default() }).await.unwrap();
    let (action, deed) = sealed(store, &mut scribe).await;
    let logged = store.logged(scribe.org, at(0), 10).await.unwrap();
    let places: Vec<_> = logged.iter().map(|deed| (deed.place.seq(), deed.action)).collect();
    assert_eq!(places, [(0, None), (1, Some(action.id))]);
    assert_eq!((logged[1].deed, logged[1].issued_at), (deed, scribe.now));
    assert_eq!(store.logged(scribe.org, at(1), 10).await.unwrap(), logged[1..]);
    assert_eq!(store.logged(scribe.org, at(0), 1).await.unwrap(), logged[..1]);
    assert!(store.logged(scribe.org, at(2), 10).await.unwrap().is_empty());
    let other = Scribe::created(901, store).await;
    assert!(store.logged(other.org, at(0), 10).await.unwrap().is_empty());
}

async fn what_is_pruned_is_gone_and_its_deeds_stay(store: &dyn Store) {
    let mut scribe = Scribe::created(902, store).await;
    let (old, deed) = sealed(store, &mut scribe).await;
    let (young, _) = sealed(store, &mut scribe).await;
    let before = store.detail(scribe.org, old.id).await.unwrap().unwrap();
    assert_eq!(before.disclosures.len(), 2, "of the beginning and of the deed");
    let changes = pruning(&old, deed, scribe.now);
    scribe.append(store, changes).await.unwrap();
    let after = store.detail(scribe.org, old.id).await.unwrap().unwrap();
    assert!(after.disclosures.is_empty());
    assert_eq!(after.action.payload_pruned_at, Some(scribe.now));
    assert_eq!((after.deeds, after.events), (before.deeds, before.events));
    let untouched = store.detail(scribe.org, young.id).await.unwrap().unwrap();
    assert_eq!(untouched.disclosures.len(), 2);
}

async fn a_pruning_that_is_lost_removes_nothing(store: &dyn Store) {
    let mut scribe = Scribe::created(903, store).await;
    let (action, deed) = sealed(store, &mut scribe).await;
    let stale = scribe.turn(pruning(&action, deed, scribe.now));
    scribe.append(store, vec![Changes::from(scribe.agent("first"))]).await.unwrap();
    assert!(store.append(&stale).await.is_err());
    let detail = store.detail(scribe.org, action.id).await.unwrap().unwrap();
    assert_eq!((detail.disclosures.len(), detail.action.payload_pruned_at), (2, None));
}

async fn what_means_nothing_any_more_is_swept_out(store: &dyn Store) {
    let mut scribe = Scribe::created(904, store).await;
    let (action, _) = sealed(store, &mut scribe).await;
    let now = scribe.now;
    let (long_ago, ahead) = (now.before(DAY * 2), now + DAY * 2);
    let mut ended = sample::budget("ended", long_ago.before(DAY), "1");
    ended.window_end = long_ago;
    let mut running = sample::budget("running", long_ago, "1");
    running.window_end = ahead;
    let mut changes: Vec<_> = (0..3)
        .map(|number| sample::idempotency_key(&action, &format!("old {number}"), long_ago))
        .map(Changes::from)
        .collect();
    let live = sample::idempotency_key(&action, "live", ahead);
    changes.push(Changes::from(live.clone()));
    changes.extend([ended.clone(), running.clone()].map(Changes::from));
    scribe.append(store, changes).await.unwrap();
    assert_eq!(store.sweep_out(scribe.org, 2).await.unwrap(), 2, "no more than it may at once");
    assert_eq!(store.sweep_out(scribe.org, 2).await.unwrap(), 1);
    assert_eq!(store.sweep_out(scribe.org, 2).await.unwrap(), 0);
    let needs = Needs {
        idempotency_keys: ["old 0", "old 1", "old 2", "live"]
            .map(|key| (action.agent.id, key.to_owned()))
            .into(),
        budgets: [&ended, &running].map(|row| (row.key.clone(), row.window_start)).into(),
        ..Needs::default()
    };
    let left = store.load(scribe.org, &needs).await.unwrap();
    assert_eq!((left.idempotency_keys, left.budgets), (vec![live], vec![running]));
    // The org goes on.
    scribe.append(store, vec![Changes::from(scribe.agent("next"))]).await.unwrap();
}

async fn an_accepted_tool_is_kept_in_its_last_form_and_is_the_agents_own(store: &dyn Store) {
    let mut scribe = Scribe::created(937, store).await;
    let other = Scribe::created(938, store).await;
    let agents = ["one", "two"].map(|name| scribe.agent(name));
    let accepted = |agent: &Agent, tool: &str, text: &str| AcceptedTool {
        agent: agent.id,
        tool: tool.to_owned(),
        digest: crypto::sha256(text),
        told: None,
    };
    let rows = [
        accepted(&agents[0], "mail.send", "first"),
        accepted(&agents[1], "mail.send", "another's"),
        accepted(&agents[0], "mail.read", "another tool's"),
        accepted(&agents[0], "mail.send", "second"),
    ];
    let made = agents.each_ref().map(|agent| Changes::from(agent.clone()));
    scribe.append(store, made.to_vec()).await.unwrap();
    scribe.append(store, rows.clone().map(Changes::from).to_vec()).await.unwrap();
    let asked = |agent: &Agent, tool: &str| Needs {
        accepted_tools: [(agent.id, tool.to_owned())].into(),
        ..Needs::default()
    };
    let found = async |org, needs| store.load(org, &needs).await.unwrap().accepted_tools;
    assert_eq!(found(scribe.org, asked(&agents[0], "mail.send")).await, [rows[3].clone()]);
    assert_eq!(found(scribe.org, asked(&agents[1], "mail.send")).await, [rows[1].clone()]);
    assert!(found(scribe.org, asked(&agents[1], "mail.read")).await.is_empty());
    assert!(found(other.org, asked(&agents[0], "mail.send")).await.is_empty());
    // A later turn replaces what an earlier one accepted.
    let told = Some(crypto::sha256("told"));
    let third = AcceptedTool { told, ..accepted(&agents[0], "mail.send", "third") };
    scribe.append(store, vec![Changes::from(third.clone())]).await.unwrap();
    assert_eq!(found(scribe.org, asked(&agents[0], "mail.send")).await, [third]);
}

async fn intent_keys_are_kept_in_their_last_form_and_are_the_agents_own(store: &dyn Store) {
    let mut scribe = Scribe::created(961, store).await;
    let other = Scribe::created(962, store).await;
    let agents = ["one", "two"].map(|name| scribe.agent(name));
    let made = agents.each_ref().map(|agent| Changes::from(agent.clone()));
    scribe.append(store, made.to_vec()).await.unwrap();
    let key = |kid: &str| IntentKey {
        id: scribe.mint().id(IntentKeyId::from_uuid),
        kid: kid.to_owned(),
        public_key: "key".to_owned(),
        created_at: scribe.now,
        not_before: Some(scribe.now),
        not_after: None,
        revoked_at: None,
    };
    let (first, second) = (key("first"), key("second"));
    let row = |keys: &[&IntentKey]| IntentKeys {
        agent: agents[0].id,
        keys: keys.iter().copied().cloned().collect(),
    };
    let (early, last) = (row(&[&first]), row(&[&first, &second]));
    scribe.append(store, vec![Changes::from(early)]).await.unwrap();
    scribe.append(store, vec![Changes::from(last.clone())]).await.unwrap();
    let found = async |org, agent: &Agent| {
        let needs = Needs { intent_keys: [agent.id].into(), ..Needs::default() };
        let loaded = store.load(org, &needs).await.unwrap().intent_keys;
        assert_eq!(store.intent_keys(org, agent.id).await.unwrap(), loaded.first().cloned());
        loaded
    };
    assert_eq!(found(scribe.org, &agents[0]).await, std::slice::from_ref(&last));
    assert!(found(scribe.org, &agents[1]).await.is_empty());
    assert!(found(other.org, &agents[0]).await.is_empty());
    // Who writes the agent anew leaves them.
    scribe.append(store, vec![Changes::from(agents[0].clone())]).await.unwrap();
    assert_eq!(found(scribe.org, &agents[0]).await, [last]);
}

async fn an_orgs_settings_are_kept_in_their_last_form_and_for_it_alone(store: &dyn Store) {
    let mut scribe = Scribe::created(935, store).await;
    let other = Scribe::created(936, store).await;
    let needs = |org| Needs { settings: [org].into(), ..Needs::default() };
    assert!(store.load(scribe.org, &needs(scribe.org)).await.unwrap().settings.is_empty());
    let first = OrgSettings {
        org: scribe.org,
        retention_days: 30,
        approvals: ApprovalSettings {
            default_expires_in: Some(AnswerTime::of_seconds(5_400).unwrap()),
            require_other_person: true,
            allow_single_member: false,
        },
        policy_two_person: true,
        revision: 2,
        updated_at: scribe.now,
    };
    let last = OrgSettings {
        retention_days: 3650,
        approvals: ApprovalSettings { allow_single_member: true, ..ApprovalSettings::default() },
        policy_two_person: false,
        revision: 3,
        updated_at: scribe.now + DAY,
        ..first.clone()
    };
    scribe.append(store, vec![first.clone().into()]).await.unwrap();
    let found = store.load(scribe.org, &needs(scribe.org)).await.unwrap().settings;
    assert_eq!(found, std::slice::from_ref(&first));
    scribe.append(store, [first, last.clone()].map(Changes::from).to_vec()).await.unwrap();
    assert_eq!(store.load(scribe.org, &needs(scribe.org)).await.unwrap().settings, [last]);
    assert!(store.load(other.org, &needs(other.org)).await.unwrap().settings.is_empty());
}

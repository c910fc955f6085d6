//! What becomes of a turn: appended whole, lost, refused, or settled after a doubt.

use admin::AgentList;
use ledger::{
    AppendError, Changes, HeadMark, LedgerStore, Needs, Turn,
    record::{Holder, PolicyMode},
};

use super::Store;
use crate::{Draft, Scribe, sample};

pub(super) async fn check(store: &dyn Store) {
    an_org_begins_with_its_first_turn(store).await;
    a_turn_on_an_older_head_is_lost_and_leaves_nothing(store).await;
    a_turn_of_a_time_that_has_not_come_is_lost(store).await;
    an_org_is_founded_once(store).await;
    a_turn_is_appended_once(store).await;
    the_last_form_of_a_row_in_a_turn_wins(store).await;
    a_turn_that_breaks_a_constraint_is_refused_whole(store).await;
    a_live_idempotency_key_is_not_given_away(store).await;
    a_committed_turn_settles_as_committed(store).await;
    a_turn_that_was_not_committed_never_will_be_once_settled(store).await;
    a_founding_that_was_not_committed_never_will_be_once_settled(store).await;
}

async fn an_org_begins_with_its_first_turn(store: &dyn Store) {
    let mut scribe = Scribe::new(100, now(store).await);
    assert!(store.base(scribe.org).await.unwrap().0.is_none());
    let draft = Draft {
        changes: Changes::from(scribe.org_row()),
        deeds: vec![scribe.deed(None)],
        events: vec![scribe.event(None), scribe.event(None)],
    };
    let before = now(store).await;
    let turn = scribe.turn(draft);
    let at = store.append(&turn).await.unwrap();
    assert!(before <= at && at <= now(store).await, "an append brings the store's time back");
    scribe.went(&turn);
    let base = store.base(scribe.org).await.unwrap().0.unwrap();
    assert_eq!(base.org, scribe.org_row());
    assert_eq!(base.head.version, 1);
    assert_eq!(base.head.event_seq, 2);
    assert_eq!(base.head.chain, turn.head.chain);
    assert!(base.active.is_empty() && base.connectors.is_empty());
}

async fn a_turn_on_an_older_head_is_lost_and_leaves_nothing(store: &dyn Store) {
    let mut scribe = Scribe::created(101, store).await;
    let (late, early) = (scribe.agent("late"), scribe.agent("early"));
    let stale = scribe.turn(Draft {
        changes: Changes::from(late.clone()),
        deeds: vec![scribe.deed(None)],
        events: vec![scribe.event(None)],
    });
    scribe.append(store, vec![Changes::from(early)]).await.unwrap();
    assert_lost(store, &stale).await;
    assert!(store.agent(scribe.org, late.id).await.unwrap().is_none());
    assert_eq!(store.last_event(scribe.org).await.unwrap(), 0);
    let ahead = HeadMark { version: 7, ..stale.expected.unwrap() };
    let ahead = Turn { expected: Some(ahead), ..stale };
    assert_lost(store, &ahead).await;
    // A head of another history that has come to the same version.
    let last = crypto::sha256("another history");
    let next = scribe.turn(vec![Changes::from(scribe.agent("forked"))]);
    let forked = HeadMark { last, ..next.expected.unwrap() };
    assert_lost(store, &Turn { expected: Some(forked), ..next }).await;
    // What was lost decides anew and gets its place.
    scribe.append(store, vec![Changes::from(late.clone())]).await.unwrap();
    assert_eq!(store.agent(scribe.org, late.id).await.unwrap(), Some(late));
}

async fn a_turn_of_a_time_that_has_not_come_is_lost(store: &dyn Store) {
    let mut scribe = Scribe::created(112, store).await;
    let deed = |scribe: &Scribe| Draft { deeds: vec![scribe.deed(None)], ..Draft::default() };
    scribe.append(store, deed(&scribe)).await.unwrap();
    let start = scribe.now;
    scribe.now = start + std::time::Duration::from_hours(1);
    assert_lost(store, &scribe.turn(deed(&scribe))).await;
    scribe.now = start;
    scribe.append(store, deed(&scribe)).await.unwrap();
}

async fn an_org_is_founded_once(store: &dyn Store) {
    let scribe = Scribe::created(102, store).await;
    let mut renamed = scribe.org_row();
    "another".clone_into(&mut renamed.name);
    let again = Turn { expected: None, ..scribe.turn(vec![Changes::from(renamed)]) };
    assert_lost(store, &again).await;
    assert_eq!(store.org(scribe.org).await.unwrap(), Some(scribe.org_row()));
    let nobody = Scribe::new(103, scribe.now);
    let headless = nobody.turn(vec![Changes::from(nobody.agent("first"))]);
    assert_refused(store, &headless).await;
    assert!(store.base(nobody.org).await.unwrap().0.is_none());
    assert!(store.agents(nobody.org, &AgentList::all(), 1).await.unwrap().is_empty());
}

async fn a_turn_is_appended_once(store: &dyn Store) {
    let mut scribe = Scribe::created(104, store).await;
    let turn = scribe.append(store, vec![Changes::from(scribe.agent("once"))]).await.unwrap();
    assert_lost(store, &turn).await;
    let renamed = Turn { expected: Some(turn.head.mark()), ..turn };
    assert_lost(store, &renamed).await;
}

async fn the_last_form_of_a_row_in_a_turn_wins(store: &dyn Store) {
    let mut scribe = Scribe::created(105, store).await;
    let (first, second) = (scribe.agent("first"), scribe.agent("second"));
    let mut renamed = first.clone();
    "renamed".clone_into(&mut renamed.name);
    let mint = scribe.mint();
    let (request, _) = sample::request(&serde_json::json!({}), &mint);
    let begun = sample::action(&first, request, &mint);
    let older = sample::action(&first, request, &mint);
    let (taken, ended) = (sample::sealed(&begun, mint.id(model::DeedId::from_uuid)), begun.clone());
    let window = scribe.now;
    let known = |action, hours| {
        sample::idempotency_key(action, "key", scribe.now + std::time::Duration::from_hours(hours))
    };
    let changes = vec![
        Changes::from(first),
        Changes::from(second.clone()),
        Changes::from(renamed.clone()),
        sample::begun(older.clone(), Vec::new()),
        sample::begun(begun.clone(), Vec::new()),
        sample::moved(ended),
        sample::moved(taken.clone()),
        Changes::from(known(&older, 1)),
        Changes::from(known(&begun, 2)),
        Changes::from(sample::budget("day", window, "1")),
        Changes::from(sample::budget("day", window, "2.5")),
    ];
    let expected = known(&begun, 2);
    scribe.append(store, changes).await.unwrap();
    let mut agents = store.agents(scribe.org, &AgentList::all(), 10).await.unwrap();
    agents.reverse();
    assert_eq!(agents, sorted(vec![renamed, second.clone()]));
    assert_eq!(store.action(scribe.org, begun.id).await.unwrap(), Some(taken.clone()));
    let found = store.idempotency_key(scribe.org, expected.agent, "key").await.unwrap();
    assert_eq!(found, Some(expected));
    let needs = Needs { budgets: [("day".to_owned(), window)].into(), ..Needs::default() };
    let budgets = store.load(scribe.org, &needs).await.unwrap().budgets;
    assert_eq!(budgets, [sample::budget("day", window, "2.5")]);
    // Of two moves of an action that was there, the last one holds.
    let seen = sample::sealed(&older, scribe.mint().id(model::DeedId::from_uuid));
    let moves = [older.clone(), seen.clone()].map(sample::moved);
    scribe.append(store, moves.to_vec()).await.unwrap();
    assert_eq!(store.action(scribe.org, older.id).await.unwrap(), Some(seen));
}

fn sorted(mut agents: Vec<ledger::record::Agent>) -> Vec<ledger::record::Agent> {
    agents.sort_by_key(|agent| (agent.created_at, agent.id));
    agents
}

async fn a_turn_that_breaks_a_constraint_is_refused_whole(store: &dyn Store) {
    let mut scribe = Scribe::created(106, store).await;
    let mint = scribe.mint();
    let (request, disclosure) = sample::request(&serde_json::json!({ "a": 1 }), &mint);
    let agent = scribe.agent("taken");
    let there = sample::action(&agent, request, &mint);
    let policy = sample::policy(scribe.org, "taken", &mint);
    let version = sample::policy_version(&policy, 1, &mint);
    let connector = sample::connector(scribe.org, "taken", &mint);
    let begun = |action| sample::begun(action, vec![disclosure.clone()]);
    let (elsewhere, fresh) = (scribe.agent("elsewhere"), sample::action(&agent, request, &mint));
    let nobodys = sample::api_key(scribe.org, Holder::Agent(elsewhere.id), &mint);
    let unmade = sample::policy_version(&policy, 2, &mint);
    let orphan = sample::policy_version(&sample::policy(scribe.org, "no", &mint), 1, &mint);
    let breaches = [
        ("an action begins that is there", vec![begun(there.clone())]),
        ("an action begins twice", vec![begun(fresh.clone()), begun(fresh.clone())]),
        ("an action moves that is not there", vec![sample::moved(fresh)]),
        ("an agent's name is taken", vec![Changes::from(scribe.agent("taken"))]),
        (
            "a policy's name is taken",
            vec![Changes::from(sample::policy(scribe.org, "taken", &mint))],
        ),
        (
            "a connector's name is taken",
            vec![Changes::from(sample::connector(scribe.org, "taken", &mint))],
        ),
        ("a version is made again", vec![Changes::from(version.clone())]),
        (
            "a version's number is taken",
            vec![Changes::from(sample::policy_version(&policy, 1, &mint))],
        ),
        ("a version of no policy", vec![Changes::from(orphan)]),
        (
            "a version becomes active that is not there",
            vec![Changes::from(sample::active(&unmade, PolicyMode::Enforce))],
        ),
        ("a key of nobody", vec![Changes::from(nobodys)]),
    ];
    let seed = vec![
        Changes::from(agent),
        begun(there.clone()),
        Changes::from(policy.clone()),
        Changes::from(version.clone()),
        Changes::from(connector.clone()),
    ];
    scribe.append(store, seed).await.unwrap();
    for (breach, mut changes) in breaches {
        let witness = scribe.agent(&format!("beside: {breach}"));
        changes.insert(0, Changes::from(witness.clone()));
        let refused = store.append(&scribe.turn(changes)).await;
        assert!(matches!(refused, Err(AppendError::Refused(_))), "{breach}: {refused:?}");
        assert!(store.agent(scribe.org, witness.id).await.unwrap().is_none(), "{breach}");
    }
    // The name of an archived agent is free.
    let mut archived = store.agents(scribe.org, &AgentList::all(), 1).await.unwrap().remove(0);
    archived.archived_at = Some(scribe.now);
    let taken = scribe.agent("taken");
    let changes = vec![Changes::from(archived), Changes::from(taken.clone())];
    scribe.append(store, changes).await.unwrap();
    assert_eq!(store.agent_named(scribe.org, "taken").await.unwrap(), Some(taken));
    assert_eq!(store.agents(scribe.org, &AgentList::all(), 9).await.unwrap().len(), 2);
}

async fn a_live_idempotency_key_is_not_given_away(store: &dyn Store) {
    let mut scribe = Scribe::created(107, store).await;
    let hour = std::time::Duration::from_hours(1);
    let mint = scribe.mint();
    let (request, _) = sample::request(&serde_json::json!({}), &mint);
    let agent = scribe.agent("one");
    let [first, second] = [(); 2].map(|()| sample::action(&agent, request, &mint));
    let live = sample::idempotency_key(&first, "live", scribe.now + hour);
    let expired = sample::idempotency_key(&first, "expired", scribe.now);
    let changes = vec![Changes::from(live.clone()), Changes::from(expired)];
    scribe.append(store, changes).await.unwrap();
    let stolen = sample::idempotency_key(&second, "live", scribe.now + hour);
    assert_lost(store, &scribe.turn(vec![Changes::from(stolen)])).await;
    let renewed = sample::idempotency_key(&second, "expired", scribe.now + hour);
    let longer = sample::idempotency_key(&first, "live", scribe.now + hour * 2);
    let changes = vec![Changes::from(renewed.clone()), Changes::from(longer.clone())];
    scribe.append(store, changes).await.unwrap();
    let known = async |key| store.idempotency_key(scribe.org, agent.id, key).await.unwrap();
    assert_eq!(known("live").await, Some(longer));
    assert_eq!(known("expired").await, Some(renewed));
}

async fn a_committed_turn_settles_as_committed(store: &dyn Store) {
    let mut scribe = Scribe::created(108, store).await;
    let turn = scribe.append(store, vec![Changes::from(scribe.agent("one"))]).await.unwrap();
    assert!(store.settle(&turn).await.unwrap());
    scribe.append(store, vec![Changes::from(scribe.agent("two"))]).await.unwrap();
    assert!(store.settle(&turn).await.unwrap(), "later turns change nothing about it");
}

async fn a_turn_that_was_not_committed_never_will_be_once_settled(store: &dyn Store) {
    let mut scribe = Scribe::created(109, store).await;
    let ghost = scribe.agent("ghost");
    let late = scribe.turn(vec![Changes::from(ghost.clone())]);
    assert!(!store.settle(&late).await.unwrap());
    assert!(!store.settle(&late).await.unwrap(), "the answer stays the same");
    assert_lost(store, &late).await;
    assert!(store.agent(scribe.org, ghost.id).await.unwrap().is_none());
    // The org goes on from wherever the store says that it stands.
    scribe.reread(store).await;
    scribe.append(store, vec![Changes::from(scribe.agent("alive"))]).await.unwrap();
    assert_lost(store, &late).await;
    assert!(!store.settle(&late).await.unwrap());
}

async fn a_founding_that_was_not_committed_never_will_be_once_settled(store: &dyn Store) {
    let mut scribe = Scribe::new(110, now(store).await);
    let late = scribe.turn(vec![Changes::from(scribe.org_row())]);
    assert!(!store.settle(&late).await.unwrap());
    assert_lost(store, &late).await;
    assert!(store.base(scribe.org).await.unwrap().0.is_none());
    assert!(store.org(scribe.org).await.unwrap().is_none());
    // The same org may still be created by another turn.
    scribe.append(store, vec![Changes::from(scribe.org_row())]).await.unwrap();
    assert!(store.base(scribe.org).await.unwrap().0.is_some());
}

async fn now(store: &dyn LedgerStore) -> model::Timestamp {
    store.base(model::OrgId::from_uuid(uuid::Uuid::nil())).await.unwrap().1
}

async fn assert_lost(store: &dyn LedgerStore, turn: &Turn) {
    let answer = store.append(turn).await;
    assert!(matches!(answer, Err(AppendError::Lost)), "expected the turn to be lost: {answer:?}");
}

async fn assert_refused(store: &dyn LedgerStore, turn: &Turn) {
    let answer = store.append(turn).await;
    assert!(matches!(answer, Err(AppendError::Refused(_))), "expected a refusal: {answer:?}");
}

//! Deeds, the history and checks of logs, found by what they are about.

use std::time::Duration;

use deed::IntentStatus;
use ledger::{
    Changes,
    record::{Agent, SignedIntent},
};
use model::{ActionId, CheckId, EventType, OrgId, Timestamp, Verdict};
use records::{
    By, CallFilter, ChainCheck, CheckRequest, CheckStatus, DeedFilter, EntryFilter, Subject, Window,
};

use super::Store;
use crate::{Draft, Scribe, sample};

/// An org with two agents: one acted once an hour for four hours, the other once.
struct Seeded {
    scribe: Scribe,
    agents: [Agent; 2],
    actions: Vec<ActionId>,
    began: Timestamp,
}

const HOUR: Duration = Duration::from_hours(1);

pub(super) async fn check(store: &dyn Store) {
    let seeded = seed(store).await;
    deeds_are_found_by_each_filter(store, &seeded).await;
    deeds_are_opened(store, &seeded).await;
    what_was_signed_is_found_by_its_action(store, &seeded).await;
    the_history_is_found_by_each_filter(store, &seeded).await;
    an_entry_names_its_deed(store, &seeded).await;
    one_check_of_an_org_is_open_at_a_time(store, &seeded).await;
}

async fn seed(store: &dyn Store) -> Seeded {
    let mut scribe = Scribe::created(800, store).await;
    // What is sealed hour by hour must not end in a time that has not come.
    scribe.now = scribe.now.before(HOUR * 6);
    let began = scribe.now;
    let agents = [scribe.agent("first"), scribe.agent("second")];
    let made = agents.iter().cloned().map(Changes::from).collect::<Vec<_>>();
    scribe.append(store, made).await.unwrap();
    let mut actions = Vec::new();
    for number in 0..5 {
        let agent = &agents[usize::from(number == 4)];
        let id = acted(store, &mut scribe, agent, number).await;
        actions.push(id);
        scribe.now = scribe.now + HOUR;
    }
    let deeds = vec![scribe.deed(None)];
    let events = vec![scribe.event(None)];
    scribe.append(store, Draft { deeds, events, ..Draft::default() }).await.unwrap();
    Seeded { scribe, agents, actions, began }
}

/// Appends an action, the deed about it and the event of it.
async fn acted(store: &dyn Store, scribe: &mut Scribe, agent: &Agent, number: u64) -> ActionId {
    let mint = scribe.mint();
    let (request, disclosure) = sample::request(&serde_json::json!({ "n": number }), &mint);
    let mut action = sample::action(agent, request, &mint);
    if number.is_multiple_of(2) { "shop.read" } else { "desk.write" }.clone_into(&mut action.tool);
    if number == 3 {
        (action.intent, action.signed) = (IntentStatus::Verified, Some(Box::new(signed())));
    }
    let verdict = if number == 1 { Verdict::Mismatch } else { Verdict::Verified };
    action.witness = Some(sample::witness(verdict, model::Level::L0, scribe.now));
    let mut deed = scribe.deed(Some(action.id));
    (deed.action, deed.agent) = (Some(action.id), Some(agent.id));
    let mut event = scribe.event(Some(action.id));
    event.kind = EventType::ActionCreated;
    event.agent = Some(agent.id);
    let id = action.id;
    let changes = sample::begun(action, vec![disclosure]);
    let draft = Draft { changes, deeds: vec![deed], events: vec![event] };
    scribe.append(store, draft).await.unwrap();
    id
}

fn signed() -> SignedIntent {
    SignedIntent {
        kid: "kid".to_owned(),
        public_key: "key".to_owned(),
        digest: crypto::sha256("a.b.c"),
        jws: "a.b.c".to_owned(),
    }
}

fn every(limit: usize) -> Window {
    Window { places: (0, u64::MAX), limit }
}

async fn places(store: &dyn Store, org: OrgId, filter: &DeedFilter, window: Window) -> Vec<u64> {
    let deeds = store.deeds(org, filter, window).await.unwrap();
    deeds.iter().map(|deed| deed.seq).collect()
}

async fn deeds_are_found_by_each_filter(store: &dyn Store, seeded: &Seeded) {
    let org = seeded.scribe.org;
    let all = DeedFilter::default();
    assert_eq!(places(store, org, &all, every(9)).await, [5, 4, 3, 2, 1, 0]);
    assert_eq!(places(store, org, &all, every(2)).await, [5, 4]);
    let some = Window { places: (1, 4), limit: 9 };
    assert_eq!(places(store, org, &all, some).await, [3, 2, 1]);
    let tool = policy::Glob::parse("desk.*").unwrap();
    let calls = |calls| DeedFilter { calls, ..DeedFilter::default() };
    let by_tool = CallFilter { tool: Some(tool), ..CallFilter::default() };
    let by_verdict = CallFilter { verdicts: vec![Verdict::Mismatch], ..CallFilter::default() };
    let by_text = CallFilter { text: Some("p.re".to_owned()), ..CallFilter::default() };
    let subject = |subject| DeedFilter { subject: Some(subject), ..DeedFilter::default() };
    let kind = |kind| DeedFilter { kinds: vec![kind], ..DeedFilter::default() };
    let cases = [
        (DeedFilter { agent: Some(seeded.agents[1].id), ..DeedFilter::default() }, vec![4]),
        (calls(by_tool), vec![3, 1]),
        (calls(by_verdict), vec![1]),
        (calls(by_text), vec![4, 2, 0]),
        (subject(Subject::Action(seeded.actions[2])), vec![2]),
        (subject(Subject::Other(org.to_string())), vec![5]),
        (subject(Subject::Other("org_nobody".to_owned())), vec![]),
        (kind(model::DeedKind::Admin), vec![5, 4, 3, 2, 1, 0]),
        (kind(model::DeedKind::Amendment), vec![]),
    ];
    for (filter, expected) in cases {
        assert_eq!(places(store, org, &filter, every(9)).await, expected, "{filter:?}");
    }
    for (moment, place) in [
        (seeded.began, 0),
        (seeded.began + HOUR, 1),
        (seeded.began + HOUR + Duration::from_millis(1), 2),
        (seeded.began + HOUR * 24, 6),
    ] {
        assert_eq!(store.place_at(org, moment).await.unwrap().as_u64(), place, "{moment}");
    }
}

async fn deeds_are_opened(store: &dyn Store, seeded: &Seeded) {
    let org = seeded.scribe.org;
    let row = store.deeds(org, &DeedFilter::default(), every(1)).await.unwrap().remove(0);
    let open = store.deed(org, row.id).await.unwrap().unwrap();
    assert_eq!((open.row.seq, open.disclosures.len()), (5, 1));
    let rows = vec![open.row.clone()];
    assert_eq!(store.opened(org, rows.clone()).await.unwrap(), std::slice::from_ref(&open));
    let other = Scribe::created(801, store).await;
    assert_eq!(store.opened(other.org, rows).await.unwrap()[0].disclosures, [], "another org's");
    assert_eq!(store.deed(other.org, row.id).await.unwrap(), None, "another org's");
    let about = store.deeds_about(org, seeded.actions[3]).await.unwrap();
    assert_eq!(about.iter().map(|deed| deed.row.seq).collect::<Vec<_>>(), [3]);
    assert_eq!(
        store.rows(records::OrgLog { org, no: ledger::LogNo::FIRST }, 3, 1).await.unwrap()[0]
            .acting,
        Some(seeded.agents[0].id)
    );
}

async fn what_was_signed_is_found_by_its_action(store: &dyn Store, seeded: &Seeded) {
    let (org, of) = (seeded.scribe.org, |place: usize| seeded.actions[place]);
    assert_eq!(store.signed_intent(org, of(3)).await.unwrap(), Some(signed()));
    assert_eq!(store.signed_intent(org, of(2)).await.unwrap(), None, "it was not signed");
    let other = Scribe::created(804, store).await;
    assert_eq!(store.signed_intent(other.org, of(3)).await.unwrap(), None, "another org's");
}

async fn the_history_is_found_by_each_filter(store: &dyn Store, seeded: &Seeded) {
    let org = seeded.scribe.org;
    let filter = EntryFilter::default;
    let calls = |calls| EntryFilter { calls, ..filter() };
    let tool = policy::Glob::parse("desk.*").unwrap();
    let subject = |subject| EntryFilter { subject: Some(subject), ..filter() };
    let of = |kind| EntryFilter { types: Some(vec![kind]), ..filter() };
    let cases = [
        (filter(), vec![6, 5, 4, 3, 2, 1]),
        (EntryFilter { agent: Some(seeded.agents[1].id), ..filter() }, vec![5]),
        (EntryFilter { actor: Some(By::Other("nobody".to_owned())), ..filter() }, vec![]),
        (calls(CallFilter { tool: Some(tool), ..CallFilter::default() }), vec![4, 2]),
        (subject(Subject::Action(seeded.actions[0])), vec![1]),
        (subject(Subject::Other(org.to_string())), vec![6]),
        (of(EventType::OrgUpdated), vec![6]),
        (of(EventType::ActionCreated), vec![5, 4, 3, 2, 1]),
        (of(EventType::ChainBroken), vec![]),
        (EntryFilter { types: Some(Vec::new()), ..filter() }, vec![]),
    ];
    for (filter, expected) in cases {
        let entries = store.entries(org, &filter, every(9)).await.unwrap();
        let found: Vec<_> = entries.iter().map(|entry| entry.event.seq).collect();
        assert_eq!(found, expected, "{filter:?}");
    }
    let moment = seeded.began + HOUR;
    assert_eq!(store.event_place_at(org, moment).await.unwrap(), 2);
    assert_eq!(store.event_place_at(org, seeded.began).await.unwrap(), 1);
}

async fn an_entry_names_its_deed(store: &dyn Store, seeded: &Seeded) {
    let org = seeded.scribe.org;
    let entries = store.entries(org, &EntryFilter::default(), every(9)).await.unwrap();
    let of_agent = entries.iter().find(|entry| entry.event.seq == 5).unwrap();
    assert_eq!(of_agent.agent_name.as_deref(), Some("second"));
    assert_eq!(of_agent.tool.as_deref(), Some("shop.read"));
}

async fn one_check_of_an_org_is_open_at_a_time(store: &dyn Store, seeded: &Seeded) {
    let (org, mint) = (seeded.scribe.org, seeded.scribe.mint());
    let new = |status| ChainCheck {
        id: mint.id(CheckId::from_uuid),
        org,
        created_at: seeded.scribe.now,
        status,
        log: None,
        from_seq: 0,
        end_seq: 6,
        checkpoint: None,
        checked: 0,
        archived: 0,
        finished_at: None,
        first_bad: None,
    };
    let first = new(CheckStatus::Queued);
    assert_eq!(store.ask_check(&first).await.unwrap(), CheckRequest::Queued);
    assert_eq!(store.ask_check(&new(CheckStatus::Queued)).await.unwrap(), CheckRequest::Busy);
    let taken = store.take_check().await.unwrap().unwrap();
    assert_eq!(taken, ChainCheck { status: CheckStatus::Running, ..first.clone() });
    assert_eq!(store.take_check().await.unwrap(), None, "somebody works on it");
    assert_eq!(store.ask_check(&new(CheckStatus::Queued)).await.unwrap(), CheckRequest::Busy);
    let done = ChainCheck { status: CheckStatus::Passed, checked: 6, ..taken };
    store.put_check(&done).await.unwrap();
    assert_eq!(store.chain_check(org, first.id).await.unwrap(), Some(done.clone()));
    let later = first.created_at + Duration::from_millis(1);
    let second = ChainCheck { created_at: later, ..new(CheckStatus::Queued) };
    assert_eq!(store.ask_check(&second).await.unwrap(), CheckRequest::Queued);
    let listed = store.chain_checks(org, None, 9).await.unwrap();
    assert_eq!(listed, [second.clone(), done.clone()]);
    let behind = Some((second.created_at, second.id));
    assert_eq!(store.chain_checks(org, behind, 9).await.unwrap(), [done]);
    assert_eq!(store.take_check().await.unwrap().map(|check| check.id), Some(second.id));
}

//! Numbers: actions counted by class and time, counters of budgets, who acted last, what waits.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use gate::{AgentFigures, Class, Counted, CounterState, Counters, Filter, SLOT, Span};
use ledger::{
    Changes,
    record::{Action, Agent, ApiKey, Cost, Holder},
};
use model::{ActionId, AgentId, DecisionOutcome, Level, OrgId, State, Timestamp, Verdict};
use policy::Decimal;
use serde_json::json;

use super::Store;
use crate::{Draft, Scribe, SeededEntropy, sample};

const ACTIONS: usize = 150;
const HOUR: Duration = Duration::from_hours(1);

pub(super) async fn check(store: &dyn Store) {
    actions_are_counted_as_they_are_however_far_they_were_counted_before(store).await;
    counters_come_by_budget_and_name_with_what_may_be_given_back(store).await;
    what_waits_is_told_by_its_end(store).await;
}

async fn actions_are_counted_as_they_are_however_far_they_were_counted_before(store: &dyn Store) {
    let mut scribe = Scribe::created(930, store).await;
    let agents = ["one", "two", "three"].map(|name| scribe.agent(name));
    let now = scribe.now;
    let changes = agents.iter().cloned().map(Changes::from).collect::<Vec<_>>();
    scribe.append(store, changes).await.unwrap();
    let mut all = Vec::new();
    for round in 0..3 {
        let (begun, draft) = some(&mut scribe, &agents[..=round], now);
        scribe.append(store, draft).await.unwrap();
        all.extend(begun);
        agree(store, scribe.org, &all, now).await;
        // A step leaves something behind the mark, the last one nothing.
        store.count_up(None, 1_000, 7).await.unwrap();
        agree(store, scribe.org, &all, now).await;
    }
    count_all(store, 16, 11).await;
    agree(store, scribe.org, &all, now).await;
    end_what_is_open(store, &mut scribe, &mut all).await;
    agree(store, scribe.org, &all, now).await;
    // As two instances that count the same: what one has counted, the other does not count again.
    // A step of one org comes by all of them nevertheless.
    tokio::join!(count_all(store, 1, 500), count_all(store, 1, 9));
    agree(store, scribe.org, &all, now).await;
    let last = store.last_to_act(scribe.org, 2).await.unwrap();
    assert_eq!(last, newest(&all).into_iter().take(2).collect::<Vec<_>>());
    let acted = newest(&all)
        .into_iter()
        .map(|(agent, last)| (agent, AgentFigures { keys: 0, last: Some(last) }));
    let acted: BTreeMap<_, _> = acted.collect();
    let asked: Vec<_> = acted.keys().copied().collect();
    assert_eq!(store.of_agents(scribe.org, &asked, now).await.unwrap(), acted);
    keys_of_agents_are_counted(store, &mut scribe).await;
    let other = Scribe::created(931, store).await;
    agree(store, other.org, &[], now).await;
    assert_eq!(store.last_to_act(other.org, 2).await.unwrap(), []);
}

async fn keys_of_agents_are_counted(store: &dyn Store, scribe: &mut Scribe) {
    let agent = scribe.agent("with-keys");
    let key = |expires_at, revoked_at| ApiKey {
        expires_at,
        revoked_at,
        ..sample::api_key(scribe.org, Holder::Agent(agent.id), &scribe.mint())
    };
    let past = Some(scribe.now.before(Duration::from_hours(1)));
    let later = Some(scribe.now + Duration::from_hours(24 * 365));
    let keys = [key(None, None), key(later, None), key(past, None), key(None, past)];
    let mut rows = vec![Changes::from(agent.clone())];
    rows.extend(keys.map(Changes::from));
    scribe.append(store, rows).await.unwrap();
    let figures = store.of_agents(scribe.org, &[agent.id], scribe.now).await.unwrap();
    assert_eq!(figures, [(agent.id, AgentFigures { keys: 2, last: None })].into());
}

/// Counts what there is of every org, in steps of so many orgs.
async fn count_all(store: &dyn Store, orgs: usize, deeds: usize) {
    let mut has_more = true;
    while has_more {
        has_more = false;
        let mut after = None;
        loop {
            let step = store.count_up(after, orgs, deeds).await.unwrap();
            assert!(step.failed.is_none(), "{:?}", step.failed);
            has_more |= step.has_more;
            after = step.last;
            if after.is_none() {
                break;
            }
        }
    }
}

/// Actions of every kind in the last day, and the turn that begins them; some are sealed in it.
fn some(scribe: &mut Scribe, agents: &[Agent], now: Timestamp) -> (Vec<Action>, Draft) {
    let (mut actions, mut draft) = (Vec::new(), Draft::default());
    for number in 0..ACTIONS / 3 {
        scribe.now = now.before(Duration::from_secs(scribe.dice.roll(86_400)));
        let mint = scribe.mint();
        let (request, _) = sample::request(&json!({ "number": number }), &mint);
        let mut action = sample::action(scribe.dice.pick(agents), request, &mint);
        if scribe.dice.roll(3) == 0 {
            let amount = format!("{}.5", scribe.dice.roll(9));
            let currency = (*scribe.dice.pick(&["EUR", "USD"])).to_owned();
            action.cost = Some(Cost { amount, currency });
        }
        action.on_behalf_of = (number % 2 == 0).then(|| "u-1".to_owned());
        let deed = scribe.deed(Some(action.id));
        action = match scribe.dice.roll(6) {
            0 => action,
            1 => sample::waiting(&action, now + HOUR, &mint),
            2 => sample::denied(&action, deed.draft.id),
            _ => sample::sealed(&action, deed.draft.id),
        };
        if let Some(witness) = &mut action.witness {
            witness.verdict = *scribe.dice.pick(&[Verdict::Verified, Verdict::Mismatch]);
            witness.level = *scribe.dice.pick(Level::ALL);
        }
        if action.state == State::Sealed {
            draft.deeds.push(deed);
            // Not every deed about an action seals it.
            draft.deeds.push(scribe.deed(Some(action.id)));
        }
        draft.changes.extend(sample::begun(action.clone(), Vec::new()));
        actions.push(action);
    }
    scribe.now = now;
    (actions, draft)
}

async fn end_what_is_open(store: &dyn Store, scribe: &mut Scribe, all: &mut [Action]) {
    let mut draft = Draft::default();
    for action in all.iter_mut().filter(|action| action.state != State::Sealed).step_by(2) {
        let deed = scribe.deed(Some(action.id));
        *action = match action.state {
            // What was decided stays as it was.
            State::PendingApproval => {
                let decision = action.decision.clone();
                Action { decision, ..sample::denied(action, deed.draft.id) }
            }
            _ => sample::sealed(action, deed.draft.id),
        };
        draft.deeds.push(deed);
        draft.changes.extend(sample::moved(action.clone()));
    }
    scribe.append(store, draft).await.unwrap();
}

/// The agents by their newest actions, the latest first.
fn newest(all: &[Action]) -> Vec<(AgentId, ActionId)> {
    let mut newest: BTreeMap<AgentId, ActionId> = BTreeMap::new();
    for action in all {
        let last = newest.entry(action.agent.id).or_insert(action.id);
        *last = action.id.max(*last);
    }
    let mut newest: Vec<_> = newest.into_iter().collect();
    newest.sort_by_key(|(_, action)| std::cmp::Reverse(*action));
    newest
}

/// Compares what the store counts with a plain count, by many filters and spans.
async fn agree(store: &dyn Store, org: OrgId, all: &[Action], now: Timestamp) {
    let dice = SeededEntropy::new(932);
    for step in [SLOT, HOUR, HOUR * 6] {
        for _ in 0..24 {
            let filter = filter(&dice, all);
            let back = |hours| now.before(HOUR * u32::try_from(hours).unwrap());
            let (from, to) = (back(12 + dice.roll(24)), back(dice.roll(14)));
            let span = Span::around(from, to, step);
            let Counted { tallies, from, is_current } =
                store.counted(org, &filter, span).await.unwrap();
            assert!(is_current && from == span.from, "{span:?}");
            let costs = gate::is_kept(&filter);
            let mut counts: BTreeMap<(Timestamp, Class), u64> = BTreeMap::new();
            let mut sums: BTreeMap<(Timestamp, String), Decimal> = BTreeMap::new();
            let places: BTreeSet<_> = tallies
                .iter()
                .map(|it| (it.at, it.class, it.cost.as_ref().map(|(unit, _)| unit.clone())))
                .collect();
            assert_eq!(places.len(), tallies.len(), "each is told once");
            for tally in &tallies {
                *counts.entry((tally.at, tally.class)).or_default() += tally.count;
                if let Some((unit, cost)) = &tally.cost {
                    let sum = sums.entry((tally.at, unit.clone())).or_default();
                    *sum = sum.checked_add(*cost).unwrap();
                }
            }
            let (due, due_sums) = plainly(all, &filter, span);
            assert_eq!(counts, due, "{filter:?} {span:?}");
            assert_eq!(sums, if costs { due_sums } else { BTreeMap::new() }, "{filter:?}");
        }
    }
}

fn filter(dice: &SeededEntropy, all: &[Action]) -> Filter {
    let maybe = || dice.roll(4) == 0;
    Filter {
        agent: (maybe() && !all.is_empty()).then(|| dice.pick(all).agent.id),
        states: if maybe() { vec![*dice.pick(State::ALL)] } else { Vec::new() },
        decisions: if maybe() { vec![*dice.pick(DecisionOutcome::ALL)] } else { Vec::new() },
        verdicts: if maybe() { vec![Verdict::Mismatch] } else { Vec::new() },
        levels: if maybe() { vec![Level::L0, Level::L2] } else { Vec::new() },
        on_behalf_of: maybe().then(|| "u-1".to_owned()),
        tool: (dice.roll(6) == 0).then(|| policy::Glob::parse("shop.*").unwrap()),
        ..Filter::default()
    }
}

type Plainly = (BTreeMap<(Timestamp, Class), u64>, BTreeMap<(Timestamp, String), Decimal>);

fn plainly(all: &[Action], filter: &Filter, span: Span) -> Plainly {
    let (mut counts, mut sums) = Plainly::default();
    for action in all {
        let class = Class::of(action);
        let passes = (span.from..span.to).contains(&action.created_at)
            && filter.agent.is_none_or(|agent| agent == action.agent.id)
            && filter.on_behalf_of.as_ref().is_none_or(|_| action.on_behalf_of.is_some())
            && gate::lets_through(filter, action.state, class);
        if !passes {
            continue;
        }
        let at = span.part_of(action.created_at);
        *counts.entry((at, class)).or_default() += 1;
        if let Some(cost) = &action.cost {
            let sum = sums.entry((at, cost.currency.clone())).or_default();
            *sum = sum.checked_add(cost.amount.parse().unwrap()).unwrap();
        }
    }
    (counts, sums)
}

async fn counters_come_by_budget_and_name_with_what_may_be_given_back(store: &dyn Store) {
    let mut scribe = Scribe::created(933, store).await;
    let start = scribe.now.before(HOUR);
    let counter = |key: &str, used: &str| sample::budget(key, start, used);
    let mint = scribe.mint();
    let (request, _) = sample::request(&json!({}), &mint);
    let action = sample::action(&scribe.agent("one"), request, &mint);
    let running = Action { charged: vec![counter("[\"day\",\"a\"]", "2.5")], ..action.clone() };
    let (request, _) = sample::request(&json!({}), &mint);
    let ended = sample::action(&scribe.agent("one"), request, &mint);
    let ended = Action { charged: vec![counter("[\"day\",\"a\"]", "4")], ..ended };
    let ended = sample::sealed(&ended, mint.id(model::DeedId::from_uuid));
    let old = sample::budget("[\"day\",\"a\"]", start.before(HOUR * 24), "9");
    let mut changes = vec![
        sample::begun(running, Vec::new()),
        sample::begun(ended, Vec::new()),
        Changes::from(old),
    ];
    let keys =
        ["[\"day\",\"a\"]", "[\"day\",\"B\"]", "[\"day\",\"ä\"]", "[\"days\",1]", "[\"week\",1]"];
    for (key, used) in keys.iter().zip(["6.5", "8", "1", "3", "0"]) {
        changes.push(Changes::from(counter(key, used)));
    }
    scribe.append(store, changes).await.unwrap();
    let asked = |prefix: &str| Counters {
        prefix: prefix.to_owned(),
        window_start: start,
        after: None,
        near: None,
    };
    let decimal = |text: &str| text.parse::<Decimal>().unwrap();
    let state = |asked, key: &str, taken, reserved| CounterState {
        asked,
        key: key.to_owned(),
        taken: decimal(taken),
        reserved: decimal(reserved),
    };
    let [a, b, umlaut, _, week] = keys;
    let due = [
        state(0, week, "0", "0"),
        state(2, b, "8", "0"),
        state(2, a, "6.5", "2.5"),
        state(2, umlaut, "1", "0"),
    ];
    let spans = [asked("[\"week\","), asked("[\"none\","), asked("[\"day\",")];
    let org = scribe.org;
    assert_eq!(store.counters(org, &spans, 10).await.unwrap(), due);
    assert_eq!(store.counters(org, &spans, 2).await.unwrap(), due[..2]);
    let behind = [Counters { after: Some(b.to_owned()), ..asked("[\"day\",") }];
    let found = store.counters(org, &behind, 1).await.unwrap();
    assert_eq!(found, [CounterState { asked: 0, ..due[2].clone() }]);
    let near = [Counters { near: Some(decimal("10")), ..asked("[\"day\",") }];
    let found = store.counters(org, &near, 10).await.unwrap();
    assert_eq!(found, [CounterState { asked: 0, ..due[1].clone() }]);
    let idle = [Counters { near: Some(Decimal::ZERO), ..asked("[\"week\",") }];
    assert_eq!(store.counters(org, &idle, 10).await.unwrap(), []);
    let other = Scribe::created(934, store).await;
    assert_eq!(store.counters(other.org, &spans, 10).await.unwrap(), []);
    assert_eq!(store.counters(org, &[], 10).await.unwrap(), []);
}

async fn what_waits_is_told_by_its_end(store: &dyn Store) {
    let mut scribe = Scribe::created(935, store).await;
    let (agent, mint) = (scribe.agent("one"), scribe.mint());
    let mut actions = Vec::new();
    for minutes in [30, 10, 20] {
        let (request, _) = sample::request(&json!({}), &mint);
        let action = sample::action(&agent, request, &mint);
        actions.push(sample::waiting(&action, mint.now() + Duration::from_mins(minutes), &mint));
    }
    let (request, _) = sample::request(&json!({}), &mint);
    let runs = sample::action(&agent, request, &mint);
    let begun = actions.iter().chain([&runs]).map(|it| sample::begun(it.clone(), Vec::new()));
    let changes: Vec<_> = begun.collect();
    scribe.append(store, changes).await.unwrap();
    let found = store.waiting(scribe.org, 2).await.unwrap();
    assert_eq!(found.count, 3);
    assert!(found.first == [actions[1].clone(), actions[2].clone()]);
    let found = store.waiting(scribe.org, 5).await.unwrap();
    assert!(found.first.last() == Some(&actions[0]) && found.first.len() == 3);
}

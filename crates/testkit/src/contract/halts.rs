//! What is under way when calls are stopped, and what waits for approvals that are void.

use std::time::Duration;

use gate::Voiding;
use ledger::{
    Changes,
    record::{Action, Agent, Org},
};
use model::{ActionId, DeedId};
use serde_json::json;

use super::Store;
use crate::{Scribe, sample};

const DAY: Duration = Duration::from_hours(24);

pub(super) async fn check(store: &dyn Store) {
    approvals_are_void_as_long_as_a_row_says_so(store).await;
    what_is_under_way_is_counted_and_the_oldest_named(store).await;
}

fn waiting(agent: &Agent, scribe: &Scribe) -> Action {
    let mint = scribe.mint();
    let (request, _) = sample::request(&json!({}), &mint);
    sample::waiting(&sample::action(agent, request, &mint), scribe.now + DAY, &mint)
}

fn ids<'a>(actions: impl IntoIterator<Item = &'a Action>) -> Vec<ActionId> {
    let mut ids: Vec<_> = actions.into_iter().map(|action| action.id).collect();
    ids.sort_unstable();
    ids
}

/// What the store says is void of this org.
async fn notes(store: &dyn Store, scribe: &Scribe) -> Vec<Voiding> {
    let mut notes = store.voiding(1_000).await.unwrap();
    notes.retain(|note| note.org == scribe.org);
    notes.sort_by_key(|note| note.agent);
    notes
}

async fn approvals_are_void_as_long_as_a_row_says_so(store: &dyn Store) {
    let mut scribe = Scribe::created(720, store).await;
    let (one, other) = (scribe.agent("one"), scribe.agent("other"));
    let early: Vec<_> = (0..5).map(|_| waiting(&one, &scribe)).collect();
    let of_other = waiting(&other, &scribe);
    let until = scribe.now;
    scribe.now = until + Duration::from_millis(1);
    let late = waiting(&one, &scribe);
    let begun = |action: &Action| sample::begun(action.clone(), Vec::new());
    let all = early.iter().chain([&of_other, &late]).map(begun);
    let agents = [one.clone(), other.clone()].map(Changes::from);
    scribe.append(store, agents.into_iter().chain(all).collect::<Vec<_>>()).await.unwrap();
    assert_eq!(notes(store, &scribe).await, []);
    let of_agent = Voiding { org: scribe.org, agent: Some(one.id), until };
    let of_org = Voiding { agent: None, ..of_agent.clone() };
    let noted = Agent { voids: Some(until), ..one.clone() };
    let org = Org { voids: Some(until), ..scribe.org_row() };
    let changes = vec![Changes::from(noted), Changes::from(org)];
    scribe.append(store, changes).await.unwrap();
    assert_eq!(notes(store, &scribe).await, [of_org.clone(), of_agent.clone()]);
    assert!(store.voiding(0).await.unwrap().is_empty());
    // Page by page, and none that was asked for later.
    let first = store.void(&of_agent, None, 3).await.unwrap();
    let rest = store.void(&of_agent, first.last().copied(), 3).await.unwrap();
    assert_eq!([first, rest].concat(), ids(&early));
    let whole = store.void(&of_org, None, 100).await.unwrap();
    assert_eq!(whole, ids(early.iter().chain([&of_other])));
    // What has ended waits no more.
    let ended = early.iter().map(|action| {
        let ended = sample::denied(action, scribe.mint().id(DeedId::from_uuid));
        sample::moved(ended)
    });
    let done = [Changes::from(one)];
    scribe.append(store, ended.chain(done).collect::<Vec<_>>()).await.unwrap();
    assert_eq!(store.void(&of_org, None, 100).await.unwrap(), [of_other.id]);
    assert_eq!(notes(store, &scribe).await, [of_org]);
}

async fn what_is_under_way_is_counted_and_the_oldest_named(store: &dyn Store) {
    let mut scribe = Scribe::created(721, store).await;
    let (one, other) = (scribe.agent("one"), scribe.agent("other"));
    let runs = |agent: &Agent, scribe: &Scribe| {
        let mint = scribe.mint();
        let (request, _) = sample::request(&json!({}), &mint);
        sample::action(agent, request, &mint)
    };
    let leased: Vec<_> = (0..3).map(|_| runs(&one, &scribe)).collect();
    let at_edge = sample::authorized(&runs(&one, &scribe), scribe.now + DAY);
    let of_other = runs(&other, &scribe);
    let waits = waiting(&one, &scribe);
    let ended = sample::sealed(&runs(&one, &scribe), scribe.mint().id(DeedId::from_uuid));
    let all = leased.iter().chain([&at_edge, &of_other, &waits, &ended]);
    let changes = all.map(|action| sample::begun(action.clone(), Vec::new())).collect::<Vec<_>>();
    scribe.append(store, changes).await.unwrap();
    let own = ids(leased.iter().chain([&at_edge]));
    let found = store.under_way(scribe.org, Some(one.id), 2).await.unwrap();
    assert_eq!((found.count, &found.actions[..]), (4, &own[..2]));
    let all = ids(leased.iter().chain([&at_edge, &of_other]));
    let found = store.under_way(scribe.org, None, 100).await.unwrap();
    assert_eq!((found.count, found.actions), (5, all));
    let beside = Scribe::created(722, store).await;
    assert_eq!(store.under_way(beside.org, None, 100).await.unwrap().count, 0);
}

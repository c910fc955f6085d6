//! Lists of used intents: by agent and time, page by page, and to their own org alone.

use std::{cmp::Reverse, time::Duration};

use gate::IntentFilter;
use ledger::{
    Changes,
    record::{Action, Agent, UsedIntent},
};
use model::OrgId;
use serde_json::json;

use super::Store;
use crate::{Scribe, sample};

const INTENTS: u64 = 30;

pub(super) async fn check(store: &dyn Store) {
    let mut scribe = Scribe::created(1_050, store).await;
    let agents = ["one", "two"].map(|name| scribe.agent(name));
    let (start, mut all) = (scribe.now, Vec::new());
    let mut changes: Vec<_> = agents.iter().cloned().map(Changes::from).collect();
    for number in 0..INTENTS {
        // Some in the same millisecond.
        scribe.now = start + Duration::from_millis(scribe.dice.roll(20));
        let action = begun(&scribe, scribe.dice.pick(&agents));
        all.push(used(&action, number));
        changes.push(sample::begun(action, Vec::new()));
        changes.extend(all.last().cloned().map(Changes::from));
    }
    scribe.now = start + Duration::from_millis(20);
    scribe.append(store, changes).await.unwrap();
    all.sort_by_key(|used| Reverse(used.action));
    let middle = all.get(all.len() / 2).map(|used| used.used_at);
    let filters = [
        IntentFilter::default(),
        IntentFilter { agent: Some(agents[0].id), ..IntentFilter::default() },
        IntentFilter { from: middle, ..IntentFilter::default() },
        IntentFilter { to: middle, ..IntentFilter::default() },
        IntentFilter { agent: Some(agents[1].id), from: middle, to: middle },
        IntentFilter { agent: Some(agents[1].id), from: Some(start), to: middle },
    ];
    for filter in filters {
        let expected: Vec<_> = all.iter().filter(|used| passes(&filter, used)).cloned().collect();
        for limit in [1, 7, 100] {
            assert_eq!(joined(store, scribe.org, &filter, limit).await, expected, "{filter:?}");
        }
    }
    let other = Scribe::created(1_051, store).await;
    assert_eq!(joined(store, other.org, &IntentFilter::default(), 10).await, []);
}

fn begun(scribe: &Scribe, agent: &Agent) -> Action {
    let mint = scribe.mint();
    let (request, _) = sample::request(&json!({}), &mint);
    sample::action(agent, request, &mint)
}

fn used(action: &Action, number: u64) -> UsedIntent {
    UsedIntent {
        action: action.id,
        agent: action.agent.id,
        kid: format!("kid {number}"),
        digest: crypto::sha256(format!("text {number}")),
        nonce: crypto::sha256(format!("nonce {number}")),
        issued_at: action.created_at,
        expires_at: action.created_at + Duration::from_mins(1),
        used_at: action.created_at,
    }
}

fn passes(filter: &IntentFilter, used: &UsedIntent) -> bool {
    filter.agent.is_none_or(|agent| used.agent == agent)
        && filter.from.is_none_or(|from| from <= used.used_at)
        && filter.to.is_none_or(|to| used.used_at < to)
}

/// The whole list, read in pages of so many.
async fn joined(
    store: &dyn Store,
    org: OrgId,
    filter: &IntentFilter,
    limit: usize,
) -> Vec<UsedIntent> {
    let mut joined: Vec<UsedIntent> = Vec::new();
    loop {
        let after = joined.last().map(|used| used.action);
        let page = store.used_intents(org, filter, after, limit).await.unwrap();
        assert!(page.len() <= limit);
        if page.is_empty() {
            return joined;
        }
        joined.extend(page);
    }
}

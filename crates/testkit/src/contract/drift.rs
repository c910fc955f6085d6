//! Budget counters that do not agree with what their actions were charged.

use std::time::Duration;

use ledger::{
    Changes,
    record::{Action, BudgetUse},
};
use model::{DeedId, Status};
use serde_json::json;

use super::Store;
use crate::{Scribe, sample};

const DAY: Duration = Duration::from_hours(24);

pub(super) async fn check(store: &dyn Store) {
    counters_that_agree_show_no_drift(store).await;
    counters_that_do_not_are_found_as_they_should_be(store).await;
}

fn counter(scribe: &Scribe, key: &str, used: &str) -> BudgetUse {
    sample::budget(key, scribe.now.before(Duration::from_mins(1)), used)
}

fn charged(scribe: &Scribe, parts: &[BudgetUse]) -> Action {
    let mint = scribe.mint();
    let (request, _) = sample::request(&json!({}), &mint);
    let action = sample::action(&scribe.agent("one"), request, &mint);
    Action { charged: parts.to_vec(), ..action }
}

fn begun(action: &Action) -> Changes {
    sample::begun(action.clone(), Vec::new())
}

async fn counters_that_agree_show_no_drift(store: &dyn Store) {
    let mut scribe = Scribe::created(920, store).await;
    assert!(store.drift(scribe.org).await.unwrap().is_empty());
    let part = |used: &str| counter(&scribe, "day", used);
    let running = charged(&scribe, &[part("2.5")]);
    let expired = charged(&scribe, &[part("10")]);
    let expired = sample::waiting(&expired, scribe.now + DAY, &scribe.mint());
    let expired = sample::denied(&expired, scribe.mint().id(DeedId::from_uuid));
    let old = sample::budget("old", scribe.now.before(DAY * 3), "7");
    let changes = vec![
        begun(&running),
        begun(&expired),
        Changes::from(part("2.5")),
        // A window that ended is asked for by nobody any more.
        Changes::from(old),
    ];
    scribe.append(store, changes).await.unwrap();
    assert!(store.drift(scribe.org).await.unwrap().is_empty());
}

async fn counters_that_do_not_are_found_as_they_should_be(store: &dyn Store) {
    let mut scribe = Scribe::created(921, store).await;
    let part = |key: &str, used: &str| counter(&scribe, key, used);
    let first = charged(&scribe, &[part("leaked", "1"), part("lost", "3")]);
    let second = charged(&scribe, &[part("leaked", "1"), part("right", "1")]);
    let failed = charged(&scribe, &[part("leaked", "1")]);
    let failed = sample::sealed(&failed, scribe.mint().id(DeedId::from_uuid));
    let failed = as_failed(failed);
    let changes = vec![
        begun(&first),
        begun(&second),
        begun(&failed),
        Changes::from(part("leaked", "5")),
        Changes::from(part("right", "1")),
        Changes::from(part("idle", "2")),
    ];
    let expected = [
        (part("idle", "2"), decimal("0")),
        (part("leaked", "5"), decimal("2")),
        (part("lost", "0"), decimal("3")),
    ];
    scribe.append(store, changes).await.unwrap();
    let mut drift = store.drift(scribe.org).await.unwrap();
    drift.sort_by(|one, other| one.counter.key.cmp(&other.counter.key));
    let drift: Vec<_> = drift.into_iter().map(|it| (it.counter, it.charged)).collect();
    assert_eq!(drift, expected);
    let other = Scribe::created(922, store).await;
    assert!(store.drift(other.org).await.unwrap().is_empty());
}

fn decimal(text: &str) -> policy::Decimal {
    text.parse().unwrap()
}

fn as_failed(mut action: Action) -> Action {
    action.status = Status::Failed;
    if let Some(execution) = &mut action.execution {
        execution.status = model::ExecutionStatus::Failed;
    }
    action
}

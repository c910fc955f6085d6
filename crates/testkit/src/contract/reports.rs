//! Reports whose evidence is waited for: kept by one turn under a lease, left behind the seal by another
//! where it may still come, and removed by a last one.

use std::time::Duration;

use gate::{Due, DueFor, HeldLease, Sweep};
use ledger::{
    Changes,
    record::{Action, AwaitedReport, KeptReport, Lease, ReportChange},
};
use model::{ActionId, ConnectorId, DeedId, Timestamp};
use serde_json::json;

use super::Store;
use crate::{Scribe, sample};

pub(super) async fn check(store: &dyn Store) {
    a_report_is_kept_until_it_is_removed_and_for_its_org_alone(store).await;
    a_turn_that_is_lost_keeps_no_report(store).await;
    what_waits_for_evidence_is_leased_as_a_run_is(store).await;
    what_is_awaited_behind_the_seal_is_due_until_it_is_removed(store).await;
}

fn begun(scribe: &Scribe) -> Action {
    let mint = scribe.mint();
    let (request, _) = sample::request(&json!({}), &mint);
    sample::action(&scribe.agent("reporting"), request, &mint)
}

/// The changes by which the action waits with this report.
fn waits(action: &Action, text: &str) -> Changes {
    let report = KeptReport { action: action.id, text: text.into() };
    let mut changes = sample::moved(sample::witnessing(action));
    changes.reports.push(ReportChange::Kept(report));
    changes
}

/// The text of the action's report.
async fn text(store: &dyn Store, scribe: &Scribe, action: ActionId) -> Option<String> {
    let kept = store.report(scribe.org, action).await.unwrap();
    kept.map(|kept| {
        assert_eq!(kept.action, action);
        kept.text.to_string()
    })
}

async fn a_report_is_kept_until_it_is_removed_and_for_its_org_alone(store: &dyn Store) {
    let mut scribe = Scribe::created(710, store).await;
    let other = Scribe::created(711, store).await;
    let (one, two) = (begun(&scribe), begun(&scribe));
    let both = [&one, &two].map(|action| sample::begun(action.clone(), Vec::new()));
    scribe.append(store, both.to_vec()).await.unwrap();
    assert_eq!(text(store, &scribe, one.id).await, None);
    let first = "{\"text\":\"\u{1f512} \\\"quoted\\\"\"}";
    scribe.append(store, vec![waits(&one, first), waits(&two, "second")]).await.unwrap();
    assert_eq!(text(store, &scribe, one.id).await.as_deref(), Some(first));
    assert_eq!(text(store, &other, one.id).await, None);
    let waiting = store.action(scribe.org, one.id).await.unwrap().unwrap();
    assert_eq!(waiting, sample::witnessing(&one));
    // Of two that wait the other's stays.
    let sealed = sample::sealed(&one, scribe.mint().id(DeedId::from_uuid));
    let mut changes = sample::moved(sealed);
    changes.reports.push(ReportChange::Removed(one.id));
    scribe.append(store, vec![changes]).await.unwrap();
    assert_eq!(text(store, &scribe, one.id).await, None);
    assert_eq!(text(store, &scribe, two.id).await.as_deref(), Some("second"));
}

async fn a_turn_that_is_lost_keeps_no_report(store: &dyn Store) {
    let mut scribe = Scribe::created(712, store).await;
    let action = begun(&scribe);
    scribe.append(store, vec![sample::begun(action.clone(), Vec::new())]).await.unwrap();
    let late = scribe.turn(vec![waits(&action, "late")]);
    scribe.append(store, vec![Changes::default()]).await.unwrap();
    assert!(store.append(&late).await.is_err(), "the head has moved");
    assert_eq!(text(store, &scribe, action.id).await, None);
}

async fn what_waits_for_evidence_is_leased_as_a_run_is(store: &dyn Store) {
    let mut scribe = Scribe::created(713, store).await;
    let action = begun(&scribe);
    scribe.append(store, vec![sample::begun(action.clone(), Vec::new())]).await.unwrap();
    let mut late = scribe.turn(vec![waits(&action, "kept")]);
    late.at = scribe.now.before(Duration::from_mins(1));
    store.append(&late).await.unwrap();
    scribe.went(&late);
    let lease = |holder: &str, token| Lease { holder: holder.to_owned(), token };
    let held = |lease| HeldLease { org: scribe.org, action: action.id, lease };
    let due = store.due(Sweep::Takeovers, None, 1_000).await.unwrap();
    let own = due.into_iter().find(|due| due.org == scribe.org).unwrap();
    let connector = "shop".to_owned();
    assert_eq!(own.what, DueFor::Takeover { from: lease("one", 1), connector });
    let over = store.renew(&[held(lease("one", 1))]).await.unwrap();
    assert_eq!((over.renewed, over.lost), (vec![], vec![held(lease("one", 1))]));
    let taken = Action { lease: Some(lease("two", 2)), ..sample::witnessing(&action) };
    scribe.append(store, vec![sample::moved(taken)]).await.unwrap();
    let held = |lease| HeldLease { org: scribe.org, action: action.id, lease };
    let renewed = store.renew(&[held(lease("two", 2))]).await.unwrap().renewed;
    assert_eq!(renewed, [held(lease("two", 2))]);
    assert_eq!(text(store, &scribe, action.id).await.as_deref(), Some("kept"));
    assert_eq!(store.under_way(scribe.org, None, 10).await.unwrap().actions, [action.id]);
}

/// The changes by which the action is sealed, and this of its report is left behind.
fn left(scribe: &Scribe, action: &Action, (connector, since): (ConnectorId, Timestamp)) -> Changes {
    let sealed = sample::sealed(action, scribe.mint().id(DeedId::from_uuid));
    let mut changes = sample::moved(sealed);
    let report = KeptReport { action: action.id, text: format!("of {connector}").into() };
    changes.reports.push(ReportChange::Awaited(AwaitedReport { report, connector, since }));
    changes
}

async fn what_is_awaited_behind_the_seal_is_due_until_it_is_removed(store: &dyn Store) {
    let mut scribe = Scribe::created(714, store).await;
    let actions = [(); 3].map(|()| begun(&scribe));
    let all = actions.iter().map(|action| sample::begun(action.clone(), Vec::new()));
    scribe.append(store, all.collect::<Vec<_>>()).await.unwrap();
    let [one, two, waiting] = &actions;
    let kept = actions.iter().map(|action| waits(action, "whole"));
    scribe.append(store, kept.collect::<Vec<_>>()).await.unwrap();
    let [first, second] = [(); 2].map(|()| scribe.mint().id(ConnectorId::from_uuid));
    let (now, before) = (scribe.now, scribe.now.before(Duration::from_mins(1)));
    let sealed = vec![left(&scribe, one, (first, now)), left(&scribe, two, (second, before))];
    scribe.append(store, sealed).await.unwrap();
    let due = |action: &Action, connector, since| Due {
        since,
        org: scribe.org,
        action: action.id,
        what: DueFor::Evidence { connector },
    };
    let expected = [due(two, second, before), due(one, first, now)];
    let mut found = store.due(Sweep::Evidence, None, 1_000).await.unwrap();
    found.retain(|due| due.org == scribe.org);
    assert_eq!(found, expected, "the longest awaited first, and nothing that waits itself");
    let mut behind = store.due(Sweep::Evidence, Some(found[0].place()), 1_000).await.unwrap();
    behind.retain(|due| due.org == scribe.org);
    assert_eq!(behind, expected[1..]);
    assert_eq!(text(store, &scribe, one.id).await, Some(format!("of {first}")));
    assert_eq!(text(store, &scribe, waiting.id).await.as_deref(), Some("whole"));
    scribe.append(store, vec![ReportChange::Removed(two.id).into()]).await.unwrap();
    let mut found = store.due(Sweep::Evidence, None, 1_000).await.unwrap();
    found.retain(|due| due.org == scribe.org);
    assert_eq!(found, expected[1..]);
    assert_eq!(text(store, &scribe, two.id).await, None);
}

//! Requests that are sent again under the same idempotency key.

use std::time::Duration;

use gate::{CancelError, Cancellation, Canceller, EdgeReport, EdgeResult, Ended, ReportError};
use ledger::record::Action;
use model::Status;
use serde_json::json;

use crate::house::House;

fn is_repeat(ended: &Ended) -> bool {
    matches!(ended, Ended::Repeat(_))
}

fn keyed(house: &House, action: &Action, by: Canceller) -> Cancellation {
    Cancellation { idempotency_key: Some("c".to_owned()), ..house.cancellation(action, by) }
}

#[tokio::test]
async fn a_report_with_a_key_is_taken_once_and_replayed() {
    let house = House::new().await;
    let action = house.submit(house.edge_call()).await.unwrap();
    let report = EdgeReport { idempotency_key: Some("r".to_owned()), ..house.report(&action) };
    assert!(!is_repeat(&house.gate.report(report.clone()).await.unwrap()));
    let Ended::Repeat(again) = house.gate.report(report.clone()).await.unwrap() else {
        panic!("the second report is a repeat");
    };
    assert_eq!(again.status, Status::Executed);
    let different =
        EdgeReport { result: EdgeResult::Whole(json!(2).into(), None), ..report.clone() };
    let refused = house.gate.report(different).await.unwrap_err();
    assert!(matches!(refused, ReportError::DifferentRequest), "{refused}");
    let second = house.submit(house.edge_call()).await.unwrap();
    let elsewhere = EdgeReport { action: second.id, ..report };
    let refused = house.gate.report(elsewhere).await.unwrap_err();
    assert!(matches!(refused, ReportError::DifferentRequest), "{refused}");
}

#[tokio::test]
async fn racing_reports_with_one_key_all_get_the_one_that_was_taken() {
    let house = House::new().await;
    let action = house.submit(house.edge_call()).await.unwrap();
    let report = EdgeReport { idempotency_key: Some("r".to_owned()), ..house.report(&action) };
    let racers = (0..64).map(|_| house.gate.report(report.clone()));
    let ended = futures_util::future::join_all(racers).await;
    let repeats = ended.iter().filter(|ended| is_repeat(ended.as_ref().unwrap())).count();
    assert_eq!(repeats, 63);
    assert_eq!(house.store.deeds(house.org).len(), 1);
}

#[tokio::test]
async fn a_cancellation_with_a_key_is_carried_out_once_and_replayed() {
    let house = House::new().await;
    let action = house.refund(500).await;
    for by in [Canceller::Agent(house.agent, house.key), Canceller::OrgKey(house.org_key)] {
        let action = if matches!(by, Canceller::OrgKey(_)) {
            house.refund(500).await
        } else {
            action.clone()
        };
        let wish = keyed(&house, &action, by);
        assert!(!is_repeat(&house.gate.cancel(wish.clone()).await.unwrap()));
        let Ended::Repeat(again) = house.gate.cancel(wish.clone()).await.unwrap() else {
            panic!("the second cancellation is a repeat");
        };
        assert_eq!((again.id, again.status), (action.id, Status::Cancelled));
        let other = house.refund(500).await;
        let refused = house.gate.cancel(keyed(&house, &other, by)).await.unwrap_err();
        assert!(matches!(refused, CancelError::DifferentRequest), "{refused}");
        house.pass(Duration::from_hours(24));
        let late = house.gate.cancel(wish).await.unwrap_err();
        assert!(matches!(late, CancelError::Conflict(_)), "the key is free again: {late}");
    }
}

#[tokio::test]
async fn racing_cancellations_with_one_key_end_the_action_once() {
    let house = House::new().await;
    let action = house.refund(500).await;
    let wish = keyed(&house, &action, Canceller::Agent(house.agent, house.key));
    let racers = (0..64).map(|_| house.gate.cancel(wish.clone()));
    let ended = futures_util::future::join_all(racers).await;
    let repeats = ended.iter().filter(|ended| is_repeat(ended.as_ref().unwrap())).count();
    assert_eq!(repeats, 63);
    assert_eq!(house.store.deeds(house.org).len(), 1);
    assert_eq!(house.refund.runs(), 0);
}

#[tokio::test]
async fn a_key_that_named_nothing_names_the_next_request() {
    let house = House::new().await;
    let done = house.refund(20).await;
    let by = Canceller::Agent(house.agent, house.key);
    let refused = house.gate.cancel(keyed(&house, &done, by)).await.unwrap_err();
    assert!(matches!(refused, CancelError::Conflict(_)), "{refused}");
    let waiting = house.refund(500).await;
    assert!(!is_repeat(&house.gate.cancel(keyed(&house, &waiting, by)).await.unwrap()));
}

#[tokio::test]
async fn one_senders_key_is_not_anothers() {
    let house = House::new().await;
    let [first, second] = [house.refund(500).await, house.refund(500).await];
    let agent = Canceller::Agent(house.agent, house.key);
    let org = Canceller::OrgKey(house.org_key);
    assert!(!is_repeat(&house.gate.cancel(keyed(&house, &first, agent)).await.unwrap()));
    assert!(!is_repeat(&house.gate.cancel(keyed(&house, &second, org)).await.unwrap()));
}

#[tokio::test]
async fn a_revoked_key_gets_no_repeat() {
    let house = House::new().await;
    let action = house.submit(house.edge_call()).await.unwrap();
    let report = EdgeReport { idempotency_key: Some("r".to_owned()), ..house.report(&action) };
    house.gate.report(report.clone()).await.unwrap();
    house.revoke_key().await;
    let refused = house.gate.report(report).await.unwrap_err();
    assert!(matches!(refused, ReportError::Unauthenticated), "{refused}");
}

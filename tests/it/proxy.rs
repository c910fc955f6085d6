//! A call that the agent's edge runs: authorised, reported once, sealed at L0.

use serde_json::json;

use crate::{
    calls::{assert_sealed, caller},
    edge::{authorized, report},
};

#[tokio::test]
async fn a_proxy_pair_is_authorised_reported_and_sealed() {
    let Some((_, caller)) = caller().await else { return };
    let action = authorized(&caller).await;
    assert_eq!(action["state"], "executing");
    assert_eq!(action["next_action"]["type"], "execute_at_edge");
    let sealed = caller.send(report(&action, json!({ "result": { "id": 7 } }))).await.ok();
    assert_sealed(&sealed, "executed");
    assert_eq!(sealed["witness"]["method"], "edge_reported");
    assert_eq!(sealed["witness"]["level"], "L0");
    assert_eq!(caller.detail(&sealed).await["result"], json!({ "id": 7 }));
}

#[tokio::test]
async fn a_report_is_taken_once() {
    let Some((_, caller)) = caller().await else { return };
    let action = authorized(&caller).await;
    let first = report(&action, json!({ "result": 1 }));
    caller.send(first.clone()).await.ok();
    caller.send(first).await.error(409, "conflict", None);
    let second = report(&action, json!({ "result": 2 }));
    caller.send(second).await.error(409, "conflict", None);
    assert_eq!(caller.detail(&action).await["result"], 1);
}

#[tokio::test]
async fn of_many_reports_at_once_one_is_taken() {
    let Some((_, caller)) = caller().await else { return };
    let action = authorized(&caller).await;
    let reports = (0..16).map(|number| {
        let (caller, report) = (caller.clone(), report(&action, json!({ "result": number })));
        tokio::spawn(async move { caller.send(report).await.status.as_u16() })
    });
    let mut statuses = Vec::new();
    for report in reports.collect::<Vec<_>>() {
        statuses.push(report.await.unwrap());
    }
    assert_eq!(statuses.iter().filter(|status| **status == 200).count(), 1, "{statuses:?}");
    assert_eq!(statuses.iter().filter(|status| **status == 409).count(), 15, "{statuses:?}");
}

#[tokio::test]
async fn a_reported_failure_and_an_unknown_end_are_told_apart() {
    let Some((_, caller)) = caller().await else { return };
    let failure = json!({ "status": "failed", "error_code": "no_such_note", "error_message": "?" });
    let action = authorized(&caller).await;
    let failed = caller.send(report(&action, failure)).await.ok();
    assert_sealed(&failed, "failed");
    assert_eq!(failed["execution"]["error_code"], "no_such_note");
    let action = authorized(&caller).await;
    let unknown = caller.send(report(&action, json!({ "status": "unknown" }))).await.ok();
    assert_sealed(&unknown, "executed");
    assert_eq!(unknown["execution"]["status"], "unknown");
    assert_eq!(unknown["witness"]["verdict"], "UNVERIFIABLE");
}

#[tokio::test]
async fn a_report_that_does_not_hold_together_is_refused_and_can_be_sent_again() {
    let Some((_, caller)) = caller().await else { return };
    let action = authorized(&caller).await;
    let digest = format!("sha256:{}", "0".repeat(64));
    let wrong = [
        (json!({ "result": 1, "result_digest": digest }), "result_digest"),
        (json!({}), "result"),
        (json!({ "status": "running", "result": 1 }), "status"),
        (json!({ "status": "fine", "result": 1 }), "status"),
        (json!({ "started_at": "2001-01-01T00:00:00Z", "result": 1 }), "started_at"),
        (json!({ "finished_at": "2100-01-01T00:00:00Z", "result": 1 }), "finished_at"),
        (json!({ "finished_at": "2001-01-01T00:00:00Z", "result": 1 }), "finished_at"),
        (json!({ "started_at": "yesterday", "result": 1 }), "started_at"),
        (json!({ "status": "failed", "error_code": "Not A Code" }), "error_code"),
        (json!({ "result": 1, "colour": "blue" }), "colour"),
        (json!({ "result": "x".repeat(65_536) }), "result"),
    ];
    for (more, param) in wrong {
        let answer = caller.send(report(&action, more)).await;
        answer.error(400, "validation_failed", Some(param));
    }
    assert_sealed(&caller.send(report(&action, json!({ "result": 1 }))).await.ok(), "executed");
}

#[tokio::test]
async fn only_the_calls_own_agent_reports_and_only_on_what_an_edge_runs() {
    let Some((shared, caller)) = caller().await else { return };
    let action = authorized(&caller).await;
    let stranger = shared.caller().await;
    let stolen = report(&action, json!({ "result": 1 }));
    stranger.send(stolen).await.error(404, "not_found", None);
    let gateway = caller.executed("lab.sleep", json!({ "milliseconds": 0 })).await;
    let mut odd = action.clone();
    odd["next_action"]["report_url"] =
        json!(format!("/v1/actions/{}/result", gateway["id"].as_str().unwrap()));
    caller.send(report(&odd, json!({ "result": 1 }))).await.error(409, "conflict", None);
}

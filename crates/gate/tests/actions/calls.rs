//! One call each, from submission to deed.

use std::time::Duration;

use gate::{
    CancelError, Canceller, EdgeReport, EdgeResult, Ended, Rejection, ReportError, Submission,
    SubmitError, Submitted,
};
use ledger::record::Agent;
use model::{
    Clock, DecisionCode, DecisionSource, Digest, ExecutionErrorCode, ExecutionStatus, Fault, Mode,
    Outcome, State, Status, Verdict, WitnessMethod,
};
use serde_json::json;
use testkit::done;

use crate::house::{House, body};

pub(crate) fn rejection(error: SubmitError) -> Rejection {
    match error {
        SubmitError::Rejected(rejection) => rejection,
        other => panic!("{other}"),
    }
}

#[tokio::test]
async fn an_allowed_call_runs_once_is_witnessed_and_sealed() {
    let house = House::new().await;
    let action = house.refund(20).await;
    assert_eq!((action.state, action.status), (State::Sealed, Status::Executed));
    assert_eq!(action.witness.as_ref().unwrap().verdict, Verdict::Verified);
    assert_eq!(action.execution.as_ref().unwrap().rows_changed, Some(1));
    assert_eq!(action.decision.rule_id.as_deref(), Some("refunds"));
    assert_eq!(house.refund.runs(), 1);
    let body = body(&house, &action);
    assert_eq!(body["action"]["status"], "executed");
    assert_eq!(body["action"]["execution"]["attestation"], "gateway_executed");
    let detail = house.gate.detail(house.org, action.id).await.unwrap().unwrap();
    let types: Vec<_> = detail.events.iter().map(|event| event.kind.as_str()).collect();
    assert_eq!(types, ["action.created", "action.witnessed", "deed.sealed"]);
    let disclosed = |path: &str| {
        let found = detail.disclosures.iter().find(|opened| opened.path().as_str() == path);
        found.map(|opened| opened.value().to_owned())
    };
    assert_eq!(disclosed("action.request").as_deref(), Some(r#"{"amount":20}"#));
    assert_eq!(disclosed("action.execution.result").as_deref(), Some(r#"{"rows":1}"#));
}

#[tokio::test]
async fn a_denied_call_never_runs_and_is_sealed_with_the_rules_sentence() {
    let house = House::new().await;
    let action = house.submit(house.call("shop.delete", json!({}))).await.unwrap();
    assert_eq!((action.state, action.status), (State::Sealed, Status::Denied));
    assert_eq!(action.decision.code, Some(DecisionCode::PolicyDenied));
    assert_eq!(action.decision.message.as_deref(), Some("Orders are never deleted."));
    assert!(action.execution.is_none() && action.witness.is_none());
    assert_eq!(body(&house, &action)["action"]["status"], "denied");
}

#[tokio::test]
async fn what_no_connector_serves_is_refused_and_sealed() {
    let house = House::new().await;
    for tool in ["shop.nothing", "no tool name", "shop"] {
        let action = house.submit(house.call(tool, json!({}))).await.unwrap();
        assert_eq!(action.decision.code, Some(DecisionCode::ToolUnknown), "{tool}");
        assert_eq!(action.decision.source, DecisionSource::Builtin);
        assert!(action.deed.is_some());
        assert_eq!(action.tool, tool);
    }
}

#[tokio::test]
async fn a_call_in_a_mode_that_is_not_its_agents_is_refused_and_sealed() {
    let house = House::new().await;
    house.write(Agent { modes: vec![Mode::Proxy], ..house.agent_row() }).await;
    let refused = house.refund(20).await;
    assert_eq!(refused.decision.code, Some(DecisionCode::PolicyDenied));
    assert_eq!(refused.decision.source, DecisionSource::Builtin);
    let told = refused.decision.message.as_deref();
    assert_eq!(told, Some("This agent may not run calls in this mode."));
    assert_eq!((refused.status, house.refund.runs()), (Status::Denied, 0));
    assert_eq!(body(&house, &refused)["action"]["decision"]["source"], "builtin");
    let authorized = house.submit(house.edge_call()).await.unwrap();
    assert_eq!(authorized.status, Status::Authorized);
    house.write(Agent { modes: vec![Mode::Gateway], ..house.agent_row() }).await;
    let refused = house.submit(house.edge_call()).await.unwrap();
    assert_eq!(refused.decision.code, Some(DecisionCode::PolicyDenied));
    assert_eq!(house.refund(20).await.status, Status::Executed);
}

#[tokio::test]
async fn an_agent_whose_time_is_over_is_refused_as_one_that_is_suspended() {
    let house = House::new().await;
    let expires_at = Some(house.now() + Duration::from_mins(1));
    house.write(Agent { expires_at, ..house.agent_row() }).await;
    assert_eq!(house.refund(20).await.status, Status::Executed);
    house.pass(Duration::from_mins(1));
    let refused = house.refund(20).await;
    assert_eq!(refused.decision.code, Some(DecisionCode::AgentSuspended));
    assert_eq!((refused.status, house.refund.runs()), (Status::Denied, 1));
    assert!(refused.deed.is_some());
}

#[tokio::test]
async fn a_rule_that_cannot_be_evaluated_refuses_the_call() {
    let house = House::new().await;
    let action = house.submit(house.call("shop.broken", json!({}))).await.unwrap();
    assert_eq!(action.decision.code, Some(DecisionCode::PolicyUnavailable));
    assert_eq!(action.decision.rule_id.as_deref(), Some("broken"));
    assert_eq!(action.status, Status::Denied);
}

#[tokio::test]
async fn where_no_policy_decides_no_call_is_let_through_and_the_key_is_not_blamed() {
    let house = House::without_policy(testkit::limits()).await;
    let call = house.call("shop.refund", json!({ "amount": 20 }));
    let rejected = rejection(house.submit(call).await.unwrap_err());
    assert_eq!(rejected, Rejection::PolicyUnavailable);
    assert!(house.store.deeds(house.org).is_empty() && house.refund.runs() == 0);
    house.revoke_key().await;
    let call = house.call("shop.refund", json!({ "amount": 20 }));
    let rejected = rejection(house.submit(call).await.unwrap_err());
    assert_eq!(rejected, Rejection::Unauthenticated, "a key that does not hold learns nothing");
}

#[tokio::test]
async fn a_stopped_agent_is_refused_and_sealed() {
    let house = House::new().await;
    house.stop_agent().await;
    let action = house.refund(20).await;
    assert_eq!(action.decision.code, Some(DecisionCode::AgentStopped));
    assert_eq!(action.decision.source, DecisionSource::Stop);
    assert_eq!(house.refund.runs(), 0);
}

#[tokio::test]
async fn what_is_no_tool_name_is_refused_for_that_while_its_agent_is_stopped_too() {
    let house = House::new().await;
    house.stop_agent().await;
    for (tool, code) in [
        ("no tool name", DecisionCode::ToolUnknown),
        ("a.b", DecisionCode::ToolUnknown),
        ("shop.nothing", DecisionCode::AgentStopped),
    ] {
        let action = house.submit(house.call(tool, json!({}))).await.unwrap();
        assert_eq!((action.status, action.decision.code), (Status::Denied, Some(code)), "{tool}");
        assert!(action.deed.is_some(), "{tool}");
    }
}

#[tokio::test]
async fn a_disabled_connector_runs_nothing() {
    let house = House::new().await;
    house.disable_connector().await;
    assert_eq!(house.refund(20).await.decision.code, Some(DecisionCode::ConnectorDisabled));
}

#[tokio::test]
async fn a_revoked_key_is_rejected_inside_the_turn_and_nothing_is_recorded() {
    let house = House::new().await;
    house.revoke_key().await;
    let call = house.call("shop.refund", json!({ "amount": 20 }));
    let rejected = rejection(house.submit(call).await.unwrap_err());
    assert_eq!(rejected, Rejection::Unauthenticated);
    assert!(house.store.deeds(house.org).is_empty());
}

#[tokio::test]
async fn bad_arguments_are_rejected_and_nothing_is_recorded() {
    let house = House::new().await;
    for (args, says) in [
        (json!([1]), "JSON object"),
        (json!({ "bad": 1 }), "`/bad`"),
        (json!({ "long": "x".repeat(1_000) }), "at most 1000 bytes"),
    ] {
        let rejected = rejection(house.submit(house.call("shop.refund", args)).await.unwrap_err());
        let Rejection::Invalid { param: "args", sentence } = rejected else {
            panic!("{rejected:?}");
        };
        assert!(sentence.contains(says), "{sentence}");
    }
    assert!(house.store.deeds(house.org).is_empty());
}

#[tokio::test]
async fn an_agent_without_intent_keys_has_no_valid_intent() {
    let house = House::new().await;
    let call = Submission {
        intent: Some("a.b.c".to_owned()),
        ..house.call("shop.refund", json!({ "amount": 1 }))
    };
    let rejected = rejection(house.submit(call).await.unwrap_err());
    assert!(matches!(rejected, Rejection::IntentInvalid(_)));
}

fn keyed(house: &House, amount: u64) -> Submission {
    let call = house.call("shop.refund", json!({ "amount": amount }));
    Submission { idempotency_key: Some("k".to_owned()), ..call }
}

#[tokio::test]
async fn one_key_is_one_action() {
    let house = House::new().await;
    let first = house.submit(keyed(&house, 20)).await.unwrap();
    let again = house.gate.submit(keyed(&house, 20)).await.unwrap();
    assert!(matches!(again, Submitted::Replayed(action) if *action == first));
    let different = rejection(house.submit(keyed(&house, 21)).await.unwrap_err());
    assert_eq!(different, Rejection::DifferentRequest(first.id));
    assert_eq!(house.refund.runs(), 1);
    house.pass(Duration::from_hours(24));
    assert_ne!(house.submit(keyed(&house, 20)).await.unwrap().id, first.id);
}

#[tokio::test]
async fn racing_calls_with_one_key_run_once() {
    let house = House::new().await;
    let racers = (0..32).map(|_| house.submit(keyed(&house, 20)));
    let actions = futures_util::future::join_all(racers).await;
    let ids: std::collections::BTreeSet<_> =
        actions.into_iter().map(|action| action.unwrap().id).collect();
    assert_eq!(ids.len(), 1);
    assert_eq!(house.refund.runs(), 1);
}

#[tokio::test]
async fn a_failed_run_gives_its_budget_back() {
    let house = House::new().await;
    let fault = Fault::new(ExecutionErrorCode::ToolError, "the row is gone");
    house.refund.answer(Outcome::Failed(fault));
    for _ in 0..5 {
        let action = house.refund(20).await;
        assert_eq!(action.status, Status::Failed);
        let execution = action.execution.unwrap();
        assert_eq!(execution.error_code.unwrap().as_str(), "tool_error");
    }
}

#[tokio::test]
async fn a_spent_budget_refuses_until_its_window_ends() {
    let house = House::new().await;
    for _ in 0..3 {
        assert_eq!(house.refund(20).await.status, Status::Executed);
    }
    let refused = house.refund(20).await;
    assert_eq!(refused.decision.code, Some(DecisionCode::BudgetExceeded));
    assert_eq!(refused.decision.source, DecisionSource::Budget);
    let midnight = "2026-10-02T00:00:00.000Z".parse().unwrap();
    assert_eq!(refused.decision.retry_at, Some(midnight));
    house.pass(Duration::from_hours(12));
    assert_eq!(house.refund(20).await.status, Status::Executed);
}

#[tokio::test]
async fn racing_calls_never_overspend_a_budget() {
    let house = House::new().await;
    let racers = (0..64).map(|_| house.refund(20));
    let actions = futures_util::future::join_all(racers).await;
    let ran = actions.iter().filter(|action| action.status == Status::Executed).count();
    assert_eq!(ran, 3);
    assert_eq!(house.refund.runs(), 3);
}

#[tokio::test]
async fn an_unknown_outcome_is_said_to_be_unknown() {
    let house = House::new().await;
    let fault = Fault::new(ExecutionErrorCode::ToolTimeout, "no answer in 30 s");
    house.refund.answer(Outcome::Unknown(fault));
    let action = house.refund(20).await;
    assert_eq!(action.status, Status::Executed);
    assert_eq!(action.execution.unwrap().status, ExecutionStatus::Unknown);
    assert_eq!(action.witness.unwrap().verdict, Verdict::Unverifiable);
}

#[tokio::test]
async fn of_a_result_over_the_limit_only_the_digest_is_kept() {
    let house = House::new().await;
    let result = json!({ "long": "x".repeat(200) });
    house.refund.answer(done(result.clone()));
    let call = house.call("shop.refund", json!({ "amount": 20 }));
    let Submitted::Running(running) = house.gate.submit(call).await.unwrap() else {
        panic!("the call runs");
    };
    let done = running.done.await.unwrap();
    assert_eq!(done.result.as_deref(), Some(&result), "the answer has it whole");
    let action = done.action;
    let digest = crypto::sha256(crypto::json::canonical(&result));
    assert_eq!(action.result_digest, Some(digest));
    let detail = house.gate.detail(house.org, action.id).await.unwrap().unwrap();
    let kept: Vec<_> = detail.disclosures.iter().map(|opened| opened.path().as_str()).collect();
    assert!(!kept.contains(&"action.execution.result"), "{kept:?}");
    assert!(kept.contains(&"action.execution.result_digest"), "{kept:?}");
}

#[tokio::test]
async fn a_result_with_numbers_that_a_double_rounds_is_sealed_with_their_digits() {
    let house = House::new().await;
    house.refund.answer(done(json!({ "id": 9_007_199_254_740_993_i64, "atoms": 6.022_140_76e23 })));
    let action = house.refund(20).await;
    assert_eq!(action.status, Status::Executed);
    assert!(action.execution.unwrap().lossy_numbers);
    let detail = house.gate.detail(house.org, action.id).await.unwrap().unwrap();
    let result = detail
        .disclosures
        .iter()
        .find(|opened| opened.path().as_str() == "action.execution.result");
    let form = r#"{"atoms":6.02214076e+23,"id":"9007199254740993"}"#;
    assert_eq!(result.unwrap().value(), form);
    assert_eq!(action.result_digest, Some(crypto::sha256(form)));
}

#[tokio::test]
async fn a_result_that_is_not_read_as_json_is_sealed_as_its_text() {
    let house = House::new().await;
    let deep = (0..33).fold(json!(1), |inner, _| json!([inner]));
    for result in [deep, json!({ "note": "a\0b" })] {
        house.refund.answer(done(result.clone()));
        let action = house.refund(20).await;
        assert_eq!(action.status, Status::Executed);
        assert!(action.execution.as_ref().unwrap().lossy_numbers);
        let detail = house.gate.detail(house.org, action.id).await.unwrap().unwrap();
        let kept = detail
            .disclosures
            .iter()
            .find(|opened| opened.path().as_str() == "action.execution.result");
        let kept: String = serde_json::from_str(kept.unwrap().value()).unwrap();
        assert_eq!(kept, result.to_string());
    }
}

#[tokio::test]
async fn an_edge_call_is_authorised_reported_and_sealed() {
    let house = House::new().await;
    let action = house.submit(house.edge_call()).await.unwrap();
    assert_eq!((action.state, action.status), (State::Executing, Status::Authorized));
    assert_eq!(action.deadline, Some(action.created_at + Duration::from_mins(10)));
    let Ended::Now(sealed) = house.gate.report(house.report(&action)).await.unwrap() else {
        panic!("a first report is no repeat");
    };
    assert_eq!((sealed.state, sealed.status), (State::Sealed, Status::Executed));
    let witness = sealed.witness.as_ref().unwrap();
    assert_eq!(witness.method, WitnessMethod::EdgeReported);
    assert_eq!(body(&house, &sealed)["action"]["execution"]["attestation"], "edge_claimed");
    let second = house.gate.report(house.report(&action)).await.unwrap_err();
    assert!(matches!(second, ReportError::Conflict(_)), "{second}");
}

#[tokio::test]
async fn one_of_many_racing_reports_wins() {
    let house = House::new().await;
    let action = house.submit(house.edge_call()).await.unwrap();
    let racers = (0..64).map(|_| house.gate.report(house.report(&action)));
    let taken = futures_util::future::join_all(racers).await;
    assert_eq!(taken.iter().filter(|report| report.is_ok()).count(), 1);
    assert_eq!(house.store.deeds(house.org).len(), 1);
}

#[tokio::test]
async fn a_bad_report_names_its_field_and_leaves_the_action_open() {
    let house = House::new().await;
    let action = house.submit(house.edge_call()).await.unwrap();
    let good = house.report(&action);
    let wrong = Digest::from_bytes([1; 32]);
    let late = house.clock.now() + Duration::from_mins(2);
    for (field, bad) in [
        ("status", EdgeReport { status: ExecutionStatus::Running, ..good.clone() }),
        ("result", EdgeReport { result: EdgeResult::Nothing, ..good.clone() }),
        (
            "result",
            EdgeReport {
                result: EdgeResult::Whole(json!("x".repeat(200)).into(), None),
                ..good.clone()
            },
        ),
        (
            "result_digest",
            EdgeReport { result: EdgeResult::Whole(json!(1).into(), Some(wrong)), ..good.clone() },
        ),
        ("finished_at", EdgeReport { started_at: late, finished_at: late, ..good.clone() }),
        (
            "finished_at",
            EdgeReport {
                finished_at: action.created_at.before(Duration::from_secs(1)),
                ..good.clone()
            },
        ),
        (
            "started_at",
            EdgeReport {
                started_at: action.created_at.before(Duration::from_mins(2)),
                ..good.clone()
            },
        ),
    ] {
        let refused = house.gate.report(bad).await.unwrap_err();
        assert!(
            matches!(refused, ReportError::Invalid { param, .. } if param == field),
            "{refused:?}"
        );
    }
    assert!(house.gate.report(good).await.is_ok());
}

#[tokio::test]
async fn another_agents_action_does_not_exist() {
    let house = House::new().await;
    let action = house.submit(house.edge_call()).await.unwrap();
    let (agent, key) = house.other;
    let report = EdgeReport { agent, key, ..house.report(&action) };
    assert!(matches!(house.gate.report(report).await, Err(ReportError::NotFound)));
    let cancel = house.cancel(&action, Canceller::Agent(agent, key)).await;
    assert!(matches!(cancel, Err(CancelError::NotFound)));
}

#[tokio::test]
async fn a_stopped_agents_report_is_taken_and_a_revoked_keys_is_not() {
    let house = House::new().await;
    let action = house.submit(house.edge_call()).await.unwrap();
    let second = house.submit(house.edge_call()).await.unwrap();
    house.stop_agent().await;
    assert!(house.gate.report(house.report(&action)).await.is_ok());
    house.revoke_key().await;
    let refused = house.gate.report(house.report(&second)).await;
    assert!(matches!(refused, Err(ReportError::Unauthenticated)));
}

#[tokio::test]
async fn an_edge_that_never_reports_is_sealed_as_lost() {
    let house = House::new().await;
    let action = house.submit(house.edge_call()).await.unwrap();
    house.pass(Duration::from_mins(9));
    assert_eq!(house.sweep().await, 0);
    house.pass(Duration::from_mins(1));
    assert_eq!(house.sweep().await, 1);
    let sealed = house.gate.action(house.org, action.id).await.unwrap().unwrap();
    assert_eq!((sealed.state, sealed.status), (State::Sealed, Status::Executed));
    assert_eq!(sealed.execution.unwrap().error_code.unwrap().as_str(), "edge_lost");
    assert_eq!(sealed.witness.unwrap().verdict, Verdict::Unverifiable);
    let late = house.gate.report(house.report(&action)).await.unwrap_err();
    assert!(matches!(late, ReportError::Conflict(_)));
}

#[tokio::test]
async fn a_store_that_is_down_runs_nothing() {
    let house = House::new().await;
    house.store.go_down();
    let call = house.call("shop.refund", json!({ "amount": 20 }));
    assert!(house.submit(call).await.is_err());
    assert_eq!(house.refund.runs(), 0);
    house.store.come_up();
    assert_eq!(house.refund(20).await.status, Status::Executed);
}

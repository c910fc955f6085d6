use model::SideEffect;

use super::*;

const POLICY: &str = r#"
schema: 1
default: { outcome: deny, reason: "No rule allows this." }
rules:
  - { id: asked, match: shop.refund, when: "args.amount > 1000", outcome: require_approval }
  - { id: small, match: shop.refund, outcome: allow }
budgets:
  - { id: day, match: shop.refund, per: [agent], window: day, count: 2 }
"#;

async fn office() -> (Office, Agent) {
    let refund = FnTool::new("shop.refund", SideEffect::Write, |args| {
        args.get("order").map(|order| json!({ "refunded": order })).ok_or("no `order`".to_owned())
    });
    let office = Office::open(POLICY, vec![refund.unwrap()]).await.unwrap();
    let agent = office.agent("support").await.unwrap();
    (office, agent)
}

#[tokio::test]
async fn a_call_ends_as_a_deed_that_anybody_can_check() {
    let (office, agent) = office().await;
    let called = office.call(&agent, "shop.refund", json!({ "order": 1, "amount": 5 })).await;
    let called = called.unwrap();
    assert_eq!(called.action.status, model::Status::Executed);
    assert_eq!(called.result.as_deref(), Some(&json!({ "refunded": 1 })));
    let kept = office.checkpoint().await.unwrap();
    let log = office.log().unwrap();
    assert_eq!(verdict(&log, &office.trust()), deed::verify::Verdict::Valid);

    let text = String::from_utf8(log).unwrap();
    let cut = text.trim_end().rsplit_once('\n').unwrap().0;
    let known = Trust { known_checkpoint: Some(kept), ..office.trust() };
    assert_eq!(verdict(cut.as_bytes(), &known), deed::verify::Verdict::Invalid);
}

fn verdict(log: &[u8], trust: &Trust) -> deed::verify::Verdict {
    deed::verify::examine(log, trust).verdict
}

#[tokio::test]
async fn what_the_function_refuses_failed_and_what_the_policy_refuses_never_ran() {
    let (office, agent) = office().await;
    let status =
        async |args: Value| office.call(&agent, "shop.refund", args).await.unwrap().action.status;
    assert_eq!(status(json!({ "amount": 1 })).await, model::Status::Failed);
    assert_eq!(
        status(json!({ "order": 1, "amount": 2_000 })).await,
        model::Status::PendingApproval
    );
    assert_eq!(status(json!({ "order": 1, "amount": 1 })).await, model::Status::Executed);
    // What failed was given back, what waits is still counted.
    assert_eq!(status(json!({ "order": 2, "amount": 1 })).await, model::Status::Denied);
    let unknown = office.call(&agent, "shop.nothing", json!({})).await.unwrap();
    assert_eq!(unknown.action.decision.code, Some(model::DecisionCode::ToolUnknown));
}

#[tokio::test]
async fn a_policy_that_cannot_be_read_is_refused_with_its_place() {
    let (office, agent) = office().await;
    let error = office.govern("schema: 1\nrules: 5\n").await.unwrap_err();
    assert!(error.to_string().contains("2:8: error wrong_type: `rules`"), "{error}");
    let called = office.call(&agent, "shop.refund", json!({ "order": 1, "amount": 5 })).await;
    assert_eq!(called.unwrap().action.status, model::Status::Executed);
}

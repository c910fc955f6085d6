//! Tools whose definition is not the one that was accepted: of an edge, the one last let run.

use gate::{Submission, ToolListing};
use ledger::record::Action;
use model::{DecisionCode, DecisionOutcome, DecisionSource, EventType, State, Visibility};
use serde_json::{Value, json};

use crate::house::House;

/// A call of the edge's tool, whose definition is this text.
fn defined(house: &House, text: Option<&str>) -> Submission {
    let mut call = house.edge_call();
    if let Some(edge) = &mut call.edge {
        edge.digest = text.map(crypto::sha256);
    }
    call
}

async fn decided(house: &House, text: Option<&str>) -> (DecisionOutcome, bool) {
    let action = house.submit(defined(house, text)).await.unwrap();
    (action.decision.outcome, action.inputs.tool_changed)
}

const RUNS: (DecisionOutcome, bool) = (DecisionOutcome::Allow, false);
const WAITS: (DecisionOutcome, bool) = (DecisionOutcome::RequireApproval, true);

#[tokio::test]
async fn a_changed_tool_stays_changed_however_often_it_is_called() {
    let house = House::new().await;
    assert_eq!(decided(&house, Some("a")).await, RUNS);
    for _ in 0..3 {
        assert_eq!(decided(&house, Some("b")).await, WAITS, "nobody has looked at it");
    }
    assert_eq!(decided(&house, Some("a")).await, RUNS, "what was let run is known still");
}

#[tokio::test]
async fn of_two_changed_calls_at_once_neither_runs() {
    let house = House::new().await;
    assert_eq!(decided(&house, Some("a")).await, RUNS);
    let (one, two) = tokio::join!(
        house.submit(defined(&house, Some("b"))),
        house.submit(defined(&house, Some("b"))),
    );
    for action in [one.unwrap(), two.unwrap()] {
        assert_eq!(action.state, State::PendingApproval);
    }
}

#[tokio::test]
async fn of_two_definitions_at_once_that_nobody_knew_one_is_let_run() {
    let house = House::new().await;
    let (one, two) = tokio::join!(
        house.submit(defined(&house, Some("a"))),
        house.submit(defined(&house, Some("b"))),
    );
    let changed = [one.unwrap(), two.unwrap()].map(|action| action.inputs.tool_changed);
    assert_eq!(changed.iter().filter(|changed| **changed).count(), 1, "{changed:?}");
}

#[tokio::test]
async fn an_edge_that_leaves_the_definition_out_does_not_pass_as_unchanged() {
    let house = House::new().await;
    assert_eq!(decided(&house, None).await, RUNS, "none was ever told");
    assert_eq!(decided(&house, Some("a")).await, RUNS);
    assert_eq!(decided(&house, None).await, WAITS);
}

#[tokio::test]
async fn what_another_agent_was_let_run_says_nothing_of_this_one() {
    let house = House::new().await;
    assert_eq!(decided(&house, Some("a")).await, RUNS);
    let mut call = defined(&house, Some("b"));
    (call.call.agent.id, call.key) = house.other;
    let action = house.submit(call).await.unwrap();
    assert!(!action.inputs.tool_changed);
}

#[tokio::test]
async fn a_served_tool_that_changed_is_refused_until_it_is_accepted_whatever_a_policy_allows() {
    let house = House::new().await;
    house.refund.change(Some("b"));
    let refused = house.submit(house.call("shop.refund", json!({ "amount": 5 }))).await.unwrap();
    let refused = (refused.decision.code, refused.decision.source, refused.inputs.tool_changed);
    assert_eq!(refused, (Some(DecisionCode::ToolChanged), DecisionSource::Builtin, true));
    let waits = house.submit(house.call("shop.refund", json!({ "amount": 500 }))).await.unwrap();
    assert_eq!(
        waits.decision.code,
        Some(DecisionCode::ToolChanged),
        "no person can accept it here"
    );
    assert_eq!(house.refund.runs(), 0);
    house.refund.change(None);
    for _ in 0..3 {
        let action = house.submit(house.call("shop.refund", json!({ "amount": 5 }))).await.unwrap();
        assert_eq!(action.decision.outcome, DecisionOutcome::Allow, "no budget was touched");
    }
}

#[tokio::test]
async fn a_served_tool_that_nobody_accepted_as_it_is_now_is_hidden() {
    let house = House::new().await;
    let shown = async || {
        let (tools, _) = house.gate.tools(house.org, true).await.unwrap();
        let name = |listed: &ToolListing| listed.served.tool.definition().name.to_string();
        let refund = tools.iter().find(|listed| name(listed) == "shop.refund").unwrap();
        refund.visibility
    };
    assert_eq!(shown().await, Visibility::Visible);
    house.refund.change(Some("b"));
    assert_eq!(shown().await, Visibility::Hidden);
    house.refund.change(None);
    assert_eq!(shown().await, Visibility::Visible);
}

#[tokio::test]
async fn what_would_be_refused_whatever_a_policy_says_is_not_shown() {
    let house = House::new().await;
    let shown = async |livemode| {
        let (tools, _) = house.gate.tools(house.org, livemode).await.unwrap();
        let name = |listed: &ToolListing| listed.served.tool.definition().name.to_string();
        let refund = tools.iter().find(|listed| name(listed) == "shop.refund");
        refund.map(|refund| refund.visibility)
    };
    assert_eq!(shown(true).await, Some(Visibility::Visible));
    assert_eq!(shown(false).await, None, "its connector runs no tests");
    house.disable_connector().await;
    assert_eq!(shown(true).await, Some(Visibility::Hidden));
}

/// What was told of the tool in the action's own turn.
async fn news(house: &House, action: &Action) -> Vec<Value> {
    let detail = house.gate.detail(house.org, action.id).await.unwrap().unwrap();
    let news = detail.events.iter().filter(|event| event.kind == EventType::ToolChanged);
    news.map(|event| {
        assert_eq!((event.action, event.agent), (Some(action.id), Some(action.agent.id)));
        event.object.clone()
    })
    .collect()
}

fn change(tool: &str, accepted: &str, found: &str) -> Vec<Value> {
    let (accepted, found) = (crypto::sha256(accepted), crypto::sha256(found));
    vec![json!({
        "object": "tool", "id": tool, "name": tool, "accepted_digest": accepted, "digest": found,
    })]
}

#[tokio::test]
async fn that_a_served_tool_changed_is_told_once_by_the_call_that_meets_it() {
    let house = House::new().await;
    let told = async || {
        let action = house.submit(house.call("shop.refund", json!({ "amount": 5 }))).await.unwrap();
        news(&house, &action).await
    };
    assert_eq!(told().await, Vec::<Value>::new());
    for found in ["b", "c", "b"] {
        house.refund.change(Some(found));
        assert_eq!(told().await, change("shop.refund", "shop.refund", found));
        assert_eq!(told().await, Vec::<Value>::new(), "{found} was told");
        house.refund.change(None);
        assert_eq!(told().await, Vec::<Value>::new());
        house.refund.change(Some(found));
        assert_eq!(told().await, Vec::<Value>::new(), "{found} is the last that was told");
    }
}

#[tokio::test]
async fn that_an_edges_tool_changed_is_told_once_by_the_call_that_meets_it() {
    let house = House::new().await;
    let told = async |text| {
        let action = house.submit(defined(&house, text)).await.unwrap();
        news(&house, &action).await
    };
    assert_eq!(told(Some("a")).await, Vec::<Value>::new(), "the first that was let run");
    assert_eq!(told(Some("b")).await, change("mail.send", "a", "b"), "it waits for a person");
    for text in [Some("b"), Some("a"), None, Some("b")] {
        assert_eq!(told(text).await, Vec::<Value>::new(), "{text:?}");
    }
    let lax = "{schema: 1, default: {outcome: allow}}";
    house.activate(2, lax, ledger::record::PolicyMode::Enforce).await;
    assert_eq!(told(Some("c")).await, change("mail.send", "a", "c"), "it is accepted at once");
    assert_eq!(told(Some("a")).await, change("mail.send", "c", "a"));
}

//! A decision can be made again from what was recorded.

use crypto::json::Canonical;
use deed::Path;
use gate::{Case, Resolved};
use ledger::Needs;
use model::DecisionOutcome;
use serde_json::{Value, json};

use crate::house::House;

#[tokio::test]
async fn a_case_made_from_a_stored_action_decides_as_the_submission_did() {
    let house = House::new().await;
    let calls = [
        ("shop.refund", json!({ "amount": 20 }), DecisionOutcome::Allow),
        ("shop.refund", json!({ "amount": 2_000 }), DecisionOutcome::RequireApproval),
        ("shop.delete", json!({ "order": 1 }), DecisionOutcome::Deny),
        ("shop.unknown", json!({}), DecisionOutcome::Deny),
    ];
    for (tool, args, outcome) in calls {
        let mut sent = house.call(tool, args.clone());
        sent.call.facts.session = Some("s1".to_owned());
        let action = house.submit(sent.clone()).await.unwrap();
        assert_eq!(action.decision.outcome, outcome, "{tool}");
        let detail = house.gate.detail(house.org, action.id).await.unwrap().unwrap();
        let request = detail.disclosures.iter().find(|opens| *opens.path() == Path::REQUEST);
        let kept: Value = serde_json::from_str(request.unwrap().value()).unwrap();

        let stored = Case::of_action(&action, resolved(&house, tool).await, Canonical::new(kept));
        let fresh = Case::new(sent.call, resolved(&house, tool).await, Canonical::new(args));
        let needs = Needs { agents: [house.agent].into(), ..Needs::default() };
        let snapshot = house.gate.ledger().look_at(house.org, needs).await.unwrap();
        let verdict = gate::decide(&stored, &snapshot).unwrap();
        assert_eq!(Some(&verdict), gate::decide(&fresh, &snapshot).as_ref(), "{tool}");
        assert_eq!(verdict.decision, action.decision, "{tool}");
        assert_eq!((verdict.charged, verdict.cost), (action.charged, action.cost), "{tool}");
    }
}

async fn resolved(house: &House, tool: &str) -> Resolved {
    let (tools, _) = house.gate.tools(house.org, true).await.unwrap();
    let found =
        tools.into_iter().find(|listing| listing.served.tool.definition().name.as_str() == tool);
    found.map_or(Resolved::Unknown, |listing| Resolved::Served(listing.served))
}

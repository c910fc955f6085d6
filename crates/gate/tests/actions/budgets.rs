//! Budgets in the Gate: what counts, what is given back, and when a window ends.

use std::{sync::atomic::Ordering, time::Duration};

use gate::{ActionStore, Submission};
use ledger::{
    LedgerStore, Needs,
    record::{Action, Agent, BudgetUse, Org, PolicyMode},
};
use model::{DecisionCode, DecisionOutcome, ExecutionErrorCode, Fault, Outcome, Status, Timestamp};
use policy::Decimal;
use serde_json::{Value, json};

use crate::{asking::Moved, house::House};

const COSTS: &str = r#"
schema: 1
default: { outcome: allow }
budgets:
  - id: money
    match: shop.refund
    per: [agent]
    window: month
    cost: { amount: "decimal(args.amount)", limit: "100.00", unit: EUR }
"#;

/// How much is used of each counter that the action is counted in.
async fn used(house: &House, action: &Action) -> Vec<Decimal> {
    let place = |part: &BudgetUse| (part.key.clone(), part.window_start);
    let budgets = action.charged.iter().map(place).collect();
    let needs = Needs { budgets, ..Needs::default() };
    let rows = house.store.load(house.org, &needs).await.unwrap().budgets;
    rows.into_iter().map(|row| row.used).collect()
}

fn decimal(text: &str) -> Decimal {
    text.parse().unwrap()
}

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

/// Moves the house to a zone and a moment of its future.
async fn moved(house: &House, zone: &str, moment: &str) {
    let org = house.gate.ledger().look(house.org).await.unwrap().org().cloned().unwrap();
    house.pass(at(moment).since(house.now()));
    house.write(Org { time_zone: zone.to_owned(), ..org }).await;
}

/// Spends the day's three refunds and returns when the next one is admitted again.
async fn next_day(house: &House) -> Timestamp {
    for _ in 0..3 {
        assert_eq!(house.refund(1).await.status, Status::Executed);
    }
    let refused = house.refund(1).await;
    assert_eq!(refused.decision.code, Some(DecisionCode::BudgetExceeded));
    let again = refused.decision.retry_at.unwrap();
    house.pass(again.since(house.now()).saturating_sub(Duration::from_millis(1)));
    assert_eq!(house.refund(1).await.status, Status::Denied, "one millisecond is missing");
    house.pass(Duration::from_millis(1));
    assert_eq!(house.refund(1).await.status, Status::Executed);
    again
}

#[tokio::test]
async fn a_day_ends_at_midnight_in_the_orgs_zone_on_days_of_every_length() {
    for (zone, noon, midnight, hours) in [
        // Clocks go forward on the 28th: the day has 23 hours.
        ("Europe/Zurich", "2027-03-27T23:00:00.000Z", "2027-03-28T22:00:00.000Z", 23),
        // Clocks go back on the 25th: the day has 25 hours.
        ("Europe/Zurich", "2026-10-24T22:00:00.000Z", "2026-10-25T23:00:00.000Z", 25),
        ("Asia/Kathmandu", "2026-10-24T18:15:00.000Z", "2026-10-25T18:15:00.000Z", 24),
        ("America/New_York", "2026-11-01T04:00:00.000Z", "2026-11-02T05:00:00.000Z", 25),
        // Havana's clocks skip midnight itself: the day begins at one.
        ("America/Havana", "2027-03-14T05:00:00.000Z", "2027-03-15T04:00:00.000Z", 23),
    ] {
        let house = House::new().await;
        moved(&house, zone, noon).await;
        assert_eq!(next_day(&house).await, at(midnight), "{zone}");
        assert_eq!(at(midnight).since(at(noon)), Duration::from_hours(hours), "{zone}");
    }
}

#[tokio::test]
async fn a_month_ends_when_its_last_day_does() {
    for (zone, moment, end) in [
        ("Europe/Zurich", "2026-10-31T22:59:59.999Z", "2026-10-31T23:00:00.000Z"),
        ("Europe/Zurich", "2027-02-10T12:00:00.000Z", "2027-02-28T23:00:00.000Z"),
        ("UTC", "2028-02-29T23:59:59.999Z", "2028-03-01T00:00:00.000Z"),
        ("Asia/Tokyo", "2026-12-31T14:59:59.999Z", "2026-12-31T15:00:00.000Z"),
    ] {
        let house = House::new().await;
        house.enforce(COSTS).await;
        moved(&house, zone, moment).await;
        assert_eq!(house.refund(100).await.status, Status::Executed);
        let refused = house.refund(1).await;
        assert_eq!(refused.decision.retry_at, Some(at(end)), "{zone}");
    }
}

#[tokio::test]
async fn costs_are_charged_exactly_and_stand_in_the_action() {
    let house = House::new().await;
    house.enforce(COSTS).await;
    let pay = |amount: Value| house.submit(house.call("shop.refund", json!({ "amount": amount })));
    let first = pay(json!("99.99")).await.unwrap();
    assert_eq!(first.cost.as_ref().unwrap().amount, "99.99");
    assert_eq!(pay(json!("0.02")).await.unwrap().status, Status::Denied);
    assert_eq!(pay(json!("0.01")).await.unwrap().status, Status::Executed);
    assert_eq!(used(&house, &first).await, [decimal("100")]);
    let broken = pay(json!("-1")).await.unwrap();
    assert_eq!(broken.decision.code, Some(DecisionCode::PolicyUnavailable), "never for nothing");
}

#[tokio::test]
async fn a_refusal_names_the_budget_its_limit_and_its_reset_in_decision_and_deed() {
    let house = House::new().await;
    house.enforce(COSTS).await;
    let pay = |amount: Value| house.submit(house.call("shop.refund", json!({ "amount": amount })));
    let refused = pay(json!("100.01")).await.unwrap();
    let decision = &refused.decision;
    let budget = decision.budget.clone().unwrap();
    assert_eq!(
        (&*budget.id, &*budget.limit, budget.unit.as_deref()),
        ("money", "100", Some("EUR"))
    );
    assert_eq!((&*budget.window, Some(budget.resets_at)), ("month", decision.retry_at));
    let resets_at = budget.resets_at;
    let sentence =
        format!("The budget `money` admits at most 100 EUR a month; it resets at {resets_at}.");
    assert_eq!(decision.message.as_ref(), Some(&sentence));
    let detail = house.gate.detail(house.org, refused.id).await.unwrap().unwrap();
    let mut opened = detail.disclosures.iter();
    let reason = opened.find(|opened| opened.path().as_str() == "action.decision.reason");
    assert_eq!(reason.unwrap().value(), json!(sentence).to_string());
    // Decisions that were recorded before budgets were named are read as they are.
    let mut old = serde_json::to_value(decision).unwrap();
    old.as_object_mut().unwrap().remove("budget");
    let read: ledger::record::Decision = serde_json::from_value(old).unwrap();
    assert_eq!((read.budget, read.retry_at), (None, decision.retry_at));
}

#[tokio::test]
async fn what_certainly_did_not_run_is_given_back_and_an_unknown_run_is_not() {
    let house = House::new().await;
    let told = |outcome| house.refund.answer(outcome);
    let fault = || Fault::new(ExecutionErrorCode::ToolTimeout, "no answer");
    told(Outcome::Unknown(fault()));
    let unknown = house.refund(1).await;
    assert_eq!(used(&house, &unknown).await, [decimal("1")]);
    told(Outcome::Failed(fault()));
    let failed = house.refund(1).await;
    assert_eq!((failed.status, used(&house, &failed).await), (Status::Failed, vec![decimal("1")]));
}

#[tokio::test]
async fn nothing_is_given_back_to_a_window_that_has_ended() {
    let house = House::new().await;
    let waiting = house.refund(500).await;
    house.pass(Duration::from_hours(24));
    house.sweep().await;
    assert_eq!(used(&house, &waiting).await, [decimal("1")], "yesterday's counter stays");
    assert_eq!(next_day(&house).await, at("2026-10-03T00:00:00.000Z"));
}

const SHADOW: &str = "
schema: 1
default: { outcome: allow }
budgets:
  - { id: refunds-day, match: shop.refund, per: [agent], window: day, count: 1 }
";

#[tokio::test]
async fn a_shadow_version_counts_apart_and_is_told_when_it_would_have_refused() {
    let house = House::new().await;
    house.shadow(SHADOW).await;
    let outcomes = async |house: &House| {
        let action = house.refund(1).await;
        let shadow = action.decision.shadow.clone().unwrap();
        (action.status, shadow.outcome, shadow.code)
    };
    let exceeded = Some(DecisionCode::BudgetExceeded);
    let (allow, deny) = (DecisionOutcome::Allow, DecisionOutcome::Deny);
    assert_eq!(outcomes(&house).await, (Status::Executed, allow, None));
    assert_eq!(outcomes(&house).await, (Status::Executed, deny, exceeded));
    assert_eq!(outcomes(&house).await, (Status::Executed, deny, exceeded));
    // The enforced budget of three is used up by now; the shadow's of one was never in its way.
    assert_eq!(outcomes(&house).await, (Status::Denied, deny, exceeded));
}

#[tokio::test]
async fn a_run_that_failed_frees_the_shadow_budget_too() {
    let house = House::new().await;
    house.shadow(SHADOW).await;
    let fault = Fault::new(ExecutionErrorCode::ToolError, "the row is gone");
    house.refund.answer(Outcome::Failed(fault));
    for _ in 0..3 {
        let action = house.refund(1).await;
        assert_eq!(action.decision.shadow.unwrap().outcome, DecisionOutcome::Allow);
        assert_eq!(action.charged.len(), 2, "one part for each version");
    }
}

#[tokio::test]
async fn counters_that_drifted_are_made_anew_from_the_charges() {
    let house = House::new().await;
    assert_eq!(house.gate.rebuild_budgets(house.org).await.unwrap(), 0);
    let first = house.refund(1).await;
    house.refund(500).await;
    assert_eq!(house.gate.rebuild_budgets(house.org).await.unwrap(), 0, "they agree");
    let leaked = BudgetUse { used: decimal("3"), ..first.charged[0].clone() };
    house.write(leaked).await;
    assert_eq!(house.refund(1).await.status, Status::Denied);
    assert_eq!(house.gate.rebuild_budgets(house.org).await.unwrap(), 1);
    assert_eq!(used(&house, &first).await, [decimal("2")]);
    assert_eq!(house.refund(1).await.status, Status::Executed);
    assert_eq!(house.refund(1).await.status, Status::Denied);
    assert!(house.store.drift(house.org).await.unwrap().is_empty());
}

#[tokio::test]
async fn a_counter_is_set_right_beside_charges_of_the_same_turn() {
    for is_first in [true, false] {
        let house = House::new().await;
        let first = house.refund(1).await;
        let leaked = BudgetUse { used: decimal("2"), ..first.charged[0].clone() };
        house.write(leaked).await;
        let turns = || house.gate.ledger().figures().turns.load(Ordering::Relaxed);
        let before = turns();
        let rebuilt = house.gate.rebuild_budgets(house.org);
        let (rebuilt, charged) = if is_first {
            tokio::join!(rebuilt, house.refund(1))
        } else {
            let (charged, rebuilt) = tokio::join!(house.refund(1), rebuilt);
            (rebuilt, charged)
        };
        assert_eq!((rebuilt.unwrap(), charged.status), (1, Status::Executed));
        assert_eq!(turns() - before, 2, "the beginning and the counter are one turn");
        assert_eq!(used(&house, &first).await, [decimal("2")]);
        assert!(house.store.drift(house.org).await.unwrap().is_empty());
    }
}

#[tokio::test]
async fn counters_of_a_busy_org_are_set_right() {
    let house = House::new().await;
    house.enforce(COSTS).await;
    let refund = || house.call("shop.refund", json!({ "amount": "0.10" }));
    let first = house.submit(refund()).await.unwrap();
    let leaked = BudgetUse { used: decimal("50"), ..first.charged[0].clone() };
    house.write(leaked).await;
    let busy = async {
        for _ in 0..20 {
            futures_util::future::join_all((0..4).map(|_| house.submit(refund()))).await;
        }
    };
    let (rebuilt, ()) = tokio::join!(house.gate.rebuild_budgets(house.org), busy);
    assert_eq!(rebuilt.unwrap(), 1);
    assert_eq!(used(&house, &first).await, [decimal("8.10")]);
}

#[tokio::test]
async fn sixty_four_clients_never_overspend_money() {
    let house = House::new().await;
    house.enforce(COSTS).await;
    let calls = (0..64).map(|number| {
        let args = json!({ "amount": format!("{}.{:02}", number % 7, number) });
        house.submit(Submission { ..house.call("shop.refund", args) })
    });
    let actions = futures_util::future::join_all(calls).await;
    let ran = actions.into_iter().map(Result::unwrap);
    let ran: Vec<Action> = ran.filter(|action| action.status == Status::Executed).collect();
    let spent = ran.iter().fold(Decimal::ZERO, |sum, action| {
        sum.checked_add(decimal(&action.cost.as_ref().unwrap().amount)).unwrap()
    });
    assert!(spent <= decimal("100") && spent > decimal("90"), "{spent}");
    assert_eq!(used(&house, &ran[0]).await, [spent]);
}

impl House {
    /// Makes this document the enforced policy.
    async fn enforce(&self, document: &str) {
        self.activate(2, document, PolicyMode::Enforce).await;
    }

    /// Makes this document the shadow policy.
    async fn shadow(&self, document: &str) {
        self.activate(2, document, PolicyMode::Shadow).await;
    }
}

/// Lets one team refund, within a budget, and refuses all others.
const ONE_TEAM: &str = r#"
schema: 1
default: { outcome: deny }
rules:
  - { id: team, match: shop.refund, when: agent.labels.?team.orValue('') == 'new', outcome: allow }
budgets:
  - id: money
    match: shop.refund
    per: [org]
    window: month
    cost: { amount: "decimal(args.amount)", limit: "100.00", unit: EUR }
"#;

#[tokio::test]
async fn a_counter_that_nobody_asked_for_is_not_taken_for_one_that_stands_at_nothing() {
    let mut house = House::new().await;
    house.activate(2, ONE_TEAM, PolicyMode::Enforce).await;
    let moved = |team: &str| {
        let labels = [("team".to_owned(), team.to_owned())].into();
        Moved(Agent { labels, ..house.agent_row() })
    };
    let (old, new) = (moved("old"), moved("new"));
    house.gate.ledger().enter(house.org, moved("new")).await.unwrap();
    assert_eq!(house.refund(90).await.status, Status::Executed);
    house.gate.ledger().enter(house.org, old).await.unwrap();
    // Another process, in which a refusal has asked for no counter.
    house.gate = house.gate_beside(78);
    assert_eq!(house.refund(90).await.status, Status::Denied);
    let moved = house.gate.ledger().enter(house.org, new);
    let (moved, second) = tokio::join!(moved, house.refund(90));
    moved.unwrap();
    assert_eq!(second.decision.code, Some(DecisionCode::BudgetExceeded));
    let third = house.refund(10).await;
    assert_eq!(
        (third.status, used(&house, &third).await),
        (Status::Executed, vec![decimal("100")])
    );
}

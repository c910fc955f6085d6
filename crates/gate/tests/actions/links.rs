//! What people answer with the link of their mail: once, in time, as the member it was sent to.

use std::time::Duration;

use deed::Vote;
use gate::{Gate, JudgeError, Judged, Judgement, Limits};
use ledger::record::{Action, Member, PolicyMode};
use model::{ApprovalStatus, Assurance, MemberId, Role, State, Status, Uuid};
use serde_json::json;
use testkit::limits;

use crate::{
    house::{House, body},
    judgements::{judgement, person},
};

/// A policy that asks two people and gives them two days.
const TWO_DAYS: &str = r"
schema: 1
default: { outcome: deny }
rules:
  - { id: two, match: shop.refund, outcome: require_approval,
      approval: { count: 2, expires_in: 48h } }
";
/// A policy that takes the answers of people alone who are signed in.
const SESSIONS: &str = r"
schema: 1
default: { outcome: deny }
rules:
  - { id: strict, match: shop.refund, outcome: require_approval,
      approval: { assurance: session } }
";

fn by_link(action: &Action, by: &Member, vote: Vote) -> Judgement {
    Judgement { assurance: Assurance::EmailLink, ..judgement(action, by, vote) }
}

/// The action after an answer by a link and, where it runs, after its end.
async fn answered(gate: &Gate, judgement: Judgement) -> Result<Action, JudgeError> {
    let Judged { action, running } = gate.judge(judgement).await?;
    let ended = match running {
        Some(running) => running.done.await.unwrap().action,
        None => action,
    };
    Ok(Action::clone(&ended))
}

/// The answers of an action as it stands.
async fn decisions(house: &House, action: &Action) -> usize {
    let action = house.gate.action(house.org, action.id).await.unwrap().unwrap();
    action.approval.unwrap().decisions.len()
}

#[tokio::test]
async fn a_link_answers_once_and_the_deed_says_that_it_was_one() {
    let house = House::new().await;
    house.activate(2, TWO_DAYS, PolicyMode::Enforce).await;
    let (ann, bob) = (person(&house, 1, Role::Viewer).await, person(&house, 2, Role::Viewer).await);
    let action = house.refund(500).await;
    let one = answered(&house.gate, by_link(&action, &ann, Vote::Approve)).await.unwrap();
    assert_eq!(one.state, State::PendingApproval);
    let link = house.gate.link(&one, ann.id).unwrap();
    let used = link.used.unwrap();
    assert_eq!((used.answer.by, used.answer.decision), (ann.id, Vote::Approve));
    assert_eq!(used.follows_until, used.answer.at + Limits::default().link_status_window);
    // Not even to take it back, while the question still waits and when it is settled.
    for vote in [Vote::Approve, Vote::Deny] {
        let again = answered(&house.gate, by_link(&action, &ann, vote)).await.unwrap_err();
        assert!(matches!(again, JudgeError::LinkUsed), "{again}");
    }
    assert!(house.gate.link(&one, bob.id).unwrap().used.is_none(), "it is hers alone");
    let two = answered(&house.gate, by_link(&action, &bob, Vote::Approve)).await.unwrap();
    assert_eq!((two.status, house.refund.runs()), (Status::Executed, 1));
    let late = answered(&house.gate, by_link(&action, &ann, Vote::Deny)).await.unwrap_err();
    assert!(matches!(late, JudgeError::LinkUsed), "{late}");
    let votes = body(&house, &two)["action"]["approval"]["decisions"].clone();
    for (vote, by) in votes.as_array().unwrap().iter().zip([&ann, &bob]) {
        assert_eq!((&vote["by"], &vote["assurance"]), (&json!(by.id), &json!("email_link")));
    }
}

#[tokio::test]
async fn of_two_browsers_that_show_one_link_at_once_one_answers() {
    for round in 0..50 {
        let house = House::new().await;
        if round % 2 == 0 {
            house.activate(2, TWO_DAYS, PolicyMode::Enforce).await;
        }
        let ann = person(&house, 1, Role::Admin).await;
        let other = house.gate_beside(round + 2_000);
        let action = house.refund(500).await;
        let vote = if round % 3 == 0 { Vote::Deny } else { Vote::Approve };
        let (one, two) = tokio::join!(
            answered(&house.gate, by_link(&action, &ann, Vote::Approve)),
            answered(&other, by_link(&action, &ann, vote)),
        );
        let (won, lost): (Vec<_>, Vec<_>) = [one, two].into_iter().partition(Result::is_ok);
        assert_eq!((won.len(), lost.len()), (1, 1), "{round}");
        let error = lost.into_iter().next().unwrap().unwrap_err();
        assert!(matches!(error, JudgeError::LinkUsed), "{round}: {error}");
        assert_eq!(decisions(&house, &action).await, 1, "{round}");
        assert!(house.refund.runs() <= 1, "{round}");
    }
}

#[tokio::test]
async fn a_link_dies_with_the_membership_and_rests_with_the_right() {
    let house = House::new().await;
    let ann = person(&house, 1, Role::Admin).await;
    let action = house.refund(5_000).await;
    let shown = || by_link(&action, &ann, Vote::Approve);
    let refused = async || answered(&house.gate, shown()).await.unwrap_err();
    house.write(Member { can_approve: false, revision: 2, ..ann.clone() }).await;
    assert!(matches!(refused().await, JudgeError::NotAnApprover));
    house.write(Member { role: Role::Viewer, revision: 3, ..ann.clone() }).await;
    assert!(matches!(refused().await, JudgeError::NotAnApprover), "the rule asks admins");
    house.write(Member { removed_at: Some(house.now()), revision: 4, ..ann.clone() }).await;
    assert!(matches!(refused().await, JudgeError::Unauthenticated));
    // Whoever comes back is another member, and the link is not theirs.
    let back = Member { id: MemberId::from_uuid(Uuid::from_u128(9)), ..ann.clone() };
    house.write(back.clone()).await;
    assert!(matches!(refused().await, JudgeError::Unauthenticated));
    assert_eq!(decisions(&house, &action).await, 0);
    let ended = answered(&house.gate, by_link(&action, &back, Vote::Approve)).await.unwrap();
    assert_eq!(ended.status, Status::Executed);
}

#[tokio::test]
async fn a_link_is_over_in_its_time_and_never_behind_the_question() {
    let house = House::new().await;
    house.activate(2, TWO_DAYS, PolicyMode::Enforce).await;
    let (ann, bob) = (person(&house, 1, Role::Admin).await, person(&house, 2, Role::Admin).await);
    let action = house.refund(500).await;
    let link = house.gate.link(&action, ann.id).unwrap();
    assert_eq!(link.expires_at, action.created_at + Duration::from_hours(24));
    house.pass(Duration::from_hours(24) - Duration::from_millis(1));
    answered(&house.gate, by_link(&action, &bob, Vote::Approve)).await.unwrap();
    house.pass(Duration::from_millis(1));
    let old = answered(&house.gate, by_link(&action, &ann, Vote::Approve)).await.unwrap_err();
    assert!(matches!(old, JudgeError::LinkExpired), "{old}");
    // The question still waits for whoever signs in.
    let ended = answered(&house.gate, judgement(&action, &ann, Vote::Approve)).await.unwrap();
    assert_eq!(ended.status, Status::Executed);
    let short = house.submit(house.call("shop.refund", json!({ "amount": 400 }))).await.unwrap();
    house.pass(Duration::from_hours(48));
    let over = answered(&house.gate, by_link(&short, &ann, Vote::Approve)).await.unwrap_err();
    assert!(matches!(over, JudgeError::Expired), "{over}");
    let ended = house.gate.action(house.org, short.id).await.unwrap().unwrap();
    assert_eq!(ended.approval.unwrap().status, ApprovalStatus::Expired);
}

#[tokio::test]
async fn a_link_ends_with_a_question_that_is_shorter() {
    let house = House::new().await;
    let ann = person(&house, 1, Role::Admin).await;
    let action = house.refund(500).await;
    let link = house.gate.link(&action, ann.id).unwrap();
    assert_eq!(link.expires_at, action.approval.unwrap().expires_at);
}

#[tokio::test]
async fn a_rule_that_asks_for_a_session_takes_no_link() {
    let house = House::new().await;
    house.activate(2, SESSIONS, PolicyMode::Enforce).await;
    let ann = person(&house, 1, Role::Admin).await;
    let action = house.refund(500).await;
    for vote in [Vote::Approve, Vote::Deny] {
        let refused = answered(&house.gate, by_link(&action, &ann, vote)).await.unwrap_err();
        assert!(matches!(refused, JudgeError::SessionRequired), "{refused}");
    }
    assert_eq!(decisions(&house, &action).await, 0);
    let ended = answered(&house.gate, judgement(&action, &ann, Vote::Approve)).await.unwrap();
    assert_eq!(ended.status, Status::Executed);
}

#[tokio::test]
async fn what_was_not_decided_uses_no_link_up() {
    let house = House::new().await;
    let ann = person(&house, 1, Role::Admin).await;
    let action = house.refund(500).await;
    let stale = Judgement { shown: action.request_digest, ..by_link(&action, &ann, Vote::Approve) };
    let refused = answered(&house.gate, stale).await.unwrap_err();
    assert!(matches!(refused, JudgeError::Stale), "{refused}");
    house.stop_agent().await;
    let held = answered(&house.gate, by_link(&action, &ann, Vote::Approve)).await.unwrap_err();
    assert!(matches!(held, JudgeError::Conflict(_)), "{held}");
    house.write(house.agent_row()).await;
    let ended = answered(&house.gate, by_link(&action, &ann, Vote::Approve)).await.unwrap();
    assert_eq!(ended.status, Status::Executed);
}

#[tokio::test]
async fn whoever_may_answer_is_found_page_by_page() {
    let house = House::without_policy(limits()).await;
    house.activate(1, crate::house::POLICY, PolicyMode::Enforce).await;
    let mut admins = Vec::new();
    for number in 1..=450 {
        let role = if number % 150 == 0 { Role::Admin } else { Role::Viewer };
        let member = person(&house, number, role).await;
        admins.extend((role == Role::Admin).then_some(member.id));
    }
    // The rule asks admins.
    let action = house.refund(5_000).await;
    let found = async |most| {
        let found = house.gate.eligible(&action, most).await.unwrap();
        found.into_iter().map(|member| member.id).collect::<Vec<_>>()
    };
    assert_eq!(found(100).await, admins);
    assert_eq!(found(2).await, admins[..2]);
}

//! How an org asks people where its policy leaves that open.

use std::{sync::atomic::Ordering, time::Duration};

use deed::Vote;
use gate::JudgeError;
use ledger::{
    Entry, Needs, Request, Snapshot,
    record::{Action, Agent, AnswerTime, ApprovalSettings, Member, OrgSettings, PolicyMode},
};
use model::{Mint, Role, Status, Timestamp};
use policy::Excluded;
use serde_json::json;

use crate::{
    house::House,
    judgements::{judgement, person},
};

const HOUR: Duration = Duration::from_hours(1);
/// Lets people answer on their own behalf, and says how long they have in one rule of two.
const OPEN: &str = r"
schema: 1
default: { outcome: deny }
rules:
  - { id: timed, match: shop.batch, outcome: require_approval,
      approval: { exclude: [], expires_in: 2h } }
  - { id: open, match: shop.refund, outcome: require_approval, approval: { exclude: [] } }
";
/// Asks about what the agents of one team call.
const BY_TEAM: &str = r"
schema: 1
default: { outcome: allow }
rules:
  - { id: team, match: shop.refund, when: agent.labels.?team.orValue('') == 'new',
      outcome: require_approval, approval: { exclude: [] } }
";
const POLICY_WIDE: &str =
    "{ schema: 1, default: { outcome: require_approval }, approvals: { expires_in: 3h } }";

async fn asks(house: &House, approvals: ApprovalSettings) {
    let settings = OrgSettings {
        org: house.org,
        retention_days: 365,
        approvals,
        policy_two_person: false,
        revision: 2,
        updated_at: Timestamp::EPOCH,
    };
    house.write(settings).await;
}

/// How long people have to answer what the tool is called for.
async fn time_for(house: &House, tool: &str) -> Duration {
    let action = house.submit(house.call(tool, json!({ "amount": 5 }))).await.unwrap();
    action.approval.unwrap().expires_at.since(action.created_at)
}

/// A refund on behalf of somebody.
async fn refund_for(house: &House, who: &Member) -> Action {
    let mut call = house.call("shop.refund", json!({ "amount": 500 }));
    call.call.facts.on_behalf_of = Some(who.id.to_string());
    house.submit(call).await.unwrap()
}

/// The org's agent is in another team from now on.
pub(crate) struct Moved(pub(crate) Agent);

impl Request for Moved {
    type Answer = ();

    fn needs(&self, _: &Snapshot) -> Needs {
        Needs::default()
    }

    fn decide(&self, _: &Snapshot, _: &Mint<'_>) -> (Entry, ()) {
        (Entry { changes: self.0.clone().into(), ..Entry::nothing() }, ())
    }
}

async fn own_yes(house: &House, action: &Action, by: &Member) -> Result<(), JudgeError> {
    house.gate.judge(judgement(action, by, Vote::Approve)).await.map(drop)
}

#[tokio::test]
async fn an_orgs_time_to_answer_stands_between_the_policys_and_the_services() {
    let house = House::new().await;
    house.activate(2, OPEN, PolicyMode::Enforce).await;
    assert_eq!(time_for(&house, "shop.refund").await, HOUR / 2, "the service's");
    let time = Some(AnswerTime::of_seconds(5_400).unwrap());
    asks(&house, ApprovalSettings { default_expires_in: time, ..Default::default() }).await;
    assert_eq!(time_for(&house, "shop.refund").await, HOUR * 3 / 2, "the org's");
    assert_eq!(time_for(&house, "shop.batch").await, HOUR * 2, "the rule's");
    house.activate(3, POLICY_WIDE, PolicyMode::Enforce).await;
    assert_eq!(time_for(&house, "shop.refund").await, HOUR * 3, "the policy's");
    house.activate(4, OPEN, PolicyMode::Enforce).await;
    asks(&house, ApprovalSettings::default()).await;
    assert_eq!(time_for(&house, "shop.refund").await, HOUR / 2, "the service's again");
}

#[tokio::test]
async fn where_an_org_wants_another_person_no_rule_lets_anybody_answer_for_themselves() {
    let house = House::new().await;
    house.activate(2, OPEN, PolicyMode::Enforce).await;
    let ann = person(&house, 1, Role::Admin).await;
    person(&house, 2, Role::Admin).await;
    let asked_before = refund_for(&house, &ann).await;
    assert_eq!(asked_before.approval.as_ref().unwrap().exclude, []);
    asks(&house, ApprovalSettings { require_other_person: true, ..Default::default() }).await;
    let asked = refund_for(&house, &ann).await;
    assert_eq!(asked.approval.as_ref().unwrap().exclude, [Excluded::OnBehalfOf]);
    let refused = own_yes(&house, &asked, &ann).await.unwrap_err();
    assert!(matches!(refused, JudgeError::Excluded), "{refused}");
    own_yes(&house, &asked_before, &ann).await.expect("a question keeps its terms");
}

#[tokio::test]
async fn a_call_that_waits_for_what_changed_in_its_own_turn_waits_on_the_orgs_terms() {
    let mut house = House::new().await;
    house.activate(2, BY_TEAM, PolicyMode::Enforce).await;
    asks(&house, ApprovalSettings { require_other_person: true, ..Default::default() }).await;
    let ann = person(&house, 1, Role::Admin).await;
    // Another process, which no call has told yet how the org asks.
    house.gate = house.gate_beside(77);
    assert_eq!(refund_for(&house, &ann).await.status, Status::Executed);
    let labels = [("team".to_owned(), "new".to_owned())].into();
    let moved = Moved(Agent { labels, ..house.agent_row() });
    let turns = || house.gate.ledger().figures().turns.load(Ordering::Relaxed);
    let before = turns();
    let moved = house.gate.ledger().enter(house.org, moved);
    let (moved, asked) = tokio::join!(moved, refund_for(&house, &ann));
    moved.unwrap();
    assert_eq!(turns() - before, 2, "the change with what came behind it, and the question");
    assert_eq!(asked.status, Status::PendingApproval);
    assert_eq!(asked.approval.unwrap().exclude, [Excluded::OnBehalfOf]);
}

#[tokio::test]
async fn an_orgs_only_member_answers_what_excludes_them_where_it_lets_them() {
    let house = House::new().await;
    let ann = person(&house, 1, Role::Owner).await;
    let asked = refund_for(&house, &ann).await;
    assert!(matches!(own_yes(&house, &asked, &ann).await, Err(JudgeError::Excluded)));
    let allowed = ApprovalSettings {
        require_other_person: true,
        allow_single_member: true,
        ..Default::default()
    };
    asks(&house, allowed).await;
    let asked = refund_for(&house, &ann).await;
    assert_eq!(asked.approval.as_ref().unwrap().exclude, []);
    own_yes(&house, &asked, &ann).await.unwrap();
    // As soon as there is somebody else, it is theirs to answer.
    let bob = person(&house, 2, Role::Viewer).await;
    let asked = refund_for(&house, &ann).await;
    assert!(matches!(own_yes(&house, &asked, &ann).await, Err(JudgeError::Excluded)));
    own_yes(&house, &asked, &bob).await.unwrap();
    // Whoever left is nobody else.
    house.write(Member { removed_at: Some(house.now()), ..bob }).await;
    house.pass(HOUR * 24);
    let asked = refund_for(&house, &ann).await;
    assert_eq!(asked.status, Status::PendingApproval);
    own_yes(&house, &asked, &ann).await.unwrap();
}

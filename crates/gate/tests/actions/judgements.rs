//! What people answer: who may, what counts, and how a yes that settles it releases the action.

use std::{sync::Arc, time::Duration};

use deed::Vote;
use gate::{Canceller, JudgeError, Judged, Judgement, Submitted, Sweep};
use ledger::record::{Action, Agent, Member, PolicyMode};
use model::{
    ApprovalStatus, Assurance, Digest, EventType, MemberId, Role, SideEffect, State, Status,
    Timestamp, UserId, Uuid, VoidReason,
};
use serde_json::json;
use store_memory::Doubt;
use testkit::ScriptedTool;
use tool::Settled;

use crate::{
    approvals::context,
    house::{House, body},
};

/// A policy that asks two admins, for none of whom the call is, and none of whom owns the agent.
const TWO: &str = r"
schema: 1
default: { outcome: deny }
rules:
  - { id: two, match: shop.refund, outcome: require_approval,
      approval: { from: [role:admin, 'member:ann@example.com'], count: 2,
                  exclude: [on_behalf_of, agent_owner] } }
";
const DENIES: &str = "{ schema: 1, default: { outcome: deny }, rules: [] }";

/// A member of the house's org, by number.
pub(crate) async fn person(house: &House, number: u128, role: Role) -> Member {
    let member = Member {
        id: MemberId::from_uuid(Uuid::from_u128(number)),
        org: house.org,
        user: UserId::from_uuid(Uuid::from_u128(number << 8)),
        role,
        can_approve: true,
        joined_at: Timestamp::EPOCH,
        role_since: Timestamp::EPOCH,
        removed_at: None,
        revision: 1,
    };
    house.write(member.clone()).await;
    member
}

pub(crate) fn judgement(action: &Action, by: &Member, vote: Vote) -> Judgement {
    let approval = action.approval.as_ref().unwrap();
    Judgement {
        org: action.org,
        approval: approval.id,
        member: by.id,
        user: by.user,
        address: None,
        vote,
        assurance: Assurance::Session,
        shown: approval.context_digest.unwrap(),
        note: None,
    }
}

/// The action after this answer and, where it runs, after its end.
async fn answered(house: &House, judgement: Judgement) -> Result<Action, JudgeError> {
    let Judged { action, running } = house.gate.judge(judgement).await?;
    let ended = match running {
        Some(running) => running.done.await.unwrap().action,
        None => action,
    };
    Ok(Action::clone(&ended))
}

async fn yes(house: &House, action: &Action, by: &Member) -> Result<Action, JudgeError> {
    answered(house, judgement(action, by, Vote::Approve)).await
}

#[tokio::test]
async fn a_yes_releases_what_was_shown_and_its_deed_names_the_member() {
    let house = House::new().await;
    let ann = person(&house, 1, Role::Viewer).await;
    let action = house.refund(500).await;
    let ended = yes(&house, &action, &ann).await.unwrap();
    assert_eq!((ended.state, ended.status), (State::Sealed, Status::Executed));
    assert_eq!((house.refund.runs(), &ended.decision), (1, &action.decision));
    let approval =
        &body(&house, &Action { deed: ended.deed, ..action.clone() })["action"]["approval"];
    assert_eq!(approval["status"], "approved");
    let vote = &approval["decisions"][0];
    let said = [&vote["by"], &vote["decision"], &vote["assurance"]];
    assert_eq!(said, [&json!(ann.id), &json!("approve"), &json!("session")]);
    assert_eq!(approval["context"], json!(action.approval.as_ref().unwrap().context));
    // It counts once: the call holds one place of three in the day's budget.
    assert_eq!(house.refund(20).await.status, Status::Executed);
    assert_eq!(house.refund(20).await.status, Status::Executed);
    assert_eq!(house.refund(20).await.status, Status::Denied);
    let late = yes(&house, &action, &ann).await.unwrap_err();
    assert!(matches!(late, JudgeError::Decided { status: ApprovalStatus::Approved, .. }), "{late}");
}

#[tokio::test]
async fn to_be_asked_about_takes_a_call_one_turn_more_than_running_at_once() {
    let house = House::new().await;
    let ann = person(&house, 1, Role::Owner).await;
    let before = house.store.turns(house.org);
    house.refund(20).await;
    let at_once = house.store.turns(house.org) - before;
    let action = house.refund(500).await;
    let asked = house.store.turns(house.org);
    assert_eq!(asked - before - at_once, 1, "the turn that lets it wait");
    let ended = yes(&house, &action, &ann).await.unwrap();
    assert_eq!(ended.status, Status::Executed);
    assert_eq!(house.store.turns(house.org) - asked, at_once, "yes and release are one turn");
}

#[tokio::test]
async fn the_first_no_decides_and_gives_the_budget_back() {
    let house = House::new().await;
    let ann = person(&house, 1, Role::Admin).await;
    for _ in 0..3 {
        let action = house.refund(500).await;
        let no = Judgement {
            note: Some("Not today.".to_owned()),
            ..judgement(&action, &ann, Vote::Deny)
        };
        let ended = answered(&house, no).await.unwrap();
        let approval = ended.approval.clone().unwrap();
        assert_eq!((ended.state, ended.status), (State::Sealed, Status::Denied));
        assert_eq!(
            (approval.status, approval.decided_at),
            (ApprovalStatus::Denied, Some(house.now()))
        );
        assert_eq!(body(&house, &ended)["action"]["approval"]["decisions"][0]["decision"], "deny");
    }
    assert_eq!((house.refund(20).await.status, house.refund.runs()), (Status::Executed, 1));
}

#[tokio::test]
async fn a_rule_says_how_many_different_people_it_takes_and_whom_it_excludes() {
    let house = House::new().await;
    house.activate(2, TWO, PolicyMode::Enforce).await;
    let (ada, bob) = (person(&house, 1, Role::Admin).await, person(&house, 2, Role::Admin).await);
    let ann = person(&house, 3, Role::Viewer).await;
    let mute = Member { can_approve: false, ..person(&house, 4, Role::Admin).await };
    house.write(mute.clone()).await;
    let mut call = house.call("shop.refund", json!({ "amount": 500 }));
    call.call.facts.on_behalf_of = Some("Bob@Example.com".to_owned());
    let action = house.submit(call).await.unwrap();
    let called = |by: &Member, address: &str| Judgement {
        address: Some(address.to_owned()),
        ..judgement(&action, by, Vote::Approve)
    };
    for (by, address) in [(&mute, "mute@example.com"), (&ann, "other@example.com")] {
        let refused = answered(&house, called(by, address)).await.unwrap_err();
        assert!(matches!(refused, JudgeError::NotAnApprover), "{refused}");
    }
    let own = answered(&house, called(&bob, "bob@example.com")).await.unwrap_err();
    assert!(matches!(own, JudgeError::Excluded), "{own}");
    house.write(Agent { owner: Some(ada.id), ..house.agent_row() }).await;
    let owned = yes(&house, &action, &ada).await.unwrap_err();
    assert!(matches!(owned, JudgeError::Excluded), "{owned}");
    house.write(house.agent_row()).await;
    let one = yes(&house, &action, &ada).await.unwrap();
    assert_eq!((one.state, one.approval.unwrap().decisions.len()), (State::PendingApproval, 1));
    let again = yes(&house, &action, &ada).await.unwrap_err();
    assert!(matches!(again, JudgeError::Conflict(_)), "{again}");
    // Whoever is no admin any more has not said yes either.
    house.write(Member { role: Role::Viewer, revision: 2, ..ada.clone() }).await;
    let two = answered(&house, called(&ann, "ann@example.com")).await.unwrap();
    assert_eq!((two.state, house.refund.runs()), (State::PendingApproval, 0));
    // What is asked of admins, an owner may answer too.
    let eve = person(&house, 5, Role::Owner).await;
    let three = yes(&house, &action, &eve).await.unwrap();
    assert_eq!((three.status, house.refund.runs()), (Status::Executed, 1));
    assert_eq!(three.approval.unwrap().decisions.len(), 3);
    // Each yes is told, and that which settles it as what it came to.
    let events = house.gate.detail(house.org, action.id).await.unwrap().unwrap().events;
    let told: Vec<_> = events.iter().map(|event| event.kind.as_str()).collect();
    let told: Vec<_> = told.into_iter().filter(|kind| kind.starts_with("approval.")).collect();
    assert_eq!(
        told,
        ["approval.requested", "approval.answered", "approval.answered", "approval.approved"]
    );
    let thin = &events.iter().find(|it| it.kind == EventType::ApprovalAnswered).unwrap().object;
    assert_eq!([&thin["object"], &thin["status"]], [&json!("approval"), &json!("pending")]);
}

/// A refund that is asked of so many people, and the two admins ada and bob.
async fn asked_of(count: u8) -> (House, Action, Member, Member) {
    let house = House::new().await;
    let policy = TWO.replace("count: 2", &format!("count: {count}"));
    house.activate(2, &policy, PolicyMode::Enforce).await;
    let (ada, bob) = (person(&house, 1, Role::Admin).await, person(&house, 2, Role::Admin).await);
    let action = house.refund(500).await;
    (house, action, ada, bob)
}

#[tokio::test]
async fn a_yes_by_address_counts_whatever_else_changes_of_the_member() {
    let (house, action, ada, _) = asked_of(2).await;
    let ann = person(&house, 3, Role::Viewer).await;
    let anns = Judgement {
        address: Some("Ann@example.com".to_owned()),
        ..judgement(&action, &ann, Vote::Approve)
    };
    let one = answered(&house, anns.clone()).await.unwrap();
    assert_eq!(one.state, State::PendingApproval);
    house.write(Member { revision: 2, ..ann.clone() }).await;
    let again = answered(&house, anns).await.unwrap_err();
    assert!(matches!(again, JudgeError::Conflict(_)), "{again}");
    let two = yes(&house, &action, &ada).await.unwrap();
    assert_eq!((two.status, house.refund.runs()), (Status::Executed, 1));
}

#[tokio::test]
async fn a_yes_by_address_counts_for_nothing_once_the_member_may_not_answer() {
    let (house, action, ada, bob) = asked_of(2).await;
    let ann = person(&house, 3, Role::Viewer).await;
    let anns = Judgement {
        address: Some("ann@example.com".to_owned()),
        ..judgement(&action, &ann, Vote::Approve)
    };
    answered(&house, anns).await.unwrap();
    house.write(Member { can_approve: false, revision: 2, ..ann.clone() }).await;
    let two = yes(&house, &action, &ada).await.unwrap();
    assert_eq!((two.state, house.refund.runs()), (State::PendingApproval, 0));
    assert_eq!(yes(&house, &action, &bob).await.unwrap().status, Status::Executed);
}

#[tokio::test]
async fn a_yes_counts_for_nothing_once_the_rule_excludes_who_gave_it() {
    let (house, action, ada, bob) = asked_of(2).await;
    yes(&house, &action, &ada).await.unwrap();
    // Nothing of the member changes by this, not even its revision.
    house.write(Agent { owner: Some(ada.id), ..house.agent_row() }).await;
    let two = yes(&house, &action, &bob).await.unwrap();
    assert_eq!((two.state, house.refund.runs()), (State::PendingApproval, 0));
    let eve = person(&house, 5, Role::Owner).await;
    assert_eq!(yes(&house, &action, &eve).await.unwrap().status, Status::Executed);
}

#[tokio::test]
async fn a_yes_that_counts_no_more_is_given_again_and_nobodys_counts_twice() {
    let (house, action, ada, bob) = asked_of(3).await;
    yes(&house, &action, &ada).await.unwrap();
    house.write(Member { removed_at: Some(house.now()), revision: 2, ..ada.clone() }).await;
    let back = Member { id: MemberId::from_uuid(Uuid::from_u128(9)), ..ada.clone() };
    house.write(back.clone()).await;
    let one = yes(&house, &action, &back).await.unwrap();
    assert_eq!((one.state, one.approval.unwrap().decisions.len()), (State::PendingApproval, 2));
    let again = yes(&house, &action, &back).await.unwrap_err();
    assert!(matches!(again, JudgeError::Conflict(_)), "{again}");
    // Both of their answers stand there, and they are one person.
    let two = yes(&house, &action, &bob).await.unwrap();
    assert_eq!((two.state, house.refund.runs()), (State::PendingApproval, 0));
    let eve = person(&house, 5, Role::Owner).await;
    assert_eq!(yes(&house, &action, &eve).await.unwrap().status, Status::Executed);
}

#[tokio::test]
async fn what_was_not_shown_is_not_decided_and_who_left_decides_nothing() {
    let house = House::new().await;
    let ann = person(&house, 1, Role::Owner).await;
    let action = house.refund(500).await;
    let other =
        Judgement { shown: Digest::from_bytes([7; 32]), ..judgement(&action, &ann, Vote::Approve) };
    let stale = answered(&house, other).await.unwrap_err();
    assert!(matches!(stale, JudgeError::Stale), "{stale}");
    house.write(Member { removed_at: Some(house.now()), ..ann.clone() }).await;
    let gone = yes(&house, &action, &ann).await.unwrap_err();
    assert!(matches!(gone, JudgeError::Unauthenticated), "{gone}");
    assert_eq!(house.refund.runs(), 0);
}

#[tokio::test]
async fn a_yes_to_a_call_that_would_go_elsewhere_is_stale_and_decides_nothing() {
    let house = House::new().await;
    let ann = person(&house, 1, Role::Owner).await;
    let gate_to = |database: &str| {
        let tool = ScriptedTool::new("shop.refund", SideEffect::Write);
        let tool = Arc::new(tool.with_target(json!({ "host": "db", "database": database })));
        (house.gate_over(house.shop_of(Arc::clone(&tool))), tool)
    };
    let (gate, tool) = gate_to("shop");
    let asked = house.call("shop.refund", json!({ "amount": 500 }));
    let Submitted::Decided(action) = gate.submit(asked).await.unwrap() else { panic!("it waits") };
    let shown = context(&house, &action).await;
    assert_eq!(shown["target"], json!({ "host": "db", "database": "shop" }));
    let (moved, elsewhere) = gate_to("shop2");
    let refused = moved.judge(judgement(&action, &ann, Vote::Approve)).await.unwrap_err();
    assert!(matches!(refused, JudgeError::TargetChanged), "{refused}");
    let waiting = house.gate.detail(house.org, action.id).await.unwrap().unwrap().action;
    let answers = waiting.approval.unwrap().decisions.len();
    assert_eq!((waiting.state, answers), (State::PendingApproval, 0));
    let judged = gate.judge(judgement(&action, &ann, Vote::Approve)).await.unwrap();
    judged.running.unwrap().done.await.unwrap();
    assert_eq!((tool.runs(), elsewhere.runs()), (1, 0));
}

#[tokio::test]
async fn nobody_decides_what_is_over_and_a_kept_approval_waits_for_the_agent() {
    let house = House::new().await;
    let ann = person(&house, 1, Role::Owner).await;
    let (expired, voided) = (house.refund(500).await, house.refund(500).await);
    house.stop_agent().await;
    let held = yes(&house, &voided, &ann).await.unwrap_err();
    assert!(matches!(held, JudgeError::Conflict(_)), "{held}");
    house.void().await;
    let void = yes(&house, &voided, &ann).await.unwrap_err();
    assert!(matches!(void, JudgeError::Decided { status: ApprovalStatus::Voided, .. }), "{void}");
    let sealed = house.gate.action(house.org, voided.id).await.unwrap().unwrap();
    assert_eq!(sealed.approval.unwrap().void_reason, Some(VoidReason::AgentStopped));
    house.write(house.agent_row()).await;
    house.pass(Duration::from_mins(30));
    for vote in [Vote::Approve, Vote::Deny] {
        let late = answered(&house, judgement(&expired, &ann, vote)).await.unwrap_err();
        assert!(matches!(late, JudgeError::Expired), "{late}");
    }
    let by = Canceller::Agent(house.agent, house.key);
    assert!(house.cancel(&expired, by).await.is_err());
    assert_eq!(house.refund.runs(), 0);
}

/// The void reason and the run that come of a yes to a refund, after this happened to it.
async fn released(what: impl AsyncFnOnce(&House)) -> (Option<VoidReason>, Status, usize) {
    let house = House::new().await;
    let ann = person(&house, 1, Role::Owner).await;
    let action = house.refund(500).await;
    what(&house).await;
    let ended = yes(&house, &action, &ann).await.unwrap();
    let approval = ended.approval.clone().unwrap();
    if approval.status == ApprovalStatus::Voided {
        assert_eq!(body(&house, &ended)["action"]["status"], "denied");
        assert_eq!(approval.decisions.len(), 1, "who said yes stays");
    }
    (approval.void_reason, ended.status, house.refund.runs())
}

#[tokio::test]
async fn a_release_looks_at_everything_again() {
    let denied = |reason| (Some(reason), Status::Denied, 0);
    let by_policy = released(async |house| house.activate(2, DENIES, PolicyMode::Enforce).await);
    assert_eq!(by_policy.await, denied(VoidReason::DefaultDenied));
    let by_key = released(async |house| house.revoke_key().await);
    assert_eq!(by_key.await, denied(VoidReason::KeyInvalid));
    let by_connector = released(async |house| house.disable_connector().await);
    assert_eq!(by_connector.await, denied(VoidReason::ConnectorDisabled));
    let by_tool = released(async |house| house.refund.change(Some("another")));
    assert_eq!(by_tool.await, denied(VoidReason::ToolChanged));
    // A policy that asks again is content: people were asked.
    let asks = released(async |house| house.activate(2, TWO, PolicyMode::Enforce).await);
    assert_eq!(asks.await, (None, Status::Executed, 1));
}

#[tokio::test]
async fn a_release_in_a_later_window_is_charged_there_and_refused_where_that_is_spent() {
    let minute = r"{ schema: 1, default: { outcome: require_approval },
        rules: [{ id: small, match: shop.batch, outcome: allow }],
        budgets: [{ id: one, match: '*', window: minute, count: 1 }] }";
    for spent in [false, true] {
        let house = House::new().await;
        house.activate(2, minute, PolicyMode::Enforce).await;
        let ann = person(&house, 1, Role::Owner).await;
        let action = house.refund(500).await;
        house.pass(Duration::from_mins(2));
        if spent {
            let taken = house.submit(house.call("shop.batch", json!({}))).await.unwrap();
            assert_eq!(taken.status, Status::Executed);
        }
        let ended = yes(&house, &action, &ann).await.unwrap();
        let reason = spent.then_some(VoidReason::BudgetExceeded);
        assert_eq!(ended.approval.unwrap().void_reason, reason);
        let next = house.submit(house.call("shop.batch", json!({}))).await.unwrap();
        assert_eq!(next.status, Status::Denied, "the window is taken either way");
        assert_eq!(house.gate.rebuild_budgets(house.org).await.unwrap(), 0);
    }
}

#[tokio::test]
async fn an_edge_runs_what_was_approved_and_not_before() {
    let house = House::new().await;
    let policy = "{ schema: 1, default: { outcome: require_approval } }";
    house.activate(2, policy, PolicyMode::Enforce).await;
    let ann = person(&house, 1, Role::Owner).await;
    let action = house.submit(house.edge_call()).await.unwrap();
    let asked_at = house.now();
    assert!(house.gate.report(house.report(&action)).await.is_err());
    house.pass(Duration::from_mins(5));
    let free = yes(&house, &action, &ann).await.unwrap();
    assert_eq!((free.status, free.deadline.is_some()), (Status::Authorized, true));
    let early = gate::EdgeReport { started_at: asked_at, ..house.report(&action) };
    assert!(house.gate.report(early).await.is_err(), "it ran before it was approved");
    house.gate.report(house.report(&action)).await.unwrap();
    let ended = house.gate.action(house.org, action.id).await.unwrap().unwrap();
    assert_eq!(ended.status, Status::Executed);
    assert_eq!(body(&house, &ended)["action"]["approval"]["status"], "approved");
}

/// Lets some of the others go first, another number of them in each round and for each place.
async fn at_place(round: usize, place: usize) {
    let mixed = (round + 1).wrapping_mul(2_654_435_761).wrapping_add(place * 40_503) >> 7;
    for _ in 0..mixed % 23 {
        tokio::task::yield_now().await;
    }
}

/// What may happen to a question, all at once.
async fn race(house: &House, round: usize) -> ApprovalStatus {
    let (ann, bob) = (person(house, 1, Role::Owner).await, person(house, 2, Role::Owner).await);
    let other = house.gate_beside(round as u64 + 1_000);
    let action = house.refund(500).await;
    if round % 5 == 4 {
        house.pass(Duration::from_mins(30));
    }
    let before = house.refund.runs();
    let by = Canceller::OrgKey(house.org_key);
    let yes = async |gate: &gate::Gate, by: &Member, vote, place| {
        at_place(round, place).await;
        gate.judge(judgement(&action, by, vote)).await
    };
    let (first, second, no, cancelled, (), (), ()) = tokio::join!(
        yes(&house.gate, &ann, Vote::Approve, 0),
        yes(&other, &bob, Vote::Approve, 1),
        yes(&other, &ann, Vote::Deny, 2),
        async {
            at_place(round, 3).await;
            house.cancel(&action, by).await
        },
        async {
            at_place(round, 4).await;
            house.sweep().await;
        },
        async {
            at_place(round, 5).await;
            match round % 6 {
                // A Stop, by which what waits is void, and one that keeps it.
                0 | 3 => house.stop_and_void().await,
                1 => house.stop_agent().await,
                _ => {}
            }
        },
        async {
            at_place(round, 6).await;
            if round.is_multiple_of(2) {
                house.write(Member { removed_at: Some(house.now()), ..bob.clone() }).await;
            }
        },
    );
    let settled = [first, second, no].into_iter().flatten().collect::<Vec<_>>();
    for judged in settled.iter().filter(|judged| judged.running.is_some()) {
        assert_eq!(judged.action.approval.as_ref().unwrap().status, ApprovalStatus::Approved);
    }
    let won = settled.len() + usize::from(cancelled.is_ok());
    assert!(won <= 1, "round {round}: {won} decisions");
    for running in settled.into_iter().filter_map(|judged| judged.running) {
        running.done.await.unwrap();
    }
    let ended = house.gate.action(house.org, action.id).await.unwrap().unwrap();
    let status = ended.approval.as_ref().unwrap().status;
    let ran = house.refund.runs() - before;
    assert_eq!(ended.state, State::Sealed, "round {round}");
    assert_eq!(ran, usize::from(status == ApprovalStatus::Approved), "round {round}: {status}");
    assert_eq!(ended.status == Status::Executed, ran == 1, "round {round}");
    house.write(house.agent_row()).await;
    house.pass(Duration::from_hours(25));
    status
}

/// So often all of them end a question, in one house.
const ROUNDS: usize = 500;

/// How often in all; `CHANCERY_RACE_ROUNDS` asks for more.
#[expect(clippy::disallowed_methods, reason = "how often is whoever runs the test's to say")]
fn rounds() -> usize {
    std::env::var("CHANCERY_RACE_ROUNDS").map_or(ROUNDS, |rounds| rounds.parse().unwrap())
}

#[tokio::test]
async fn of_all_who_end_a_question_at_once_one_does() {
    let mut house = House::new().await;
    let mut ends = std::collections::BTreeMap::new();
    for round in 0..rounds() {
        if round > 0 && round % ROUNDS == 0 {
            // What is kept in memory would make each round longer than the last.
            house = House::new().await;
        }
        *ends.entry(Box::pin(race(&house, round)).await.to_string()).or_insert(0) += 1;
    }
    println!("{ends:?}");
    let seen: Vec<_> = ends.keys().map(String::as_str).collect();
    assert_eq!(seen, ["approved", "cancelled", "denied", "expired", "voided"], "{ends:?}");
}

#[tokio::test]
async fn an_answer_whose_instance_dies_is_given_or_not_and_never_runs_twice() {
    for settled in [Settled::Applied, Settled::NotApplied] {
        let house = House::new().await;
        let ann = person(&house, 1, Role::Owner).await;
        let action = house.refund(500).await;
        house.refund.hold();
        house.refund.settle_as(settled.clone());
        house.gate.judge(judgement(&action, &ann, Vote::Approve)).await.unwrap();
        // Nobody renews the lease: for the others that instance is gone.
        house.pass(Duration::from_mins(1));
        assert_eq!(house.gate_beside(2).sweep(Sweep::Takeovers).await.unwrap(), 1);
        let ended = house.gate.action(house.org, action.id).await.unwrap().unwrap();
        let status = if settled == Settled::Applied { Status::Executed } else { Status::Failed };
        assert_eq!((ended.state, ended.status), (State::Sealed, status));
        let deeds = house.store.deeds(house.org).len();
        house.refund.release();
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        assert_eq!(house.store.deeds(house.org).len(), deeds, "the run that wakes seals nothing");
        let again = yes(&house, &action, &ann).await.unwrap_err();
        assert!(
            matches!(again, JudgeError::Decided { status: ApprovalStatus::Approved, .. }),
            "{again}"
        );
        assert!(house.refund.runs() <= 1);
    }
}

#[tokio::test]
async fn an_answer_whose_commit_is_in_doubt_counts_once() {
    for doubt in [Doubt::Committed, Doubt::Dropped] {
        let house = House::new().await;
        let ann = person(&house, 1, Role::Owner).await;
        let action = house.refund(500).await;
        house.store.doubt_next(doubt);
        let ended = yes(&house, &action, &ann).await.unwrap();
        assert_eq!((ended.status, house.refund.runs()), (Status::Executed, 1));
        assert_eq!(ended.approval.unwrap().decisions.len(), 1);
        let again = yes(&house, &action, &ann).await.unwrap_err();
        assert!(
            matches!(again, JudgeError::Decided { status: ApprovalStatus::Approved, .. }),
            "{again}"
        );
    }
}

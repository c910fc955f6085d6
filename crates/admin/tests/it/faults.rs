//! What becomes of a change when the record cannot be written.

use act::ActError;
use admin::{AccountStore, AgentList, ChangeError, NewPolicy, NewVersion, lint};
use ledger::LedgerError;
use model::PendingApprovals;
use store_memory::Doubt;

use crate::world::{World, agent};

#[tokio::test]
async fn a_change_whose_deed_cannot_be_sealed_does_not_happen() {
    let world = World::new();
    let created = world.org().await;
    let keyless = world.unable_to_seal();
    let refused = keyless.operator(&created).stop_org("why", PendingApprovals::Void).await;
    assert!(
        matches!(refused, Err(ChangeError::Act(ActError::Ledger(LedgerError::Fault)))),
        "{refused:?}"
    );
    assert_eq!(world.store.org(created.org.id).await.unwrap().unwrap().stop, None);
    assert_eq!(world.sealed(created.org.id).len(), 6);
    assert_eq!(world.events(created.org.id).await.len(), 12);
}

#[tokio::test]
async fn a_fault_is_not_taken_for_a_taken_name() {
    let world = World::new();
    let created = world.org().await;
    let keyless = world.unable_to_seal();
    let refused = keyless.operator(&created).create_agent(agent("bot")).await;
    assert!(
        matches!(refused, Err(ChangeError::Act(ActError::Ledger(LedgerError::Fault)))),
        "{refused:?}"
    );
    let document = "{ schema: 1, default: { outcome: deny }, rules: [] }";
    let operator = keyless.operator(&created);
    assert!(
        operator
            .create_policy_version(NewVersion::of(
                created.policy.id,
                lint(
                    document.to_owned(),
                    &admin::KnownOrg::default(),
                    &policy::Effort::unbounded()
                )
                .unwrap()
            ))
            .await
            .is_err()
    );
    assert!(operator.create_policy(NewPolicy::named("bot")).await.is_err());
}

#[tokio::test]
async fn lost_races_are_decided_again_and_sealed_once() {
    let world = World::new();
    let created = world.org().await;
    world.store.lose_next(3);
    world.operator(&created).stop_org("why", PendingApprovals::Void).await.unwrap();
    assert_eq!(world.sealed(created.org.id)[6..], ["org.stopped"]);
}

#[tokio::test]
async fn a_lost_answer_leads_to_one_agent_and_one_deed() {
    for doubt in [Doubt::Committed, Doubt::Dropped] {
        let world = World::new();
        let created = world.org().await;
        world.store.doubt_next(doubt);
        world.operator(&created).create_agent(agent("bot")).await.unwrap();
        assert_eq!(world.sealed(created.org.id)[6..], ["agent.created"]);
        assert_eq!(
            world.store.agents(created.org.id, &AgentList::all(), 9).await.unwrap().len(),
            2
        );
    }
}

#[tokio::test]
async fn a_store_that_is_down_is_named_and_nothing_happens() {
    let world = World::new();
    let created = world.org().await;
    world.store.go_down();
    let operator = world.operator(&created);
    let named = operator.create_agent(agent("bot")).await;
    assert!(matches!(named, Err(ChangeError::Store(_))), "{named:?}");
    let stopped = operator.stop_org("why", PendingApprovals::Void).await;
    assert!(
        matches!(stopped, Err(ChangeError::Act(ActError::Ledger(LedgerError::Unavailable)))),
        "{stopped:?}"
    );
    world.store.come_up();
    assert_eq!(world.sealed(created.org.id).len(), 6);
    operator.stop_org("why", PendingApprovals::Void).await.unwrap();
}

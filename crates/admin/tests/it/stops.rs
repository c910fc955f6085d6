//! Stopping and starting agents and orgs.

use std::time::Duration;

use act::{ActError, By};
use admin::{AccountStore, ChangeError};
use ledger::record::Org;
use model::{AgentStatus, Clock, EventType, PendingApprovals, SuspensionCause};
use serde_json::json;

use crate::world::{Actor, World, agent, agent_key, org_key};

#[tokio::test]
async fn an_agent_is_stopped_and_started_with_a_reason() {
    let world = World::new();
    let created = world.org().await;
    let operator = world.operator(&created);
    let agent = operator.create_agent(agent("support")).await.unwrap().object;
    let stopped =
        operator.stop_agent(agent.id, "it ran wild", PendingApprovals::Keep).await.unwrap().object;
    let stop = stopped.stop.clone().unwrap();
    assert_eq!((stop.by.as_str(), stop.reason.as_str()), ("operator", "it ran wild"));
    assert_eq!(stopped.status(world.clock.now()), AgentStatus::Stopped);
    let body = world.last_body(&created);
    assert_eq!(body["admin"]["event"], "agent.stopped");
    assert!(body["admin"]["before"].is_object() && body["admin"]["reason"].is_object());
    assert!(!body.to_string().contains("wild"));

    let started = operator.start_agent(agent.id, "it was fixed").await.unwrap().object;
    assert_eq!(started, agent);
    assert_eq!(world.store.agent(created.org.id, agent.id).await.unwrap(), Some(agent));
    assert_eq!(world.last_body(&created)["admin"]["event"], "agent.started");
}

#[tokio::test]
async fn the_stop_that_holds_an_agent_is_told_as_it_stands() {
    let world = World::new();
    let created = world.org().await;
    let operator = world.operator(&created);
    let agent = operator.create_agent(agent("support")).await.unwrap().object.id;
    let told = async || world.admin.stop_of(created.org.id, agent).await.unwrap();
    assert_eq!(told().await, None);
    operator.stop_agent(agent, "it ran wild", PendingApprovals::Void).await.unwrap();
    assert_eq!(told().await, Some(EventType::AgentStopped));
    operator.stop_org("everything looks odd", PendingApprovals::Void).await.unwrap();
    assert_eq!(told().await, Some(EventType::OrgStopped));
    operator.start_org("all is well").await.unwrap();
    operator.start_agent(agent, "it was fixed").await.unwrap();
    assert_eq!(told().await, None);
}

#[tokio::test]
async fn an_org_is_stopped_and_started_by_its_key() {
    let world = World::new();
    let created = world.org().await;
    let key = world.operator(&created).create_org_key(org_key()).await.unwrap().key.object;
    let by_key = world.admin.change(&Actor(created.org.id, By::OrgKey(key.id)));
    let stopped =
        by_key.stop_org("everything looks odd", PendingApprovals::Keep).await.unwrap().object;
    assert_eq!(stopped.stop.unwrap().by, key.id.to_string());
    let subject = json!({ "type": "org", "id": created.org.id });
    assert_eq!(world.last_body(&created)["subject"], subject);
    let started = by_key.start_org("all is well").await.unwrap().object;
    assert_eq!(started, Org { keys_made: 1, ..created.org });
    assert_eq!(world.sealed(started.id)[7..], ["org.stopped", "org.started"]);
}

#[tokio::test]
async fn what_stands_so_already_is_a_conflict_and_seals_nothing() {
    let world = World::new();
    let created = world.org().await;
    let operator = world.operator(&created);
    let agent = operator.create_agent(agent("support")).await.unwrap().object;
    assert!(matches!(
        operator.start_org("why").await,
        Err(ChangeError::Act(ActError::Conflict(_)))
    ));
    assert!(matches!(
        operator.start_agent(agent.id, "why").await,
        Err(ChangeError::Act(ActError::Conflict(_)))
    ));
    operator.stop_org("why", PendingApprovals::Void).await.unwrap();
    operator.stop_agent(agent.id, "why", PendingApprovals::Void).await.unwrap();
    let sealed = world.sealed(created.org.id).len();
    assert!(matches!(
        operator.stop_org("why", PendingApprovals::Void).await,
        Err(ChangeError::Act(ActError::Conflict(_)))
    ));
    assert!(matches!(
        operator.stop_agent(agent.id, "why", PendingApprovals::Void).await,
        Err(ChangeError::Act(ActError::Conflict(_)))
    ));
    assert_eq!(world.sealed(created.org.id).len(), sealed);
}

#[tokio::test]
async fn one_of_two_stops_that_race_wins() {
    let world = World::new();
    let created = world.org().await;
    let (here, there) = (world.second_instance(), world.second_instance());
    let (first, second) = (here.operator(&created), there.operator(&created));
    let (one, two) = tokio::join!(
        first.stop_org("here", PendingApprovals::Void),
        second.stop_org("there", PendingApprovals::Void)
    );
    assert!(one.is_ok() != two.is_ok());
    assert_eq!(world.sealed(created.org.id).len(), 7);
}

#[tokio::test]
async fn a_stop_without_a_reason_is_refused() {
    let world = World::new();
    let created = world.org().await;
    let refused = world.operator(&created).stop_org("", PendingApprovals::Void).await;
    assert!(matches!(refused, Err(ChangeError::Act(ActError::BadInput { param: "reason", .. }))));
}

#[tokio::test]
async fn another_orgs_agent_cannot_be_stopped() {
    let world = World::new();
    let (ours, theirs) = (world.org().await, world.org().await);
    let agent = world.operator(&theirs).create_agent(agent("support")).await.unwrap().object;
    let refused = world.operator(&ours).stop_agent(agent.id, "why", PendingApprovals::Void).await;
    assert!(matches!(refused, Err(ChangeError::Act(ActError::NotFound("agent")))));
}

#[tokio::test]
async fn a_stop_notes_until_when_approvals_are_void_unless_they_are_kept() {
    let world = World::new();
    let created = world.org().await;
    let operator = world.operator(&created);
    let agent = operator.create_agent(agent("support")).await.unwrap().object.id;
    let kept = operator.stop_agent(agent, "why", PendingApprovals::Keep).await.unwrap().object;
    assert_eq!(kept.voids, None);
    operator.start_agent(agent, "why").await.unwrap();
    let void = operator.stop_agent(agent, "why", PendingApprovals::Void).await.unwrap().object;
    assert_eq!(void.voids, Some(void.stop.unwrap().stopped_at));
    let voided = void.voided.clone().unwrap();
    assert_eq!((voided.by, &*voided.reason), (By::Operator.actor(), "why"));
    // A start does not give back what the Stop took.
    assert_eq!(operator.start_agent(agent, "why").await.unwrap().object.voids, void.voids);
    let again = operator.stop_agent(agent, "later", PendingApprovals::Keep).await.unwrap().object;
    assert_eq!((again.voids, again.voided), (void.voids, void.voided), "what was void stays so");
    let org = operator.stop_org("why", PendingApprovals::Void).await.unwrap().object;
    assert_eq!(org.voids, Some(org.stop.unwrap().stopped_at));
    assert_eq!(org.voided.unwrap().reason, "why");
}

#[tokio::test]
async fn a_suspension_ends_by_itself_or_is_lifted_and_a_start_leaves_it() {
    let world = World::new();
    let created = world.org().await;
    let operator = world.operator(&created);
    let id = operator.create_agent(agent("support")).await.unwrap().object.id;
    let until = world.clock.now() + Duration::from_mins(10);
    let held = operator.suspend_agent(id, "too fast", Some(until)).await.unwrap().object;
    assert_eq!(held.status(world.clock.now()), AgentStatus::Suspended);
    assert_eq!(held.suspension.as_ref().unwrap().cause, SuspensionCause::Person);
    operator.stop_agent(id, "why", PendingApprovals::Void).await.unwrap();
    let started = operator.start_agent(id, "why").await.unwrap().object;
    assert_eq!((&started.suspension, started.stop), (&held.suspension, None));
    world.clock.pass(Duration::from_mins(10));
    assert_eq!(held.status(world.clock.now()), AgentStatus::Active);
    let ended = operator.resume_agent(id, "why").await;
    assert!(matches!(ended, Err(ChangeError::Act(ActError::Conflict(_)))), "{ended:?}");
    operator.suspend_agent(id, "again", None).await.unwrap();
    let resumed = operator.resume_agent(id, "why").await.unwrap().object;
    assert_eq!(resumed.suspension, None);
    let sealed = world.sealed(created.org.id);
    let told = ["agent.stopped", "agent.started", "agent.suspended", "agent.resumed"];
    assert_eq!(sealed[sealed.len() - 4..], told);
}

#[tokio::test]
async fn a_suspension_that_is_over_before_it_begins_is_refused() {
    let world = World::new();
    let created = world.org().await;
    let operator = world.operator(&created);
    let id = operator.create_agent(agent("support")).await.unwrap().object.id;
    let refused = operator.suspend_agent(id, "why", Some(world.clock.now())).await;
    assert!(matches!(refused, Err(ChangeError::Act(ActError::BadInput { param: "until", .. }))));
    operator.suspend_agent(id, "why", None).await.unwrap();
    let twice = operator.suspend_agent(id, "why", None).await;
    assert!(matches!(twice, Err(ChangeError::Act(ActError::Conflict(_)))));
}

#[tokio::test]
async fn the_services_own_agent_is_held_with_the_org_alone() {
    let world = World::new();
    let created = world.org().await;
    let (operator, console) = (world.operator(&created), created.console.id);
    let refused = [
        operator.stop_agent(console, "why", PendingApprovals::Void).await,
        operator.suspend_agent(console, "why", None).await,
        operator.archive_agent(console, "why").await,
    ];
    for refused in refused {
        assert!(matches!(refused, Err(ChangeError::Act(ActError::Conflict(_)))), "{refused:?}");
    }
    operator.stop_org("why", PendingApprovals::Void).await.unwrap();
    let stopped = world.admin.stop_of(created.org.id, console).await.unwrap();
    assert_eq!(stopped, Some(EventType::OrgStopped));
}

#[tokio::test]
async fn an_archived_agents_keys_open_nothing_and_its_name_is_free() {
    let world = World::new();
    let created = world.org().await;
    let operator = world.operator(&created);
    let old = operator.create_agent(agent("support")).await.unwrap().object.id;
    let mut texts = Vec::new();
    for _ in 0..2 {
        let shown = operator.create_agent_key(old, agent_key()).await.unwrap();
        texts.push(shown.text.secret().expose().clone());
    }
    for text in &texts {
        world.admin.authenticate(text, None).await.unwrap();
    }
    let archived = operator.archive_agent(old, "its work is done").await.unwrap().object;
    assert_eq!(archived.status(world.clock.now()), AgentStatus::Archived);
    assert_eq!(archived.voids, archived.archived_at);
    for text in &texts {
        assert!(world.admin.authenticate(text, None).await.is_err());
    }
    let sealed = world.sealed(created.org.id);
    let told = ["agent_key.revoked", "agent_key.revoked", "agent.archived"];
    assert_eq!(sealed[sealed.len() - 3..], told);
    for refused in [
        operator.archive_agent(old, "why").await,
        operator.stop_agent(old, "why", PendingApprovals::Void).await,
        operator.resume_agent(old, "why").await,
    ] {
        assert!(matches!(refused, Err(ChangeError::Act(ActError::Conflict(_)))), "{refused:?}");
    }
    assert_ne!(operator.create_agent(agent("support")).await.unwrap().object.id, old);
}

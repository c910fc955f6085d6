//! Stopping and starting agents and orgs.

use act::{ActError, By};
use admin::{AccountStore, ChangeError};
use model::{AgentStatus, Clock, EventType};
use serde_json::json;

use crate::world::{Actor, World, agent, org_key};

#[tokio::test]
async fn an_agent_is_stopped_and_started_with_a_reason() {
    let world = World::new();
    let created = world.org().await;
    let operator = world.operator(&created);
    let agent = operator.create_agent(agent("support")).await.unwrap().object;
    let stopped = operator.stop_agent(agent.id, "it ran wild").await.unwrap().object;
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
    operator.stop_agent(agent, "it ran wild").await.unwrap();
    assert_eq!(told().await, Some(EventType::AgentStopped));
    operator.stop_org("everything looks odd").await.unwrap();
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
    let stopped = by_key.stop_org("everything looks odd").await.unwrap().object;
    assert_eq!(stopped.stop.unwrap().by, key.id.to_string());
    let subject = json!({ "type": "org", "id": created.org.id });
    assert_eq!(world.last_body(&created)["subject"], subject);
    assert_eq!(by_key.start_org("all is well").await.unwrap().object, created.org);
    assert_eq!(world.sealed(created.org.id)[7..], ["org.stopped", "org.started"]);
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
    operator.stop_org("why").await.unwrap();
    operator.stop_agent(agent.id, "why").await.unwrap();
    let sealed = world.sealed(created.org.id).len();
    assert!(matches!(operator.stop_org("why").await, Err(ChangeError::Act(ActError::Conflict(_)))));
    assert!(matches!(
        operator.stop_agent(agent.id, "why").await,
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
    let (one, two) = tokio::join!(first.stop_org("here"), second.stop_org("there"));
    assert!(one.is_ok() != two.is_ok());
    assert_eq!(world.sealed(created.org.id).len(), 7);
}

#[tokio::test]
async fn a_stop_without_a_reason_is_refused() {
    let world = World::new();
    let created = world.org().await;
    let refused = world.operator(&created).stop_org("").await;
    assert!(matches!(refused, Err(ChangeError::Act(ActError::BadInput { param: "reason", .. }))));
}

#[tokio::test]
async fn another_orgs_agent_cannot_be_stopped() {
    let world = World::new();
    let (ours, theirs) = (world.org().await, world.org().await);
    let agent = world.operator(&theirs).create_agent(agent("support")).await.unwrap().object;
    let refused = world.operator(&ours).stop_agent(agent.id, "why").await;
    assert!(matches!(refused, Err(ChangeError::Act(ActError::NotFound("agent")))));
}

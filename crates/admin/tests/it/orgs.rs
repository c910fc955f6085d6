//! Making orgs and agents.

use act::ActError;
use admin::{AccountStore, ChangeError, NewOrg, PolicyError, PolicyStore};
use ledger::record::Agent;
use model::{EventType, IntentMode, Mode};
use serde_json::json;

use crate::world::{World, agent};

#[tokio::test]
async fn an_org_starts_with_everything_sealed_in_one_turn() {
    let world = World::new();
    let created = world.org().await;
    let org = created.org.id;
    assert_eq!(
        world.sealed(org),
        [
            "log.started",
            "org.created",
            "agent.created",
            "policy.created",
            "policy.version_created",
            "policy.activated"
        ]
    );
    let deeds = world.store.deeds(org);
    assert!(deeds.iter().all(|deed| deed.issued_at == created.org.created_at));
    assert_eq!(deeds[1].id, created.deed);
    assert_eq!(world.bodies(org)[0]["actor"], json!({ "type": "system", "id": "operator" }));
    assert_eq!(world.store.org(org).await.unwrap().unwrap(), created.org);
}

#[tokio::test]
async fn an_org_starts_with_a_keyless_console_and_the_starter_policy() {
    let world = World::new();
    let created = world.org().await;
    let agents = world.store.agents(created.org.id, &admin::AgentList::all(), 9).await.unwrap();
    assert_eq!(agents, std::slice::from_ref(&created.console));
    assert!(created.console.system && created.console.name == "console");
    let version = world.store.policy_version(created.org.id, created.version.id).await.unwrap();
    assert_eq!(version.unwrap().document, policy::STARTER);
    let key = world
        .operator(&created)
        .create_agent_key(created.console.id, crate::world::agent_key())
        .await;
    assert!(matches!(key, Err(ChangeError::Act(ActError::Conflict(_)))));
}

#[tokio::test]
async fn each_deed_is_told_by_its_event_and_a_sealed_event() {
    let world = World::new();
    let created = world.org().await;
    let events = world.events(created.org.id).await;
    let count = |kind| events.iter().filter(|event| event.kind == kind).count();
    assert_eq!(count(EventType::DeedSealed), 6);
    assert_eq!(count(EventType::OrgCreated), 1);
    assert_eq!(count(EventType::PolicyActivated), 1);
    assert_eq!(events.len(), 12);
    assert!(events.iter().all(|event| event.agent.is_none() && event.livemode));
}

#[tokio::test]
async fn a_bad_time_zone_or_name_makes_no_org() {
    let world = World::new();
    for (name, time_zone, blamed) in [("Acme", "Nowhere", "time_zone"), ("", "UTC", "name")] {
        let new = NewOrg { name: name.to_owned(), time_zone: time_zone.to_owned() };
        let refused = world.deployment().create_org(new).await;
        let Err(PolicyError::Change(ChangeError::Act(ActError::BadInput { param, .. }))) = refused
        else {
            panic!("{refused:?}")
        };
        assert_eq!(param, blamed);
    }
    assert!(world.store.orgs().await.unwrap().found.is_empty());
}

#[tokio::test]
async fn a_name_is_one_orgs_even_where_two_ask_for_it_at_once() {
    let world = World::new();
    let named = |name: &str| NewOrg { name: name.to_owned(), time_zone: "UTC".to_owned() };
    let is_taken = |outcome: &Result<_, _>| {
        matches!(outcome, Err(PolicyError::Change(ChangeError::NameTaken(_))))
    };
    let elsewhere = world.second_instance();
    let (here, there) = (world.deployment(), elsewhere.deployment());
    let (one, other) =
        tokio::join!(here.create_org(named("Acme")), there.create_org(named("Acme")));
    assert_eq!((is_taken(&one), is_taken(&other)), (one.is_err(), other.is_err()));
    assert_ne!(one.is_err(), other.is_err());
    assert!(is_taken(&world.deployment().create_org(named("Acme")).await));
    world.deployment().create_org(named("Acme & Sons")).await.unwrap();
    assert_eq!(world.store.orgs().await.unwrap().found.len(), 2);
}

#[tokio::test]
async fn an_agent_of_an_older_service_may_run_in_every_mode_and_has_no_end() {
    let world = World::new();
    let agent = world.org().await.console;
    let mut older = json!(agent);
    older.as_object_mut().unwrap().remove("modes").unwrap();
    assert_eq!(serde_json::from_value::<Agent>(older).unwrap(), agent);
    assert_eq!((agent.modes.as_slice(), agent.owner, agent.expires_at), (Mode::ALL, None, None));
}

#[tokio::test]
async fn an_agent_is_made_with_its_deed() {
    let world = World::new();
    let created = world.org().await;
    let made = world.operator(&created).create_agent(agent("support")).await.unwrap();
    let stored = world.store.agent(created.org.id, made.object.id).await.unwrap().unwrap();
    assert_eq!(stored, made.object);
    assert_eq!((stored.intent_mode, stored.labels["team"].as_str()), (IntentMode::Off, "care"));
    let body = world.last_body(&created);
    assert_eq!(body["id"], json!(made.deed));
    assert_eq!(body["subject"], json!({ "type": "agent", "id": made.object.id }));
    assert_eq!(body["admin"]["event"], "agent.created");
    assert_eq!(body["admin"]["before"], json!(null));
    assert!(body["admin"]["after"]["commit"].is_string());
}

#[tokio::test]
async fn a_name_is_taken_once_however_the_askers_race() {
    let world = World::new();
    let created = world.org().await;
    let (here, there) = (world.second_instance(), world.second_instance());
    let (here_first, here_second) = (here.operator(&created), here.operator(&created));
    let elsewhere = there.operator(&created);
    let (one, two, three) = tokio::join!(
        here_first.create_agent(agent("bot")),
        here_second.create_agent(agent("bot")),
        elsewhere.create_agent(agent("bot")),
    );
    let outcomes = [one, two, three];
    let made = outcomes.iter().filter(|outcome| outcome.is_ok()).count();
    let taken = outcomes
        .iter()
        .filter(|outcome| matches!(outcome, Err(ChangeError::NameTaken(name)) if name == "bot"))
        .count();
    assert_eq!((made, taken), (1, 2), "{outcomes:?}");
    let again = world.operator(&created).create_agent(agent("bot")).await;
    assert!(matches!(again, Err(ChangeError::NameTaken(_))));
    assert_eq!(world.sealed(created.org.id).len(), 7);
}

#[tokio::test]
async fn an_org_that_is_not_there_has_no_agents() {
    let world = World::new();
    let nowhere = world.deployment().org("org_00000000000000000000000001".parse().unwrap());
    let refused = nowhere.create_agent(agent("bot")).await;
    assert!(matches!(refused, Err(ChangeError::Act(ActError::NotFound("org")))), "{refused:?}");
}

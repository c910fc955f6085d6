//! Making, presenting and revoking API keys.

use act::{ActError, By};
use admin::{
    AccountStore, AuthenticateError, ChangeError, KeyHolder, KeyMode, KeyText, KeyUse, NewKey,
    REMEMBERED_FOR, ShownKey,
};
use std::time::Duration;

use ledger::record::Agent;
use model::{Clock, PendingApprovals, Scope};
use serde_json::json;

use crate::world::{Actor, World, agent, agent_key, org_key};

async fn is_refused(world: &World, text: &str) -> bool {
    matches!(world.admin.authenticate(text, None).await, Err(AuthenticateError::Unauthenticated))
}

fn shown(key: &ShownKey) -> &str {
    key.text.secret().expose()
}

#[tokio::test]
async fn a_key_tells_whose_it_is() {
    let world = World::new();
    let created = world.org().await;
    let operator = world.operator(&created);
    let agent = operator.create_agent(agent("support")).await.unwrap().object;
    let test = NewKey { mode: KeyMode::Test, ..agent_key() };
    let key = operator.create_agent_key(agent.id, test).await.unwrap();
    let caller = world.admin.authenticate(shown(&key), None).await.unwrap();
    assert_eq!(caller.holder, KeyHolder::Agent(Box::new(Agent { keys_made: 1, ..agent })));
    assert_eq!((caller.org, caller.key), (created.org.id, key.key.object.id));
    assert_eq!((caller.livemode, caller.has(Scope::Admin)), (false, false));
    assert!(shown(&key).starts_with("svc_test_") && caller.has(Scope::ActionsRead));

    let key = operator.create_org_key(org_key()).await.unwrap();
    let caller = world.admin.authenticate(shown(&key), None).await.unwrap();
    assert_eq!((caller.agent(), caller.livemode), (None, true));
    assert!(caller.has(Scope::Admin) && !caller.has(Scope::ActionsExecute));
}

#[tokio::test]
async fn a_key_is_stored_and_sealed_without_its_text() {
    let world = World::new();
    let created = world.org().await;
    let operator = world.operator(&created);
    let agent = operator.create_agent(agent("support")).await.unwrap().object;
    let key = operator.create_agent_key(agent.id, agent_key()).await.unwrap();
    let stored = world.store.api_key(key.key.object.id).await.unwrap().unwrap();
    assert_eq!(stored, key.key.object);
    let (_, secret) = shown(&key).rsplit_once('_').unwrap();
    assert!(!format!("{stored:?} {key:?}").contains(secret));
    let body = world.last_body(&created);
    assert_eq!(body["admin"]["event"], "agent_key.created");
    assert_eq!(body["subject"], json!({ "type": "agent_key", "id": stored.id }));
    assert_eq!(body["admin"]["data"]["agent"], json!(agent.id));
    assert!(!body.to_string().contains(&stored.mac));
}

#[tokio::test]
async fn unknown_wrong_and_malformed_keys_are_refused_alike() {
    let world = World::new();
    let created = world.org().await;
    let key = world.operator(&created).create_org_key(org_key()).await.unwrap();
    let id = key.key.object.id;
    let entropy = crypto::SystemEntropy::new();
    let mint = model::Mint::new(world.clock.now(), &entropy);
    let unknown = KeyText::generate(&mint, mint.id(model::KeyId::from_uuid), KeyMode::Live);
    let wrong_secret = KeyText::generate(&mint, id, KeyMode::Live);
    let wrong_mode = KeyText::generate(&mint, id, KeyMode::Test);
    for text in [&unknown, &wrong_secret, &wrong_mode] {
        assert!(is_refused(&world, text.secret().expose()).await);
    }
    for text in ["", "svc_live_", shown(&key).get(..80).unwrap(), &format!("{} ", shown(&key))] {
        assert!(is_refused(&world, text).await);
    }
}

#[tokio::test]
async fn a_revoked_key_opens_nothing_at_once_here_and_a_second_later_elsewhere() {
    let world = World::new();
    let created = world.org().await;
    let key = world.operator(&created).create_org_key(org_key()).await.unwrap();
    let elsewhere = world.second_instance();
    assert!(world.admin.authenticate(shown(&key), None).await.is_ok());
    assert!(elsewhere.admin.authenticate(shown(&key), None).await.is_ok());

    let revoked = world.operator(&created).revoke_key(key.key.object.id).await.unwrap();
    assert_eq!(revoked.object.revoked_at, Some(world.clock.now()));
    assert_eq!(world.last_body(&created)["admin"]["event"], "api_key.revoked");
    assert!(is_refused(&world, shown(&key)).await);
    assert!(elsewhere.admin.authenticate(shown(&key), None).await.is_ok());
    world.clock.pass(REMEMBERED_FOR);
    assert!(is_refused(&elsewhere, shown(&key)).await);

    let again = world.operator(&created).revoke_key(key.key.object.id).await;
    assert!(matches!(again, Err(ChangeError::Act(ActError::Conflict(_)))));
}

#[tokio::test]
async fn a_key_ends_when_it_says_even_while_it_is_remembered() {
    let world = World::new();
    let created = world.org().await;
    let span = Duration::from_millis(500);
    let short = NewKey { expires_at: Some(world.clock.now() + span), ..org_key() };
    let key = world.operator(&created).create_org_key(short).await.unwrap();
    assert!(world.admin.authenticate(shown(&key), None).await.is_ok());
    world.clock.pass(span);
    assert!(is_refused(&world, shown(&key)).await);
}

#[tokio::test]
async fn a_store_that_is_down_is_not_taken_for_a_wrong_key() {
    let world = World::new();
    let created = world.org().await;
    let key = world.operator(&created).create_org_key(org_key()).await.unwrap();
    world.store.go_down();
    let outcome = world.admin.authenticate(shown(&key), None).await;
    assert!(matches!(outcome, Err(AuthenticateError::Unavailable(_))));
    assert!(is_refused(&world, "svc_live_nonsense").await);
    world.store.come_up();
    assert!(world.admin.authenticate(shown(&key), None).await.is_ok());
}

#[tokio::test]
async fn an_org_key_changes_its_org_until_it_is_revoked() {
    let world = World::new();
    let created = world.org().await;
    let key = world.operator(&created).create_org_key(org_key()).await.unwrap().key.object;
    let by_key = world.admin.change(&Actor(created.org.id, By::OrgKey(key.id)));
    by_key.create_agent(agent("first")).await.unwrap();
    let actor = json!({ "type": "api_key", "id": key.id });
    assert_eq!(world.last_body(&created)["actor"], actor);
    // Another instance revokes it; the turn knows all the same.
    let elsewhere = world.second_instance();
    elsewhere.operator(&created).revoke_key(key.id).await.unwrap();
    let refused = by_key.create_agent(agent("second")).await;
    assert!(matches!(refused, Err(ChangeError::Act(ActError::NotAllowed))), "{refused:?}");
}

#[tokio::test]
async fn an_agent_key_and_another_orgs_key_change_nothing() {
    let world = World::new();
    let (ours, theirs) = (world.org().await, world.org().await);
    let operator = world.operator(&ours);
    let support = operator.create_agent(agent("support")).await.unwrap().object;
    let agents = operator.create_agent_key(support.id, agent_key()).await.unwrap();
    let foreign = world.operator(&theirs).create_org_key(org_key()).await.unwrap();
    let sealed = world.sealed(ours.org.id);
    for key in [agents.key.object.id, foreign.key.object.id] {
        let refused = world
            .admin
            .change(&Actor(ours.org.id, By::OrgKey(key)))
            .stop_org("why", PendingApprovals::Void)
            .await;
        assert!(matches!(refused, Err(ChangeError::Act(ActError::NotAllowed))), "{refused:?}");
    }
    let foreign = operator.revoke_key(foreign.key.object.id).await;
    assert!(matches!(foreign, Err(ChangeError::Act(ActError::NotFound("API key")))));
    assert_eq!(world.sealed(ours.org.id), sealed);
}

#[tokio::test]
async fn no_key_makes_or_revokes_org_keys() {
    let world = World::new();
    let created = world.org().await;
    let key = world.operator(&created).create_org_key(org_key()).await.unwrap().key.object;
    let by_key = world.admin.change(&Actor(created.org.id, By::OrgKey(key.id)));
    assert!(matches!(by_key.create_org_key(org_key()).await, Err(ChangeError::PersonRequired)));
    assert!(matches!(by_key.revoke_key(key.id).await, Err(ChangeError::PersonRequired)));
    let rolled = by_key.roll_org_key(key.id, Duration::ZERO).await;
    assert!(matches!(rolled, Err(ChangeError::PersonRequired)));
    let agent = by_key.create_agent(agent("support")).await.unwrap().object;
    let agents = by_key.create_agent_key(agent.id, agent_key()).await.unwrap();
    by_key.revoke_key(agents.key.object.id).await.unwrap();
}

#[tokio::test]
async fn an_org_has_32_keys_of_its_own_at_most_and_the_oldest_may_be_replaced() {
    let world = World::new();
    let created = world.org().await;
    let operator = world.operator(&created);
    let elsewhere = world.second_instance();
    let mut first = None;
    for number in 0..31 {
        // Each instance counts what the other one made.
        let by = if number % 2 == 0 { &operator } else { &elsewhere.operator(&created) };
        let made = by.create_org_key(org_key()).await.unwrap();
        first.get_or_insert(made.key.object.id);
    }
    let (here, there) = (operator, elsewhere.operator(&created));
    let (one, two) = tokio::join!(here.create_org_key(org_key()), there.create_org_key(org_key()));
    let is_over = |made: &Result<ShownKey, _>| matches!(made, Err(ChangeError::LimitReached(_)));
    assert_eq!([&one, &two].into_iter().filter(|made| is_over(made)).count(), 1, "{one:?} {two:?}");
    let rolled = here.roll_org_key(first.unwrap(), Duration::from_hours(1)).await;
    assert!(is_over(&rolled), "{rolled:?}");
    let replacing = here.roll_org_key(first.unwrap(), Duration::ZERO).await.unwrap();
    assert_eq!(world.sealed(created.org.id).last().unwrap(), "api_key.revoked");
    assert_eq!(replacing.key.object.holder, ledger::record::Holder::Org);
    assert!(is_over(&here.create_org_key(org_key()).await));
}

#[tokio::test]
async fn an_org_key_that_was_replaced_lives_on_for_as_long_as_was_asked() {
    let world = World::new();
    let created = world.org().await;
    let operator = world.operator(&created);
    let old = operator.create_org_key(org_key()).await.unwrap();
    let new = operator.roll_org_key(old.key.object.id, Duration::from_mins(1)).await.unwrap();
    let body = world.last_body(&created);
    assert_eq!(body["admin"]["event"], "api_key.rolled");
    assert_eq!(body["admin"]["data"]["replaces"], json!(old.key.object.id));
    assert!(world.admin.authenticate(shown(&old), None).await.is_ok());
    world.clock.pass(Duration::from_mins(1));
    assert!(is_refused(&world, shown(&old)).await);
    assert!(world.admin.authenticate(shown(&new), None).await.is_ok());
    let again = operator.roll_org_key(old.key.object.id, Duration::ZERO).await;
    assert!(matches!(again, Err(ChangeError::Act(ActError::Conflict(_)))), "{again:?}");
    let over = Duration::from_hours(7 * 24) + Duration::from_secs(1);
    let over = operator.roll_org_key(new.key.object.id, over).await;
    assert!(matches!(over, Err(ChangeError::Act(ActError::BadInput { .. }))), "{over:?}");
}

#[tokio::test]
async fn a_key_of_an_agent_that_is_not_there_is_not_made() {
    let world = World::new();
    let created = world.org().await;
    let nobody = "agt_00000000000000000000000001".parse().unwrap();
    let refused = world.operator(&created).create_agent_key(nobody, agent_key()).await;
    assert!(matches!(refused, Err(ChangeError::Act(ActError::NotFound("agent")))));
}

#[tokio::test]
async fn an_org_key_that_may_only_read_changes_nothing_even_where_it_was_let_in() {
    let world = World::new();
    let created = world.org().await;
    let reading = NewKey { scopes: vec![Scope::AdminRead], ..org_key() };
    let key = world.operator(&created).create_org_key(reading).await.unwrap().key.object;
    let by_key = Actor(created.org.id, By::OrgKey(key.id));
    let refused = world.admin.change(&by_key).create_agent(agent("first")).await;
    assert!(matches!(refused, Err(ChangeError::Act(ActError::NotAllowed))), "{refused:?}");
    // What it read out is told of all the same.
    world.admin.ledger_exported(&by_key, (None, None)).await.unwrap();
    assert_eq!(world.last_body(&created)["actor"], json!({ "type": "api_key", "id": key.id }));
}

#[tokio::test]
async fn a_thousand_calls_by_one_key_write_its_last_use_once() {
    let world = World::new();
    let created = world.org().await;
    let operator = world.operator(&created);
    let agent = operator.create_agent(agent("support")).await.unwrap().object;
    let made = operator.create_agent_key(agent.id, agent_key()).await.unwrap();
    let (key, text) = (made.key.object.id, shown(&made));
    let used = async || operator.view().key_uses(&[key]).await.unwrap().get(&key).copied();
    for _ in 0..1000 {
        let client = Some("203.0.113.77".parse().unwrap());
        world.admin.authenticate(text, client).await.unwrap();
        world.clock.pass(Duration::from_millis(1));
    }
    let last = world.clock.now().before(Duration::from_millis(1));
    assert_eq!(used().await, None, "a call wrote when its key was used");
    // A store that is away keeps nothing and loses nothing.
    world.store.fail_next("note when keys were used", 1);
    assert!(world.admin.note_key_uses().await.is_err());
    assert_eq!(world.admin.note_key_uses().await.unwrap(), 1);
    let network = Some("203.0.113.0/24".parse().unwrap());
    assert_eq!(used().await, Some(KeyUse { at: last, network }));
    assert_eq!(world.admin.note_key_uses().await.unwrap(), 0);
    let wrong = text.replace("svc_live_", "svc_test_");
    assert!(world.admin.authenticate(&wrong, None).await.is_err());
    assert_eq!(world.admin.note_key_uses().await.unwrap(), 0);
}

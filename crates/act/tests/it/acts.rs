//! Who may change an org, and what stands there afterwards.

use act::{Act, ActError, By, Reason, Record};
use ledger::{
    LedgerError, Needs, Snapshot,
    record::{ApiKey, Member},
};
use model::{EventType, Role, Scope, UserId, Uuid};

use crate::world::{NOW, ORG, World, fact, org_key, owner, rename};

#[tokio::test]
async fn a_change_is_its_row_its_deed_and_its_event_in_one_turn() {
    let world = World::with_org().await;
    let before = world.bodies().len();
    let changed = rename(By::Operator, "Acme & Co").enter(&world.ledger, ORG).await.unwrap();
    assert_eq!(
        (changed.object.name.as_str(), world.name().await.as_str()),
        ("Acme & Co", "Acme & Co")
    );
    let bodies = world.bodies();
    assert_eq!(bodies.len(), before + 1);
    let body = bodies.last().unwrap();
    assert_eq!(body["id"], changed.deed.to_string());
    assert_eq!(body["admin"]["event"], "org.updated");
    let kinds: Vec<_> = world.events().await.iter().map(|event| event.kind).collect();
    assert!(kinds.ends_with(&[EventType::OrgUpdated, EventType::DeedSealed]), "{kinds:?}");
}

#[tokio::test]
async fn a_refused_change_leaves_nothing_of_what_it_had_recorded() {
    let world = World::with_org().await;
    let (deeds, events) = (world.bodies(), world.events().await);
    let refused = rename(By::Operator, "").enter(&world.ledger, ORG).await;
    assert!(matches!(refused, Err(ActError::BadInput { param: "name", .. })), "{refused:?}");
    assert_eq!((world.bodies(), world.events().await), (deeds, events));
    assert_eq!(world.name().await, "Acme");
}

#[tokio::test]
async fn an_org_that_is_not_there_cannot_be_changed() {
    let refused = rename(By::Operator, "Acme").enter(&World::new().ledger, ORG).await;
    assert!(matches!(refused, Err(ActError::NotFound("org"))), "{refused:?}");
}

#[tokio::test]
async fn a_key_changes_its_org_as_long_as_it_is_valid_and_may() {
    let good = org_key();
    let ended = ApiKey { expires_at: Some(NOW), ..good.clone() };
    let revoked = ApiKey { revoked_at: Some(NOW), ..good.clone() };
    let weak = ApiKey { scopes: vec![Scope::ActionsRead], ..good.clone() };
    for bad in [ended, revoked, weak] {
        let world = World::with_org().await;
        let by = By::OrgKey(bad.id);
        let unknown = rename(by, "Mine").enter(&world.ledger, ORG).await;
        assert!(matches!(unknown, Err(ActError::NotAllowed)), "{unknown:?}");
        world.keep(good.clone()).await;
        rename(by, "Mine").enter(&world.ledger, ORG).await.unwrap();
        world.keep(bad).await;
        let refused = rename(by, "Mine again").enter(&world.ledger, ORG).await;
        assert!(matches!(refused, Err(ActError::NotAllowed)), "{refused:?}");
        assert_eq!(world.name().await, "Mine");
    }
}

#[tokio::test]
async fn a_member_changes_what_their_role_allows_while_they_are_in_the_org() {
    let world = World::with_org().await;
    let by = By::Member { member: owner().id, user: owner().user };
    let act = || rename(by, "Mine");
    let gone = act().enter(&world.ledger, ORG).await;
    assert!(matches!(gone, Err(ActError::NotAllowed)), "{gone:?}");
    for (role, reads, changes, owns) in [
        (Role::Viewer, true, false, false),
        (Role::Admin, true, true, false),
        (Role::Owner, true, true, true),
    ] {
        world.keep(Member { role, ..owner() }).await;
        let done = [
            (act().of_a_reader().enter(&world.ledger, ORG).await, reads),
            (act().enter(&world.ledger, ORG).await, changes),
            (act().of_an_owner().enter(&world.ledger, ORG).await, owns),
        ];
        for (outcome, may) in done {
            match outcome {
                Ok(_) => assert!(may, "{role}"),
                Err(ActError::RoleRequired) => assert!(!may, "{role}"),
                other => panic!("{role}: {other:?}"),
            }
        }
    }
    let somebody = UserId::from_uuid(Uuid::from_u128(99));
    let left = Member { removed_at: Some(NOW), ..owner() };
    for row in [Member { user: somebody, ..owner() }, left] {
        world.keep(row).await;
        let refused = act().of_a_reader().enter(&world.ledger, ORG).await;
        assert!(matches!(refused, Err(ActError::NotAllowed)), "{refused:?}");
    }
}

#[tokio::test]
async fn what_is_an_owners_is_no_keys() {
    let world = World::with_org().await;
    world.keep(org_key()).await;
    let refused =
        rename(By::OrgKey(org_key().id), "Mine").of_an_owner().enter(&world.ledger, ORG).await;
    assert!(matches!(refused, Err(ActError::NotAllowed)), "{refused:?}");
}

#[tokio::test]
async fn a_deed_names_who_made_the_change() {
    let world = World::with_org().await;
    let key = org_key();
    world.keep(key.clone()).await;
    let owner = owner();
    world.keep(owner.clone()).await;
    let by_owner = By::Member { member: owner.id, user: owner.user };
    for (by, actor, text) in [
        (By::Operator, "operator".to_owned(), "operator".to_owned()),
        (By::Service, "service".to_owned(), "service".to_owned()),
        (By::OrgKey(key.id), key.id.to_string(), key.id.to_string()),
        (by_owner, owner.user.to_string(), owner.id.to_string()),
    ] {
        rename(by, "Acme").enter(&world.ledger, ORG).await.unwrap();
        assert_eq!(world.bodies().last().unwrap()["actor"]["id"], actor);
        assert_eq!(by.to_string(), text);
    }
}

#[tokio::test]
async fn what_a_change_asks_for_is_known_when_it_is_decided() {
    let world = World::with_org().await;
    let key = org_key();
    world.keep(key.clone()).await;
    let needs = Needs { keys: [key.id].into(), ..Needs::default() };
    let read = Act::new(By::Operator, move |at: &Snapshot, _: &mut Record<'_>| {
        at.key(key.id).map(|key| key.name.clone()).ok_or(ActError::NotFound("API key"))
    });
    let known = read.clone().needing(needs).enter(&world.ledger, ORG).await;
    assert_eq!(known.unwrap(), "first");
    assert!(read.enter(&world.ledger, ORG).await.is_err());
}

#[tokio::test]
async fn a_use_case_answers_in_errors_of_its_own() {
    #[derive(Debug)]
    enum OwnError {
        Act(ActError),
        Full,
    }
    impl From<ActError> for OwnError {
        fn from(error: ActError) -> Self {
            Self::Act(error)
        }
    }
    let full = |by| Act::new(by, |_: &Snapshot, _: &mut Record<'_>| Err::<(), _>(OwnError::Full));
    let world = World::with_org().await;
    let refused = full(By::Operator).enter(&world.ledger, ORG).await;
    assert!(matches!(refused, Err(OwnError::Full)), "{refused:?}");
    let refused = full(By::OrgKey(org_key().id)).enter(&world.ledger, ORG).await;
    assert!(matches!(refused, Err(OwnError::Act(ActError::NotAllowed))), "{refused:?}");
}

#[tokio::test]
async fn only_a_new_log_is_opened_where_turns_are_withheld() {
    let world = World::with_org().await;
    world.ledger.withhold(ORG);
    let refused = rename(By::Operator, "Acme").enter(&world.ledger, ORG).await;
    assert!(matches!(refused, Err(ActError::Ledger(LedgerError::Withheld))), "{refused:?}");
    let opening = Act::new(By::Operator, |_: &Snapshot, record: &mut Record<'_>| {
        record.seal(fact(EventType::LogRecovered));
        Ok::<_, ActError>((record.open_log(), record.open_log()))
    });
    let (log, again) = opening.enter_opening_log(&world.ledger, ORG).await.unwrap();
    assert_eq!(log, again);
    let body = world.bodies().pop().unwrap();
    assert!(body["log"].as_str().unwrap().ends_with(&log.to_string()), "{body}");
}

#[test]
fn a_reason_has_up_to_280_characters() {
    for good in ["why", &"ß".repeat(280)] {
        assert_eq!(Reason::parse(good).unwrap().as_str(), good);
    }
    for bad in ["", "   ", "a\0b", &"ß".repeat(281)] {
        let refused = Reason::parse(bad);
        assert!(matches!(refused, Err(ActError::BadInput { param: "reason", .. })), "{bad:?}");
    }
}

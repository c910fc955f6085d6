//! Making policies and their versions, and activating one.

use act::ActError;
use admin::{
    Activation, ChangeError, CreatedOrg, Expected, KnownOrg, NewPolicy, NewVersion, OrgChange,
    PolicyError, lint,
};
use ledger::{
    Entry, Needs, Request, Snapshot,
    record::{PolicyMode, PolicyVersion},
};
use model::{Mint, PolicyId, PolicyVersionId};
use serde_json::json;

use crate::world::World;

const DENY_ALL: &str = "{ schema: 1, default: { outcome: deny }, rules: [] }";

/// Asks the ledger which version is enforced.
struct Enforced;

impl Request for Enforced {
    type Answer = Option<PolicyVersionId>;

    fn needs(&self, _: &Snapshot) -> Needs {
        Needs::default()
    }

    fn decide(&self, at: &Snapshot, _: &Mint<'_>) -> (Entry, Self::Answer) {
        let readable = at.policy(PolicyMode::Enforce).filter(|loaded| loaded.policy.is_some());
        (Entry::nothing(), readable.map(|loaded| loaded.active.version))
    }
}

async fn enforced(world: &World, org: &CreatedOrg) -> Option<PolicyVersionId> {
    world.ledger.enter(org.org.id, Enforced).await.unwrap()
}

async fn enforce(operator: &OrgChange<'_>, version: &PolicyVersion) -> Activation {
    let untested = operator.view().untested(version.policy, version.id).await.unwrap();
    Activation {
        version: untested.pass(&policy::Effort::unbounded()).unwrap(),
        mode: PolicyMode::Enforce,
        reason: "stricter".to_owned(),
        expected_active: Expected::Anything,
    }
}

fn of(policy: PolicyId, document: &str) -> NewVersion {
    NewVersion::of(
        policy,
        lint(document.to_owned(), &KnownOrg::default(), &policy::Effort::unbounded()).unwrap(),
    )
}

#[tokio::test]
async fn the_starter_policy_is_enforced_from_the_start() {
    let world = World::new();
    let created = world.org().await;
    assert_eq!(enforced(&world, &created).await, Some(created.version.id));
}

#[tokio::test]
async fn an_activated_version_decides_from_then_on() {
    let world = World::new();
    let created = world.org().await;
    let operator = world.operator(&created);
    let policy = operator.create_policy(NewPolicy::named("strict")).await.unwrap().object;
    let version = operator.create_policy_version(of(policy.id, DENY_ALL)).await.unwrap().object;
    assert_eq!(version.number, 1);
    assert_eq!(enforced(&world, &created).await, Some(created.version.id));
    operator.activate_policy(enforce(&operator, &version).await).await.unwrap();
    assert_eq!(enforced(&world, &created).await, Some(version.id));
    let admin = &world.last_body(&created)["admin"];
    assert_eq!(admin["event"], "policy.activated");
    assert_eq!(admin["data"]["mode"], "enforce");
    assert_eq!(admin["data"]["previous"], json!(created.version.id));
    assert_eq!(admin["data"]["digest"], json!(version.digest));
    let again = operator.activate_policy(enforce(&operator, &version).await).await;
    assert!(matches!(again, Err(PolicyError::Change(ChangeError::Act(ActError::Conflict(_))))));
}

#[tokio::test]
async fn a_shadow_leaves_the_enforced_version_in_place() {
    let world = World::new();
    let created = world.org().await;
    let operator = world.operator(&created);
    let version =
        operator.create_policy_version(of(created.policy.id, DENY_ALL)).await.unwrap().object;
    let shadow = Activation { mode: PolicyMode::Shadow, ..enforce(&operator, &version).await };
    operator.activate_policy(shadow).await.unwrap();
    assert_eq!(enforced(&world, &created).await, Some(created.version.id));
}

#[tokio::test]
async fn a_document_that_cannot_decide_is_refused_with_findings() {
    let world = World::new();
    let created = world.org().await;
    let operator = world.operator(&created);
    for document in ["", "{", "schema: 1\nrules: []\n", "schema: 9\n"] {
        let refused = operator.create_policy_version(of(created.policy.id, document)).await;
        let Err(PolicyError::Invalid(invalid)) = refused else { panic!("{refused:?}") };
        assert!(!invalid.findings.is_empty());
    }
    assert_eq!(world.sealed(created.org.id).len(), 6);
}

#[tokio::test]
async fn versions_are_numbered_without_gaps_however_their_authors_race() {
    let world = World::new();
    let created = world.org().await;
    let (here, there) = (world.second_instance(), world.second_instance());
    let (first, second) = (here.operator(&created), there.operator(&created));
    let policy = created.policy.id;
    let (one, two, three) = tokio::join!(
        first.create_policy_version(of(policy, DENY_ALL)),
        second.create_policy_version(of(policy, DENY_ALL)),
        first.create_policy_version(of(policy, policy::STARTER)),
    );
    let mut numbers = [one, two, three].map(|made| made.unwrap().object.number);
    numbers.sort_unstable();
    assert_eq!(numbers, [2, 3, 4]);
}

#[tokio::test]
async fn what_is_not_there_or_not_ours_cannot_be_used() {
    let world = World::new();
    let (ours, theirs) = (world.org().await, world.org().await);
    let operator = world.operator(&ours);
    let foreign = operator.create_policy_version(of(theirs.policy.id, DENY_ALL)).await;
    assert!(matches!(
        foreign,
        Err(PolicyError::Change(ChangeError::Act(ActError::NotFound("policy"))))
    ));
    let foreign = operator.view().untested(theirs.policy.id, theirs.version.id).await;
    assert!(matches!(
        foreign,
        Err(PolicyError::Change(ChangeError::Act(ActError::NotFound("policy"))))
    ));
    let foreign = operator.view().untested(ours.policy.id, theirs.version.id).await;
    assert!(matches!(
        foreign,
        Err(PolicyError::Change(ChangeError::Act(ActError::NotFound("policy version"))))
    ));
}

#[tokio::test]
async fn a_policys_name_is_taken_once() {
    let world = World::new();
    let created = world.org().await;
    let operator = world.operator(&created);
    let taken = operator.create_policy(NewPolicy::named("starter")).await;
    assert!(matches!(taken, Err(PolicyError::Change(ChangeError::NameTaken(_)))));
    let (one, two) = tokio::join!(
        operator.create_policy(NewPolicy::named("new")),
        operator.create_policy(NewPolicy::named("new"))
    );
    assert!(one.is_ok() != two.is_ok());
    let lost = one.err().or(two.err()).unwrap();
    assert!(matches!(lost, PolicyError::Change(ChangeError::NameTaken(_))), "{lost:?}");
}

//! How an org is run: who changes it, what the deed says, and what two do at once.

use act::{ActError, By};
use admin::{
    AccountStore as _, ChangeError, CreatedOrg, Expected, NewOrg, OrgAsRun, OrgEdit, OrgOwn, Wish,
};
use ledger::record::{ApprovalSettings, Member};
use model::{MemberId, Role, Timestamp, UserId, Uuid};
use serde_json::json;

use crate::world::{Owner, World, org_key};

fn own<'w>(world: &'w World, org: &CreatedOrg) -> OrgOwn<'w> {
    world.deployment().own(org.org.id)
}

fn named(name: &str) -> OrgEdit {
    OrgEdit { name: Some(name.to_owned()), ..OrgEdit::default() }
}

async fn run(world: &World, org: &CreatedOrg) -> OrgAsRun {
    world.operator(org).view().org().await.unwrap()
}

#[tokio::test]
async fn one_deed_names_what_changed() {
    let world = World::new();
    let org = world.org().await;
    let before = run(&world, &org).await;
    assert_eq!((before.revision, before.approvals), (1, ApprovalSettings::default()));
    let sealed = world.sealed(org.org.id).len();
    let edit = OrgEdit {
        time_zone: Some("asia/tokyo".to_owned()),
        retention_days: Some(365),
        default_expires_in: Wish::Becomes("90m".parse().unwrap()),
        expected_revision: Expected::Exactly(1),
        ..named("Acme Trading")
    };
    let changed = own(&world, &org).update_org(edit).await.unwrap();
    let body = world.last_body(&org);
    assert_eq!(world.sealed(org.org.id).len(), sealed + 1);
    assert_eq!(
        (&body["id"], &body["admin"]["event"]),
        (&json!(changed.deed), &json!("org.updated"))
    );
    let names = json!(["name", "time_zone", "approvals.default_expires_in"]);
    assert_eq!(body["admin"]["data"], json!({ "changed": names, "revision": 2 }));
    let after = run(&world, &org).await;
    assert_eq!((&after, after.revision), (&changed.object, 2));
    let record = world.store.org(org.org.id).await.unwrap().unwrap();
    assert_eq!((&*record.name, &*record.time_zone), ("Acme Trading", "Asia/Tokyo"));
    // What is taken away is the service's to say again.
    let edit = OrgEdit { default_expires_in: Wish::Goes, ..OrgEdit::default() };
    let changed = own(&world, &org).update_org(edit).await.unwrap().object;
    assert_eq!((changed.approvals.default_expires_in, changed.revision), (None, 3));
}

#[tokio::test]
async fn what_does_not_fit_or_changes_nothing_is_not_recorded() {
    let world = World::new();
    let org = world.org().await;
    let sealed = world.sealed(org.org.id);
    for (param, edit) in [
        ("name", OrgEdit::default()),
        ("name", OrgEdit { expected_revision: Expected::Exactly(1), ..OrgEdit::default() }),
        ("name", named(" padded")),
        ("name", named("")),
        ("time_zone", OrgEdit { time_zone: Some("Nowhere".to_owned()), ..OrgEdit::default() }),
        ("time_zone", OrgEdit { time_zone: Some("+02:00".to_owned()), ..OrgEdit::default() }),
        ("retention_days", OrgEdit { retention_days: Some(0), ..OrgEdit::default() }),
        ("retention_days", OrgEdit { retention_days: Some(3651), ..OrgEdit::default() }),
    ] {
        let refused = own(&world, &org).update_org(edit).await;
        let Err(ChangeError::Act(ActError::BadInput { param: blamed, .. })) = refused else {
            panic!("{refused:?}")
        };
        assert_eq!(blamed, param);
    }
    let same = OrgEdit {
        time_zone: Some("europe/zurich".to_owned()),
        retention_days: Some(365),
        require_other_person: Some(false),
        default_expires_in: Wish::Goes,
        ..named("Acme")
    };
    let refused = own(&world, &org).update_org(same).await;
    assert!(matches!(refused, Err(ChangeError::Act(ActError::Conflict(_)))), "{refused:?}");
    let late = OrgEdit { expected_revision: Expected::Exactly(2), ..named("Late") };
    let refused = own(&world, &org).update_org(late).await;
    let is_stale = matches!(
        refused,
        Err(ChangeError::Act(ActError::Stale { param: "expected_revision", .. }))
    );
    assert!(is_stale, "{refused:?}");
    assert_eq!(world.sealed(org.org.id), sealed);
}

#[tokio::test]
async fn of_two_changes_on_one_revision_one_is_made() {
    let world = World::new();
    let beside = world.second_instance();
    let org = world.org().await;
    let on = |days| OrgEdit {
        retention_days: Some(days),
        expected_revision: Expected::Exactly(1),
        ..OrgEdit::default()
    };
    let (here, there) = (own(&world, &org), own(&beside, &org));
    let (one, other) = tokio::join!(here.update_org(on(30)), there.update_org(on(60)));
    let (made, refused) = if one.is_ok() { (one, other) } else { (other, one) };
    assert!(matches!(refused, Err(ChangeError::Act(ActError::Stale { .. }))), "{refused:?}");
    assert_eq!(run(&world, &org).await, made.unwrap().object);
}

#[tokio::test]
async fn a_name_is_one_orgs_also_where_two_take_it_at_once() {
    let world = World::new();
    let beside = world.second_instance();
    let (acme, second) = (world.org().await, world.org().await);
    let taken = own(&world, &second).update_org(named("Acme")).await;
    assert!(matches!(taken, Err(ChangeError::NameTaken(ref name)) if name == "Acme"), "{taken:?}");
    let (here, there) = (own(&world, &acme), own(&beside, &second));
    let (one, other) =
        tokio::join!(here.update_org(named("Beta")), there.update_org(named("Beta")));
    let refused: Vec<_> = [one, other].into_iter().filter_map(Result::err).collect();
    assert!(matches!(refused.as_slice(), [ChangeError::NameTaken(_)]), "{refused:?}");
    // A name that was given up is free for an org that is made, too.
    let given_up = run(&world, &acme).await.org.name == "Beta";
    let name = if given_up { "Acme" } else { "Acme 1" }.to_owned();
    let new = NewOrg { name: name.clone(), time_zone: "UTC".to_owned() };
    let made = world.deployment().create_org(new).await.unwrap();
    assert_eq!(world.store.org_named(&name).await.unwrap(), Some(made.org.id));
    // Changing one's own name in its letters only is no clash.
    let holder = if given_up { &acme } else { &second };
    own(&world, holder).update_org(named("beta")).await.unwrap();
}

#[tokio::test]
async fn it_is_an_owners_to_change_and_no_keys() {
    let world = World::new();
    let org = world.org().await;
    let member = Member {
        id: MemberId::from_uuid(Uuid::from_u128(7)),
        org: org.org.id,
        user: UserId::from_uuid(Uuid::from_u128(8)),
        role: Role::Owner,
        can_approve: false,
        joined_at: Timestamp::EPOCH,
        role_since: Timestamp::EPOCH,
        removed_at: None,
        revision: 1,
    };
    let by = By::Member { member: member.id, user: member.user };
    let change = async |by, name: &str| {
        world.admin.own(&Owner(org.org.id, by)).update_org(named(name)).await
    };
    world.write(org.org.id, member.clone()).await;
    change(by, "Beta").await.unwrap();
    // Made less after they were let in.
    world.write(org.org.id, Member { role: Role::Admin, revision: 2, ..member }).await;
    let refused = change(by, "Gamma").await;
    assert!(matches!(refused, Err(ChangeError::Act(ActError::RoleRequired))), "{refused:?}");
    let key = world.operator(&org).create_org_key(org_key()).await.unwrap().key.object;
    let refused = change(By::OrgKey(key.id), "Gamma").await;
    assert!(matches!(refused, Err(ChangeError::Act(ActError::NotAllowed))), "{refused:?}");
    assert_eq!(run(&world, &org).await.org.name, "Beta");
}

//! Who joins an org, what they may do there, and how they go.

use std::{future::Future, time::Duration};

use act::{ActError, By, Changed};
use admin::{
    AgentEdit, ChangeError, CreatedOrg, Expected, INVITED_FOR, Joined, MemberEdit,
    MemberStore as _, NewAgent, NewInvite, Wish,
};
use futures_util::future::join_all;
use ledger::record::{Invite, Member};
use model::{Role, UserId, Uuid};
use serde_json::json;

use crate::world::{Actor, Owner, World, org_key};

fn person(n: u128) -> UserId {
    UserId::from_uuid(Uuid::from_u128(n))
}

fn asking(n: u128, role: Role) -> NewInvite {
    NewInvite { user: person(n), role, can_approve: false }
}

fn by(member: &Member) -> By {
    By::Member { member: member.id, user: member.user }
}

fn edit(role: Role) -> MemberEdit {
    MemberEdit { role: Some(role), can_approve: None, expected_revision: Expected::Anything }
}

async fn accepted(world: &World, invite: &Invite) -> Result<Joined, ChangeError> {
    world.admin.accept_invite((invite.org, invite.id), invite.user).await
}

async fn joined(world: &World, org: &CreatedOrg, n: u128, role: Role) -> Member {
    let invite = world.operator(org).invite(asking(n, role)).await.unwrap().object;
    accepted(world, &invite).await.unwrap().member
}

async fn both<T>(one: impl Future<Output = T>, other: impl Future<Output = T>) -> [T; 2] {
    let (one, other) = tokio::join!(one, other);
    [one, other]
}

#[tokio::test]
async fn two_browsers_that_accept_one_invitation_make_one_member() {
    let world = World::new();
    let beside = world.second_instance();
    let org = world.org().await;
    let invite = world.operator(&org).invite(asking(1, Role::Owner)).await.unwrap().object;
    let done = both(accepted(&world, &invite), accepted(&beside, &invite)).await;
    let done = done.map(|joined| joined.unwrap());
    assert_eq!(done[0].member, done[1].member);
    assert_eq!(done.iter().filter(|joined| joined.deed.is_some()).count(), 1);
    // Asking once more, after an answer that was lost, makes nobody else.
    let again = accepted(&world, &invite).await.unwrap();
    assert_eq!((again.member, again.deed), (done[0].member.clone(), None));
    let sealed = world.sealed(org.org.id);
    assert!(sealed.ends_with(&["invite.created".to_owned(), "member.added".to_owned()]));
    let body = world.last_body(&org);
    assert_eq!(body["actor"]["id"], person(1).to_string());
    assert_eq!(body["subject"]["id"], done[0].member.id.to_string());
}

#[tokio::test]
async fn an_invitation_is_for_one_person_and_one_week() {
    let world = World::new();
    let org = world.org().await;
    let operator = world.operator(&org);
    let invite = operator.invite(asking(1, Role::Viewer)).await.unwrap().object;
    let anothers = world.admin.accept_invite((invite.org, invite.id), person(2)).await;
    assert!(matches!(anothers, Err(ChangeError::InviteGone)), "{anothers:?}");
    let again = operator.invite(asking(1, Role::Admin)).await;
    assert!(matches!(again, Err(ChangeError::Act(ActError::Conflict(_)))), "{again:?}");
    world.clock.pass(INVITED_FOR);
    let late = accepted(&world, &invite).await;
    assert!(matches!(late, Err(ChangeError::InviteGone)), "{late:?}");
    // Whose time is over gives way to another.
    let second = operator.invite(asking(1, Role::Admin)).await.unwrap().object;
    let late = accepted(&world, &invite).await;
    assert!(matches!(late, Err(ChangeError::InviteGone)), "{late:?}");
    operator.resend_invite(second.id).await.unwrap();
    let revoked = operator.revoke_invite(second.id).await.unwrap().object;
    assert_eq!(revoked.status(revoked.created_at), "revoked");
    for gone in [accepted(&world, &second).await, accepted(&world, &invite).await] {
        assert!(matches!(gone, Err(ChangeError::InviteGone)), "{gone:?}");
    }
    let third = operator.invite(asking(1, Role::Admin)).await.unwrap().object;
    accepted(&world, &third).await.unwrap();
    let member = operator.invite(asking(1, Role::Viewer)).await;
    assert!(matches!(member, Err(ChangeError::AlreadyMember)), "{member:?}");
}

#[tokio::test]
async fn one_person_is_asked_once_by_two_who_ask_at_once() {
    let world = World::new();
    let beside = world.second_instance();
    let org = world.org().await;
    let (one, other) = (world.operator(&org), beside.operator(&org));
    let asked =
        both(one.invite(asking(1, Role::Admin)), other.invite(asking(1, Role::Admin))).await;
    let refused: Vec<_> = asked.into_iter().filter_map(Result::err).collect();
    assert!(matches!(refused.as_slice(), [ChangeError::Act(ActError::Conflict(_))]), "{refused:?}");
}

#[tokio::test]
async fn only_owners_make_owners_and_no_key_makes_anybody() {
    let world = World::new();
    let org = world.org().await;
    let key = world.operator(&org).create_org_key(org_key()).await.unwrap().key.object;
    let by_key = Actor(org.org.id, By::OrgKey(key.id));
    let refused = world.admin.change(&by_key).invite(asking(1, Role::Viewer)).await;
    assert!(matches!(refused, Err(ChangeError::PersonRequired)), "{refused:?}");
    let admin = joined(&world, &org, 1, Role::Admin).await;
    let by_admin = Actor(org.org.id, by(&admin));
    let refused = world.admin.change(&by_admin).invite(asking(2, Role::Owner)).await;
    assert!(matches!(refused, Err(ChangeError::OwnersGive("role"))), "{refused:?}");
    let decides = NewInvite { can_approve: true, ..asking(2, Role::Viewer) };
    let refused = world.admin.change(&by_admin).invite(decides).await;
    assert!(matches!(refused, Err(ChangeError::OwnersGive("can_approve"))), "{refused:?}");
    world.admin.change(&by_admin).invite(asking(2, Role::Admin)).await.unwrap();
    let viewer = joined(&world, &org, 3, Role::Viewer).await;
    let by_viewer = Actor(org.org.id, by(&viewer));
    let refused = world.admin.change(&by_viewer).invite(asking(4, Role::Viewer)).await;
    assert!(matches!(refused, Err(ChangeError::Act(ActError::RoleRequired))), "{refused:?}");
}

#[tokio::test]
async fn an_invitation_by_somebody_who_may_ask_no_more_brings_nobody_in() {
    let world = World::new();
    let org = world.org().await;
    let id = org.org.id;
    let ada = joined(&world, &org, 1, Role::Owner).await;
    let mallory = joined(&world, &org, 2, Role::Owner).await;
    let (of_ada, of_mallory) = (Owner(id, by(&ada)), Owner(id, by(&mallory)));
    let by_mallory = world.admin.change(&of_mallory);
    let as_owner = by_mallory.invite(asking(3, Role::Owner)).await.unwrap().object;
    let decides = NewInvite { can_approve: true, ..asking(5, Role::Viewer) };
    let decides = by_mallory.invite(decides).await.unwrap().object;
    let as_viewer = by_mallory.invite(asking(4, Role::Viewer)).await.unwrap().object;
    let of_another = world.admin.change(&of_ada).invite(asking(6, Role::Owner)).await.unwrap();
    let own = world.admin.own(&of_ada);
    let standing = async |invite: &Invite| {
        let kept = world.store.invite(id, invite.id).await.unwrap().unwrap();
        kept.status(kept.created_at)
    };
    own.update_member(mallory.id, edit(Role::Admin)).await.unwrap();
    // What only owners give is void, and the deed says what that was.
    let mut void = [as_owner.id, decides.id];
    void.sort_unstable();
    let data = world.last_body(&org)["admin"]["data"].clone();
    assert_eq!([&data["invites"], &data["invites_revoked"]], [&json!(void), &json!(2)], "{data}");
    for invite in [&as_owner, &decides] {
        assert_eq!(standing(invite).await, "revoked");
        let refused = accepted(&world, invite).await;
        assert!(matches!(refused, Err(ChangeError::InviteGone)), "{refused:?}");
    }
    assert_eq!(standing(&as_viewer).await, "pending");
    own.remove_member(mallory.id, Expected::Anything).await.unwrap();
    let data = world.last_body(&org)["admin"]["data"].clone();
    assert_eq!(data["invites"], json!([as_viewer.id]), "{data}");
    assert_eq!(standing(&as_viewer).await, "revoked");
    let refused = accepted(&world, &as_viewer).await;
    assert!(matches!(refused, Err(ChangeError::InviteGone)), "{refused:?}");
    assert_eq!(standing(&of_another.object).await, "pending");
    let told = ["invite.revoked", "invite.revoked", "member.updated", "invite.revoked"];
    assert_eq!(world.sealed(id).iter().rev().skip(1).take(4).rev().collect::<Vec<_>>(), told);
    // Whoever may ask asks anew.
    let anew = world.admin.change(&of_ada).invite(asking(4, Role::Viewer)).await.unwrap().object;
    accepted(&world, &anew).await.unwrap();
}

#[tokio::test]
async fn an_invitation_that_counts_no_more_keeps_nobody_from_being_asked() {
    let world = World::new();
    let org = world.org().await;
    let id = org.org.id;
    let ada = joined(&world, &org, 1, Role::Owner).await;
    let admin = joined(&world, &org, 2, Role::Admin).await;
    // An admin could ask this before owners alone could.
    let before = world.operator(&org).invite(asking(3, Role::Viewer)).await.unwrap().object;
    let before = Invite { can_approve: true, invited_by: admin.id.to_string(), ..before };
    world.write(id, before.clone()).await;
    let refused = accepted(&world, &before).await;
    assert!(matches!(refused, Err(ChangeError::InviteGone)), "{refused:?}");
    let of_ada = Owner(id, by(&ada));
    let resent = world.admin.change(&of_ada).resend_invite(before.id).await;
    assert!(matches!(resent, Err(ChangeError::Act(ActError::Conflict(_)))), "{resent:?}");
    let anew = world.admin.change(&of_ada).invite(asking(3, Role::Viewer)).await.unwrap().object;
    assert!(world.sealed(id).contains(&"invite.revoked".to_owned()), "it gave way to another");
    accepted(&world, &anew).await.unwrap();
}

#[tokio::test]
async fn what_somebody_asks_for_while_their_role_ends_ends_with_it() {
    for _ in 0..8 {
        let world = World::new();
        let beside = world.second_instance();
        let org = world.org().await;
        let id = org.org.id;
        let ada = joined(&world, &org, 1, Role::Owner).await;
        let mallory = joined(&world, &org, 2, Role::Owner).await;
        let (of_ada, of_mallory) = (Owner(id, by(&ada)), Owner(id, by(&mallory)));
        let (own, asks) = (world.admin.own(&of_ada), beside.admin.change(&of_mallory));
        let asked = join_all((10..30).map(|n| asks.invite(asking(n, Role::Owner))));
        let (asked, end) = tokio::join!(asked, own.update_member(mallory.id, edit(Role::Viewer)));
        end.unwrap();
        for made in asked.into_iter().filter_map(Result::ok) {
            let kept = world.store.invite(id, made.object.id).await.unwrap().unwrap();
            assert_eq!(kept.status(kept.created_at), "revoked");
        }
    }
}

/// Lets a member ask as many to join as may be asked in one hour.
async fn asks_for_an_hour(world: &World, asks: &Actor, from: u128) {
    for n in from..from + 60 {
        world.admin.change(asks).invite(asking(n, Role::Viewer)).await.unwrap();
    }
    let refused = world.admin.change(asks).invite(asking(from + 60, Role::Viewer)).await;
    let Err(ChangeError::TooOften { left, .. }) = refused else { panic!("{refused:?}") };
    assert_eq!(left, Duration::from_hours(1));
    let early = world.admin.change(asks).may_invite().await;
    assert!(matches!(early, Err(ChangeError::TooOften { .. })), "{early:?}");
    world.clock.pass(left);
}

#[tokio::test]
async fn an_org_asks_no_more_than_two_hundred_people_at_one_time() {
    let world = World::new();
    let org = world.org().await;
    let id = org.org.id;
    let admin = joined(&world, &org, 1, Role::Admin).await;
    let ada = joined(&world, &org, 2, Role::Owner).await;
    let asks = Actor(id, by(&admin));
    world.clock.pass(Duration::from_hours(1));
    for hour in 0..3 {
        asks_for_an_hour(&world, &asks, 1_000 + 100 * hour).await;
    }
    let change = world.admin.change(&asks);
    for n in 0..20 {
        change.invite(asking(2_000 + n, Role::Viewer)).await.unwrap();
    }
    let full =
        [change.invite(asking(3_000, Role::Viewer)).await.map(drop), change.may_invite().await];
    for refused in full {
        assert!(matches!(refused, Err(ChangeError::LimitReached(_))), "{refused:?}");
    }
    // Whoever runs the deployment is held up by nobody.
    let operators = world.operator(&org).invite(asking(3_001, Role::Owner)).await.unwrap().object;
    for n in 0..2 {
        let open = world.store.open_invite(id, person(2_000 + n)).await.unwrap().unwrap();
        change.revoke_invite(open.id).await.unwrap();
    }
    change.invite(asking(3_002, Role::Viewer)).await.unwrap();
    assert!(change.may_invite().await.is_err());
    // All of them end with whoever made them. A deed names as many as it has room for.
    world
        .admin
        .own(&Owner(id, by(&ada)))
        .remove_member(admin.id, Expected::Anything)
        .await
        .unwrap();
    let data = world.last_body(&org)["admin"]["data"].clone();
    assert_eq!(data["invites_revoked"], 199);
    assert_eq!(data["invites"].as_array().unwrap().len(), 100);
    assert!(data.to_string().len() <= 4_096, "{data}");
    let revoked = world.sealed(id).iter().filter(|kind| *kind == "invite.revoked").count();
    assert_eq!(revoked, 2 + 199);
    accepted(&world, &operators).await.unwrap();
}

#[tokio::test]
async fn of_those_who_ask_at_once_over_two_instances_none_is_one_too_many() {
    let world = World::new();
    let beside = world.second_instance();
    let org = world.org().await;
    let admin = joined(&world, &org, 1, Role::Admin).await;
    let asks = Actor(org.org.id, by(&admin));
    let (one, other) = (world.admin.change(&asks), beside.admin.change(&asks));
    let asked = (0..100).map(|n| {
        let of = if n % 2 == 0 { &one } else { &other };
        of.invite(asking(1_000 + n, Role::Viewer))
    });
    let made = join_all(asked).await;
    // The one that the admin came by was made within the hour, too.
    assert_eq!(made.iter().filter(|made| made.is_ok()).count(), 59);
    for refused in made.into_iter().filter_map(Result::err) {
        assert!(matches!(refused, ChangeError::TooOften { .. }), "{refused:?}");
    }
}

#[tokio::test]
async fn the_last_owner_stays_whoever_goes_at_once() {
    for seed in 0..8 {
        let world = World::new();
        let beside = world.second_instance();
        let org = world.org().await;
        let id = org.org.id;
        let one = joined(&world, &org, 1, Role::Owner).await;
        let alone = world.admin.leave(&Actor(id, by(&one)), Expected::Anything).await;
        assert!(matches!(alone, Err(ChangeError::LastOwner)), "{alone:?}");
        let two = joined(&world, &org, 2, Role::Owner).await;
        let (of_one, of_two) = (Owner(id, by(&one)), Owner(id, by(&two)));
        let outcomes = match seed % 3 {
            0 => {
                both(
                    world.admin.leave(&of_one, Expected::Anything),
                    beside.admin.leave(&of_two, Expected::Anything),
                )
                .await
            }
            1 => {
                let (a, b) = (world.admin.own(&of_one), beside.admin.own(&of_two));
                both(
                    a.update_member(two.id, edit(Role::Viewer)),
                    b.update_member(one.id, edit(Role::Viewer)),
                )
                .await
            }
            _ => {
                let own = world.admin.own(&of_one);
                both(
                    own.remove_member(two.id, Expected::Anything),
                    beside.admin.leave(&of_one, Expected::Anything),
                )
                .await
            }
        };
        let went = outcomes.iter().filter(|outcome| outcome.is_ok()).count();
        assert_eq!(went, 1, "{outcomes:?}");
        let left = world.store.members(id, None, 9).await.unwrap();
        assert_eq!(left.iter().filter(|member| member.role == Role::Owner).count(), 1);
    }
}

#[tokio::test]
async fn what_an_owner_changes_of_another_is_sealed_and_seen_by_their_next_turn() {
    let world = World::new();
    let org = world.org().await;
    let id = org.org.id;
    let one = joined(&world, &org, 1, Role::Owner).await;
    let two = joined(&world, &org, 2, Role::Owner).await;
    let (of_one, of_two) = (Owner(id, by(&one)), Owner(id, by(&two)));
    let own = world.admin.own(&of_one);
    let mine = own.update_member(one.id, edit(Role::Viewer)).await;
    assert!(matches!(mine, Err(ChangeError::SelfChange)), "{mine:?}");
    let stale = MemberEdit { expected_revision: Expected::Exactly(9), ..edit(Role::Admin) };
    let stale = own.update_member(two.id, stale).await;
    assert!(matches!(stale, Err(ChangeError::Act(ActError::Conflict(_)))), "{stale:?}");
    let nothing = MemberEdit { role: None, ..edit(Role::Admin) };
    let nothing = own.update_member(two.id, nothing).await;
    assert!(matches!(nothing, Err(ChangeError::Act(ActError::BadInput { .. }))), "{nothing:?}");
    let Changed { object, .. } = own.update_member(two.id, edit(Role::Admin)).await.unwrap();
    assert_eq!((object.role, object.revision), (Role::Admin, 2));
    let demoted = world.admin.own(&of_two).remove_member(one.id, Expected::Anything).await;
    assert!(matches!(demoted, Err(ChangeError::Act(ActError::RoleRequired))), "{demoted:?}");
    world
        .admin
        .change(&of_two)
        .stop_org("It ran wild.", model::PendingApprovals::Void)
        .await
        .unwrap();
    own.remove_member(two.id, Expected::Exactly(2)).await.unwrap();
    let gone = world.admin.change(&of_two).start_org("It is mended.").await;
    assert!(matches!(gone, Err(ChangeError::Act(ActError::NotAllowed))), "{gone:?}");
    assert!(world.admin.view(&of_one).member(two.id).await.is_err());
    let sealed = world.sealed(id);
    let told = ["member.updated", "org.stopped", "member.removed"].map(str::to_owned);
    assert!(sealed.ends_with(&told), "{sealed:?}");
    // Who comes back is another member.
    let back = joined(&world, &org, 2, Role::Viewer).await;
    assert_ne!(back.id, two.id);
}

#[tokio::test]
async fn members_of_another_org_are_not_there() {
    let world = World::new();
    let (ours, theirs) = (world.org().await, world.org().await);
    let one = joined(&world, &ours, 1, Role::Owner).await;
    let other = joined(&world, &theirs, 2, Role::Owner).await;
    let asked = world.operator(&theirs).invite(asking(3, Role::Viewer)).await.unwrap().object;
    let owner = Owner(ours.org.id, by(&one));
    let own = world.admin.own(&owner);
    let not_there = [
        world.admin.view(&owner).member(other.id).await.map(drop),
        own.update_member(other.id, edit(Role::Viewer)).await.map(drop),
        own.remove_member(other.id, Expected::Anything).await.map(drop),
        world.admin.change(&owner).revoke_invite(asked.id).await.map(drop),
        world.admin.change(&owner).resend_invite(asked.id).await.map(drop),
    ];
    for refused in not_there {
        assert!(matches!(refused, Err(ChangeError::Act(ActError::NotFound(_)))), "{refused:?}");
    }
    let gone = world.admin.accept_invite((ours.org.id, asked.id), person(3)).await;
    assert!(matches!(gone, Err(ChangeError::InviteGone)), "{gone:?}");
    world.clock.pass(Duration::from_secs(1));
    assert_eq!(world.admin.view(&owner).members(None, 9).await.unwrap().items, [one]);
}

#[tokio::test]
async fn of_the_members_owners_alone_make_roll_and_revoke_org_keys() {
    let world = World::new();
    let org = world.org().await;
    let key = world.operator(&org).create_org_key(org_key()).await.unwrap().key.object.id;
    for (n, role, may) in
        [(1, Role::Owner, true), (2, Role::Admin, false), (3, Role::Viewer, false)]
    {
        let member = joined(&world, &org, n, role).await;
        // Whatever an access rule took them for, the turn knows who they are.
        let asks = world.admin.change(&Owner(org.org.id, by(&member)));
        let made = asks.create_org_key(org_key()).await;
        let rolled = asks.roll_org_key(key, Duration::from_mins(1)).await;
        assert_eq!([made.is_ok(), rolled.is_ok()], [may; 2], "{role:?}: {made:?} {rolled:?}");
        let revoked = match made {
            Ok(made) => asks.revoke_key(made.key.object.id).await,
            Err(_) => asks.revoke_key(key).await,
        };
        let refused = matches!(revoked, Err(ChangeError::Act(ActError::RoleRequired)));
        assert_eq!((revoked.is_ok(), refused), (may, !may), "{role:?}: {revoked:?}");
    }
}

#[tokio::test]
async fn an_agents_owner_is_a_member_at_the_turn_that_names_them() {
    let world = World::new();
    let org = world.org().await;
    let operator = world.operator(&org);
    let ada = joined(&world, &org, 1, Role::Owner).await;
    let bob = joined(&world, &org, 2, Role::Viewer).await;
    let new = NewAgent { owner: Some(bob.id), ..NewAgent::named("night") };
    let agent = operator.create_agent(new).await.unwrap().object;
    assert_eq!(agent.owner, Some(bob.id));
    let owner = |owner| AgentEdit { owner, ..AgentEdit::default() };
    let change = async |id, edit| operator.update_agent(id, edit).await.map(|made| made.object);
    world
        .admin
        .own(&Owner(org.org.id, by(&ada)))
        .remove_member(bob.id, Expected::Anything)
        .await
        .unwrap();
    // Who went is named still, and can be named no more.
    let renamed = AgentEdit { name: Some("dusk".to_owned()), ..AgentEdit::default() };
    assert_eq!(change(agent.id, renamed).await.unwrap().owner, Some(bob.id));
    let elsewhere = world.org().await;
    let stranger = joined(&world, &elsewhere, 3, Role::Owner).await;
    for nobody in [bob.id, stranger.id] {
        let refused = change(agent.id, owner(Wish::Becomes(nobody))).await;
        assert!(
            matches!(refused, Err(ChangeError::Act(ActError::BadInput { param: "owner", .. }))),
            "{refused:?}"
        );
        let new = NewAgent { owner: Some(nobody), ..NewAgent::named("other") };
        assert!(operator.create_agent(new).await.is_err());
    }
    let changed = change(agent.id, owner(Wish::Becomes(ada.id))).await.unwrap();
    assert_eq!((changed.owner, changed.revision), (Some(ada.id), 3));
    assert_eq!(change(agent.id, owner(Wish::Goes)).await.unwrap().owner, None);
}

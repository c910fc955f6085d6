//! The people of orgs.

use std::time::Duration;

use admin::{Inviting, Membership};
use ledger::{
    Changes, Needs,
    record::{Invite, InviteMail, Member, Org},
};
use model::{InviteId, MailJobId, MemberId, Role, Timestamp, UserId};

use super::Store;
use crate::Scribe;

pub(super) async fn check(store: &dyn Store) {
    a_member_is_kept_in_their_last_form_and_in_their_own_org(store).await;
    a_person_is_in_an_org_once_at_a_time(store).await;
    a_persons_orgs_are_found_by_name(store).await;
    members_and_owners_are_listed_while_they_are_in_the_org(store).await;
    an_invitation_is_kept_in_its_last_form_and_a_person_is_asked_once(store).await;
    the_invitations_that_count_are_found_with_how_many_were_made(store).await;
}

fn member(scribe: &Scribe, user: UserId, role: Role) -> Member {
    Member {
        id: scribe.mint().id(MemberId::from_uuid),
        org: scribe.org,
        user,
        role,
        can_approve: role == Role::Admin,
        joined_at: scribe.now,
        role_since: scribe.now,
        removed_at: None,
        revision: 1,
    }
}

fn person(scribe: &Scribe) -> UserId {
    scribe.mint().id(UserId::from_uuid)
}

fn gone(member: &Member, at: Timestamp) -> Member {
    Member { removed_at: Some(at), revision: member.revision + 1, ..member.clone() }
}

async fn a_member_is_kept_in_their_last_form_and_in_their_own_org(store: &dyn Store) {
    let mut scribe = Scribe::created(940, store).await;
    let other = Scribe::created(941, store).await;
    let first = member(&scribe, person(&scribe), Role::Viewer);
    let last = Member {
        role: Role::Owner,
        can_approve: true,
        role_since: scribe.now + Duration::from_secs(5),
        revision: 7,
        ..first.clone()
    };
    scribe.append(store, [first, last.clone()].map(Changes::from).to_vec()).await.unwrap();
    let needs = Needs { members: [last.id].into(), ..Needs::default() };
    assert_eq!(store.load(scribe.org, &needs).await.unwrap().members, std::slice::from_ref(&last));
    assert!(store.load(other.org, &needs).await.unwrap().members.is_empty());
    assert_eq!(store.member(scribe.org, last.id).await.unwrap(), Some(last.clone()));
    assert_eq!(store.member(other.org, last.id).await.unwrap(), None);
    let of = async |org| store.member_of(org, last.user).await.unwrap();
    assert_eq!(of(scribe.org).await, Some(last.clone()));
    assert_eq!(of(other.org).await, None);
    let left = gone(&last, scribe.now);
    scribe.append(store, vec![left.clone().into()]).await.unwrap();
    assert_eq!(of(scribe.org).await, None);
    assert_eq!(store.member(scribe.org, last.id).await.unwrap(), Some(left));
}

async fn a_person_is_in_an_org_once_at_a_time(store: &dyn Store) {
    let mut scribe = Scribe::created(942, store).await;
    let one = member(&scribe, person(&scribe), Role::Admin);
    scribe.append(store, vec![one.clone().into()]).await.unwrap();
    let again = member(&scribe, one.user, Role::Viewer);
    let refused = store.append(&scribe.turn(vec![Changes::from(again.clone())])).await;
    assert!(matches!(refused, Err(ledger::AppendError::Refused(_))), "{refused:?}");
    // Who left comes back as another member.
    let back: Vec<Changes> = vec![gone(&one, scribe.now).into(), again.clone().into()];
    scribe.append(store, back).await.unwrap();
    assert_eq!(store.member_of(scribe.org, one.user).await.unwrap(), Some(again));
}

async fn a_persons_orgs_are_found_by_name(store: &dyn Store) {
    let (mut one, mut two) = (Scribe::created(943, store).await, Scribe::created(944, store).await);
    let user = person(&one);
    let mut found = Vec::new();
    for scribe in [&mut one, &mut two] {
        let joined = member(scribe, user, Role::Viewer);
        scribe.append(store, vec![joined.clone().into()]).await.unwrap();
        found.push(Membership { member: joined, org_name: scribe.org_row().name });
    }
    found.sort_by(|one, other| one.org_name.cmp(&other.org_name));
    assert_eq!(store.memberships(user).await.unwrap(), found);
    let left = gone(&store.member_of(one.org, user).await.unwrap().unwrap(), one.now);
    one.append(store, vec![left.into()]).await.unwrap();
    found.retain(|membership| membership.member.org == two.org);
    assert_eq!(store.memberships(user).await.unwrap(), found);
    assert!(store.memberships(person(&two)).await.unwrap().is_empty());
}

async fn members_and_owners_are_listed_while_they_are_in_the_org(store: &dyn Store) {
    let mut scribe = Scribe::created(945, store).await;
    let start = scribe.now;
    let mut members = Vec::new();
    for (age, role) in [(3, Role::Owner), (2, Role::Viewer), (1, Role::Owner), (0, Role::Owner)] {
        scribe.now = start.before(Duration::from_hours(age));
        members.push(member(&scribe, person(&scribe), role));
    }
    scribe.now = start;
    members[3] = gone(&members[3], start);
    let rows = members.iter().cloned().map(Changes::from).collect::<Vec<_>>();
    scribe.append(store, rows).await.unwrap();
    let [first, second, third, _] = &members[..] else { unreachable!() };
    let page = async |after: Option<&Member>, limit| {
        let after = after.map(|member| (member.joined_at, member.id));
        store.members(scribe.org, after, limit).await.unwrap()
    };
    assert_eq!(page(None, 2).await, [third.clone(), second.clone()]);
    assert_eq!(page(Some(second), 2).await, std::slice::from_ref(first));
    let owners = async |but: &Member| store.owners_but(scribe.org, but.id, 9).await.unwrap();
    assert_eq!(owners(first).await, [third.id]);
    assert_eq!(owners(second).await.len(), 2);
    assert_eq!(store.owners_but(scribe.org, second.id, 1).await.unwrap().len(), 1);
}

async fn an_invitation_is_kept_in_its_last_form_and_a_person_is_asked_once(store: &dyn Store) {
    let mut scribe = Scribe::created(946, store).await;
    let other = Scribe::created(947, store).await;
    let invite = |scribe: &Scribe, user| Invite {
        id: scribe.mint().id(InviteId::from_uuid),
        org: scribe.org,
        user,
        role: Role::Admin,
        can_approve: true,
        invited_by: "operator".to_owned(),
        created_at: scribe.now,
        expires_at: scribe.now + Duration::from_hours(1),
        closed_at: None,
        member: None,
    };
    let first = invite(&scribe, person(&scribe));
    let job = scribe.mint().id(MailJobId::from_uuid);
    let mail = InviteMail { job, invite: first.id, run_at: scribe.now };
    scribe.append(store, vec![first.clone().into(), mail.into()]).await.unwrap();
    let again = invite(&scribe, first.user);
    let refused = store.append(&scribe.turn(vec![Changes::from(again.clone())])).await;
    assert!(matches!(refused, Err(ledger::AppendError::Refused(_))), "{refused:?}");
    let found = async |org| store.open_invite(org, first.user).await.unwrap();
    assert_eq!(found(scribe.org).await.as_ref(), Some(&first));
    assert_eq!(found(other.org).await, None);
    let needs = Needs { invites: [first.id].into(), ..Needs::default() };
    assert!(store.load(other.org, &needs).await.unwrap().invites.is_empty());
    let member = Some(scribe.mint().id(MemberId::from_uuid));
    let closed = Invite { closed_at: Some(scribe.now), member, ..first.clone() };
    // In one turn one is closed and the next is made.
    scribe.append(store, vec![again.clone().into(), closed.clone().into()]).await.unwrap();
    let kept = store.load(scribe.org, &needs).await.unwrap().invites;
    assert_eq!(kept, std::slice::from_ref(&closed));
    assert_eq!(found(scribe.org).await, Some(again.clone()));
    assert_eq!(store.invite(scribe.org, closed.id).await.unwrap(), Some(closed.clone()));
    assert_eq!(store.invite(other.org, closed.id).await.unwrap(), None);
    let page = store.invites(scribe.org, None, 1).await.unwrap();
    let place = page.last().map(|invite| (invite.created_at, invite.id));
    let rest = store.invites(scribe.org, place, 9).await.unwrap();
    let mut both = [again, closed];
    both.sort_by_key(|invite| std::cmp::Reverse((invite.created_at, invite.id)));
    assert_eq!([page, rest].concat(), both);
}

async fn the_invitations_that_count_are_found_with_how_many_were_made(store: &dyn Store) {
    let mut scribe = Scribe::created(954, store).await;
    let now = scribe.now;
    let ago = |minutes| now.before(Duration::from_mins(minutes));
    let mut made = |minutes: u64, closed: bool| {
        scribe.now = ago(minutes);
        let invite = Invite {
            id: scribe.mint().id(InviteId::from_uuid),
            org: scribe.org,
            user: person(&scribe),
            role: Role::Viewer,
            can_approve: false,
            invited_by: "operator".to_owned(),
            created_at: scribe.now,
            expires_at: now + Duration::from_hours(1),
            closed_at: closed.then_some(now),
            member: None,
        };
        scribe.now = now;
        invite
    };
    let open = [made(1, false), made(50, false)];
    let closed_lately = made(9, true);
    let others = [made(60, false), made(61, false), made(10, true), made(50, true)];
    let org = Org { invites_made: 7, ..scribe.org_row() };
    let kept = open.iter().chain([&closed_lately]).chain(&others);
    let rows = kept.map(|invite| Changes::from(invite.clone())).chain([org.into()]);
    scribe.append(store, rows.collect::<Vec<_>>()).await.unwrap();
    let [one, two] = open;
    let mut counted = [one, two, closed_lately];
    counted.sort_by_key(|invite| invite.id);
    let mut found = store.inviting(scribe.org, (ago(60), ago(10))).await.unwrap();
    found.invites.sort_by_key(|invite| invite.id);
    assert_eq!(found, Inviting { made: 7, invites: counted.to_vec() });
    // Nothing is found, and all the same it is told how many were made.
    let none = store.inviting(scribe.org, (now, now)).await.unwrap();
    assert_eq!(none, Inviting { made: 7, invites: Vec::new() });
    let other = Scribe::created(955, store).await;
    let none = store.inviting(other.org, (ago(60), ago(60))).await.unwrap();
    assert_eq!(none, Inviting::default());
}

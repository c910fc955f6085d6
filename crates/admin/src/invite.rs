//! Asking people to join an org, and their joining.
//!
//! Whom an address belongs to is settled before: here a person is an id.

use std::time::Duration;

use act::{Act, ActError, By, Changed, Fact, Record};
use deed::Subject;
use ledger::{
    LedgerError, Needs, Snapshot,
    record::{Invite, InviteMail, Member},
};
use model::{DeedId, EventType, InviteId, MailJobId, MemberId, OrgId, Role, Timestamp, UserId};
use serde_json::json;

use crate::{Admin, ChangeError, OrgChange, OrgView, Page, member};

/// How long an invitation may be accepted.
pub const INVITED_FOR: Duration = Duration::from_hours(7 * 24);

/// Whom an org asks to join, and as what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NewInvite {
    /// Who is asked.
    pub user: UserId,
    /// What they will be; only an owner makes owners.
    pub role: Role,
    /// Whether they will say yes or no to what waits for a person.
    pub can_approve: bool,
}

/// Somebody who is in an org now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Joined {
    /// Who they are there.
    pub member: Member,
    /// The deed that they joined; none where an earlier answer told of it.
    pub deed: Option<DeedId>,
}

impl OrgView<'_> {
    /// Returns invitations behind this place, newest first.
    pub async fn invites(
        &self,
        after: Option<(Timestamp, InviteId)>,
        limit: usize,
    ) -> Result<Page<Invite>, ChangeError> {
        let store = &self.admin.parts.store;
        Ok(Page::of(store.invites(self.org, after, limit.saturating_add(1)).await?, limit))
    }
}

impl OrgChange<'_> {
    /// Asks somebody to join, by a mail that is sent from then on.
    pub async fn invite(&self, new: NewInvite) -> Result<Changed<Invite>, ChangeError> {
        self.by_a_person()?;
        let store = &self.admin.parts.store;
        if store.member_of(self.org, new.user).await?.is_some() {
            return Err(ChangeError::AlreadyMember);
        }
        let stale = store.open_invite(self.org, new.user).await?;
        let room = self.room().await?;
        let mint = self.admin.mint();
        let (id, job) = (mint.id(InviteId::from_uuid), mint.id(MailJobId::from_uuid));
        let (org, by) = (self.org, self.by);
        let mut needs = room.needs();
        needs.members.extend(stale.as_ref().and_then(inviter));
        let stale = stale.map(|invite| invite.id);
        needs.invites.extend(stale);
        let made = self.turn(needs, None, move |at, record| {
            only_owners_give(by, (new.role, new.can_approve), at)?;
            if let Some(stale) = stale.and_then(|id| at.invite(id)) {
                if stale.is_open(at.now()) && is_still_asked(stale, at) {
                    return Err(ActError::Conflict(ASKED).into());
                }
                give_way(stale, at, record);
            }
            room.take(by, at, record)?;
            let invite = Invite {
                id,
                org,
                user: new.user,
                role: new.role,
                can_approve: new.can_approve,
                invited_by: by.to_string(),
                created_at: at.now(),
                expires_at: at.now() + INVITED_FOR,
                closed_at: None,
                member: None,
            };
            record.write(InviteMail { job, invite: id, run_at: at.now() });
            Ok(changed(record, EventType::InviteCreated, None, invite))
        });
        match made.await {
            // The store's unique key is the second guard: of two who ask at once, one is refused.
            Err(ChangeError::Act(ActError::Ledger(LedgerError::Fault)))
                if store.open_invite(self.org, new.user).await?.map(|open| open.id) != stale =>
            {
                Err(ActError::Conflict(ASKED).into())
            }
            made => made,
        }
    }

    /// Refuses, as [`OrgChange::invite`] does, where as many are asked as may be. Whoever must look up
    /// somebody first asks this before.
    pub async fn may_invite(&self) -> Result<(), ChangeError> {
        self.by_a_person()?;
        self.room().await?.check(self.by, self.admin.parts.clock.now())
    }

    /// Takes an invitation back.
    pub async fn revoke_invite(&self, id: InviteId) -> Result<Changed<Invite>, ChangeError> {
        self.by_a_person()?;
        let by = self.by;
        let revoked = self.turn(needed(id), None, move |at, record| {
            let before = at.invite(id).ok_or(ActError::NotFound("invitation"))?;
            if !before.is_open(at.now()) {
                return Err(not_pending());
            }
            if before.role == Role::Owner && !member::is_owner(by, at) {
                return Err(ActError::RoleRequired.into());
            }
            let after = Invite { closed_at: Some(at.now()), ..before.clone() };
            Ok(changed(record, EventType::InviteRevoked, Some(before), after))
        });
        revoked.await
    }

    /// Has the mail of an invitation sent once more; it stays what it is, and lasts no longer.
    pub async fn resend_invite(&self, id: InviteId) -> Result<Invite, ChangeError> {
        self.by_a_person()?;
        let by = self.by;
        let job = self.admin.mint().id(MailJobId::from_uuid);
        let mut needs = needed(id);
        let invite = self.admin.parts.store.invite(self.org, id).await?;
        needs.members.extend(invite.as_ref().and_then(inviter));
        let sent = self.turn(needs, None, move |at, record| {
            let invite = at.invite(id).ok_or(ActError::NotFound("invitation"))?;
            if !invite.is_open(at.now()) || !is_still_asked(invite, at) {
                return Err(not_pending());
            }
            if is_owners(invite) && !member::is_owner(by, at) {
                return Err(ActError::RoleRequired.into());
            }
            record.write(InviteMail { job, invite: id, run_at: at.now() });
            Ok(invite.clone())
        });
        sent.await
    }
}

impl Admin {
    /// Makes the person whom an invitation asks a member; however often it is asked for, they are one
    /// member.
    pub async fn accept_invite(
        &self,
        (org, id): (OrgId, InviteId),
        user: UserId,
    ) -> Result<Joined, ChangeError> {
        let invite = self.parts.store.invite(org, id).await?.filter(|invite| invite.user == user);
        let invite = invite.ok_or(ChangeError::InviteGone)?;
        if let Some(member) = invite.member {
            return self.joined_before(org, member).await;
        }
        if self.parts.store.member_of(org, user).await?.is_some() {
            return Err(ChangeError::AlreadyMember);
        }
        let member = self.mint().id(MemberId::from_uuid);
        let mut needs = needed(id);
        needs.members.extend(inviter(&invite));
        let act = Act::new(By::Person(user), move |at: &Snapshot, record: &mut Record<'_>| {
            join((id, user), member, at, record)
        });
        match act.of_anybody().needing(needs).enter(&self.parts.ledger, org).await {
            // They joined by another invitation meanwhile; the store's unique key saw it.
            Err(ChangeError::Act(ActError::Ledger(LedgerError::Fault)))
                if self.parts.store.member_of(org, user).await?.is_some() =>
            {
                Err(ChangeError::AlreadyMember)
            }
            Ok(Accepted::Now(joined)) => Ok(joined),
            Ok(Accepted::Before(member)) => self.joined_before(org, member).await,
            Err(error) => Err(error),
        }
    }

    async fn joined_before(&self, org: OrgId, id: MemberId) -> Result<Joined, ChangeError> {
        let member = self.parts.store.member(org, id).await?.filter(Member::is_live);
        let member = member.ok_or(ChangeError::InviteGone)?;
        Ok(Joined { member, deed: None })
    }
}

/// What became of an invitation that somebody accepts.
enum Accepted {
    /// They joined.
    Now(Joined),
    /// They had joined as this member.
    Before(MemberId),
}

fn join(
    (id, user): (InviteId, UserId),
    member: MemberId,
    at: &Snapshot,
    record: &mut Record<'_>,
) -> Result<Accepted, ChangeError> {
    let invite = at.invite(id).filter(|invite| invite.user == user);
    let invite = invite.ok_or(ChangeError::InviteGone)?;
    if let Some(member) = invite.member {
        return Ok(Accepted::Before(member));
    }
    if !invite.is_open(at.now()) || !is_still_asked(invite, at) {
        return Err(ChangeError::InviteGone);
    }
    let joined = Member {
        id: member,
        org: invite.org,
        user,
        role: invite.role,
        can_approve: invite.can_approve,
        joined_at: at.now(),
        role_since: at.now(),
        removed_at: None,
        revision: 1,
    };
    record.write(Invite { closed_at: Some(at.now()), member: Some(member), ..invite.clone() });
    let Changed { object, deed } =
        member::changed(record, EventType::MemberAdded, (None, joined), &[]);
    Ok(Accepted::Now(Joined { member: object, deed: Some(deed) }))
}

/// The member who asked, where a member did.
pub(crate) fn inviter(invite: &Invite) -> Option<MemberId> {
    invite.invited_by.parse().ok()
}

/// Whether whoever asked may ask for this still: what somebody asked for who was taken out of the org
/// since, or has less to say there, brings nobody in.
fn is_still_asked(invite: &Invite, at: &Snapshot) -> bool {
    inviter(invite).is_none_or(|id| at.member(id).is_some_and(|sender| may_ask(sender, invite)))
}

/// Whether this member may ask for this.
pub(crate) fn may_ask(sender: &Member, invite: &Invite) -> bool {
    let least = if is_owners(invite) { Role::Owner } else { Role::Admin };
    sender.is_live() && sender.role.is_at_least(least)
}

/// Whether owners alone may ask for this.
fn is_owners(invite: &Invite) -> bool {
    invite.role == Role::Owner || invite.can_approve
}

/// Closes an invitation in whose place another is made. That of one which is open still is told.
fn give_way(stale: &Invite, at: &Snapshot, record: &mut Record<'_>) {
    let after = Invite { closed_at: stale.closed_at.or(Some(at.now())), ..stale.clone() };
    if stale.is_open(at.now()) {
        changed(record, EventType::InviteRevoked, Some(stale), after);
    } else {
        record.write(after);
    }
}

fn needed(id: InviteId) -> Needs {
    Needs { invites: [id].into(), ..Needs::default() }
}

/// Refuses whoever is no owner to make another, or to let anybody decide what waits for a person.
fn only_owners_give(
    by: By,
    (role, can_approve): (Role, bool),
    at: &Snapshot,
) -> Result<(), ChangeError> {
    match (role, can_approve) {
        (Role::Viewer | Role::Admin, false) => Ok(()),
        _ if member::is_owner(by, at) => Ok(()),
        (Role::Owner, _) => Err(ChangeError::OwnersGive("role")),
        (Role::Viewer | Role::Admin, true) => Err(ChangeError::OwnersGive("can_approve")),
    }
}

fn not_pending() -> ChangeError {
    ActError::Conflict("the invitation is no longer pending").into()
}

/// Adds an invitation in its new form.
pub(crate) fn changed(
    record: &mut Record<'_>,
    event: EventType,
    before: Option<&Invite>,
    after: Invite,
) -> Changed<Invite> {
    let status = after.status(record.now());
    let deed = record.seal(Fact {
        event,
        subject: Subject::invite(after.id),
        before: before.map(|invite| json!(invite)),
        after: Some(json!(after)),
        data: vec![("role", json!(after.role)), ("can_approve", json!(after.can_approve))],
        object: json!({ "object": "invite", "id": after.id, "role": after.role, "status": status }),
    });
    record.write(after.clone());
    Changed { object: after, deed }
}

const ASKED: &str = "this person is already invited; you can send the mail again";

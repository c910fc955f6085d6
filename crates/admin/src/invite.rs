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
        let stale = store.open_invite(self.org, new.user).await?.map(|invite| invite.id);
        let mint = self.admin.mint();
        let (id, job) = (mint.id(InviteId::from_uuid), mint.id(MailJobId::from_uuid));
        let (org, by) = (self.org, self.by);
        let needs = Needs { invites: stale.into_iter().collect(), ..Needs::default() };
        let made = self.turn(needs, None, move |at, record| {
            only_owners_make_owners(by, new.role, at)?;
            if let Some(stale) = stale.and_then(|id| at.invite(id)) {
                if stale.is_open(at.now()) {
                    return Err(ActError::Conflict(ASKED));
                }
                let closed_at = stale.closed_at.or(Some(at.now()));
                record.write(Invite { closed_at, ..stale.clone() });
            }
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
            Err(ActError::Ledger(LedgerError::Fault))
                if store.open_invite(self.org, new.user).await?.map(|open| open.id) != stale =>
            {
                Err(ActError::Conflict(ASKED).into())
            }
            made => Ok(made?),
        }
    }

    /// Takes an invitation back.
    pub async fn revoke_invite(&self, id: InviteId) -> Result<Changed<Invite>, ChangeError> {
        self.by_a_person()?;
        let by = self.by;
        let revoked = self.turn(needed(id), None, move |at, record| {
            let before = at.invite(id).ok_or(ActError::NotFound("invitation"))?;
            if !before.is_open(at.now()) {
                return Err(ActError::Conflict("the invitation is not pending any more"));
            }
            only_owners_make_owners(by, before.role, at)?;
            let after = Invite { closed_at: Some(at.now()), ..before.clone() };
            Ok(changed(record, EventType::InviteRevoked, Some(before), after))
        });
        Ok(revoked.await?)
    }

    /// Has the mail of an invitation sent once more; it stays what it is, and lasts no longer.
    pub async fn resend_invite(&self, id: InviteId) -> Result<Invite, ChangeError> {
        self.by_a_person()?;
        let by = self.by;
        let job = self.admin.mint().id(MailJobId::from_uuid);
        let sent = self.turn(needed(id), None, move |at, record| {
            let invite = at.invite(id).ok_or(ActError::NotFound("invitation"))?;
            if !invite.is_open(at.now()) {
                return Err(ActError::Conflict("the invitation is not pending any more"));
            }
            only_owners_make_owners(by, invite.role, at)?;
            record.write(InviteMail { job, invite: id, run_at: at.now() });
            Ok(invite.clone())
        });
        Ok(sent.await?)
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
    let Changed { object, deed } = member::changed(record, EventType::MemberAdded, None, joined);
    Ok(Accepted::Now(Joined { member: object, deed: Some(deed) }))
}

/// The member who asked, where a member did.
fn inviter(invite: &Invite) -> Option<MemberId> {
    invite.invited_by.parse().ok()
}

/// Whether whoever asked may ask for this role still: what somebody asked for who was taken out of the
/// org since, or has less to say there, brings nobody in.
fn is_still_asked(invite: &Invite, at: &Snapshot) -> bool {
    let least = if invite.role == Role::Owner { Role::Owner } else { Role::Admin };
    let may_ask = |member: &Member| member.is_live() && member.role.is_at_least(least);
    inviter(invite).is_none_or(|id| at.member(id).is_some_and(may_ask))
}

fn needed(id: InviteId) -> Needs {
    Needs { invites: [id].into(), ..Needs::default() }
}

fn only_owners_make_owners(by: By, role: Role, at: &Snapshot) -> Result<(), ActError> {
    if role == Role::Owner && !member::is_owner(by, at) {
        Err(ActError::RoleRequired)
    } else {
        Ok(())
    }
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

const ASKED: &str = "this person is asked already; the mail may be sent again";

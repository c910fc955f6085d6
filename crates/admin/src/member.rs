//! The people of an org: who they are there, and how that changes.

use act::{Act, ActError, By, Changed, Fact, MayView, Record};
use deed::Subject;
use ledger::{Needs, Snapshot, record::Member};
use model::{DeedId, EventType, InviteId, MemberId, OrgId, Role, SessionId, Timestamp};
use serde_json::json;

use crate::{
    Admin, ChangeError, Expected, OrgChange, OrgOwn, OrgView, Page,
    inviting::{MOST_NAMED, Sent},
};

/// How many other owners a turn looks at: one that is still there is enough.
const OTHER_OWNERS: usize = 16;
/// How often a change is decided anew because an invitation was made meanwhile.
const TRIES: usize = 24;

/// What is to be changed of a member; what is absent stays.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemberEdit {
    /// What they may do.
    pub role: Option<Role>,
    /// Whether they may say yes or no to what waits for a person.
    pub can_approve: Option<bool>,
    /// The revision that the change is made on.
    pub expected_revision: Expected<u32>,
}

impl OrgView<'_> {
    /// A member of the org; who left is none.
    pub async fn member(&self, id: MemberId) -> Result<Member, ChangeError> {
        let found = self.admin.parts.store.member(self.org, id).await?;
        found.filter(Member::is_live).ok_or_else(|| ActError::NotFound("member").into())
    }

    /// Returns members behind this place, newest first.
    pub async fn members(
        &self,
        after: Option<(Timestamp, MemberId)>,
        limit: usize,
    ) -> Result<Page<Member>, ChangeError> {
        let store = &self.admin.parts.store;
        Ok(Page::of(store.members(self.org, after, limit.saturating_add(1)).await?, limit))
    }
}

impl OrgChange<'_> {
    /// Lets a viewer decide no more what waits for a person: all that an admin may change of a member.
    pub async fn update_viewer(
        &self,
        id: MemberId,
        edit: MemberEdit,
    ) -> Result<Changed<Member>, ChangeError> {
        let MemberEdit { role, can_approve, expected_revision } = edit;
        match (role, can_approve) {
            (None | Some(Role::Viewer), Some(false)) => {}
            (None | Some(Role::Viewer), Some(true)) => {
                return Err(ChangeError::OwnersGive("can_approve"));
            }
            (Some(_), _) => return Err(ChangeError::OwnersGive("role")),
            (None, None) => {
                return Err(ActError::bad_input("can_approve", "`false`").into());
            }
        }
        self.turn(needed(id), None, move |at, record| {
            let before = somebody_else((expected_revision, id), at, record)?;
            if before.role != Role::Viewer {
                return Err(ActError::RoleRequired.into());
            }
            let revision = before.revision.saturating_add(1);
            let after = Member { can_approve: false, revision, ..before.clone() };
            Ok(changed(record, EventType::MemberUpdated, (Some(before), after), &[]))
        })
        .await
    }
}

impl OrgOwn<'_> {
    /// Changes what another member may do.
    pub async fn update_member(
        &self,
        id: MemberId,
        edit: MemberEdit,
    ) -> Result<Changed<Member>, ChangeError> {
        let MemberEdit { role, can_approve, expected_revision } = edit;
        if (role, can_approve) == (None, None) {
            let expected = "this field, `can_approve`, or both";
            return Err(ActError::bad_input("role", expected).into());
        }
        for _ in 0..TRIES {
            let beside = self.beside(id).await?;
            let made = self.turn(beside.needs(id), move |at, record| {
                let before = somebody_else((expected_revision, id), at, record)?;
                let is_another = role.is_some_and(|role| role != before.role);
                let after = Member {
                    role: role.unwrap_or(before.role),
                    role_since: if is_another { at.now() } else { before.role_since },
                    can_approve: can_approve.unwrap_or(before.can_approve),
                    revision: before.revision.saturating_add(1),
                    ..before.clone()
                };
                beside.changed((EventType::MemberUpdated, before, after), at, record)
            });
            if let Some(made) = made.await? {
                return Ok(made);
            }
        }
        Err(invited_beside())
    }

    /// Removes a member: what they ask for from then on is refused, whatever they are signed in with.
    pub async fn remove_member(
        &self,
        id: MemberId,
        expected_revision: Expected<u32>,
    ) -> Result<Changed<Member>, ChangeError> {
        for _ in 0..TRIES {
            let beside = self.beside(id).await?;
            let gone = self.turn(beside.needs(id), move |at, record| {
                beside.removed(expect(expected_revision, at, id)?, at, record)
            });
            if let Some(gone) = gone.await? {
                return Ok(gone);
            }
        }
        Err(invited_beside())
    }

    /// Records that a session of a member is ended. Sessions lie outside turns: who asks ends it next,
    /// so that none is ended that the record does not tell of.
    pub async fn revoke_session(
        &self,
        member: MemberId,
        session: SessionId,
    ) -> Result<DeedId, ChangeError> {
        self.turn(needed(member), move |at, record| {
            live(at, member)?;
            Ok(record.seal(revoked(member, session)))
        })
        .await
    }

    async fn beside(&self, id: MemberId) -> Result<Beside, ChangeError> {
        self.change.admin.beside(self.change.org, id).await
    }
}

impl Admin {
    /// Takes whoever asks out of their org; the last owner stays.
    pub async fn leave(
        &self,
        caller: &impl MayView,
        expected_revision: Expected<u32>,
    ) -> Result<Changed<Member>, ChangeError> {
        let By::Member { member: id, .. } = caller.by() else {
            return Err(ChangeError::PersonRequired);
        };
        let org: OrgId = caller.org();
        for _ in 0..TRIES {
            let beside = self.beside(org, id).await?;
            let needs = beside.needs(id);
            let act = Act::new(caller.by(), move |at: &Snapshot, record: &mut Record<'_>| {
                beside.removed(expect(expected_revision, at, id)?, at, record)
            });
            let gone = act.of_a_reader().needing(needs).enter(&self.parts.ledger, org);
            if let Some(gone) = gone.await? {
                return Ok(gone);
            }
        }
        Err(invited_beside())
    }

    async fn beside(&self, org: OrgId, id: MemberId) -> Result<Beside, ChangeError> {
        let others = self.parts.store.owners_but(org, id, OTHER_OWNERS).await?;
        Ok(Beside { others, sent: self.sent_by(org, id).await? })
    }
}

/// What counts beside a member whose role changes or ends, as it was read before the turn.
struct Beside {
    /// Other owners.
    others: Vec<MemberId>,
    /// The member's own invitations.
    sent: Sent,
}

impl Beside {
    fn needs(&self, id: MemberId) -> Needs {
        Needs {
            members: self.others.iter().copied().chain([id]).collect(),
            invites: self.sent.invites.iter().copied().collect(),
            ..Needs::default()
        }
    }

    /// The member in their new form, with what they asked for and may ask no more; nothing where that
    /// must be read again.
    fn changed(
        &self,
        (event, before, after): (EventType, &Member, Member),
        at: &Snapshot,
        record: &mut Record<'_>,
    ) -> Result<Option<Changed<Member>>, ChangeError> {
        an_owner_stays(before, &after, at, &self.others)?;
        let revoked = self.sent.revoke(&after, at, record);
        Ok(revoked.map(|revoked| changed(record, event, (Some(before), after), &revoked)))
    }

    fn removed(
        &self,
        before: &Member,
        at: &Snapshot,
        record: &mut Record<'_>,
    ) -> Result<Option<Changed<Member>>, ChangeError> {
        let after = Member {
            removed_at: Some(at.now()),
            revision: before.revision.saturating_add(1),
            ..before.clone()
        };
        self.changed((EventType::MemberRemoved, before, after), at, record)
    }
}

fn invited_beside() -> ChangeError {
    ActError::Conflict("other invitations are being created at the same time; try again").into()
}

/// What is recorded of a session that an owner ended.
pub(crate) fn revoked(member: MemberId, session: SessionId) -> Fact {
    Fact {
        data: vec![("session", json!(session))],
        ..Fact::new(
            EventType::SessionRevoked,
            Subject::member(member),
            json!({ "object": "session", "id": session }),
        )
    }
}

fn needed(id: MemberId) -> Needs {
    Needs { members: [id].into(), ..Needs::default() }
}

fn live(at: &Snapshot, id: MemberId) -> Result<&Member, ActError> {
    at.member(id).filter(|member| member.is_live()).ok_or(ActError::NotFound("member"))
}

/// The member, in the revision that the change is made on.
fn expect(expected: Expected<u32>, at: &Snapshot, id: MemberId) -> Result<&Member, ActError> {
    let member = live(at, id)?;
    if expected.is_not(&member.revision) {
        return Err(ActError::Conflict(
            "`expected_revision` is not the current revision of the member",
        ));
    }
    Ok(member)
}

/// The member, in the revision that the change is made on, who is not whoever asks.
fn somebody_else<'s>(
    (expected, id): (Expected<u32>, MemberId),
    at: &'s Snapshot,
    record: &Record<'_>,
) -> Result<&'s Member, ChangeError> {
    let member = expect(expected, at, id)?;
    match record.by() {
        By::Member { member, .. } if member == id => Err(ChangeError::SelfChange),
        _ => Ok(member),
    }
}

/// Refuses what would leave the org without an owner. Who else owns was read before the turn; that
/// one of them does by now is seen in the turn itself, so that of two who go at once one stays.
fn an_owner_stays(
    before: &Member,
    after: &Member,
    at: &Snapshot,
    others: &[MemberId],
) -> Result<(), ChangeError> {
    let owns = |member: &Member| member.is_live() && member.role == Role::Owner;
    let another_owns = || others.iter().any(|id| at.member(*id).is_some_and(owns));
    if owns(before) && !owns(after) && !another_owns() {
        return Err(ChangeError::LastOwner);
    }
    Ok(())
}

/// Whether somebody may do what is an owner's at this moment; no key may.
pub(crate) fn is_owner(by: By, at: &Snapshot) -> bool {
    match by {
        By::Operator => true,
        By::Member { member, .. } => at.member(member).is_some_and(|by| by.role == Role::Owner),
        By::OrgKey(_) | By::Person(_) | By::Service => false,
    }
}

/// Adds a member in their new form, with which these of their invitations are revoked.
pub(crate) fn changed(
    record: &mut Record<'_>,
    event: EventType,
    (before, after): (Option<&Member>, Member),
    revoked: &[InviteId],
) -> Changed<Member> {
    let mut data = vec![
        ("role", json!(after.role)),
        ("can_approve", json!(after.can_approve)),
        ("user", json!(after.user)),
    ];
    if !revoked.is_empty() {
        let named = revoked.get(..MOST_NAMED).unwrap_or(revoked);
        data.extend([("invites_revoked", json!(revoked.len())), ("invites", json!(named))]);
    }
    let deed = record.seal(Fact {
        event,
        subject: Subject::member(after.id),
        before: before.map(|member| json!(member)),
        after: Some(json!(after)),
        data,
        object: json!({ "object": "member", "id": after.id, "role": after.role }),
    });
    record.write(after.clone());
    Changed { object: after, deed }
}

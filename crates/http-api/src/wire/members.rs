//! The people of an org and their invitations as requests describe and responses show them.

use admin::{Expected, Joined, MemberEdit, NewInvite};
use crypto::Secret;
use ledger::record::{Invite, Member};
use model::{DeedId, InviteId, MemberId, OrgId, Role, Timestamp, UserId};
use people::Address;
use serde::Serialize;
use web::{ApiError, Call, Word};

use super::{next::next_of_form, policies::expected_revision};

/// A person, as far as the reader may know them.
#[derive(Debug, Serialize)]
pub(crate) struct UserView<'a> {
    id: UserId,
    /// Shown to admins alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    email: Option<&'a str>,
}

/// A member.
#[derive(Debug, Serialize)]
pub(crate) struct MemberView<'a> {
    object: &'static str,
    id: MemberId,
    user: UserView<'a>,
    role: Role,
    can_approve: bool,
    joined_at: Timestamp,
    removed_at: Option<Timestamp>,
    revision: u32,
}

impl<'a> MemberView<'a> {
    /// The member, with this address where the reader may know it.
    pub(crate) fn of(member: &Member, email: Option<&'a Address>) -> Self {
        Self {
            object: "member",
            id: member.id,
            user: UserView { id: member.user, email: email.map(Address::as_str) },
            role: member.role,
            can_approve: member.can_approve,
            joined_at: member.joined_at,
            removed_at: member.removed_at,
            revision: member.revision,
        }
    }
}

/// A member, and when they were last seen in the org, as whoever reads it is shown.
#[derive(Debug, Serialize)]
pub(crate) struct MemberInUse<'a> {
    #[serde(flatten)]
    pub(crate) member: MemberView<'a>,
    pub(crate) last_active_at: Option<Timestamp>,
}

/// Somebody who joined; a repetition names no deed.
#[derive(Debug, Serialize)]
pub(crate) struct JoinedView {
    #[serde(flatten)]
    member: MemberView<'static>,
    org: OrgId,
    deed: Option<DeedId>,
}

impl From<Joined> for JoinedView {
    fn from(joined: Joined) -> Self {
        let org = joined.member.org;
        Self { member: MemberView::of(&joined.member, None), org, deed: joined.deed }
    }
}

/// An invitation.
#[derive(Debug, Serialize)]
pub(crate) struct InviteView<'a> {
    object: &'static str,
    id: InviteId,
    status: &'static str,
    email: Option<&'a str>,
    role: Role,
    can_approve: bool,
    invited_by: &'a str,
    member: Option<MemberId>,
    created_at: Timestamp,
    expires_at: Timestamp,
}

impl<'a> InviteView<'a> {
    /// The invitation as it stands at this moment.
    pub(crate) fn of(invite: &'a Invite, email: Option<&'a Address>, now: Timestamp) -> Self {
        Self {
            object: "invite",
            id: invite.id,
            status: invite.status(now),
            email: email.map(Address::as_str),
            role: invite.role,
            can_approve: invite.can_approve,
            invited_by: &invite.invited_by,
            member: invite.member,
            created_at: invite.created_at,
            expires_at: invite.expires_at,
        }
    }
}

/// The body of `POST /v1/invites`, before the person is known.
pub(crate) struct InviteRequest {
    pub(crate) address: Address,
    role: Role,
    can_approve: bool,
}

impl InviteRequest {
    /// The invitation of this person.
    pub(crate) fn of(&self, user: UserId) -> NewInvite {
        NewInvite { user, role: self.role, can_approve: self.can_approve }
    }
}

/// Reads the body of `POST /v1/invites`.
pub(crate) fn invite_new(call: &Call) -> Result<InviteRequest, ApiError> {
    let mut fields = call.fields()?;
    let email: String = fields.required("email")?;
    let address = Address::parse(&email).map_err(|why| fields.error("email", why.to_string()))?;
    let Word(role) = fields.required::<Word<Role>>("role")?;
    let can_approve = fields.optional("can_approve")?.unwrap_or_default();
    fields.finish()?;
    Ok(InviteRequest { address, role, can_approve })
}

/// Reads the body of `POST /v1/invites/accept`: the token of the link, and the page that a form goes
/// on to.
pub(crate) fn accepted(call: &Call) -> Result<(Secret<String>, Option<String>), ApiError> {
    let mut fields = call.fields()?;
    let token = fields.required::<String>("token")?;
    let next = next_of_form(call, &mut fields)?;
    fields.finish()?;
    Ok((Secret::new(token), next))
}

/// Reads the body of `POST /v1/members/{id}`.
pub(crate) fn member_edit(call: &Call) -> Result<MemberEdit, ApiError> {
    let mut fields = call.fields()?;
    let edit = MemberEdit {
        role: fields.optional::<Word<Role>>("role")?.map(|Word(role)| role),
        can_approve: fields.optional("can_approve")?,
        expected_revision: expected_revision(&mut fields)?,
    };
    fields.finish()?;
    Ok(edit)
}

/// Reads the body of `DELETE /v1/members/{id}`, which may be left out.
pub(crate) fn removal(call: &Call) -> Result<Expected<u32>, ApiError> {
    let mut fields = call.fields()?;
    let expected = expected_revision(&mut fields)?;
    fields.finish()?;
    Ok(expected)
}

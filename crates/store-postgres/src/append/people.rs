//! The rows of an org's people: members, and those who are asked to join.

use ledger::record::{ApprovalMail, Invite, InviteMail, Member, WebhookMail};
use model::OrgId;

use super::Step;
use crate::{database::Call, rows::system_time};

/// The statements that write these rows.
pub(super) fn steps<'a>(
    org: OrgId,
    (members, invites, mails): (&'a [Member], &'a [Invite], &'a [InviteMail]),
) -> Vec<Step<'a>> {
    let members = members.iter().flat_map(|row| member(org, row));
    // One that gives way to another is closed before the other is made.
    let (closed, open): (Vec<_>, Vec<_>) = invites.iter().partition(|row| row.closed_at.is_some());
    let invites = closed.into_iter().chain(open).map(|row| invite(org, row));
    members.chain(invites).chain(mails.iter().map(|row| invite_mail(org, row))).collect()
}

/// The statements that write a member, and that their person is or was in the org.
fn member(org: OrgId, row: &Member) -> [Step<'_>; 2] {
    let sql = "
        insert into member
            (org_id, id, user_id, role, can_approve, joined_at, role_since, removed_at, revision)
        values ($1, $2, $3, $4, $5, $6, $7, $8, $9)
        on conflict (org_id, id) do update
        set role = excluded.role, can_approve = excluded.can_approve,
            role_since = excluded.role_since, removed_at = excluded.removed_at, revision = excluded.revision";
    let member = Call::new(sql)
        .with(*org.as_uuid())
        .with(*row.id.as_uuid())
        .with(*row.user.as_uuid())
        .with(row.role.as_str())
        .with(row.can_approve)
        .with(system_time(row.joined_at))
        .with(system_time(row.role_since))
        .with(row.removed_at.map(system_time))
        .with(i64::from(row.revision));
    let sql = "
        insert into membership (user_id, org_id) values ($1, $2)
        on conflict (user_id, org_id) do nothing";
    let membership = Call::new(sql).with(*row.user.as_uuid()).with(*org.as_uuid());
    [member, membership].map(Step::rows)
}

fn invite(org: OrgId, row: &Invite) -> Step<'_> {
    let sql = "
        insert into invite
            (org_id, id, user_id, role, can_approve, invited_by, created_at, expires_at, closed_at,
             member_id)
        values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
        on conflict (org_id, id) do update
        set closed_at = excluded.closed_at, member_id = excluded.member_id";
    let call = Call::new(sql)
        .with(*org.as_uuid())
        .with(*row.id.as_uuid())
        .with(*row.user.as_uuid())
        .with(row.role.as_str())
        .with(row.can_approve)
        .with(row.invited_by.as_str())
        .with(system_time(row.created_at))
        .with(system_time(row.expires_at))
        .with(row.closed_at.map(system_time))
        .with(row.member.map(|member| *member.as_uuid()));
    Step::rows(call)
}

fn invite_mail(org: OrgId, row: &InviteMail) -> Step<'_> {
    let sql = "
        insert into invite_mail (id, org_id, invite_id, run_at, attempt, token)
        values ($1, $2, $3, $4, 0, 0)
        on conflict (invite_id) do nothing";
    let call = Call::new(sql)
        .with(*row.job.as_uuid())
        .with(*org.as_uuid())
        .with(*row.invite.as_uuid())
        .with(system_time(row.run_at));
    Step::rows(call)
}

/// The statement that writes that people are to be written to about a question.
pub(super) fn approval_mail(org: OrgId, row: &ApprovalMail) -> Step<'_> {
    let sql = "
        insert into approval_mail
            (id, org_id, action_id, approval_id, run_at, expires_at, attempt, token)
        values ($1, $2, $3, $4, $5, $6, 0, 0)";
    let call = Call::new(sql)
        .with(*row.job.as_uuid())
        .with(*org.as_uuid())
        .with(*row.action.as_uuid())
        .with(*row.approval.as_uuid())
        .with(system_time(row.run_at))
        .with(system_time(row.expires_at));
    Step::rows(call)
}

/// The statement that writes that an org's owners are to be written to about an endpoint.
pub(super) fn webhook_mail(org: OrgId, row: &WebhookMail) -> Step<'_> {
    let sql = "
        insert into webhook_mail
            (id, org_id, webhook_id, disabled_at, run_at, expires_at, attempt, token)
        values ($1, $2, $3, $4, $4, $5, 0, 0)";
    let call = Call::new(sql)
        .with(*row.job.as_uuid())
        .with(*org.as_uuid())
        .with(*row.webhook.as_uuid())
        .with(system_time(row.disabled_at))
        .with(system_time(row.expires_at));
    Step::rows(call)
}

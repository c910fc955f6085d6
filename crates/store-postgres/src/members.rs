//! Administration's store of the people of orgs.

use admin::{Inviting, MemberStore, Membership};
use async_trait::async_trait;
use ledger::{
    StoreDown,
    record::{Invite, Member},
};
use model::{InviteId, MemberId, OrgId, Timestamp, UserId};
use tokio_postgres::Row;
use uuid::Uuid;

use crate::{
    PostgresStore,
    accounts::END,
    database::Call,
    fault::Fault,
    rows::{Cells, system_time},
};

#[async_trait]
impl MemberStore for PostgresStore {
    async fn member(&self, org: OrgId, id: MemberId) -> Result<Option<Member>, StoreDown> {
        let sql = "
            select id, org_id, user_id, role, can_approve, joined_at, role_since, removed_at, revision
            from member where org_id = $1 and id = $2";
        let call = Call::new(sql).with(*org.as_uuid()).with(*id.as_uuid());
        self.found("read a member", call, member).await
    }

    async fn member_of(&self, org: OrgId, user: UserId) -> Result<Option<Member>, StoreDown> {
        let sql = "
            select id, org_id, user_id, role, can_approve, joined_at, role_since, removed_at, revision
            from member where org_id = $1 and user_id = $2 and removed_at is null";
        let call = Call::new(sql).with(*org.as_uuid()).with(*user.as_uuid());
        self.found("find the member that a person is", call, member).await
    }

    async fn memberships(&self, user: UserId) -> Result<Vec<Membership>, StoreDown> {
        let attempt = "find a person's orgs";
        let sql = "select org_id from membership where user_id = $1";
        let orgs = self.all(attempt, Call::new(sql).with(*user.as_uuid()), |row| {
            Cells::of("membership", row).get::<Uuid>("org_id")
        });
        // One question an org, all sent at once: each is answered where that org's rows are.
        let calls: Vec<_> = orgs
            .await?
            .into_iter()
            .map(|org| Call::new(MEMBERSHIP).with(org).with(*user.as_uuid()))
            .collect();
        let answers = self.database.ask(attempt, &calls).await?;
        let found = answers.iter().flatten().map(membership).collect::<Result<Vec<_>, _>>();
        let mut found = found.map_err(|fault| fault.down(attempt))?;
        found.sort_by(|one, other| one.place().cmp(&other.place()));
        Ok(found)
    }

    async fn members(
        &self,
        org: OrgId,
        after: Option<(Timestamp, MemberId)>,
        limit: usize,
    ) -> Result<Vec<Member>, StoreDown> {
        let sql = "
            select id, org_id, user_id, role, can_approve, joined_at, role_since, removed_at, revision
            from member
            where org_id = $1 and removed_at is null and (joined_at, id) < ($2, $3)
            order by joined_at desc, id desc limit $4";
        let call = Call::new(sql)
            .with(*org.as_uuid())
            .with(system_time(after.map_or(END, |(at, _)| at)))
            .with(after.map_or(Uuid::max(), |(_, id)| *id.as_uuid()))
            .with(i64::try_from(limit).unwrap_or(i64::MAX));
        self.all("list members", call, member).await
    }

    async fn owners_but(
        &self,
        org: OrgId,
        but: MemberId,
        limit: usize,
    ) -> Result<Vec<MemberId>, StoreDown> {
        let sql = "
            select id from member
            where org_id = $1 and removed_at is null and role = 'owner' and id <> $2
            order by id limit $3";
        let call = Call::new(sql)
            .with(*org.as_uuid())
            .with(*but.as_uuid())
            .with(i64::try_from(limit).unwrap_or(i64::MAX));
        let id = |row: &Row| Cells::of("member", row).id("id", MemberId::from_uuid);
        self.all("find an org's owners", call, id).await
    }

    async fn invite(&self, org: OrgId, id: InviteId) -> Result<Option<Invite>, StoreDown> {
        let sql = "
            select id, org_id, user_id, role, can_approve, invited_by, created_at, expires_at,
                closed_at, member_id
            from invite where org_id = $1 and id = $2";
        let call = Call::new(sql).with(*org.as_uuid()).with(*id.as_uuid());
        self.found("read an invitation", call, invite).await
    }

    async fn open_invite(&self, org: OrgId, user: UserId) -> Result<Option<Invite>, StoreDown> {
        let sql = "
            select id, org_id, user_id, role, can_approve, invited_by, created_at, expires_at,
                closed_at, member_id
            from invite where org_id = $1 and user_id = $2 and closed_at is null";
        let call = Call::new(sql).with(*org.as_uuid()).with(*user.as_uuid());
        self.found("find a person's invitation", call, invite).await
    }

    async fn inviting(
        &self,
        org: OrgId,
        (open_since, all_since): (Timestamp, Timestamp),
    ) -> Result<Inviting, StoreDown> {
        let attempt = "find what an org asks people";
        let call = Call::new(INVITING)
            .with(*org.as_uuid())
            .with(system_time(open_since))
            .with(system_time(all_since))
            .with(system_time(open_since.min(all_since)));
        let rows = self.all(attempt, call, |row| {
            let cells = Cells::of("org", row);
            let made =
                u32::try_from(cells.count("made")?).map_err(|why| cells.fault("made", why))?;
            let is_there = Cells::of("invite", row).get::<Option<Uuid>>("id")?.is_some();
            Ok((made, is_there.then(|| invite(row)).transpose()?))
        });
        let rows = rows.await?;
        let made = rows.first().map_or(0, |(made, _)| *made);
        Ok(Inviting { made, invites: rows.into_iter().filter_map(|(_, invite)| invite).collect() })
    }

    async fn invites(
        &self,
        org: OrgId,
        after: Option<(Timestamp, InviteId)>,
        limit: usize,
    ) -> Result<Vec<Invite>, StoreDown> {
        let sql = "
            select id, org_id, user_id, role, can_approve, invited_by, created_at, expires_at,
                closed_at, member_id
            from invite where org_id = $1 and (created_at, id) < ($2, $3)
            order by created_at desc, id desc limit $4";
        let call = Call::new(sql)
            .with(*org.as_uuid())
            .with(system_time(after.map_or(END, |(at, _)| at)))
            .with(after.map_or(Uuid::max(), |(_, id)| *id.as_uuid()))
            .with(i64::try_from(limit).unwrap_or(i64::MAX));
        self.all("list invitations", call, invite).await
    }
}

// One statement, so that what is counted and what is found are of one moment.
const INVITING: &str = "
    select coalesce((org.record::json ->> 'invites_made')::bigint, 0) as made,
        found.id, org.org_id, found.user_id, found.role, found.can_approve, found.invited_by,
        found.created_at, found.expires_at, found.closed_at, found.member_id
    from org left join invite as found
        on found.org_id = $1 and found.org_id = org.org_id and found.created_at > $4
        and (found.closed_at is null and found.created_at > $2 or found.created_at > $3)
    where org.org_id = $1";

const MEMBERSHIP: &str = "
    select member.id, member.org_id, member.user_id, member.role, member.can_approve,
        member.joined_at, member.role_since, member.removed_at, member.revision, org.record::json ->> 'name' as name
    from member join org on org.org_id = $1
    where member.org_id = $1 and member.user_id = $2 and member.removed_at is null";

fn membership(row: &Row) -> Result<Membership, Fault> {
    Ok(Membership { member: member(row)?, org_name: Cells::of("org", row).get("name")? })
}

/// The member that a row is.
pub(crate) fn member(row: &Row) -> Result<Member, Fault> {
    let cells = Cells::of("member", row);
    let joined_at = cells.moment("joined_at")?;
    Ok(Member {
        id: cells.id("id", MemberId::from_uuid)?,
        org: cells.id("org_id", OrgId::from_uuid)?,
        user: cells.id("user_id", UserId::from_uuid)?,
        role: cells.word("role")?,
        can_approve: cells.get("can_approve")?,
        joined_at,
        // A row from before this was kept says it by when they joined.
        role_since: cells.moment_if_any("role_since")?.unwrap_or(joined_at),
        removed_at: cells.moment_if_any("removed_at")?,
        revision: u32::try_from(cells.count("revision")?)
            .map_err(|why| cells.fault("revision", why))?,
    })
}

/// The invitation that a row is.
pub(crate) fn invite(row: &Row) -> Result<Invite, Fault> {
    let cells = Cells::of("invite", row);
    Ok(Invite {
        id: cells.id("id", InviteId::from_uuid)?,
        org: cells.id("org_id", OrgId::from_uuid)?,
        user: cells.id("user_id", UserId::from_uuid)?,
        role: cells.word("role")?,
        can_approve: cells.get("can_approve")?,
        invited_by: cells.get("invited_by")?,
        created_at: cells.moment("created_at")?,
        expires_at: cells.moment("expires_at")?,
        closed_at: cells.moment_if_any("closed_at")?,
        member: cells.id_if_any("member_id", MemberId::from_uuid)?,
    })
}

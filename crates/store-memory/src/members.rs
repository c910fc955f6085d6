//! Administration's store of the people of orgs.

use std::cmp::Reverse;

use admin::{Inviting, MemberStore, Membership};
use async_trait::async_trait;
use ledger::{
    StoreDown,
    record::{Invite, Member},
};
use model::{InviteId, MemberId, OrgId, Role, Timestamp, UserId};

use crate::{Kept, MemoryStore};

#[async_trait]
impl MemberStore for MemoryStore {
    async fn member(&self, org: OrgId, id: MemberId) -> Result<Option<Member>, StoreDown> {
        let kept = self.reach("read a member")?;
        Ok(kept.orgs.get(&org).and_then(|rows| rows.members.get(&id)).cloned())
    }

    async fn member_of(&self, org: OrgId, user: UserId) -> Result<Option<Member>, StoreDown> {
        let kept = self.reach("find the member that a person is")?;
        Ok(live(&kept, org).find(|member| member.user == user).cloned())
    }

    async fn memberships(&self, user: UserId) -> Result<Vec<Membership>, StoreDown> {
        let kept = self.reach("find a person's orgs")?;
        let of = |(org, rows): (&OrgId, &crate::rows::Rows)| {
            let member = live(&kept, *org).find(|member| member.user == user)?.clone();
            Some(Membership { member, org_name: rows.org.as_ref()?.name.clone() })
        };
        let mut found: Vec<_> = kept.orgs.iter().filter_map(of).collect();
        found.sort_by(|one, other| one.place().cmp(&other.place()));
        Ok(found)
    }

    async fn members(
        &self,
        org: OrgId,
        after: Option<(Timestamp, MemberId)>,
        limit: usize,
    ) -> Result<Vec<Member>, StoreDown> {
        let kept = self.reach("list members")?;
        let place = |member: &Member| (member.joined_at, member.id);
        let mut found: Vec<_> = live(&kept, org)
            .filter(|member| after.is_none_or(|after| place(member) < after))
            .cloned()
            .collect();
        found.sort_by_key(|member| Reverse(place(member)));
        found.truncate(limit);
        Ok(found)
    }

    async fn owners_but(
        &self,
        org: OrgId,
        but: MemberId,
        limit: usize,
    ) -> Result<Vec<MemberId>, StoreDown> {
        let kept = self.reach("find an org's owners")?;
        let owners = live(&kept, org).filter(|member| member.role == Role::Owner);
        Ok(owners.map(|member| member.id).filter(|id| *id != but).take(limit).collect())
    }

    async fn invite(&self, org: OrgId, id: InviteId) -> Result<Option<Invite>, StoreDown> {
        let kept = self.reach("read an invitation")?;
        Ok(kept.orgs.get(&org).and_then(|rows| rows.invites.get(&id)).cloned())
    }

    async fn open_invite(&self, org: OrgId, user: UserId) -> Result<Option<Invite>, StoreDown> {
        let kept = self.reach("find a person's invitation")?;
        let mut invites = kept.orgs.get(&org).into_iter().flat_map(|rows| rows.invites.values());
        Ok(invites.find(|invite| invite.user == user && invite.closed_at.is_none()).cloned())
    }

    async fn inviting(
        &self,
        org: OrgId,
        (open_since, all_since): (Timestamp, Timestamp),
    ) -> Result<Inviting, StoreDown> {
        let kept = self.reach("find what an org asks people")?;
        let Some(rows) = kept.orgs.get(&org) else { return Ok(Inviting::default()) };
        let counts = |invite: &&Invite| {
            let is_open = invite.closed_at.is_none() && invite.created_at > open_since;
            is_open || invite.created_at > all_since
        };
        Ok(Inviting {
            made: rows.org.as_ref().map_or(0, |org| org.invites_made),
            invites: rows.invites.values().filter(counts).cloned().collect(),
        })
    }

    async fn invites(
        &self,
        org: OrgId,
        after: Option<(Timestamp, InviteId)>,
        limit: usize,
    ) -> Result<Vec<Invite>, StoreDown> {
        let kept = self.reach("list invitations")?;
        let place = |invite: &Invite| (invite.created_at, invite.id);
        let rows = kept.orgs.get(&org).into_iter();
        let mut found: Vec<_> = rows
            .flat_map(|rows| rows.invites.values())
            .filter(|invite| after.is_none_or(|after| place(invite) < after))
            .cloned()
            .collect();
        found.sort_by_key(|invite| Reverse(place(invite)));
        found.truncate(limit);
        Ok(found)
    }
}

fn live(kept: &Kept, org: OrgId) -> impl Iterator<Item = &Member> {
    let rows = kept.orgs.get(&org).into_iter();
    rows.flat_map(|rows| rows.members.values()).filter(|member| member.is_live())
}

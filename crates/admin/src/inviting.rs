//! How many invitations an org may have, and which of them end with the role of their sender.
//!
//! A turn knows no lists, so the invitations are read before it. The org's row counts all that it ever
//! made, and tells the turn whether some were made since.

use std::time::Duration;

use act::{ActError, By, Record};
use ledger::{
    Needs, Snapshot,
    record::{Invite, Member, Org},
};
use model::{EventType, InviteId, MemberId, OrgId, Timestamp};

use crate::{
    Admin, ChangeError, INVITED_FOR, Inviting, OrgChange,
    invite::{changed, inviter, may_ask},
};

/// The most invitations of an org that may be accepted at one moment.
const MOST_OPEN: usize = 200;
/// The most that an org makes in the time of [`WINDOW`].
const MOST_ASKED: usize = 60;
/// The time over which those that are made are counted.
const WINDOW: Duration = Duration::from_hours(1);
/// By how much the process's clock may differ from the database's.
const SKEW: Duration = Duration::from_mins(10);
/// The most ids that a deed names beside what it tells: 4 KiB is all that it has in clear.
pub(crate) const MOST_NAMED: usize = 100;

/// What counts where somebody is asked to join.
pub(crate) struct Room(Inviting);

impl OrgChange<'_> {
    pub(crate) async fn room(&self) -> Result<Room, ChangeError> {
        let now = self.admin.parts.clock.now();
        let since = (now.before(INVITED_FOR + SKEW), now.before(WINDOW + SKEW));
        Ok(Room(self.admin.parts.store.inviting(self.org, since).await?))
    }
}

impl Room {
    /// What a turn must know to take a place.
    pub(crate) fn needs(&self) -> Needs {
        Needs {
            invites: self.0.invites.iter().map(|invite| invite.id).collect(),
            ..Needs::default()
        }
    }

    /// Refuses one more, as far as it was read.
    pub(crate) fn check(&self, by: By, now: Timestamp) -> Result<(), ChangeError> {
        has_room(by, (self.0.invites.iter(), 0), now)
    }

    /// Counts one more, where it may be asked.
    pub(crate) fn take(
        &self,
        by: By,
        at: &Snapshot,
        record: &mut Record<'_>,
    ) -> Result<(), ChangeError> {
        let org = at.org().ok_or(ActError::NotFound("org"))?;
        let unread = org.invites_made.saturating_sub(self.0.made);
        let known = self.0.invites.iter().filter_map(|invite| at.invite(invite.id));
        has_room(by, (known, usize::try_from(unread).unwrap_or(usize::MAX)), at.now())?;
        record.write(Org { invites_made: org.invites_made.saturating_add(1), ..org.clone() });
        Ok(())
    }
}

/// Refuses one more invitation beside those that were read and the number of those that were made since.
/// The operator's is never refused.
fn has_room<'i>(
    by: By,
    (known, unread): (impl Iterator<Item = &'i Invite>, usize),
    now: Timestamp,
) -> Result<(), ChangeError> {
    if matches!(by, By::Operator) {
        return Ok(());
    }
    let known: Vec<&Invite> = known.collect();
    let open = known.iter().filter(|invite| invite.is_open(now)).count();
    if open.saturating_add(unread) >= MOST_OPEN {
        return Err(ChangeError::LimitReached(
            "the org has 200 pending invitations, the maximum; revoke some first",
        ));
    }
    let begins = now.before(WINDOW);
    let mut lately: Vec<Timestamp> = known.iter().map(|invite| invite.created_at).collect();
    lately.retain(|made| *made > begins);
    lately.sort_unstable();
    let count = lately.len().saturating_add(unread);
    let Some(over) = count.checked_sub(MOST_ASKED) else { return Ok(()) };
    // One is free again once so many of the oldest lie outside the hour.
    let first = lately.get(over).copied().unwrap_or(now);
    let sentence = "an org can send at most 60 invitations an hour";
    Err(ChangeError::TooOften { sentence, left: (first + WINDOW).since(now) })
}

/// The invitations of one sender, as they were read.
#[derive(Debug, Clone)]
pub(crate) struct Sent {
    /// How many the org had made by then.
    made: u32,
    pub(crate) invites: Vec<InviteId>,
}

impl Admin {
    /// Reads the invitations of a member that may be pending.
    pub(crate) async fn sent_by(&self, org: OrgId, member: MemberId) -> Result<Sent, ChangeError> {
        let now = self.parts.clock.now();
        let since = (now.before(INVITED_FOR + SKEW), now + SKEW);
        let Inviting { made, invites } = self.parts.store.inviting(org, since).await?;
        let of_sender = invites.iter().filter(|invite| inviter(invite) == Some(member));
        Ok(Sent { made, invites: of_sender.map(|invite| invite.id).collect() })
    }
}

impl Sent {
    /// Revokes those for which the sender, as they are from now on, may ask no more, and returns them;
    /// nothing where others were made since they were read.
    ///
    /// An older version bounded their number nowhere. What is left then cannot be accepted either.
    pub(crate) fn revoke(
        &self,
        sender: &Member,
        at: &Snapshot,
        record: &mut Record<'_>,
    ) -> Option<Vec<InviteId>> {
        if at.org()?.invites_made != self.made {
            return None;
        }
        let pending = self.invites.iter().filter_map(|id| at.invite(*id));
        let void = pending.filter(|invite| invite.is_open(at.now()) && !may_ask(sender, invite));
        let revoked = void.take(MOST_OPEN).map(|before| {
            let after = Invite { closed_at: Some(at.now()), ..before.clone() };
            changed(record, EventType::InviteRevoked, Some(before), after).object.id
        });
        Some(revoked.collect())
    }
}

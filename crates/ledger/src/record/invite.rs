//! Questions to people whether they join an org.

use model::{InviteId, MailJobId, MemberId, OrgId, Role, Timestamp, UserId};
use serde::{Deserialize, Serialize};

use super::Row;

/// One question to a person whether they join an org. Where the person gets mail stands elsewhere.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Invite {
    /// The invitation's id.
    pub id: InviteId,
    /// The org.
    pub org: OrgId,
    /// Who is asked.
    pub user: UserId,
    /// What they will be.
    pub role: Role,
    /// Whether they will say yes or no to what waits for a person.
    pub can_approve: bool,
    /// Who asks, as text such as `mem_…` or `operator`.
    pub invited_by: String,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it can be accepted no more.
    pub expires_at: Timestamp,
    /// When it was accepted or revoked, or gave way to another after its time.
    pub closed_at: Option<Timestamp>,
    /// The member who came of it.
    pub member: Option<MemberId>,
}

impl Invite {
    /// Whether it can be accepted at this moment.
    pub fn is_open(&self, now: Timestamp) -> bool {
        self.closed_at.is_none() && now < self.expires_at
    }

    /// How it stands at this moment, as a word.
    pub fn status(&self, now: Timestamp) -> &'static str {
        match (self.member, self.closed_at) {
            (Some(_), _) => "accepted",
            (None, Some(closed)) if closed < self.expires_at => "revoked",
            (None, None) if now < self.expires_at => "pending",
            (None, _) => "expired",
        }
    }
}

impl Row for Invite {
    type Key = InviteId;

    fn key(&self) -> InviteId {
        self.id
    }
}

/// The mail of an invitation, which is to be sent; while one waits there is no other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InviteMail {
    /// The job.
    pub job: MailJobId,
    /// What it carries.
    pub invite: InviteId,
    /// From when on it is to be sent.
    pub run_at: Timestamp,
}

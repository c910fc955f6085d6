//! The people of an org.

use model::{MemberId, OrgId, Role, Timestamp, UserId};
use serde::{Deserialize, Serialize};

use super::Row;

/// A person in an org. The row stays when they go, since deeds name it; who comes back gets another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Member {
    /// The member's id.
    pub id: MemberId,
    /// The org.
    pub org: OrgId,
    /// The person.
    pub user: UserId,
    /// What they may do.
    pub role: Role,
    /// Whether they may say yes or no to what waits for a person.
    pub can_approve: bool,
    /// When they joined.
    pub joined_at: Timestamp,
    /// Since when they are what they are: since they joined, or since that was last changed.
    pub role_since: Timestamp,
    /// When they were removed, or left.
    pub removed_at: Option<Timestamp>,
    /// Counts the changes of role and right.
    pub revision: u32,
}

impl Member {
    /// Whether they are in the org.
    pub fn is_live(&self) -> bool {
        self.removed_at.is_none()
    }
}

impl Row for Member {
    type Key = MemberId;

    fn key(&self) -> MemberId {
        self.id
    }
}

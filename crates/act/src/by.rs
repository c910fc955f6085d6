//! Who changes an org, and why: what every admin deed says of its actor.

use std::fmt;

use deed::{Actor, Word};
use model::{KeyId, MemberId, UserId};

use crate::ActError;

/// Who changes an org.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    /// Whoever runs the deployment, by a verb of the program.
    Operator,
    /// An org key with the `admin` scope; a turn refuses it once it is revoked or expired.
    OrgKey(KeyId),
    /// A person in the org, by a session of theirs; a turn refuses them once they were removed, or
    /// where their role does not suffice.
    Member {
        /// Who they are in the org.
        member: MemberId,
        /// Who they are.
        user: UserId,
    },
    /// A person who need not be in the org; a turn lets them do nothing but what asks for no right.
    Person(UserId),
    /// The service itself, doing what the org's settings ask for.
    Service,
}

impl By {
    /// Who an admin deed says made the change.
    pub fn actor(self) -> Actor {
        match self {
            Self::Operator => Actor::System(Word::of("operator")),
            Self::OrgKey(id) => Actor::ApiKey(id),
            Self::Member { user, .. } | Self::Person(user) => Actor::User(deed::UserId::from(user)),
            Self::Service => Actor::System(Word::of("service")),
        }
    }
}

impl fmt::Display for By {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Operator => f.write_str("operator"),
            Self::OrgKey(id) => write!(f, "{id}"),
            Self::Person(user) => write!(f, "{user}"),
            Self::Member { member, .. } => write!(f, "{member}"),
            Self::Service => f.write_str("service"),
        }
    }
}

/// Why somebody changes an org, in their words; a deed commits to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reason(String);

impl Reason {
    const MAX_CHARS: usize = 280;

    /// Reads the reason that somebody gave: 1 to 280 characters, not all of them blank.
    pub fn parse(text: &str) -> Result<Self, ActError> {
        let fits = (1..=Self::MAX_CHARS).contains(&text.chars().count());
        if fits && !text.trim().is_empty() && !text.contains('\0') {
            return Ok(Self(text.to_owned()));
        }
        Err(ActError::bad_input("reason", "1 to 280 characters that say why"))
    }

    /// The words.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

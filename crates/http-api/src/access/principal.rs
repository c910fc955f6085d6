//! The holders of credentials, and what is required of the session of one.

use ledger::record::Member;
use model::{AgentId, KeyId, MemberId, OrgId, Role, Scope, Uuid};
use people::store::Session;
use web::ApiError;

use crate::catalogue::{changes, sign_in};

/// The holder of a credential.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Principal {
    /// An agent, by a key of its own.
    Agent(AgentKey),
    /// The org's administration, or somebody who reads what it reads, by an org key.
    Org(OrgKey),
    /// A person, by a session of theirs.
    Person(Box<Person>),
}

impl Principal {
    /// The org that it belongs to; none while a person has not chosen one.
    pub(crate) fn org(&self) -> Option<OrgId> {
        match self {
            Self::Agent(key) => Some(key.org),
            Self::Org(key) => Some(key.org),
            Self::Person(person) => person.seat.map(|seat| seat.org),
        }
    }

    /// The key or the person, for what is counted by either: another session brings nobody more.
    pub(crate) fn number(&self) -> Uuid {
        match self {
            Self::Agent(key) => *key.key.as_uuid(),
            Self::Org(key) => *key.key.as_uuid(),
            Self::Person(person) => *person.session.user.as_uuid(),
        }
    }
}

/// Somebody who is signed in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Person {
    /// The session.
    pub session: Session,
    /// Their seat in the org that the session is for, as it is now; `None` while it has no org, or once
    /// they are no longer there what they were when they chose it.
    pub seat: Option<Seat>,
}

impl Person {
    /// Refuses a sign-in that is too old to give or take power.
    pub(crate) fn must_be_fresh(&self) -> Result<(), ApiError> {
        if self.session.is_fresh {
            return Ok(());
        }
        let message = "this requires a sign-in that is at most 15 minutes old";
        Err(ApiError::new(sign_in::REAUTHENTICATION_REQUIRED, message))
    }

    /// Admits the session to the org as this member.
    ///
    /// A person whose sign-in is older than their role signs in again, so that a token that was stolen
    /// before gains nothing. Somebody who has just joined need not, while their sign-in is fresh.
    pub(crate) fn may_sit_as(&self, member: &Member) -> Result<(), ApiError> {
        let has_just_joined = member.role_since == member.joined_at;
        if self.session.authenticated_at >= member.role_since
            || has_just_joined && self.session.is_fresh
        {
            return Ok(());
        }
        let message = "what you may do in this org has changed since you signed in; sign in again";
        Err(ApiError::new(sign_in::REAUTHENTICATION_REQUIRED, message))
    }

    /// The person's seat in the org of their session, where their role is no less than this.
    pub(super) fn seat_as(&self, least: Role) -> Result<Seat, ApiError> {
        let Some(seat) = self.seat else {
            let message = "this session has no org; choose one by `POST /v1/session/org`";
            return Err(ApiError::new(changes::ROLE_REQUIRED, message).on("org"));
        };
        if seat.role.is_at_least(least) { Ok(seat) } else { Err(too_little(seat.role, least)) }
    }
}

/// The refusal of a member whose role is too small.
pub(super) fn too_little(role: Role, least: Role) -> ApiError {
    let message = format!("this requires the role `{least}` in the org; yours is `{role}`");
    ApiError::new(changes::ROLE_REQUIRED, message)
}

/// The place of a person in an org.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seat {
    /// The org.
    pub org: OrgId,
    /// The member.
    pub member: MemberId,
    /// Their role.
    pub role: Role,
    /// Whether they may answer what waits for a person.
    pub can_approve: bool,
}

impl Seat {
    /// The seat of this member.
    pub(crate) fn of(member: &Member) -> Self {
        let Member { id, org, role, can_approve, .. } = *member;
        Self { org, member: id, role, can_approve }
    }
}

/// An agent's live key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentKey {
    /// The agent's org.
    pub org: OrgId,
    /// The agent.
    pub agent: AgentId,
    /// The key.
    pub key: KeyId,
    /// Whether what it sends is no test.
    pub livemode: bool,
    /// The scopes of the key.
    pub scopes: Vec<Scope>,
    /// Whether the agent was stopped when the key was looked up.
    pub stopped: bool,
}

/// A live key of the org's own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OrgKey {
    /// The org.
    pub org: OrgId,
    /// The key.
    pub key: KeyId,
    /// The widest of its scopes: `admin`, or `admin:read`.
    pub scope: Scope,
}

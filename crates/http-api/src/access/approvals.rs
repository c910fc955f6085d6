//! Who may read what people are asked, and who may answer.

use model::{AgentId, OrgId, Role, Scope, UserId};
use web::ApiError;

use super::{
    principal::{OrgKey, Principal, Seat},
    rules::{Access, agent, person},
};

/// A caller that may read what people are asked.
#[derive(Debug, Clone)]
pub enum ApprovalReader {
    /// An agent, of its own calls.
    Agent(OrgId, AgentId),
    /// The org, by a key that people's eyes are not behind.
    Org(OrgId),
    /// A member of the org.
    Member(Approver),
}

/// A member of the org who answers, as far as the record lets them when they do.
#[derive(Debug, Clone)]
pub struct Approver {
    /// Who they are in the org.
    pub(crate) seat: Seat,
    /// Who they are.
    pub(crate) user: UserId,
}

impl ApprovalReader {
    pub(crate) fn org(&self) -> OrgId {
        match self {
            Self::Agent(org, _) | Self::Org(org) => *org,
            Self::Member(person) => person.seat.org,
        }
    }

    /// The one agent of whose calls it may read.
    pub(crate) fn only_agent(&self) -> Option<AgentId> {
        match self {
            Self::Agent(_, agent) => Some(*agent),
            Self::Org(_) | Self::Member(_) => None,
        }
    }

    pub(crate) fn member(&self) -> Option<&Approver> {
        match self {
            Self::Member(person) => Some(person),
            Self::Agent(..) | Self::Org(_) => None,
        }
    }
}

/// Admits whoever may read actions to what people are asked about them.
pub const APPROVAL_READERS: Access<ApprovalReader> = Access::holder(
    "APPROVAL_READERS",
    "agent key with `actions:read` (of its own actions), org key with `admin` or `admin:read`, or session; the parts shown to people, sessions only",
    |holder| match holder {
        Principal::Org(OrgKey { org, .. }) => Ok(ApprovalReader::Org(org)),
        holder @ Principal::Person(_) => approver(holder).map(ApprovalReader::Member),
        holder @ Principal::Agent(_) => {
            agent(holder, Scope::ActionsRead).map(|key| ApprovalReader::Agent(key.org, key.agent))
        }
    },
);

/// Admits members of the org, and no key; whether they may answer says the turn.
pub const APPROVERS: Access<Approver> =
    Access::holder("APPROVERS", "session of a member who may approve", approver);

fn approver(holder: Principal) -> Result<Approver, ApiError> {
    let person = person(holder)?;
    Ok(Approver { seat: person.seat_as(Role::Viewer)?, user: person.session.user })
}

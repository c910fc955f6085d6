//! The callers that handlers take. A rule alone makes a caller whose fields only `access` sees.

use act::{By, MayChange, MayOwn, MayView};
use model::{AgentId, KeyId, MemberId, OrgId, Role, UserId, Uuid};
use web::ApiError;

use super::principal::{AgentKey, OrgKey, Person, Seat, too_little};

/// Anybody, with or without a credential.
#[derive(Debug, Clone, Copy)]
pub struct Anyone;

/// An agent that may send and report actions.
#[derive(Debug, Clone)]
pub struct AgentCaller(pub AgentKey);

/// Somebody who is signed in, in the org of their session.
#[derive(Debug, Clone)]
pub struct Visitor {
    /// The session.
    pub(crate) person: Person,
    /// Their seat in that org.
    pub(crate) seat: Seat,
}

/// A caller that may read actions: an agent its own, an org key all.
#[derive(Debug, Clone)]
pub enum Reader {
    /// An agent with `actions:read`.
    Agent(AgentKey),
    /// The org.
    Org(OrgKey),
    /// A member of the org, who is this person.
    Member(OrgId, UserId),
}

/// A caller that may cancel a waiting action.
#[derive(Debug, Clone)]
pub enum Canceller {
    /// The agent, its own actions.
    Agent(AgentKey),
    /// The org, any action.
    Org(OrgKey),
    /// A member, any action of the org.
    Member(OrgId, MemberId),
}

/// A caller that may read the org's settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Viewer {
    pub(super) org: OrgId,
    pub(super) by: By,
}

/// A caller that may change the org's settings, as a [`Viewer`] may not:
///
/// ```
/// use http_api::access::Admin;
/// async fn stop(app: &admin::Admin, caller: Admin) {
///     let _ = app.change(&caller).stop_org("It ran wild.", model::PendingApprovals::Void).await;
/// }
/// ```
///
/// A viewer is not taken for somebody who may change the org:
///
/// ```compile_fail,E0277
/// use http_api::access::Viewer;
/// async fn stop(app: &admin::Admin, caller: Viewer) {
///     let _ = app.change(&caller).stop_org("It ran wild.", model::PendingApprovals::Void).await;
/// }
/// ```
///
/// The use cases of a viewer change nothing:
///
/// ```compile_fail,E0599
/// use http_api::access::Viewer;
/// async fn stop(app: &admin::Admin, caller: Viewer) {
///     let _ = app.view(&caller).stop_org("It ran wild.", model::PendingApprovals::Void).await;
/// }
/// ```
///
/// An org's admin is not taken for the operator of the deployment:
///
/// ```compile_fail,E0277
/// use http_api::access::Admin;
/// async fn clear_out(app: &admin::Admin, caller: Admin) {
///     let _ = app.operate(&caller).prune().await;
/// }
/// ```
///
/// And nobody but an access rule makes an admin:
///
/// ```compile_fail,E0451
/// use http_api::access::{Admin, Viewer};
/// fn promoted(caller: &Viewer) -> Admin {
///     Admin { org: act::MayView::org(caller), by: act::MayView::by(caller) }
/// }
/// ```
#[derive(Debug, Clone)]
pub struct Admin {
    pub(super) org: OrgId,
    pub(super) by: By,
}

/// A caller that may make the changes that are an owner's.
#[derive(Debug, Clone)]
pub struct Owner {
    pub(super) org: OrgId,
    pub(super) by: By,
}

/// A caller that may check an intent.
#[derive(Debug, Clone)]
pub enum IntentChecker {
    /// The agent, its own.
    Agent(AgentKey),
    /// An admin, any agent's of the org.
    Admin(Admin),
}

/// A caller that may change what a member may do.
#[derive(Debug, Clone)]
pub enum MemberEditor {
    /// An owner, whatever it is.
    Owner(Owner),
    /// An admin, who may change whether viewers answer questions.
    Admin(Admin),
}

/// A caller that may take a member out of the org.
#[derive(Debug, Clone)]
pub enum Remover {
    /// An owner, whoever goes.
    Owner(Owner),
    /// Somebody else, who may leave.
    Oneself(Leaver),
}

/// A member who may go, and take nobody else out of the org.
#[derive(Debug, Clone)]
pub struct Leaver {
    pub(super) seat: Seat,
    pub(super) user: UserId,
}

impl MayView for Leaver {
    fn org(&self) -> OrgId {
        self.seat.org
    }

    fn by(&self) -> By {
        By::Member { member: self.seat.member, user: self.user }
    }
}

impl Leaver {
    /// Whether this is the member.
    pub(crate) fn is(&self, member: MemberId) -> bool {
        self.seat.member == member
    }

    /// The refusal to take anybody else out of the org.
    pub(crate) fn is_no_owner(&self) -> ApiError {
        too_little(self.seat.role, Role::Owner)
    }
}

impl MayView for Viewer {
    fn org(&self) -> OrgId {
        self.org
    }

    fn by(&self) -> By {
        self.by
    }
}

impl MayView for Admin {
    fn org(&self) -> OrgId {
        self.org
    }

    fn by(&self) -> By {
        self.by
    }
}

impl MayChange for Admin {}

impl MayView for Owner {
    fn org(&self) -> OrgId {
        self.org
    }

    fn by(&self) -> By {
        self.by
    }
}

impl MayChange for Owner {}

impl MayOwn for Owner {}

impl Reader {
    /// The org whose actions may be read.
    pub fn org(&self) -> OrgId {
        match self {
            Self::Agent(key) => key.org,
            Self::Org(key) => key.org,
            Self::Member(org, _) => *org,
        }
    }

    /// The one agent whose actions may be read, or `None` for all of the org.
    pub fn only_agent(&self) -> Option<AgentId> {
        match self {
            Self::Agent(key) => Some(key.agent),
            Self::Org(_) | Self::Member(..) => None,
        }
    }

    /// Whether both stand for the same reader, whatever else became of the credential.
    pub(crate) fn is_same_as(&self, other: &Self) -> bool {
        (self.number(), self.org()) == (other.number(), other.org())
            && self.only_agent() == other.only_agent()
    }

    /// The key, whose revocation is told by an event.
    pub fn key(&self) -> Option<KeyId> {
        match self {
            Self::Agent(key) => Some(key.key),
            Self::Org(key) => Some(key.key),
            Self::Member(..) => None,
        }
    }

    /// The key or the person, for what is counted by either.
    pub fn number(&self) -> Uuid {
        match self {
            Self::Agent(key) => *key.key.as_uuid(),
            Self::Org(key) => *key.key.as_uuid(),
            Self::Member(_, user) => *user.as_uuid(),
        }
    }
}

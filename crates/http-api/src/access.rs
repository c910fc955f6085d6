//! Who may call what: who a key stands for, the callers that handlers take, and the rules that
//! make them. A rule is the only maker of its caller, so a handler can stand behind no other:
//!
//! ```
//! # use std::sync::Arc;
//! # use http_api::{App, access::*};
//! # use web::*;
//! async fn send(_: Arc<App>, caller: AgentCaller, _: Call) -> Result<Reply, ApiError> {
//!     Ok(Reply::ok(&caller.0.agent))
//! }
//! at("POST", "/v1/actions", "send").with(AGENT_EXECUTE, NOTHING, Patience::Short, send);
//! ```
//!
//! ```compile_fail,E0631
//! # use std::sync::Arc;
//! # use http_api::{App, access::*};
//! # use web::*;
//! # async fn send(_: Arc<App>, caller: AgentCaller, _: Call) -> Result<Reply, ApiError> {
//! #     Ok(Reply::ok(&caller.0.agent))
//! # }
//! at("POST", "/v1/actions", "send").with(PUBLIC, NOTHING, Patience::Short, send);
//! ```

pub(crate) mod accounts;
mod approvals;
mod rules;

pub use approvals::{APPROVAL_READERS, APPROVERS, ApprovalReader, Approver};
pub use rules::{
    ACTION_READERS, ADMIN_READERS, ADMINS, AGENT_EXECUTE, CANCELLERS, FRESH_ADMINS, FRESH_OWNERS,
    FRESH_SESSION_ADMINS, INTENT_CHECKERS, MEMBER_EDITORS, OWNERS, PUBLIC, REMOVERS,
    SESSION_ADMINS, SIGNED_IN, SIGNING_IN, STARTERS, STREAM_READERS, VIEWERS, VISITORS,
};

use act::{By, MayChange, MayOwn, MayView};
use ledger::record::Member;
use model::{AgentId, KeyId, MemberId, OrgId, Role, Scope, UserId, Uuid};
use people::store::Session;
use web::{ApiError, Asked, Credential, Patience, Trust};

use crate::app::App;

/// A rule over our principals.
pub type Access<C> = web::Access<Principal, C>;

/// Who a credential stands for.
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
    /// Who they are in the org that the session is for, as it is now; nobody while it has no org, or
    /// once they are no longer there what they were when they chose it.
    pub seat: Option<Seat>,
}

impl Person {
    /// The person as an owner of the org that the session is for, however old their sign-in is.
    pub(crate) fn as_owner(&self) -> Result<Owner, ApiError> {
        rules::owner(self)
    }

    /// Whether the sign-in is young enough for what gives or takes power.
    pub(crate) fn must_be_fresh(&self) -> Result<(), ApiError> {
        rules::fresh(self)
    }
}

impl Person {
    /// Whether the session may work in the org as this member.
    ///
    /// Whoever showed their mailbox last before they became what they are shows it again: a token that
    /// was stolen before rises with nobody. Who has just joined need not, while their sign-in is fresh.
    pub(crate) fn may_sit_as(&self, member: &Member) -> Result<(), ApiError> {
        if self.session.authenticated_at >= member.role_since {
            return Ok(());
        }
        let has_just_joined = member.role_since == member.joined_at;
        if has_just_joined && self.session.is_fresh { Ok(()) } else { Err(rules::risen()) }
    }
}

/// Who a person is in an org.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seat {
    /// The org.
    pub org: OrgId,
    /// The member.
    pub member: MemberId,
    /// What they may do.
    pub role: Role,
    /// Whether they may say yes or no to what waits for a person.
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
    /// What the key may do.
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
    /// The most that it may do: `admin`, or `admin:read`.
    pub scope: Scope,
}

/// Anybody, with or without a credential.
#[derive(Debug, Clone, Copy)]
pub struct Anyone;

/// An agent that may send and report actions.
#[derive(Debug, Clone)]
pub struct AgentCaller(pub AgentKey);

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
    org: OrgId,
    by: By,
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
/// What a viewer gets has no use case that changes anything:
///
/// ```compile_fail,E0599
/// use http_api::access::Viewer;
/// async fn stop(app: &admin::Admin, caller: Viewer) {
///     let _ = app.view(&caller).stop_org("It ran wild.", model::PendingApprovals::Void).await;
/// }
/// ```
///
/// An org's admin is not taken for whoever runs the deployment:
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
    org: OrgId,
    by: By,
}

/// A caller that may do what is an owner's.
#[derive(Debug, Clone)]
pub struct Owner {
    org: OrgId,
    by: By,
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
    /// An admin, who may say of viewers whether they answer questions.
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
    seat: Seat,
    user: UserId,
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

    /// Why they may not take anybody else out.
    pub(crate) fn is_no_owner(&self) -> ApiError {
        rules::too_little(self.seat.role, Role::Owner)
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

impl Viewer {
    /// Whether the credential that made this caller still makes it, for an answer that goes on for
    /// long. A record that cannot be asked says nothing about the credential.
    pub(crate) async fn is_let_in(&self, shown: Option<&Credential>, app: &App) -> bool {
        match VIEWERS.admit(again(shown), app).await {
            Ok((now, _)) => now == *self,
            Err(error) => error.status().is_server_error(),
        }
    }
}

/// What whoever is still answered is looked up with.
pub(crate) fn again(shown: Option<&Credential>) -> Asked<'_> {
    Asked { shown, client: None, patience: Patience::Short, trust: Trust::Still }
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

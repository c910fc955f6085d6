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

use act::{By, MayChange, MayView};
use model::{AgentId, KeyId, OrgId, Scope};
use web::{ApiError, Credential, Patience};

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
}

impl Principal {
    /// The org that it belongs to.
    pub(crate) fn org(&self) -> OrgId {
        match self {
            Self::Agent(key) => key.org,
            Self::Org(key) => key.org,
        }
    }

    /// The key, for what is counted by key.
    pub(crate) fn key(&self) -> KeyId {
        match self {
            Self::Agent(key) => key.key,
            Self::Org(key) => key.key,
        }
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
}

/// A caller that may cancel a waiting action.
#[derive(Debug, Clone)]
pub enum Canceller {
    /// The agent, its own actions.
    Agent(AgentKey),
    /// The org, any action.
    Org(OrgKey),
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
        match VIEWERS.admit(shown, Patience::Short, app).await {
            Ok((now, _)) => now == *self,
            Err(error) => error.status().is_server_error(),
        }
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

impl Reader {
    /// The org whose actions may be read.
    pub fn org(&self) -> OrgId {
        match self {
            Self::Agent(key) => key.org,
            Self::Org(key) => key.org,
        }
    }

    /// The one agent whose actions may be read, or `None` for all of the org.
    pub fn only_agent(&self) -> Option<AgentId> {
        match self {
            Self::Agent(key) => Some(key.agent),
            Self::Org(_) => None,
        }
    }

    /// Whether both stand for the same reader, whatever else became of the key.
    pub(crate) fn is_same_as(&self, other: &Self) -> bool {
        self.key() == other.key() && self.only_agent() == other.only_agent()
    }

    /// The key, for what is counted by key.
    pub fn key(&self) -> KeyId {
        match self {
            Self::Agent(key) => key.key,
            Self::Org(key) => key.key,
        }
    }
}

/// Admits everybody and looks at no credential.
pub const PUBLIC: Access<Anyone> = Access::anyone("PUBLIC", "anybody", || Anyone);

/// Admits agents that may send actions.
pub const AGENT_EXECUTE: Access<AgentCaller> =
    Access::holder("AGENT_EXECUTE", "agent key with `actions:execute`", |holder| {
        agent(holder, Scope::ActionsExecute).map(AgentCaller)
    });

/// Admits agents to their own actions and org keys to all.
pub const ACTION_READERS: Access<Reader> = Access::holder(
    "ACTION_READERS",
    "agent key with `actions:read` (its own actions), or org key with `admin` or `admin:read`",
    reader,
);

/// Admits the same callers as [`ACTION_READERS`] to the live stream.
pub const STREAM_READERS: Access<Reader> = Access::holder(
    "STREAM_READERS",
    "agent key with `actions:read` (its own events), or org key with `admin` or `admin:read`",
    reader,
);

/// Admits the acting agent, admins and org keys to cancel.
pub const CANCELLERS: Access<Canceller> = Access::holder(
    "CANCELLERS",
    "agent key with `actions:execute` (its own actions), or org key with `admin`",
    |holder| match holder {
        Principal::Org(key) => changing(key).map(Canceller::Org),
        holder @ Principal::Agent(_) => agent(holder, Scope::ActionsExecute).map(Canceller::Agent),
    },
);

/// Admits those who may read the org's settings.
pub const VIEWERS: Access<Viewer> =
    Access::holder("VIEWERS", "org key with `admin` or `admin:read`", |holder| {
        org(holder).map(|OrgKey { org, key, .. }| Viewer { org, by: By::OrgKey(key) })
    });

/// Admits those who may change the org's settings.
pub const ADMINS: Access<Admin> = Access::holder("ADMINS", "org key with `admin`", |holder| {
    let OrgKey { org, key, .. } = changing(org(holder)?)?;
    Ok(Admin { org, by: By::OrgKey(key) })
});

fn agent(holder: Principal, scope: Scope) -> Result<AgentKey, ApiError> {
    match holder {
        Principal::Agent(key) if key.scopes.contains(&scope) => Ok(key),
        Principal::Agent(_) | Principal::Org(_) => Err(ApiError::insufficient_scope(scope)),
    }
}

fn org(holder: Principal) -> Result<OrgKey, ApiError> {
    match holder {
        Principal::Org(key) => Ok(key),
        Principal::Agent(_) => Err(ApiError::insufficient_scope(Scope::Admin)),
    }
}

fn changing(key: OrgKey) -> Result<OrgKey, ApiError> {
    if key.scope == Scope::Admin {
        Ok(key)
    } else {
        Err(ApiError::insufficient_scope(Scope::Admin))
    }
}

fn reader(holder: Principal) -> Result<Reader, ApiError> {
    match holder {
        Principal::Org(key) => Ok(Reader::Org(key)),
        holder @ Principal::Agent(_) => agent(holder, Scope::ActionsRead).map(Reader::Agent),
    }
}

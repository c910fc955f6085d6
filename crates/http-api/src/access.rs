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
mod rules;

pub use rules::{
    ACTION_READERS, ADMINS, AGENT_EXECUTE, CANCELLERS, PUBLIC, STREAM_READERS, VIEWERS,
};

use act::{By, MayChange, MayView};
use model::{AgentId, KeyId, OrgId, Scope};

/// A rule over our principals.
pub type Access<C> = web::Access<Principal, C>;

/// Who a credential stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Principal {
    /// An agent, by a key of its own.
    Agent(AgentKey),
    /// The org's administration, by an org key.
    Org(OrgKey),
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
    /// What the key may do.
    pub scopes: Vec<Scope>,
    /// Whether the agent was stopped when the key was looked up.
    pub stopped: bool,
}

/// An org's live administration key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OrgKey {
    /// The org.
    pub org: OrgId,
    /// The key.
    pub key: KeyId,
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
#[derive(Debug, Clone)]
pub struct Viewer {
    org: OrgId,
    by: By,
}

/// A caller that may change the org's settings, as a [`Viewer`] may not:
///
/// ```
/// use http_api::access::Admin;
/// async fn stop(app: &admin::Admin, caller: Admin) {
///     let _ = app.change(&caller).stop_org("It ran wild.").await;
/// }
/// ```
///
/// A viewer is not taken for somebody who may change the org:
///
/// ```compile_fail,E0277
/// use http_api::access::Viewer;
/// async fn stop(app: &admin::Admin, caller: Viewer) {
///     let _ = app.change(&caller).stop_org("It ran wild.").await;
/// }
/// ```
///
/// What a viewer gets has no use case that changes anything:
///
/// ```compile_fail,E0599
/// use http_api::access::Viewer;
/// async fn stop(app: &admin::Admin, caller: Viewer) {
///     let _ = app.view(&caller).stop_org("It ran wild.").await;
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
    /// Returns the org whose actions may be read.
    pub fn org(&self) -> OrgId {
        match self {
            Self::Agent(key) => key.org,
            Self::Org(key) => key.org,
        }
    }

    /// Returns the one agent whose actions may be read, or `None` for all of the org.
    pub fn only_agent(&self) -> Option<AgentId> {
        match self {
            Self::Agent(key) => Some(key.agent),
            Self::Org(_) => None,
        }
    }

    /// Returns whether both stand for the same reader, whatever else became of the key.
    pub(crate) fn is_same_as(&self, other: &Self) -> bool {
        self.key() == other.key() && self.only_agent() == other.only_agent()
    }

    /// Returns the key, for what is counted by key.
    pub fn key(&self) -> KeyId {
        match self {
            Self::Agent(key) => key.key,
            Self::Org(key) => key.key,
        }
    }
}

//! Who may call what, as types: a rule is the only maker of its caller, and a handler takes the
//! caller it needs, so that a route with the wrong rule does not compile.

mod accounts;
mod bearer;
mod rules;

pub(crate) use bearer::bearer;
use bearer::holder;
pub use rules::{
    ACTION_READERS, ADMINS, AGENT_EXECUTE, CANCELLERS, PUBLIC, STREAM_READERS, VIEWERS,
};

use std::sync::Arc;

use act::{By, MayChange, MayView};
use async_trait::async_trait;
use crypto::Secret;
use model::{AgentId, KeyId, OrgId, Scope};

use crate::error::ApiError;

/// Finds the holder of an API key; `admin` is the one that does outside of tests.
#[async_trait]
pub trait KeyDirectory: Send + Sync {
    /// Returns who holds the key, or `None` for one that is wrong, revoked or expired.
    async fn principal(&self, key: &Secret<String>) -> Result<Option<Principal>, Unavailable>;
}

/// The keys could not be looked up.
#[derive(Debug, thiserror::Error)]
#[error("could not look the key up")]
pub struct Unavailable(#[source] pub Box<dyn std::error::Error + Send + Sync>);

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

/// An access rule that makes callers of type `C`.
pub struct Access<C> {
    /// The rule's name, as tables show it.
    pub name: &'static str,
    /// Who passes, in words.
    pub who: &'static str,
    admit: Admit<C>,
}

enum Admit<C> {
    /// No credential is looked at.
    Anyone(fn() -> C),
    /// The credential decides.
    Holder(fn(Principal) -> Result<C, ApiError>),
}

impl<C> Clone for Access<C> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<C> Copy for Access<C> {}

impl<C> Clone for Admit<C> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<C> Copy for Admit<C> {}

impl<C> std::fmt::Debug for Access<C> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Access").field("name", &self.name).finish_non_exhaustive()
    }
}

impl<C> Access<C> {
    /// Returns the caller that the request's credential makes under this rule.
    pub(crate) async fn admit(
        self,
        bearer: Option<Secret<String>>,
        keys: Arc<dyn KeyDirectory>,
    ) -> Result<C, ApiError> {
        match self.admit {
            Admit::Anyone(caller) => Ok(caller()),
            Admit::Holder(admit) => admit(holder(bearer, keys).await?),
        }
    }
}

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

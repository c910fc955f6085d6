//! The access rules, one constant each; nothing else makes a caller.

use act::By;
use model::{OrgId, Scope};
use web::ApiError;

use super::{
    Access, Admin, AgentCaller, AgentKey, Anyone, Canceller, OrgKey, Principal, Reader, Viewer,
};

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
    "agent key with `actions:read` (its own actions) or org admin key",
    reader,
);

/// Admits the same callers as [`ACTION_READERS`] to the live stream.
pub const STREAM_READERS: Access<Reader> = Access::holder(
    "STREAM_READERS",
    "agent key with `actions:read` (its own events) or org admin key",
    reader,
);

/// Admits the acting agent, admins and org keys to cancel.
pub const CANCELLERS: Access<Canceller> = Access::holder(
    "CANCELLERS",
    "agent key with `actions:execute` (its own actions) or org admin key",
    |holder| match holder {
        Principal::Org(key) => Ok(Canceller::Org(key)),
        holder @ Principal::Agent(_) => agent(holder, Scope::ActionsExecute).map(Canceller::Agent),
    },
);

/// Admits those who may read the org's settings.
pub const VIEWERS: Access<Viewer> = Access::holder("VIEWERS", "org admin key", |holder| {
    org(holder).map(|(org, by)| Viewer { org, by })
});

/// Admits those who may change the org's settings.
pub const ADMINS: Access<Admin> = Access::holder("ADMINS", "org admin key", |holder| {
    org(holder).map(|(org, by)| Admin { org, by })
});

fn agent(holder: Principal, scope: Scope) -> Result<AgentKey, ApiError> {
    match holder {
        Principal::Agent(key) if key.scopes.contains(&scope) => Ok(key),
        Principal::Agent(_) | Principal::Org(_) => Err(ApiError::insufficient_scope(scope)),
    }
}

fn org(holder: Principal) -> Result<(OrgId, By), ApiError> {
    match holder {
        Principal::Org(OrgKey { org, key }) => Ok((org, By::OrgKey(key))),
        Principal::Agent(_) => Err(ApiError::insufficient_scope(Scope::Admin)),
    }
}

fn reader(holder: Principal) -> Result<Reader, ApiError> {
    match holder {
        Principal::Org(key) => Ok(Reader::Org(key)),
        holder @ Principal::Agent(_) => agent(holder, Scope::ActionsRead).map(Reader::Agent),
    }
}

//! Keys as the accounts of `admin` know them.

use std::net::IpAddr;

use admin::{Admin, AuthenticateError, Caller, KeyHolder};
use crypto::Secret;
use model::Scope;
use web::LookupError;

use super::principal::{AgentKey, OrgKey, Principal};

/// Who holds the key, or `None` for one that opens nothing.
pub(crate) async fn principal(
    admin: &Admin,
    key: &Secret<String>,
    client: Option<IpAddr>,
) -> Result<Option<Principal>, LookupError> {
    match admin.authenticate(key.expose(), client).await {
        Ok(caller) => Ok(holder(caller)),
        Err(AuthenticateError::Unauthenticated) => Ok(None),
        Err(AuthenticateError::Unavailable(down)) => Err(LookupError(down.into())),
    }
}

fn holder(caller: Caller) -> Option<Principal> {
    let Caller { org, key, holder, scopes, livemode } = caller;
    match holder {
        KeyHolder::Agent(agent) => {
            let stopped = agent.stop.is_some();
            let agent = agent.id;
            Some(Principal::Agent(AgentKey { org, agent, key, livemode, scopes, stopped }))
        }
        // An org key without a scope of the org's opens nothing at all.
        KeyHolder::Org => [Scope::Admin, Scope::AdminRead]
            .into_iter()
            .find(|scope| scopes.contains(scope))
            .map(|scope| Principal::Org(OrgKey { org, key, scope })),
    }
}

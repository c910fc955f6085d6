//! Keys as the accounts of `admin` know them.

use admin::{Admin, AuthenticateError, Caller, KeyHolder};
use async_trait::async_trait;
use crypto::Secret;
use model::Scope;

use super::{AgentKey, KeyDirectory, OrgKey, Principal, Unavailable};

#[async_trait]
impl KeyDirectory for Admin {
    async fn principal(&self, key: &Secret<String>) -> Result<Option<Principal>, Unavailable> {
        match self.authenticate(key.expose()).await {
            Ok(caller) => Ok(principal(caller)),
            Err(AuthenticateError::Unauthenticated) => Ok(None),
            Err(AuthenticateError::Unavailable(down)) => Err(Unavailable(down.into())),
        }
    }
}

fn principal(caller: Caller) -> Option<Principal> {
    let Caller { org, key, holder, scopes, livemode } = caller;
    match holder {
        KeyHolder::Agent(agent) => {
            let stopped = agent.stop.is_some();
            let agent = agent.id;
            Some(Principal::Agent(AgentKey { org, agent, key, livemode, scopes, stopped }))
        }
        // An org key without the scope opens nothing at all.
        KeyHolder::Org => {
            scopes.contains(&Scope::Admin).then_some(Principal::Org(OrgKey { org, key }))
        }
    }
}

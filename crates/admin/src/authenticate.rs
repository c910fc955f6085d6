//! Whose an API key is.
//!
//! A key and its agent are remembered for [`REMEMBERED_FOR`](crate::REMEMBERED_FOR): another instance
//! that revokes the key is noticed by reads that much later. Calls are not affected, since every turn of the ledger
//! looks at the key again.

use std::{net::IpAddr, sync::Arc};

use ledger::{
    StoreDown,
    record::{Agent, ApiKey, Holder, Member},
};
use model::{KeyId, MemberId, OrgId, Scope, UserId};

use crate::{Admin, AuthenticateError, KeyText, KeyUse, Membership, Network};

/// Whoever sent a request with a valid API key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// The org.
    pub org: OrgId,
    /// The key.
    pub key: KeyId,
    /// Whose key it is.
    pub holder: KeyHolder,
    /// What the key may do.
    pub scopes: Vec<Scope>,
    /// Whether its actions are no tests.
    pub livemode: bool,
}

/// Whose a key is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyHolder {
    /// This agent's, as it stood up to a second ago.
    Agent(Box<Agent>),
    /// The org's own.
    Org,
}

impl Caller {
    /// The agent; `None` for an org key.
    pub fn agent(&self) -> Option<&Agent> {
        match &self.holder {
            KeyHolder::Agent(agent) => Some(agent),
            KeyHolder::Org => None,
        }
    }

    /// Whether the key has this scope.
    pub fn has(&self, scope: Scope) -> bool {
        self.scopes.contains(&scope)
    }
}

impl Admin {
    /// The live member of the org with this id.
    pub async fn member(&self, org: OrgId, id: MemberId) -> Result<Option<Member>, StoreDown> {
        Ok(self.parts.store.member(org, id).await?.filter(Member::is_live))
    }

    /// The live member that this person is in the org.
    pub async fn member_of(&self, org: OrgId, user: UserId) -> Result<Option<Member>, StoreDown> {
        self.parts.store.member_of(org, user).await
    }

    /// Every org that the person is in, by its name, with who they are there.
    pub async fn memberships(&self, user: UserId) -> Result<Vec<Membership>, StoreDown> {
        self.parts.store.memberships(user).await
    }

    /// Returns whose key this text is, and remembers that it was used, from this address where that is
    /// known.
    pub async fn authenticate(
        &self,
        text: &str,
        client: Option<IpAddr>,
    ) -> Result<Caller, AuthenticateError> {
        let text = KeyText::parse(text).map_err(|_| AuthenticateError::Unauthenticated)?;
        // Before the look-up, so that an unknown key takes the same work as a wrong one.
        let mac = text.mac(&self.parts.pepper);
        let known = self.known_key(text.id()).await?;
        let now = self.parts.clock.now();
        let known = known
            .filter(|known| crypto::constant_time_eq(mac.as_bytes(), known.key.mac.as_bytes()))
            .filter(|known| known.key.is_valid(now))
            .ok_or(AuthenticateError::Unauthenticated)?;
        let last = KeyUse { at: now, network: client.map(Network::of) };
        self.uses.note(known.caller.org, known.caller.key, last);
        Ok(known.caller.clone())
    }

    async fn known_key(&self, id: KeyId) -> Result<Option<Arc<KnownKey>>, AuthenticateError> {
        // The moment before the look-up, so that nothing is remembered too long.
        let now = self.parts.clock.now();
        if let Some(known) = self.keys.get(&id, now) {
            return Ok(Some(known));
        }
        let Some(key) = self.parts.store.api_key(id).await? else { return Ok(None) };
        let holder = match key.holder {
            Holder::Org => KeyHolder::Org,
            Holder::Agent(agent) => match self.parts.store.agent(key.org, agent).await? {
                Some(agent) => KeyHolder::Agent(Box::new(agent)),
                None => return Ok(None),
            },
        };
        let ApiKey { org, livemode, .. } = key;
        let caller = Caller { org, key: id, holder, scopes: key.scopes.clone(), livemode };
        let known = Arc::new(KnownKey { key, caller });
        self.keys.put(id, Arc::clone(&known), now);
        Ok(Some(known))
    }
}

/// A key that was looked up, and whose it is.
pub(crate) struct KnownKey {
    key: ApiKey,
    caller: Caller,
}

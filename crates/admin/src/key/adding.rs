//! How a key comes to those of its holder: how many there may be, and what becomes of the one that
//! it replaces.

use std::{collections::BTreeSet, time::Duration};

use act::{ActError, By, Changed, Record};
use ledger::{
    Snapshot,
    record::{Agent, ApiKey, Holder, Org},
};
use model::{KeyId, Role};

use super::{KeyEvent, changed};
use crate::{ChangeError, agent, input};

/// The most keys of one agent that open something at a time.
const MOST_OF_AGENT: usize = 8;
/// The most keys of the org's own that open something at a time.
const MOST_OF_ORG: usize = 32;

/// Refuses whoever does not own the org at this moment.
pub(super) fn owns(by: By, at: &Snapshot) -> Result<(), ChangeError> {
    match by {
        By::Operator => Ok(()),
        By::Member { member, .. } => match at.member(member).map(|member| member.role) {
            Some(Role::Owner) => Ok(()),
            Some(Role::Admin | Role::Viewer) | None => Err(ActError::RoleRequired.into()),
        },
        By::OrgKey(_) | By::Person(_) | By::Service => Err(ChangeError::PersonRequired),
    }
}

/// A key that is added to those of its holder.
pub(super) struct Adding<'a> {
    /// How many keys had been made when the ids were read.
    pub(super) counted: u32,
    pub(super) ids: &'a BTreeSet<KeyId>,
    pub(super) replaces: Option<(KeyId, Duration)>,
}

impl Adding<'_> {
    /// The key as it was added; nothing where other keys were made since its kin were read.
    pub(super) fn decide(
        &self,
        key: ApiKey,
        at: &Snapshot,
        record: &mut Record<'_>,
    ) -> Result<Option<Changed<ApiKey>>, ChangeError> {
        if counted(key.holder, at, record.by())? != self.counted {
            return Ok(None);
        }
        let ended = self.replaces.map(|old| ended(old, &key, at)).transpose()?;
        let expires_at = input::expiry(key.holder, key.expires_at, at.now())?;
        let key = ApiKey { created_at: at.now(), expires_at, ..key };
        let stays = |id: &&KeyId| match &ended {
            Some((before, after)) if before.id == **id => after.is_valid(at.now()),
            _ => at.key(**id).is_some_and(|key| key.is_valid(at.now())),
        };
        let (most, sentence) = match key.holder {
            Holder::Agent(_) => (MOST_OF_AGENT, "the agent has 8 keys, the maximum"),
            Holder::Org => (MOST_OF_ORG, "the org has 32 keys of its own, the maximum"),
        };
        if self.ids.iter().filter(stays).count() >= most {
            return Err(ChangeError::LimitReached(sentence));
        }
        count_one(key.holder, at, record);
        let Some((before, after)) = ended else {
            return Ok(Some(changed(record, KeyEvent::Created, None, key)));
        };
        let made = changed(record, KeyEvent::Rolled(before.id), Some(before), key);
        if after.revoked_at.is_some() {
            changed(record, KeyEvent::Revoked, Some(before), after);
        } else {
            record.write(after);
        }
        Ok(Some(made))
    }
}

/// How many keys were made for a holder that may have some.
fn counted(holder: Holder, at: &Snapshot, by: By) -> Result<u32, ChangeError> {
    match holder {
        Holder::Agent(agent) => {
            let agent = agent::live(at, agent)?;
            if agent.system {
                return Err(ActError::Conflict("the service's own agent cannot have keys").into());
            }
            Ok(agent.keys_made)
        }
        Holder::Org => {
            owns(by, at)?;
            Ok(at.org().ok_or(ActError::NotFound("org"))?.keys_made)
        }
    }
}

/// Counts one more key of this holder.
fn count_one(holder: Holder, at: &Snapshot, record: &mut Record<'_>) {
    match holder {
        Holder::Agent(id) => {
            if let Some(agent) = at.agent(id) {
                let keys_made = agent.keys_made.saturating_add(1);
                record.write(Agent { keys_made, ..agent.clone() });
            }
        }
        Holder::Org => {
            if let Some(org) = at.org() {
                record.write(Org { keys_made: org.keys_made.saturating_add(1), ..org.clone() });
            }
        }
    }
}

/// The key of this holder that is replaced, and the form in which it ends.
fn ended<'a>(
    (id, lives): (KeyId, Duration),
    by: &ApiKey,
    at: &'a Snapshot,
) -> Result<(&'a ApiKey, ApiKey), ChangeError> {
    let is_meant = |key: &&ApiKey| key.holder == by.holder;
    let before = at.key(id).filter(is_meant).ok_or(ActError::NotFound("API key"))?;
    if !before.is_valid(at.now()) {
        return Err(ActError::Conflict("the API key is no longer valid").into());
    }
    // It may end soon by now, for that it was rolled: a key with its end would, too.
    if before.rolled_to.is_some() {
        let why =
            "the API key was already rolled; roll the key that replaces it, or create another key";
        return Err(ActError::Conflict(why).into());
    }
    let after = ApiKey { rolled_to: Some(by.id), ..before.clone() };
    if lives.is_zero() {
        return Ok((before, ApiKey { revoked_at: Some(at.now()), ..after }));
    }
    let end = at.now() + lives;
    let end = before.expires_at.map_or(end, |earlier| earlier.min(end));
    Ok((before, ApiKey { expires_at: Some(end), ..after }))
}

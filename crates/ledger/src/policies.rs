//! Compiled policies by version. A version never changes, so what was compiled once holds.

use std::{
    collections::{BTreeSet, HashMap},
    sync::{Arc, Mutex, PoisonError},
};

use model::{OrgId, PolicyVersionId};

use crate::{
    data::LoadedPolicy,
    record::ActivePolicy,
    store::{LedgerStore, StoreDown},
};

const KEPT: usize = 1_000;

#[derive(Default)]
pub(crate) struct Policies {
    compiled: Mutex<HashMap<PolicyVersionId, Arc<policy::Policy>>>,
    unreadable: Mutex<BTreeSet<OrgId>>,
}

impl Policies {
    /// The policies that are active, each with its compiled form or without one when
    /// its document cannot be read.
    pub(crate) async fn load(
        &self,
        store: &dyn LedgerStore,
        org: OrgId,
        active: &[ActivePolicy],
    ) -> Result<Vec<LoadedPolicy>, StoreDown> {
        let mut loaded = Vec::new();
        for active in active {
            let policy = match self.cached(active.version) {
                Some(policy) => Some(policy),
                None => self.compile(store, org, active).await?,
            };
            loaded.push(LoadedPolicy { active: *active, policy });
        }
        let mut unreadable = self.unreadable.lock().unwrap_or_else(PoisonError::into_inner);
        if loaded.iter().any(|loaded| loaded.policy.is_none()) {
            unreadable.insert(org);
        } else {
            unreadable.remove(&org);
        }
        drop(unreadable);
        Ok(loaded)
    }

    /// The orgs that had an active policy which could not be read when last looked at.
    pub(crate) fn unreadable(&self) -> Vec<OrgId> {
        let unreadable = self.unreadable.lock().unwrap_or_else(PoisonError::into_inner);
        unreadable.iter().copied().collect()
    }

    async fn compile(
        &self,
        store: &dyn LedgerStore,
        org: OrgId,
        active: &ActivePolicy,
    ) -> Result<Option<Arc<policy::Policy>>, StoreDown> {
        let document = store.policy_document(org, active.version).await?;
        let compiled = document.and_then(|document| policy::Policy::compile(&document).ok());
        // A document that is not the one that was activated must not decide anything.
        let Some(policy) = compiled.filter(|policy| policy.digest() == active.digest) else {
            tracing::error!(version = %active.version, "an active policy cannot be read");
            return Ok(None);
        };
        let policy = Arc::new(policy);
        let mut cache = self.compiled.lock().unwrap_or_else(PoisonError::into_inner);
        if cache.len() >= KEPT {
            cache.clear();
        }
        cache.insert(active.version, Arc::clone(&policy));
        Ok(Some(policy))
    }

    fn cached(&self, version: PolicyVersionId) -> Option<Arc<policy::Policy>> {
        let cache = self.compiled.lock().unwrap_or_else(PoisonError::into_inner);
        cache.get(&version).map(Arc::clone)
    }
}

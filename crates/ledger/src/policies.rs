//! Compiled policies by version. A version never changes, so what was compiled once holds.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use model::{OrgId, PolicyVersionId};

use crate::{LedgerStore, LoadedPolicy, StoreDown, record::ActivePolicy};

const KEPT: usize = 1_000;

#[derive(Default)]
pub(crate) struct Policies(Mutex<HashMap<PolicyVersionId, Arc<policy::Policy>>>);

impl Policies {
    /// Returns the policies that are active, each with its compiled form or without one when
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
        Ok(loaded)
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
        let mut cache = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if cache.len() >= KEPT {
            cache.clear();
        }
        cache.insert(active.version, Arc::clone(&policy));
        Ok(Some(policy))
    }

    fn cached(&self, version: PolicyVersionId) -> Option<Arc<policy::Policy>> {
        let cache = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        cache.get(&version).map(Arc::clone)
    }
}

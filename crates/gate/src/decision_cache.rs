//! A cache of the decisions about one call, valid while the call and the policy are the same. A turn first asks
//! which rows a call needs and then for the decision; both use the same evaluation.

use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

use policy::{Call, Decision, Policy};

/// One entry for the enforced policy and one for the shadow policy.
const ENTRIES: usize = 2;

/// The last decisions about one call.
#[derive(Default)]
pub(crate) struct DecisionCache(Mutex<Vec<CachedDecision>>);

struct CachedDecision {
    policy: Arc<Policy>,
    call: Call,
    decision: Decision,
}

impl DecisionCache {
    /// The decision of the policy; cached if the call is the same, with its time, agent and tool.
    pub(crate) fn decide(&self, policy: &Arc<Policy>, call: &Call) -> Decision {
        self.or_evaluate(policy, call, || policy::decide(policy, call))
    }

    fn or_evaluate(
        &self,
        policy: &Arc<Policy>,
        call: &Call,
        evaluate: impl FnOnce() -> Decision,
    ) -> Decision {
        let mut cached = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_of_policy = |entry: &CachedDecision| Arc::ptr_eq(&entry.policy, policy);
        let known = cached.iter().find(|entry| is_of_policy(entry) && entry.call == *call);
        if let Some(known) = known {
            return known.decision.clone();
        }
        let decision = evaluate();
        cached.retain(|entry| !is_of_policy(entry));
        if cached.len() == ENTRIES {
            cached.remove(0);
        }
        let (policy, call) = (Arc::clone(policy), call.clone());
        cached.push(CachedDecision { policy, call, decision: decision.clone() });
        decision
    }
}

impl Clone for DecisionCache {
    /// The cache of a copied call is empty.
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl fmt::Debug for DecisionCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DecisionCache").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;

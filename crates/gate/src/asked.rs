//! What policies said of one call, for as long as nothing has changed that they were asked by. A
//! turn asks what a call needs before it asks for the decision, and both take the same evaluation.

use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

use policy::{Call, Decision, Policy};

/// One for the policy that is enforced and one for its shadow.
const KEPT: usize = 2;

/// The last answers about one call.
#[derive(Default)]
pub(crate) struct Asked(Mutex<Vec<Answer>>);

struct Answer {
    policy: Arc<Policy>,
    call: Call,
    decision: Decision,
}

impl Asked {
    /// What the policy says of the call, from memory where it said so of the same call: of the same
    /// moment, agent and tool.
    pub(crate) fn decide(&self, policy: &Arc<Policy>, call: &Call) -> Decision {
        self.or_ask(policy, call, || policy::decide(policy, call))
    }

    fn or_ask(
        &self,
        policy: &Arc<Policy>,
        call: &Call,
        ask: impl FnOnce() -> Decision,
    ) -> Decision {
        let mut answers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_theirs = |answer: &Answer| Arc::ptr_eq(&answer.policy, policy);
        let known = answers.iter().find(|answer| is_theirs(answer) && answer.call == *call);
        if let Some(known) = known {
            return known.decision.clone();
        }
        let decision = ask();
        answers.retain(|answer| !is_theirs(answer));
        if answers.len() == KEPT {
            answers.remove(0);
        }
        let (policy, call) = (Arc::clone(policy), call.clone());
        answers.push(Answer { policy, call, decision: decision.clone() });
        decision
    }
}

impl Clone for Asked {
    /// Nothing is known of a call that is copied.
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl fmt::Debug for Asked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Asked").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;

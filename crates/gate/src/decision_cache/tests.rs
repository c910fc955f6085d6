//! A policy is asked once about a call, until something of it changes.

use std::{sync::Arc, time::Duration};

use policy::{Agent, Call, Policy, Timestamp, decide};

use super::DecisionCache;

fn policy() -> Arc<Policy> {
    Arc::new(Policy::compile("{ schema: 1, default: { outcome: allow }, rules: [] }").unwrap())
}

fn call() -> Call {
    let agent = Agent::new("agt_00000000000000000000000001".parse().unwrap());
    Call::new("pay.refund", agent, Timestamp::EPOCH)
}

#[test]
fn a_policy_is_asked_once_about_a_call_of_one_moment() {
    let (enforced, shadow, call) = (policy(), policy(), call());
    let later = Call { now: call.now + Duration::from_secs(1), ..call.clone() };
    let asked = DecisionCache::default();
    let mut evaluated = 0;
    let mut ask = |policy: &Arc<Policy>, call: &Call| {
        asked.or_evaluate(policy, call, || {
            evaluated += 1;
            decide(policy, call)
        })
    };
    // The needs of a turn, then its decision; then the same at another moment.
    for call in [&call, &call, &later, &later] {
        for policy in [&enforced, &shadow] {
            assert_eq!(ask(policy, call), decide(policy, call));
        }
    }
    assert_eq!(evaluated, 4);
}

//! The names of budget counters. It counts nothing; turns do.

use model::PolicyId;
use policy::Charge;
use serde_json::json;

use crate::record::PolicyMode;

/// Whose charges are counted together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CounterScope {
    /// Whether the policy decides or is asked beside the one that does; what it would have let
    /// through counts apart.
    pub mode: PolicyMode,
    /// The policy that has the budgets. A new version of it counts on.
    pub policy: PolicyId,
    /// Whether the calls are no tests; those count apart.
    pub livemode: bool,
}

impl CounterScope {
    /// The name of the counter that a charge goes to.
    pub fn key(self, charge: &Charge) -> String {
        let Self { mode, policy, livemode } = self;
        let per: Vec<_> = charge.per.iter().map(|(name, value)| json!([name, value])).collect();
        match mode {
            PolicyMode::Enforce => json!([policy, livemode, charge.budget, per]).to_string(),
            PolicyMode::Shadow => {
                json!(["shadow", policy, livemode, charge.budget, per]).to_string()
            }
        }
    }
}

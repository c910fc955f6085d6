//! The rows of an org's truth, as every store keeps them and every turn changes them.
//!
//! They are plain data: what may be changed how is decided by the requests of `gate` and `admin`.

mod account;
mod action;

pub use account::{
    ActivePolicy, Agent, ApiKey, Connector, ConnectorStatus, Holder, Org, Policy, PolicyActivation,
    PolicyMode, PolicyTests, PolicyVersion, RETENTION_DAYS, Stop, Suspension,
};
pub use action::{
    Action, AgentRef, Approval, BudgetUse, Client, ConnectorRef, Cost, Decision, DecisionInputs,
    Execution, Known, Lease, Pruned, Shadow, Witness,
};

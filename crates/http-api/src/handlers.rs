//! What each route does: read the call, ask the domain, show the answer.

pub(crate) mod actions;
pub(crate) mod agents;
pub(crate) mod approval_links;
pub(crate) mod approvals;
pub(crate) mod connectors;
pub(crate) mod deeds;
mod detached;
pub(crate) mod events;
pub(crate) mod figures;
pub(crate) mod health;
pub(crate) mod intents;
pub(crate) mod invites;
pub(crate) mod key_set;
pub(crate) mod keys;
pub(crate) mod ledger;
pub(crate) mod log;
pub(crate) mod members;
pub(crate) mod org;
pub(crate) mod org_keys;
pub(crate) mod policies;
pub(crate) mod sessions;
pub(crate) mod sign_in;
pub(crate) mod stops;
pub(crate) mod system;
pub(crate) mod tools;
pub(crate) mod webhooks;

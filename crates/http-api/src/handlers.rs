//! What each route does: read the call, ask the domain, show the answer.

pub(crate) mod actions;
pub(crate) mod deeds;
pub(crate) mod events;
mod health;
mod key_set;
pub(crate) mod ledger;
pub(crate) mod log;
pub(crate) mod policies;
pub(crate) mod system;
pub(crate) mod tools;
mod unchanged;

pub(crate) use health::Health;
pub(crate) use key_set::KeySetCache;

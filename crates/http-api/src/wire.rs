//! The shapes of requests and responses. They exist here alone: the domain's records are turned
//! into them field by field, and no domain type is written to the wire as it is.

pub(crate) mod action;
pub(crate) mod agents;
pub(crate) mod approval_links;
pub(crate) mod approvals;
pub(crate) mod connectors;
pub(crate) mod deeds;
pub(crate) mod detail;
pub(crate) mod export;
pub(crate) mod figures;
pub(crate) mod filter;
pub(crate) mod intents;
pub(crate) mod keys;
pub(crate) mod ledger;
pub(crate) mod members;
pub(crate) mod next;
pub(crate) mod org;
pub(crate) mod overview;
pub(crate) mod policies;
pub(crate) mod report;
pub(crate) mod sign_in;
pub(crate) mod stops;
pub(crate) mod submission;
pub(crate) mod tools;
pub(crate) mod webhooks;
pub(crate) mod witness;

//! What the domain asks of the connectors: tools for the Gate, a verdict on a config for
//! administration, and the service's own records for the built-in tools. What the post asks of the Gate:
//! who may answer.

mod adjusted;
mod builtin;
mod check;
mod deciders;
mod toolbox;

pub use builtin::Records;
pub use check::Adapters;
pub use deciders::Deciders;
pub use toolbox::{Learnt, OrgTools};

#[cfg(test)]
mod tests;

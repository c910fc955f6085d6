//! What the domain asks of the connectors: tools for the Gate, a verdict on a config for
//! administration, and the service's own records for the built-in tools. What the post asks of the Gate:
//! who may answer. How webhooks leave.

mod adjusted;
mod builtin;
mod check;
mod deciders;
mod toolbox;
mod webhook_sender;

pub use builtin::Records;
pub use check::Adapters;
pub use deciders::Deciders;
pub(crate) use toolbox::blueprint;
pub use toolbox::{OrgTools, ToolSchemas};
pub(crate) use webhook_sender::WebhookSender;

#[cfg(test)]
mod tests;

//! The one guarded way out: every connection that the service opens on somebody's behalf (tools,
//! cancel requests, webhooks, upstreams) is dialled here.
//!
//! A host is resolved once, every address that it has is judged, and those very addresses are
//! dialled: a name that changes its mind in between, or that mixes a good address with a bad one,
//! gets nowhere. TLS, redirects and protocols are the callers' affair.

mod dial;
mod error;
mod host;
mod range;
mod resolve;
mod rules;

pub use dial::Egress;
pub use error::EgressError;
pub use host::is_host;
pub use range::{Reach, reach};
pub use resolve::{Resolver, SystemResolver};
pub use rules::{BadRule, PrivateNetworks, Rules};

#[cfg(test)]
mod tests;

//! The one HTTP client: requests to the systems of customers, by tools and by webhooks, over the
//! guarded way out.
//!
//! It follows no redirects, knows no proxies, unpacks nothing and reads no more than it was told to.
//! Whatever goes wrong, it says whether the request can have been received: a request that never
//! left may be sent again, of any other nobody knows.

mod address;
mod answer;
mod client;
mod connect;
mod error;
mod trust;

pub use address::{Address, AddressError};
pub use answer::{Answer, Body, Open};
pub use client::{Client, Limits, Reuse};
pub use error::{Sent, UpstreamError};
pub use trust::{Identity, Trust, TrustError};

#[cfg(test)]
mod tests;

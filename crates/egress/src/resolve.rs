//! Looking a name up.

use std::{fmt, io, net::IpAddr};

use async_trait::async_trait;

/// Turns a host name into addresses.
#[async_trait]
pub trait Resolver: Send + Sync + fmt::Debug {
    /// Every address that the name has now.
    async fn resolve(&self, name: &str) -> io::Result<Vec<IpAddr>>;
}

/// The operating system's resolver.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemResolver;

#[async_trait]
impl Resolver for SystemResolver {
    async fn resolve(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        Ok(tokio::net::lookup_host((name, 0)).await?.map(|address| address.ip()).collect())
    }
}

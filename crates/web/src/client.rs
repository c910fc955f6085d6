//! Who is at the other end of a connection: the peer itself, or the client that trusted proxies
//! say they speak for.
//!
//! `X-Forwarded-For` is a list that each proxy lengthens at its right end, so it is read from
//! there, and only as far as the hops are trusted. What an untrusted peer sends of it is ignored.

use std::{
    net::{IpAddr, Ipv6Addr},
    sync::Arc,
};

use http::{HeaderMap, HeaderName};
use ipnet::IpNet;

const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// The proxies whose `X-Forwarded-For` is believed.
#[derive(Debug, Clone, Default)]
pub struct TrustedProxies(Arc<[IpNet]>);

/// The address that a request's connection comes from.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Peer(pub(crate) IpAddr);

impl TrustedProxies {
    /// The proxies of these networks.
    pub fn new(networks: Vec<IpNet>) -> Self {
        Self(networks.into())
    }

    /// Whether the address is a trusted proxy's.
    pub fn trust(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        self.0.iter().any(|network| network.contains(&address))
    }

    /// The address of the client behind the peer; a header that is malformed tells
    /// nothing, so that the peer itself is the client.
    pub(crate) fn client(&self, peer: IpAddr, headers: &HeaderMap) -> IpAddr {
        let peer = peer.to_canonical();
        if !self.trust(peer) {
            return peer;
        }
        self.behind(headers).unwrap_or(peer)
    }

    /// The nearest hop that is not trusted, or the farthest one of a list of trusted ones;
    /// nothing without a list or behind a malformed hop.
    fn behind(&self, headers: &HeaderMap) -> Option<IpAddr> {
        let mut farthest = None;
        for line in headers.get_all(FORWARDED_FOR).iter().rev() {
            for hop in line.to_str().ok()?.rsplit(',') {
                let hop = hop.trim().parse::<IpAddr>().ok()?.to_canonical();
                if !self.trust(hop) {
                    return Some(hop);
                }
                farthest = Some(hop);
            }
        }
        farthest
    }
}

/// The address under which a client is counted: one host of IPv6 has a whole /64.
pub(crate) fn counted(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        address @ IpAddr::V4(_) => address,
        IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() >> 64 << 64).into(),
    }
}

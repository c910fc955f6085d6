//! Addresses and ranges of addresses, read strictly.

use std::{fmt, net::IpAddr};

/// A range of addresses, `address/bits`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cidr {
    // Invariant: `bits` is at most the address's length, and all bits of `base` after it are zero.
    base: IpAddr,
    bits: u8,
}

/// Reads an address. An IPv4 address written as IPv6 is refused: the same machine under a second
/// name would step around a rule about the first.
pub(crate) fn ip(text: &str) -> Option<IpAddr> {
    let address: IpAddr = text.parse().ok()?;
    match address {
        IpAddr::V6(v6) if v6.to_ipv4_mapped().is_some() => None,
        IpAddr::V4(_) | IpAddr::V6(_) => Some(address),
    }
}

impl Cidr {
    /// Reads a range; bits after the prefix must be zero.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (address, bits) = text.split_once('/')?;
        let plain = !bits.is_empty()
            && bits.bytes().all(|byte| byte.is_ascii_digit())
            && (bits == "0" || !bits.starts_with('0'));
        let cidr = Self { base: ip(address)?, bits: plain.then(|| bits.parse().ok())?? };
        let (value, len) = number(cidr.base);
        (cidr.bits <= len && masked(value, cidr.bits, len) == value).then_some(cidr)
    }

    /// Whether the address lies in the range; one of the other family does not.
    pub(crate) fn contains(self, address: IpAddr) -> bool {
        let ((base, len), (value, other)) = (number(self.base), number(address));
        len == other && masked(value, self.bits, len) == base
    }
}

impl fmt::Display for Cidr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.base, self.bits)
    }
}

fn number(address: IpAddr) -> (u128, u8) {
    match address {
        IpAddr::V4(v4) => (u128::from(v4.to_bits()), 32),
        IpAddr::V6(v6) => (v6.to_bits(), 128),
    }
}

fn masked(value: u128, bits: u8, len: u8) -> u128 {
    let free = u32::from(len.saturating_sub(bits));
    value.checked_shr(free).and_then(|kept| kept.checked_shl(free)).unwrap_or(0)
}

//! Addresses and ranges of addresses, read strictly.

use std::{
    fmt,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
};

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

    /// Whether the address lies in the range; one of the other family does not. Nothing where an
    /// IPv4 address lies in it that is inside the IPv6 one: `false` would step around a denial, and
    /// `true` would let through who only names that address.
    pub(crate) fn contains(self, address: IpAddr) -> Option<bool> {
        let ((base, len), (value, other)) = (number(self.base), number(address));
        if len == other {
            return Some(masked(value, self.bits, len) == base);
        }
        let IpAddr::V6(v6) = address else { return Some(false) };
        let mut inside = embedded(v6);
        let lies = |v4: Ipv4Addr| masked(u128::from(v4.to_bits()), self.bits, len) == base;
        (!inside.any(lies)).then_some(false)
    }
}

/// The IPv4 addresses that an IPv6 address may lead to: the forms that `egress` never reaches.
fn embedded(address: Ipv6Addr) -> impl Iterator<Item = Ipv4Addr> {
    let [.., e6, e7, _, e9, e10, e11, e12, e13, e14, e15] = address.octets();
    let last = [e12, e13, e14, e15];
    let segments = address.segments();
    let [first, second, third, ..] = segments;
    let [a, b] = second.to_be_bytes();
    let [c, d] = third.to_be_bytes();
    // Local prefixes of NAT64 may be of any length that RFC 6052 has, which the address does not tell.
    let is_local = matches!(segments, [0x64, 0xff9b, 1, ..]);
    let forms = [
        // `::` and `::1` have no IPv4 address inside.
        (matches!(segments, [0, 0, 0, 0, 0, 0, ..]) && address.to_bits() > 1, last),
        (matches!(segments, [0, 0, 0, 0, 0xffff, 0, ..]), last),
        (matches!(segments, [0x64, 0xff9b, 0, 0, 0, 0, ..]) || is_local, last),
        (is_local, [e6, e7, e9, e10]),
        (is_local, [e7, e9, e10, e11]),
        (is_local, [e9, e10, e11, e12]),
        // 6to4.
        (first == 0x2002, [a, b, c, d]),
        // Teredo writes it with every bit turned.
        (matches!(segments, [0x2001, 0, ..]), last.map(|byte| !byte)),
        // ISATAP, behind any prefix.
        (matches!(segments, [.., 0 | 0x200, 0x5efe, _, _]), last),
    ];
    forms.into_iter().filter(|(is_so, _)| *is_so).map(|(_, octets)| octets.into())
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

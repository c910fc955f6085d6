//! What every special address range is, and how far it may be reached.
//!
//! The table holds IANA's special-purpose registries for IPv4 and IPv6, the ranges that carry an
//! IPv4 address inside an IPv6 one, and the clouds' metadata addresses. An IPv4 address outside
//! the table is public; an IPv6 address is public only inside `2000::/3`.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::{IpNet, Ipv4Net, Ipv6Net};

/// How far a range may be reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// Anybody's address.
    Public,
    /// A private network: reached when the rules name it, or when they allow private networks.
    Private,
    /// This machine: reached only when the rules allow private networks.
    Loopback,
    /// Never reached.
    Never,
}

impl Reach {
    pub(crate) fn remedy(self) -> &'static str {
        match self {
            Self::Private => "; the operator may allow its range",
            Self::Loopback => "; only a development service that allows private networks may",
            Self::Public | Self::Never => "",
        }
    }
}

/// How far the address may be reached and what its range is.
pub fn reach(address: IpAddr) -> (Reach, &'static str) {
    let narrowest = RANGES
        .iter()
        .filter(|(range, ..)| range.contains(&address))
        .max_by_key(|(range, ..)| range.prefix_len());
    match (narrowest, address) {
        (_, IpAddr::V6(v6)) if is_isatap(v6) => {
            (Reach::Never, "an IPv4 address inside an IPv6 one (ISATAP)")
        }
        (Some((_, reach, what)), _) => (*reach, what),
        (None, IpAddr::V4(_)) => (Reach::Public, "public"),
        (None, IpAddr::V6(v6)) if v6.segments().first().is_some_and(|first| first >> 13 == 1) => {
            (Reach::Public, "public")
        }
        (None, IpAddr::V6(_)) => (Reach::Never, "in a range that is not in use"),
    }
}

/// ISATAP (RFC 5214) is told by the interface identifier, whatever the prefix.
fn is_isatap(address: Ipv6Addr) -> bool {
    let [.., high, marker, _, _] = address.segments();
    high & 0xfdff == 0 && marker == 0x5efe
}

const fn v4(a: u8, b: u8, c: u8, d: u8, length: u8) -> IpNet {
    IpNet::V4(Ipv4Net::new_assert(Ipv4Addr::new(a, b, c, d), length))
}

const fn v6(segments: [u16; 8], length: u8) -> IpNet {
    IpNet::V6(Ipv6Net::new_assert(Ipv6Addr::from_segments(segments), length))
}

const METADATA: &str = "a cloud's metadata service";
const EMBEDDING: &str = "an IPv4 address inside an IPv6 one";
const NAT64: &str = "an IPv4 address inside an IPv6 one (NAT64)";
const TEREDO: &str = "an IPv4 address inside an IPv6 one (Teredo)";
const SIX_TO_FOUR: &str = "an IPv4 address inside an IPv6 one (6to4)";

#[rustfmt::skip]
const RANGES: &[(IpNet, Reach, &str)] = &[
    (v4(0, 0, 0, 0, 8),             Reach::Never,    "in `this network`"),
    (v4(10, 0, 0, 0, 8),            Reach::Private,  "in a private network"),
    (v4(100, 64, 0, 0, 10),         Reach::Private,  "in a carrier's shared network"),
    (v4(100, 100, 100, 200, 32),    Reach::Never,    METADATA),
    (v4(127, 0, 0, 0, 8),           Reach::Loopback, "this machine itself"),
    (v4(168, 63, 129, 16, 32),      Reach::Never,    METADATA),
    (v4(169, 254, 0, 0, 16),        Reach::Never,    "link-local"),
    (v4(169, 254, 169, 254, 32),    Reach::Never,    METADATA),
    (v4(169, 254, 170, 2, 32),      Reach::Never,    METADATA),
    (v4(172, 16, 0, 0, 12),         Reach::Private,  "in a private network"),
    (v4(192, 0, 0, 0, 24),          Reach::Never,    "reserved for protocols"),
    (v4(192, 0, 0, 192, 32),        Reach::Never,    METADATA),
    (v4(192, 0, 2, 0, 24),          Reach::Never,    "reserved for documentation"),
    (v4(192, 31, 196, 0, 24),       Reach::Never,    "reserved for AS112"),
    (v4(192, 52, 193, 0, 24),       Reach::Never,    "reserved for multicast tunnels"),
    (v4(192, 88, 99, 0, 24),        Reach::Never,    "a 6to4 relay"),
    (v4(192, 168, 0, 0, 16),        Reach::Private,  "in a private network"),
    (v4(192, 175, 48, 0, 24),       Reach::Never,    "reserved for AS112"),
    (v4(198, 18, 0, 0, 15),         Reach::Never,    "reserved for benchmarks"),
    (v4(198, 51, 100, 0, 24),       Reach::Never,    "reserved for documentation"),
    (v4(203, 0, 113, 0, 24),        Reach::Never,    "reserved for documentation"),
    (v4(224, 0, 0, 0, 4),           Reach::Never,    "multicast"),
    (v4(240, 0, 0, 0, 4),           Reach::Never,    "reserved"),
    (v6([0, 0, 0, 0, 0, 0, 0, 0], 96),           Reach::Never,    EMBEDDING),
    (v6([0, 0, 0, 0, 0, 0, 0, 0], 128),          Reach::Never,    "the unspecified address"),
    (v6([0, 0, 0, 0, 0, 0, 0, 1], 128),          Reach::Loopback, "this machine itself"),
    (v6([0, 0, 0, 0, 0, 0xffff, 0, 0], 96),      Reach::Never,    EMBEDDING),
    (v6([0, 0, 0, 0, 0xffff, 0, 0, 0], 96),      Reach::Never,    EMBEDDING),
    (v6([0x64, 0xff9b, 0, 0, 0, 0, 0, 0], 96),   Reach::Never,    NAT64),
    (v6([0x64, 0xff9b, 1, 0, 0, 0, 0, 0], 48),   Reach::Never,    NAT64),
    (v6([0x100, 0, 0, 0, 0, 0, 0, 0], 64),       Reach::Never,    "a discard range"),
    (v6([0x2001, 0, 0, 0, 0, 0, 0, 0], 23),      Reach::Never,    "reserved for protocols"),
    (v6([0x2001, 0, 0, 0, 0, 0, 0, 0], 32),      Reach::Never,    TEREDO),
    (v6([0x2001, 0xdb8, 0, 0, 0, 0, 0, 0], 32),  Reach::Never,    "reserved for documentation"),
    (v6([0x2002, 0, 0, 0, 0, 0, 0, 0], 16),      Reach::Never,    SIX_TO_FOUR),
    (v6([0x2620, 0x4f, 0x8000, 0, 0, 0, 0, 0], 48), Reach::Never, "reserved for AS112"),
    (v6([0x3fff, 0, 0, 0, 0, 0, 0, 0], 20),      Reach::Never,    "reserved for documentation"),
    (v6([0x5f00, 0, 0, 0, 0, 0, 0, 0], 16),      Reach::Never,    "reserved for segment routing"),
    (v6([0xfc00, 0, 0, 0, 0, 0, 0, 0], 7),       Reach::Private,  "in a private network"),
    (v6([0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254], 128), Reach::Never, METADATA),
    (v6([0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254], 128), Reach::Never, METADATA),
    (v6([0xfe80, 0, 0, 0, 0, 0, 0, 0], 10),      Reach::Never,    "link-local"),
    (v6([0xfec0, 0, 0, 0, 0, 0, 0, 0], 10),      Reach::Never,    "site-local"),
    (v6([0xff00, 0, 0, 0, 0, 0, 0, 0], 8),       Reach::Never,    "multicast"),
];

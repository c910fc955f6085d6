//! Which texts name a host.
//!
//! System resolvers read `127.1`, `2130706433` and `0x7f.1` as addresses although no address
//! parser does; a name that ends in a number is therefore no name here.

use std::net::{IpAddr, Ipv6Addr};

/// What a text names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Host<'a> {
    /// An address, which needs no resolver.
    Address(IpAddr),
    /// A name to look up.
    Name(&'a str),
}

/// What the text names, if it names a host.
pub(crate) fn parse(text: &str) -> Option<Host<'_>> {
    if let Ok(address) = text.parse::<IpAddr>() {
        return Some(Host::Address(address));
    }
    let bracketed = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    if let Some(inner) = bracketed {
        return inner.parse::<Ipv6Addr>().ok().map(|address| Host::Address(address.into()));
    }
    let last = text.rsplit('.').next().unwrap_or_default();
    let is_name = text.len() <= 253 && text.split('.').all(is_label) && !is_number(last);
    is_name.then_some(Host::Name(text))
}

/// Whether the text names a host, by a dotted name or an address in its usual form. Nothing is looked up.
pub fn is_host(text: &str) -> bool {
    parse(text).is_some()
}

fn is_label(label: &str) -> bool {
    (1..=63).contains(&label.len())
        && !label.starts_with('-')
        && !label.ends_with('-')
        && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
}

/// Whether an address parser of the C library might read the label as a number.
fn is_number(label: &str) -> bool {
    let hex = label.strip_prefix("0x").or_else(|| label.strip_prefix("0X"));
    match hex {
        Some(digits) => digits.bytes().all(|byte| byte.is_ascii_hexdigit()),
        None => label.bytes().all(|byte| byte.is_ascii_digit()),
    }
}

//! The host of a URL, as every reader of it sees the same one. What two readers could take for two
//! hosts has none: a rule that reads it then fails, and lets nothing through.

use std::net::Ipv4Addr;

use crate::expr::network;

/// The host of an absolute URL ([RFC 3986](https://www.rfc-editor.org/rfc/rfc3986) section 3.2.2) in
/// lower case, an address in IPv6 without its brackets. A URL with a user, an escape, a letter beyond
/// ASCII or a dot at the end before its path, with a backslash or a control character anywhere, with an
/// address in another spelling than four numbers, or of a file has none.
pub(super) fn host(url: &str) -> Option<String> {
    let (scheme, rest) = url.split_once("://")?;
    let letters = |byte: u8| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte);
    let is_scheme = scheme.starts_with(|first: char| first.is_ascii_alphabetic())
        && scheme.bytes().all(letters);
    // Browsers read a backslash as a slash and leave out line ends and tabs.
    // Some readers give a file no host, and others the one that stands there.
    let is_file = scheme.eq_ignore_ascii_case("file");
    if !is_scheme
        || is_file
        || url.bytes().any(|byte| byte == b'\\' || byte <= b' ' || byte == 0x7f)
    {
        return None;
    }
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, _) = rest.split_at_checked(end)?;
    if let Some(bracketed) = authority.strip_prefix('[') {
        let (address, port) = bracketed.split_once(']')?;
        let port = if port.is_empty() { Some("") } else { port.strip_prefix(':') };
        let address = network::ip(address).filter(std::net::IpAddr::is_ipv6)?;
        return port.filter(|port| is_port(port)).map(|_| address.to_string());
    }
    let (host, port) = authority.split_once(':').unwrap_or((authority, ""));
    (is_port(port) && is_host(host)).then(|| host.to_ascii_lowercase())
}

fn is_port(port: &str) -> bool {
    port.is_empty()
        || (port.bytes().all(|byte| byte.is_ascii_digit()) && port.parse::<u16>().is_ok())
}

/// A name, or an IPv4 address as four decimal numbers: `127.1`, `0x7f000001` and their like are names
/// to one reader and addresses to another.
fn is_host(host: &str) -> bool {
    let letters = |byte: u8| byte.is_ascii_alphanumeric() || b".-_".contains(&byte);
    // With a dot at its end, the name of a machine is a second one for it.
    let last = host.rsplit('.').next().unwrap_or_default();
    let is_number = last.starts_with(|first: char| first.is_ascii_digit())
        && last.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'x' || byte == b'X');
    let is_name = !last.is_empty() && !host.starts_with('.') && host.bytes().all(letters);
    is_name && (!is_number || host.parse::<Ipv4Addr>().is_ok())
}

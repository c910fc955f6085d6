//! Reads single values. Says only whether a text is one; the sentence of a refusal is the table's.

use std::net::IpAddr;

use base64::{Engine, engine::general_purpose::STANDARD};
use crypto::Secret;
use http::Uri;
use ipnet::IpNet;
use tokio_postgres::config::{Host, SslMode};

/// A host and a port to listen on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HostPort(String);

impl HostPort {
    /// The address, if the text is one: a name or an IP address, a colon and a port.
    pub fn parse(text: &str) -> Option<Self> {
        let authority: http::uri::Authority = text.parse().ok()?;
        let plain = !text.contains('@') && !authority.host().is_empty();
        (plain && authority.port_u16().is_some()).then(|| Self(text.to_owned()))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The name or address, and the port.
    pub fn parts(&self) -> (&str, u16) {
        // Invariant of the type: a colon and a port stand at the end.
        let (host, port) = self.0.rsplit_once(':').unwrap_or((&self.0, ""));
        (host.trim_start_matches('[').trim_end_matches(']'), port.parse().unwrap_or_default())
    }
}

/// A scheme, a host and perhaps a port: what a browser calls an origin.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Origin(String);

impl Origin {
    /// The origin, if the text is an http or https address without a path.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.strip_suffix('/').unwrap_or(text);
        let uri = web_address(text)?;
        (uri.path() == "/" && uri.query().is_none() && !text.ends_with('/'))
            .then(|| Self(text.to_owned()))
    }

    /// The text, without a slash at the end.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The host, without the port.
    pub fn host(&self) -> &str {
        let (_, authority) = self.0.split_once("://").unwrap_or_default();
        match authority.rsplit_once(':') {
            Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
            _ => authority,
        }
    }

    /// Whether the transport is encrypted.
    pub fn is_https(&self) -> bool {
        self.0.starts_with("https://")
    }
}

/// The address if it is http or https, has a host and carries no user name or fragment.
fn web_address(text: &str) -> Option<Uri> {
    let uri: Uri = text.parse().ok()?;
    let web = matches!(uri.scheme_str(), Some("http" | "https"));
    let authority = uri.authority()?.as_str();
    let plain = !authority.contains('@') && !text.contains('#');
    (web && plain && uri.host().is_some_and(|host| !host.is_empty())).then_some(uri)
}

/// How a database connection is protected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tls {
    /// Not at all, or only where the server offers it.
    Optional,
    /// Always, as `sslmode=require` or `verify-full` ask.
    Required,
}

/// The address of a PostgreSQL database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Database {
    text: Secret<String>,
    hosts: Vec<String>,
    place: String,
    user: Option<String>,
    /// How the connection is protected.
    pub tls: Tls,
    /// Where the database runs.
    pub reach: Reach,
}

/// Where a database runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// On this machine: a loopback address or a socket.
    Local,
    /// Elsewhere.
    Remote,
}

impl Database {
    /// The address, if the text is one.
    pub fn parse(text: &str) -> Option<Self> {
        if !text.starts_with("postgres://") && !text.starts_with("postgresql://") {
            return None;
        }
        // The driver has no word for verify-full; its own `require` is as strict, since this
        // service checks the server's certificate and name on every encrypted connection.
        let config: tokio_postgres::Config =
            text.replace("sslmode=verify-full", "sslmode=require").parse().ok()?;
        config.get_dbname()?;
        let named = config.get_hosts().iter().all(is_local);
        let numbered = config.get_hostaddrs().iter().all(IpAddr::is_loopback);
        let local = named && numbered && !config.get_hosts().is_empty();
        let tls = match config.get_ssl_mode() {
            SslMode::Require => Tls::Required,
            _ => Tls::Optional,
        };
        let reach = if local { Reach::Local } else { Reach::Remote };
        let place = place(&config);
        let hosts = config.get_hosts().iter().filter_map(name_of);
        let numbers = config.get_hostaddrs().iter().map(ToString::to_string);
        Some(Self {
            text: Secret::new(text.to_owned()),
            hosts: hosts.chain(numbers).collect(),
            place,
            user: config.get_user().map(str::to_owned),
            tls,
            reach,
        })
    }

    /// The address as it was written; it holds a password.
    pub fn expose(&self) -> &str {
        self.text.expose()
    }

    /// The names and numbers of the machines that the database may be on.
    pub fn hosts(&self) -> &[String] {
        &self.hosts
    }

    /// Where the database is, as a sentence names it: hosts with their ports, and folders of sockets.
    pub fn place(&self) -> &str {
        &self.place
    }

    /// The role, if the address names one.
    pub fn user(&self) -> Option<&str> {
        self.user.as_deref()
    }
}

/// The places that this address leads to. One port may be given for all of them.
fn place(config: &tokio_postgres::Config) -> String {
    let ports = config.get_ports();
    let port = |at: usize| ports.get(at).or_else(|| ports.first()).copied().unwrap_or(5432);
    let at = |host: &str, at| match host.parse::<IpAddr>() {
        Ok(IpAddr::V6(address)) => format!("[{address}]:{}", port(at)),
        Ok(IpAddr::V4(_)) | Err(_) => format!("{host}:{}", port(at)),
    };
    let named = config.get_hosts().iter().enumerate().map(|(number, host)| match host {
        Host::Tcp(name) => at(name, number),
        #[cfg(unix)]
        Host::Unix(folder) => format!("{}/.s.PGSQL.{}", folder.display(), port(number)),
    });
    let mut places: Vec<_> = named.collect();
    if places.is_empty() {
        let numbers = config.get_hostaddrs().iter().enumerate();
        places.extend(numbers.map(|(number, address)| at(&address.to_string(), number)));
    }
    places.join(", ")
}

fn name_of(host: &Host) -> Option<String> {
    match host {
        Host::Tcp(name) => Some(name.clone()),
        #[cfg(unix)]
        Host::Unix(_) => None,
    }
}

fn is_local(host: &Host) -> bool {
    match host {
        Host::Tcp(name) => {
            name == "localhost" || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
        }
        #[cfg(unix)]
        Host::Unix(_) => true,
    }
}

/// The pepper, if the text is base64 of at least 32 bytes.
pub(super) fn pepper(text: &str) -> Option<Secret<Vec<u8>>> {
    let bytes = STANDARD.decode(text.trim()).ok()?;
    (bytes.len() >= 32).then(|| Secret::new(bytes))
}

/// The network, if the text is one with no bits set past its prefix.
pub(super) fn network(text: &str) -> Option<IpNet> {
    let network: IpNet = text.parse().ok()?;
    (network.trunc() == network).then_some(network)
}

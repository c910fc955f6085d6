//! Where requests go.

use std::fmt;

use http::{Uri, uri::Scheme};

/// Longer addresses are refused.
const LONGEST: usize = 2048;

/// An absolute address: `https`, or `http` in development; a host; no user, no fragment.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Address(Uri);

/// Why a text is no address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// It is longer than an address may be.
    #[error("the address has more than {LONGEST} bytes")]
    TooLong,
    /// It is not of the form.
    #[error("expected an address such as `https://api.example.com/hooks`")]
    Malformed,
    /// It is neither `https` nor `http`.
    #[error("expected an address that begins with `https://`")]
    Scheme,
    /// It names a user.
    #[error("the address names a user or a password; expected one without")]
    User,
    /// It has a fragment, which no server would see.
    #[error("the address has a fragment (`#`); expected one without")]
    Fragment,
}

impl Address {
    /// The address that the text names.
    pub fn parse(text: &str) -> Result<Self, AddressError> {
        if text.len() > LONGEST {
            return Err(AddressError::TooLong);
        }
        if text.contains('#') {
            return Err(AddressError::Fragment);
        }
        let uri: Uri = text.parse().map_err(|_| AddressError::Malformed)?;
        let (Some(scheme), Some(authority)) = (uri.scheme(), uri.authority()) else {
            return Err(AddressError::Malformed);
        };
        if *scheme != Scheme::HTTPS && *scheme != Scheme::HTTP {
            return Err(AddressError::Scheme);
        }
        if authority.as_str().contains('@') {
            return Err(AddressError::User);
        }
        let has_port = authority.as_str() != authority.host();
        if authority.host().is_empty()
            || has_port && authority.port_u16().is_none_or(|port| port == 0)
        {
            return Err(AddressError::Malformed);
        }
        Ok(Self(uri))
    }

    /// Whether TLS protects it.
    pub fn is_secure(&self) -> bool {
        self.0.scheme() == Some(&Scheme::HTTPS)
    }

    /// The host as it is dialled, an IPv6 address without its brackets.
    pub fn host(&self) -> &str {
        dialled(&self.0)
    }

    /// The port.
    pub fn port(&self) -> u16 {
        port(&self.0)
    }

    /// The path and the query.
    pub fn path_and_query(&self) -> &str {
        self.0.path_and_query().map_or("/", http::uri::PathAndQuery::as_str)
    }

    /// The address of another path at the same host: `path_and_query` is taken whole and begins
    /// with `/`.
    pub fn at(&self, path_and_query: &str) -> Result<Self, AddressError> {
        if !path_and_query.starts_with('/') || path_and_query.contains('#') {
            return Err(AddressError::Malformed);
        }
        let mut parts = self.0.clone().into_parts();
        parts.path_and_query = Some(path_and_query.parse().map_err(|_| AddressError::Malformed)?);
        Uri::from_parts(parts).map(Self).map_err(|_| AddressError::Malformed)
    }

    pub(crate) fn uri(&self) -> &Uri {
        &self.0
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The host of a request's address as it is dialled.
pub(crate) fn dialled(uri: &Uri) -> &str {
    let host = uri.host().unwrap_or_default();
    host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host)
}

/// The port of a request's address.
pub(crate) fn port(uri: &Uri) -> u16 {
    let usual = if uri.scheme() == Some(&Scheme::HTTPS) { 443 } else { 80 };
    uri.port_u16().unwrap_or(usual)
}

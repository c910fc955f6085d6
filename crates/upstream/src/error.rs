//! Why there is no whole answer, and whether the request can have been received all the same.

use std::{error::Error, io};

use egress::EgressError;
use hyper_util::client::legacy;
use rustls::AlertDescription;

use crate::connect::ConnectError;

/// Whether a request can have been received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sent {
    /// Nothing of it left.
    Never,
    /// Nobody knows.
    Perhaps,
}

/// Why there is no whole answer. What the other side said is in none of its texts.
#[derive(Debug, thiserror::Error)]
pub enum UpstreamError {
    /// The address may not be reached.
    #[error("the address may not be reached")]
    Refused(#[source] Box<dyn Error + Send + Sync>),
    /// Nobody answered there.
    #[error("the connection failed")]
    Unreachable(#[source] Box<dyn Error + Send + Sync>),
    /// TLS did not come about: the server's certificate is another's or of nobody that is trusted, or
    /// the server did not take the client's.
    #[error("the TLS connection failed")]
    Tls {
        /// Whether the request can have been received: under TLS 1.3 a server judges the client's
        /// certificate while the client already sends.
        sent: Sent,
        /// What was wrong.
        #[source]
        source: Box<dyn Error + Send + Sync>,
    },
    /// The answer was not there in time.
    #[error("no complete response arrived in time")]
    Late {
        /// Whether the request can have been received.
        sent: Sent,
    },
    /// The connection ended before the answer did, or the answer was none of HTTP.
    #[error("the response was incomplete or was not valid HTTP")]
    Broken {
        /// Whether the request can have been received.
        sent: Sent,
        /// What was wrong.
        #[source]
        source: Box<dyn Error + Send + Sync>,
    },
}

impl UpstreamError {
    /// Whether the request can have been received.
    pub fn sent(&self) -> Sent {
        match self {
            Self::Refused(_) | Self::Unreachable(_) => Sent::Never,
            Self::Tls { sent, .. } | Self::Late { sent } | Self::Broken { sent, .. } => *sent,
        }
    }

    /// Its kind in one word, for records that outlive the text.
    pub fn class(&self) -> &'static str {
        match self {
            Self::Refused(_) => "egress_refused",
            Self::Unreachable(_) => "unreachable",
            Self::Tls { .. } => "tls",
            Self::Late { .. } => "timeout",
            Self::Broken { .. } => "connection",
        }
    }

    pub(crate) fn idle() -> Self {
        Self::Late { sent: Sent::Perhaps }
    }

    pub(crate) fn broken(error: hyper::Error) -> Self {
        Self::Broken { sent: Sent::Perhaps, source: Box::new(error) }
    }

    /// What a failed request came to, where a connection was there or was not.
    pub(crate) fn of(error: legacy::Error, sent: Sent) -> Self {
        let kind = kind(&error);
        let source = Box::new(error);
        match kind {
            Kind::Refused => Self::Refused(source),
            Kind::Unreachable => Self::Unreachable(source),
            Kind::Tls => Self::Tls { sent, source },
            Kind::Late => Self::Late { sent: Sent::Never },
            Kind::Broken => Self::Broken { sent, source },
        }
    }
}

enum Kind {
    Refused,
    Unreachable,
    Tls,
    Late,
    Broken,
}

fn kind(error: &legacy::Error) -> Kind {
    let mut cause = error.source();
    while let Some(error) = cause {
        match error.downcast_ref::<ConnectError>() {
            Some(ConnectError::Insecure) => return Kind::Refused,
            Some(ConnectError::Egress(error)) => return of_egress(error),
            Some(ConnectError::Tls(_)) => return Kind::Tls,
            Some(ConnectError::Late) => return Kind::Late,
            None if is_certificate_refused(error) => return Kind::Tls,
            None => cause = error.source(),
        }
    }
    Kind::Broken
}

/// Whether the server said, after the client's part of the handshake, that it does not take the client's
/// certificate, or demands one.
fn is_certificate_refused(error: &(dyn Error + 'static)) -> bool {
    // An `io::Error` names what it was made of here, and as its source only what is behind that.
    let inner = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
    let Some(rustls::Error::AlertReceived(alert)) = inner.and_then(|it| it.downcast_ref()) else {
        return false;
    };
    matches!(
        alert,
        AlertDescription::NoCertificate
            | AlertDescription::BadCertificate
            | AlertDescription::UnsupportedCertificate
            | AlertDescription::CertificateRevoked
            | AlertDescription::CertificateExpired
            | AlertDescription::CertificateUnknown
            | AlertDescription::UnknownCA
            | AlertDescription::AccessDenied
            | AlertDescription::CertificateRequired
    )
}

fn of_egress(error: &EgressError) -> Kind {
    if error.is_refusal() { Kind::Refused } else { Kind::Unreachable }
}

//! Why a connection was not opened.
//!
//! The texts reach whoever asked for the host. What a name leads to inside the operator's network is not
//! theirs to know, so of a name no address is told; the log has it.

use std::{io, net::IpAddr};

use crate::{
    Reach,
    host::{self, Host},
};

/// Why a connection was not opened.
#[derive(Debug, thiserror::Error)]
pub enum EgressError {
    /// The text names no host that may be dialled.
    #[error(
        "`{host}` is not a valid host: expected a dotted name such as `db.example.com`, or an address in its usual form"
    )]
    BadHost {
        /// The text.
        host: String,
    },
    /// An address of the host lies in a range that may not be reached.
    #[error("{}", of_range(host, what, *reach))]
    Forbidden {
        /// The host as asked for.
        host: String,
        /// The first address that was refused.
        address: IpAddr,
        /// What the address' range is.
        what: &'static str,
        /// How far the range may be reached at all.
        reach: Reach,
    },
    /// An address of the host is the service's own database.
    #[error("{}", of_own_database(host))]
    OwnDatabase {
        /// The host as asked for.
        host: String,
        /// The address.
        address: IpAddr,
    },
    /// The host has no address.
    #[error("`{host}` has no address")]
    Unresolved {
        /// The host as asked for.
        host: String,
        /// What the resolver said, if it said anything.
        #[source]
        source: Option<io::Error>,
    },
    /// No address of the host answered.
    #[error("`{host}` did not accept a connection on port {port}")]
    Unreachable {
        /// The host as asked for.
        host: String,
        /// The port.
        port: u16,
        /// What the last address answered.
        #[source]
        source: io::Error,
    },
    /// Something other than the dialled address answered.
    #[error("`{host}` was dialled at an allowed address, but the connection reached another one")]
    WrongPeer {
        /// The host as asked for.
        host: String,
    },
}

impl EgressError {
    /// Whether the rules forbid the connection; otherwise it was allowed and did not come
    /// about.
    pub fn is_refusal(&self) -> bool {
        match self {
            Self::BadHost { .. }
            | Self::Forbidden { .. }
            | Self::OwnDatabase { .. }
            | Self::WrongPeer { .. } => true,
            Self::Unresolved { .. } | Self::Unreachable { .. } => false,
        }
    }
}

fn of_range(host: &str, what: &str, reach: Reach) -> String {
    if is_name(host) {
        return of_name(host);
    }
    format!("`{host}` is {what} and may not be reached{}", reach.remedy())
}

fn of_own_database(host: &str) -> String {
    if is_name(host) {
        return of_name(host);
    }
    format!(
        "`{host}` is the service's own database, which may be reached only when the allowed ranges \
         name exactly this address"
    )
}

/// The same of every name, whatever it leads to.
fn of_name(host: &str) -> String {
    format!("`{host}` has an address that may not be reached; the log of the service says which")
}

pub(crate) fn is_name(host: &str) -> bool {
    !matches!(host::parse(host), Some(Host::Address(_)))
}

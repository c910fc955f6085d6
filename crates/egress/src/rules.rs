//! What the operator allows, and the judgement of one address.

use std::net::IpAddr;

use ipnet::IpNet;

use crate::{
    EgressError,
    range::{Reach, reach},
};

/// Whether private networks and this machine may be reached; only a development service may.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PrivateNetworks {
    /// Only those that the rules name.
    #[default]
    Refused,
    /// All of them, and loopback.
    Allowed,
}

/// What the operator allows beside public addresses.
#[derive(Debug, Clone, Default)]
pub struct Rules {
    /// Whether private networks and this machine may be reached.
    pub private_networks: PrivateNetworks,
    /// Private ranges that may be reached all the same, and the exact addresses of the service's
    /// own database if tools may reach that.
    pub allowed: Vec<IpNet>,
    /// The addresses of the service's own database.
    pub own_database: Vec<IpAddr>,
}

/// A range that no rule may allow.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "the range `{range}` may not be allowed: expected a range inside a private network such as `10.20.0.0/16`, or the exact address of the service's own database"
)]
pub struct BadRule {
    /// The range.
    pub range: IpNet,
}

impl Rules {
    /// Says which allowed range is one that may never be.
    pub fn check(&self) -> Result<(), BadRule> {
        match self.allowed.iter().find(|range| !self.may_allow(range)) {
            Some(range) => Err(BadRule { range: *range }),
            None => Ok(()),
        }
    }

    /// A range is judged by both its ends; the table's private ranges hold no range in part.
    fn may_allow(&self, range: &IpNet) -> bool {
        let private = |address| reach(address).0 == Reach::Private;
        let own = |address| self.own_database.contains(&address) && is_exact(range);
        private(range.network()) && private(range.broadcast()) || own(range.addr())
    }

    /// Judges one address of the host.
    pub(crate) fn judge(&self, host: &str, address: IpAddr) -> Result<(), EgressError> {
        let (reach, what) = reach(address);
        let development = self.private_networks == PrivateNetworks::Allowed;
        let named = self.allowed.iter().any(|range| range.contains(&address));
        let may = match reach {
            Reach::Public => true,
            Reach::Private => development || named,
            Reach::Loopback => development,
            Reach::Never => false,
        };
        if !may {
            return Err(EgressError::Forbidden { host: host.to_owned(), address, what, reach });
        }
        let exactly = self.allowed.iter().any(|range| is_exact(range) && range.addr() == address);
        if self.own_database.contains(&address) && !development && !exactly {
            return Err(EgressError::OwnDatabase { host: host.to_owned(), address });
        }
        Ok(())
    }
}

fn is_exact(range: &IpNet) -> bool {
    range.prefix_len() == range.max_prefix_len()
}

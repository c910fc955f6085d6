//! When keys were last used, gathered in memory and written now and then: a call writes nothing of it.

use std::{
    collections::BTreeMap,
    fmt,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    str::FromStr,
    sync::{Mutex, PoisonError},
};

use ledger::StoreDown;
use model::{KeyId, OrgId, Timestamp};

use crate::{Admin, ChangeError, OrgView};

/// The last use of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct KeyUse {
    /// When.
    pub at: Timestamp,
    /// From which network, where that is known.
    pub network: Option<Network>,
}

impl KeyUse {
    /// What is known of a key's last use by this and another; a network that is not known takes nothing
    /// away.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        let (earlier, later) = (self.min(other), self.max(other));
        Self { at: later.at, network: later.network.or(earlier.network) }
    }
}

/// The network that an address lies in, as far as whoever uses something from it is told: the /24 of
/// IPv4, the /48 of IPv6.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Network(IpAddr);

/// Why a text names no network.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected a network such as `203.0.113.0/24` or `2001:db8:1::/48`")]
pub struct NetworkError;

impl Network {
    /// The network of this address.
    pub fn of(address: IpAddr) -> Self {
        Self(match address.to_canonical() {
            IpAddr::V4(address) => Ipv4Addr::from_bits(address.to_bits() >> 8 << 8).into(),
            IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() >> 80 << 80).into(),
        })
    }

    fn bits(self) -> u8 {
        match self.0 {
            IpAddr::V4(_) => 24,
            IpAddr::V6(_) => 48,
        }
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.0, self.bits())
    }
}

impl FromStr for Network {
    type Err = NetworkError;

    fn from_str(text: &str) -> Result<Self, NetworkError> {
        let (address, _) = text.split_once('/').ok_or(NetworkError)?;
        let network = Self::of(address.parse().map_err(|_| NetworkError)?);
        if network.to_string() == text { Ok(network) } else { Err(NetworkError) }
    }
}

/// What was gathered of each org since it was last written.
#[derive(Default)]
pub(crate) struct KeyUses(Mutex<BTreeMap<OrgId, BTreeMap<KeyId, KeyUse>>>);

impl KeyUses {
    /// Keeps the later of what is known of a key and this use.
    pub(crate) fn note(&self, org: OrgId, key: KeyId, last: KeyUse) {
        let mut uses = self.lock();
        let known = uses.entry(org).or_default().entry(key).or_insert(last);
        *known = known.and(last);
    }

    fn take(&self) -> BTreeMap<OrgId, BTreeMap<KeyId, KeyUse>> {
        std::mem::take(&mut *self.lock())
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<OrgId, BTreeMap<KeyId, KeyUse>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Admin {
    /// Writes when keys were last used on this instance since it was last asked to, each key once, and
    /// says how many there were. What could not be written is written the next time.
    pub async fn note_key_uses(&self) -> Result<usize, StoreDown> {
        let (mut noted, mut failed) = (0, None);
        for (org, uses) in self.uses.take() {
            let uses: Vec<_> = uses.into_iter().collect();
            match self.parts.store.note_key_uses(org, &uses).await {
                Ok(()) => noted += uses.len(),
                Err(error) => {
                    for (key, last) in uses {
                        self.uses.note(org, key, last);
                    }
                    failed = failed.or(Some(error));
                }
            }
        }
        failed.map_or(Ok(noted), Err)
    }
}

impl OrgView<'_> {
    /// When and from where these keys were last used, of those that are known to have been. What
    /// instances have not written yet is not seen.
    pub async fn key_uses(&self, keys: &[KeyId]) -> Result<BTreeMap<KeyId, KeyUse>, ChangeError> {
        Ok(self.admin.parts.store.key_uses(self.org, keys).await?)
    }
}

#[cfg(test)]
mod tests {
    use super::Network;

    #[test]
    fn a_network_is_told_of_an_address_and_nothing_else() {
        for (address, network) in [
            ("203.0.113.77", "203.0.113.0/24"),
            ("::ffff:203.0.113.77", "203.0.113.0/24"),
            ("2001:db8:1:2:3:4:5:6", "2001:db8:1::/48"),
            ("::1", "::/48"),
        ] {
            let found = Network::of(address.parse().unwrap());
            assert_eq!(found.to_string(), network);
            assert_eq!(network.parse(), Ok(found));
        }
        for text in ["", "203.0.113.0", "203.0.113.7/24", "203.0.113.0/16", "x/24"] {
            assert!(text.parse::<Network>().is_err(), "{text:?}");
        }
    }
}

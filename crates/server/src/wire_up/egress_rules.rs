//! Where connectors may connect to, as the settings say it.

use egress::{Egress, PrivateNetworks, Rules};

use crate::{
    exit::Failure,
    settings::{self, Database, Settings},
};

/// The way out under the operator's rules.
pub(crate) async fn egress(settings: &Settings) -> Result<Egress, Failure> {
    let private_networks = match settings.private_networks {
        settings::PrivateNetworks::Allowed => PrivateNetworks::Allowed,
        settings::PrivateNetworks::Refused => PrivateNetworks::Refused,
    };
    let mut own_database = Vec::new();
    for host in settings.database.iter().flat_map(Database::hosts) {
        let found = tokio::net::lookup_host((host.as_str(), 0)).await.map_err(|error| {
            Failure::internal(format!("the control database's host `{host}`: {error}"))
        })?;
        own_database.extend(found.map(|address| address.ip()));
    }
    let rules = Rules { private_networks, allowed: settings.egress_allow.clone(), own_database };
    Egress::new(rules)
        .map_err(|error| Failure::usage(format!("`SERVICE_EGRESS_ALLOW_CIDRS`: {error}")))
}

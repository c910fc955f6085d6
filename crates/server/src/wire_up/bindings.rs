//! Connectors that an earlier version kept without saying where they are for: a service binds each to the
//! place that it has when the service starts, before it serves.

use act::{ActError, Changed};
use admin::{ChangeError, ConnectorError};
use ledger::record::Connector;
use model::causes;

use crate::{core::Core, exit::Failure};

/// How often a connector is looked at again that somebody else changed meanwhile, such as another
/// instance that starts.
const TRIES: u32 = 3;

/// Binds what is not bound yet. What cannot be is told in the log and keeps nobody else from serving: its
/// credential opens for nobody, and its calls fail.
pub(crate) async fn bind_connectors(core: &Core) -> Result<(), Failure> {
    let accounts = &core.stores.accounts;
    let unread = |down: ledger::StoreDown| Failure::internal(causes(&down));
    for org in accounts.orgs().await.map_err(unread)?.found {
        for connector in accounts.connectors(org.id).await.map_err(unread)? {
            let id = connector.id;
            match bound(core, connector).await {
                Ok(None) => {}
                Ok(Some(Changed { deed, .. })) => {
                    tracing::info!(
                        connector = %id, %deed,
                        "a connector's credential is bound to its address"
                    );
                }
                Err(error) => {
                    let error = causes(&error);
                    tracing::error!(
                        connector = %id, %error,
                        "a connector's credential could not be bound to its address"
                    );
                }
            }
        }
    }
    Ok(())
}

async fn bound(
    core: &Core,
    mut connector: Connector,
) -> Result<Option<Changed<Connector>>, ConnectorError> {
    let (org, id, mut tries) = (connector.org, connector.id, TRIES);
    loop {
        tries -= 1;
        match core.operator(org).bind_connector(connector).await {
            Err(ConnectorError::Change(ChangeError::Act(ActError::Conflict(_)))) if tries > 0 => {
                connector = core.operator(org).view().connector(id).await?;
            }
            done => return done,
        }
    }
}

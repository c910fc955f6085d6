//! Tests of connectors: what there was to check in the governed system, and the last results.

use std::time::Duration;

use act::ActError;
use ledger::record::Connector;
use model::{ConnectorId, Timestamp};

use super::{Looked, LookedAt};
use crate::{ChangeError, ConnectorError, OrgChange, OrgView, UnfitError};

/// A test of a connector.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConnectorTest {
    /// The revision of the connector that was tested.
    pub revision: u32,
    /// When it began.
    pub tested_at: Timestamp,
    /// How long it took.
    pub duration: Duration,
    /// The results of its checks.
    pub checks: Vec<Looked>,
}

impl OrgView<'_> {
    /// The last test of a connector; nothing where it was never tested.
    pub async fn last_test(&self, id: ConnectorId) -> Result<Option<ConnectorTest>, ChangeError> {
        self.connector(id).await?;
        Ok(self.admin.parts.store.last_connector_test(self.org, id).await?)
    }
}

impl OrgChange<'_> {
    /// Checks everything that can be checked in a connector's governed system, and keeps the results. It
    /// changes nothing there, and logs in with the connector's credential.
    pub async fn test_connector(&self, id: ConnectorId) -> Result<ConnectorTest, ConnectorError> {
        let connector = self.stored(id).await?;
        if connector.archived_at.is_some() {
            return Err(ActError::Conflict("the connector is archived").into());
        }
        let clock = &self.admin.parts.clock;
        let (tested_at, began) = (clock.now(), clock.elapsed());
        let checks = self.checks(&connector).await?;
        let duration = clock.elapsed().saturating_sub(began);
        let test = ConnectorTest { revision: connector.revision, tested_at, duration, checks };
        self.admin.parts.store.keep_connector_test(self.org, id, &test).await?;
        Ok(test)
    }

    async fn checks(&self, connector: &Connector) -> Result<Vec<Looked>, UnfitError> {
        match self.admin.opened(connector, &connector.config) {
            Ok(opened) => {
                self.admin.parts.connectors.look(opened.candidate(), &connector.tools).await
            }
            Err(_) => Ok(vec![undecrypted()]),
        }
    }
}

/// The one check of a connector whose credential cannot be used.
fn undecrypted() -> Looked {
    let detail = "it cannot be decrypted; add the vault key that encrypted it, or set it again";
    Looked { name: "credential".to_owned(), found: LookedAt::Fail, detail: detail.to_owned() }
}

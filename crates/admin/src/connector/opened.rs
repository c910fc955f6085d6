//! Credentials as they are used: each opened for whoever the config that it is used with names, so that
//! none reaches another server than the one that it was set for.

use std::collections::BTreeMap;

use act::{ActError, Changed};
use crypto::vault::VaultError;
use ledger::{Needs, record::Connector};
use model::{ConnectorId, EventType};
use serde_json::Value;

use super::{Candidate, KnownTools, changed};
use crate::{
    Admin, ConnectorError, Credential, OrgChange,
    credential::{Envelope, open_credential, open_unbound},
};

/// A connector's credential with the config that it was opened for.
pub(super) struct Opened<'a> {
    connector: &'a Connector,
    config: &'a Value,
    credential: Credential,
}

impl Opened<'_> {
    /// The connector as its adapter is asked about it.
    pub(super) fn candidate(&self) -> Candidate<'_> {
        candidate(self.connector, (self.config, &self.credential))
    }

    /// The credential itself, to be sealed anew.
    pub(super) fn credential(&self) -> &Credential {
        &self.credential
    }
}

/// The connector with this config and credential.
pub(super) fn candidate<'a>(
    connector: &'a Connector,
    (config, credential): (&'a Value, &'a Credential),
) -> Candidate<'a> {
    let Connector { id, org, name, kind, credential_set, .. } = connector;
    let credential_kind = credential_set.as_ref().map(|set| &*set.kind);
    Candidate { org: *org, id: *id, name, kind, config, credential, credential_kind }
}

impl Admin {
    /// The connector's credential for use with this config. It opens for no other receiver than the one
    /// that it was set for.
    pub(super) fn opened<'a>(
        &self,
        connector: &'a Connector,
        config: &'a Value,
    ) -> Result<Opened<'a>, VaultError> {
        let receiver = self.parts.connectors.receiver(&connector.kind, config);
        let credential = open_credential(&self.parts.vault, connector, &receiver)?;
        Ok(Opened { connector, config, credential })
    }
}

impl OrgChange<'_> {
    /// Whether a config names another receiver of the credential than the connector has.
    pub(super) fn is_moved(&self, before: &Connector, config: &Value) -> bool {
        let of = |config| self.admin.parts.connectors.receiver(&before.kind, config);
        of(config) != of(&before.config)
    }

    /// The credential as stores keep it, for the receiver that this config names.
    pub(super) fn sealed(
        &self,
        (connector, kind): (ConnectorId, &str),
        (config, credential): (&Value, &Credential),
    ) -> Result<BTreeMap<String, String>, VaultError> {
        let (vault, entropy) = (&self.admin.parts.vault, self.admin.parts.entropy.as_ref());
        let receiver = &self.admin.parts.connectors.receiver(kind, config);
        Envelope { vault, entropy, org: self.org, connector, receiver }.seal(credential)
    }

    /// Binds what earlier versions kept of a connector, which was read as `before`, without saying where
    /// it is for: the credential is sealed anew for the receiver that the config names, and the digests of
    /// its accepted tools cover the target from then on. Where that is so already nothing is changed, and
    /// nothing comes back. A credential that was sealed for another receiver stays as it is, and fails.
    pub async fn bind_connector(
        &self,
        before: Connector,
    ) -> Result<Option<Changed<Connector>>, ConnectorError> {
        let bound = self.bound(&before)?;
        if before.archived_at.is_some() || bound == before {
            return Ok(None);
        }
        let id = before.id;
        let made = self.turn(Needs::default(), None, move |at, record| {
            if super::loaded(at, id)? != &before {
                return Err(ActError::Conflict(
                    "the connector was changed in the meantime; try again",
                ));
            }
            Ok(changed(record, EventType::ConnectorUpdated, Some(&before), bound.clone()))
        });
        Ok(Some(made.await?))
    }

    fn targeted(&self, connector: &Connector, tools: &KnownTools) -> KnownTools {
        self.admin.parts.connectors.targeted(&connector.kind, &connector.config, tools)
    }

    fn bound(&self, before: &Connector) -> Result<Connector, VaultError> {
        let mut after = before.clone();
        if self.admin.opened(before, &before.config).is_err() {
            let credential = open_unbound(&self.admin.parts.vault, before)?;
            let (of, given) = ((before.id, &*before.kind), (&before.config, &credential));
            after.credential = self.sealed(of, given)?;
        }
        after.tools = self.targeted(before, &before.tools);
        after.found = before.found.as_ref().map(|found| self.targeted(before, found));
        if after != *before {
            // What was told of digests says nothing of those that cover the target. The revision stays:
            // runs under way are settled by it, and whoever built the connector has the same one.
            after.told.clear();
        }
        Ok(after)
    }
}

//! Switching connectors on and off, and archiving them.

use std::collections::BTreeMap;

use act::{ActError, Changed, Reason};
use ledger::{
    Needs,
    record::{Connector, ConnectorStatus},
};
use model::{ConnectorId, EventType};

use super::{KnownTools, changed, loaded, tools};
use crate::{ConnectorError, OrgChange};

const LOG_IS_READ: &str = "the service reads the connector's change log; disable its witness first";
const SLOT_STANDS: &str = "the replication slot of the connector's change log is being removed; \
    try again in a few seconds, or remove the credential first if its database no longer exists";

impl OrgChange<'_> {
    /// Lets a connector run calls again, and accepts its tools as the governed system gives them now.
    /// One that does not answer keeps the tools that were accepted before.
    pub async fn enable_connector(
        &self,
        id: ConnectorId,
        reason: &str,
    ) -> Result<Changed<Connector>, ConnectorError> {
        let reason = Reason::parse(reason)?;
        let before = self.stored(id).await?;
        let tools = match self.admin.opened(&before, &before.config) {
            Ok(opened) => self.check(opened.candidate()).await.ok(),
            Err(_) => None,
        };
        let learnt = tools.filter(|tools| {
            !tools.is_empty() && (*tools != before.tools || before.found.is_some())
        });
        let learnt = learnt.map(|tools| (before.revision, tools));
        self.switch((id, ConnectorStatus::Enabled), reason, learnt).await
    }

    /// Disables a connector for good and removes its credential. Its name stays taken. While its change log
    /// is read, or the slot of that may still stand, it is refused: only the credential can remove that.
    pub async fn archive_connector(
        &self,
        id: ConnectorId,
        reason: &str,
    ) -> Result<Changed<Connector>, ConnectorError> {
        let reason = Reason::parse(reason)?;
        self.leaves_no_slot(&self.stored(id).await?).await?;
        let archived = self.turn(Needs::default(), Some(reason), move |at, record| {
            let before = loaded(at, id)?;
            if before.witness.is_some() {
                return Err(ActError::Conflict(LOG_IS_READ));
            }
            let after = Connector {
                status: ConnectorStatus::Disabled,
                credential: BTreeMap::new(),
                credential_set: None,
                revision: before.revision.saturating_add(1),
                archived_at: Some(at.now()),
                ..before.clone()
            };
            Ok(changed(record, EventType::ConnectorArchived, Some(before), after))
        });
        Ok(archived.await?)
    }

    /// Whether the connector's change log needs neither its credential nor its database any more: they
    /// alone can remove the slot.
    pub(super) async fn leaves_no_slot(&self, before: &Connector) -> Result<(), ConnectorError> {
        if before.archived_at.is_some() {
            return Ok(());
        }
        if before.witness.is_some() {
            return Err(ActError::Conflict(LOG_IS_READ).into());
        }
        let may_stand = self.admin.parts.store.slot_may_stand(self.org, before.id).await?;
        if may_stand && !before.credential.is_empty() {
            return Err(ActError::Conflict(SLOT_STANDS).into());
        }
        Ok(())
    }

    /// Makes a connector refuse calls.
    pub async fn disable_connector(
        &self,
        id: ConnectorId,
        reason: &str,
    ) -> Result<Changed<Connector>, ConnectorError> {
        self.switch((id, ConnectorStatus::Disabled), Reason::parse(reason)?, None).await
    }

    async fn switch(
        &self,
        (id, status): (ConnectorId, ConnectorStatus),
        reason: Reason,
        learnt: Option<(u32, KnownTools)>,
    ) -> Result<Changed<Connector>, ConnectorError> {
        let event = match status {
            ConnectorStatus::Enabled => EventType::ConnectorEnabled,
            ConnectorStatus::Disabled => EventType::ConnectorDisabled,
        };
        let switched = self.turn(Needs::default(), Some(reason), move |at, record| {
            let before = loaded(at, id)?;
            if before.status == status {
                return Err(ActError::Conflict(already(status)));
            }
            let mut after = Connector { status, ..before.clone() };
            // What was learnt of a revision that is gone says nothing of this one.
            let learnt = learnt.as_ref().filter(|(revision, _)| *revision == before.revision);
            if let Some((_, tools)) = learnt {
                tools::accept_all(&mut after, tools);
                after.revision = after.revision.saturating_add(1);
            }
            Ok(changed(record, event, Some(before), after))
        });
        Ok(switched.await?)
    }
}

fn already(status: ConnectorStatus) -> &'static str {
    match status {
        ConnectorStatus::Enabled => "the connector is already enabled",
        ConnectorStatus::Disabled => "the connector is already disabled",
    }
}

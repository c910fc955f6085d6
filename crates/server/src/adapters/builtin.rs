//! The service's own records, as its built-in tools see them.

use std::{fmt, sync::Arc};

use async_trait::async_trait;
use connectors::{ActionStatus, BuiltinSource, Caller, SourceUnavailable};
use gate::ActionStore;
use ledger::record::Action;
use model::{ActionId, OrgId};

/// Reads actions for the built-in tools.
pub struct Records(Arc<dyn ActionStore>);

impl Records {
    /// The records of this store.
    pub fn new(store: Arc<dyn ActionStore>) -> Self {
        Self(store)
    }

    async fn read(&self, org: OrgId, id: ActionId) -> Result<Option<Action>, SourceUnavailable> {
        self.0.action(org, id).await.map_err(|error| {
            tracing::warn!(
                %error, source = ?error.source,
                "a built-in tool could not read the record"
            );
            SourceUnavailable
        })
    }

    /// The action whose run asks; its row was written before the run began.
    async fn calling(&self, org: OrgId, id: ActionId) -> Result<Action, SourceUnavailable> {
        self.read(org, id).await?.ok_or(SourceUnavailable)
    }
}

impl fmt::Debug for Records {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Records").finish_non_exhaustive()
    }
}

#[async_trait]
impl BuiltinSource for Records {
    async fn caller(&self, org: OrgId, calling: ActionId) -> Result<Caller, SourceUnavailable> {
        let action = self.calling(org, calling).await?;
        let Action { agent, livemode, .. } = action;
        Ok(Caller { org, agent: agent.id, name: agent.name, livemode })
    }

    async fn action_status(
        &self,
        org: OrgId,
        calling: ActionId,
        asked: ActionId,
    ) -> Result<Option<ActionStatus>, SourceUnavailable> {
        let agent = self.calling(org, calling).await?.agent.id;
        let own = self.read(org, asked).await?.filter(|action| action.agent.id == agent);
        Ok(own.map(|action| ActionStatus {
            action: action.id,
            tool: action.tool,
            state: action.state,
            status: action.status,
            created_at: action.created_at,
            deed: action.deed,
        }))
    }
}

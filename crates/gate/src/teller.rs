//! Whom the end of a run can be asked of: the tool that ran, as its connector serves it now.

use std::sync::Arc;

use ledger::{StoreDown, record::Action};
use model::{OrgId, ToolName};
use tool::{Settled, Tool};

use crate::{
    gate::Gate,
    ports::{Found, Served},
};

/// Whom the end of a run can be asked of.
pub(crate) enum Teller {
    /// The tool that ran, by its name and connector.
    Tool(Arc<dyn Tool>),
    /// Nobody knows of the run any more.
    Nobody,
    /// Its connector cannot be built or read now.
    Away,
}

/// Whether the tool is not of the connector that the action's was of.
pub(crate) fn is_another(served: &Served, action: &Action) -> bool {
    let of = action.connector.as_ref().and_then(|connector| connector.id);
    of.is_some_and(|of| served.connector.id != Some(of))
}

impl Gate {
    /// Whom the end of the action's run can be asked of.
    pub(crate) async fn teller(&self, action: &Action) -> Result<Teller, StoreDown> {
        let Ok(name) = action.tool.parse::<ToolName>() else { return Ok(Teller::Nobody) };
        Ok(match self.found_now(action.org, &name).await? {
            // Another connector has taken the name, and knows nothing of the run.
            Found::Served(served) if is_another(&served, action) => Teller::Nobody,
            Found::Served(served) => Teller::Tool(served.tool),
            Found::Nobody | Found::NotAmong(_) => Teller::Nobody,
            Found::Unavailable => Teller::Away,
        })
    }

    /// What the governed system makes certain of the action's run.
    pub(crate) async fn settled(&self, action: &Action, teller: &Teller) -> Settled {
        match teller {
            Teller::Tool(tool) => tool.settle(action.org, action.id, action.place.as_deref()).await,
            Teller::Nobody => Settled::Unknowable,
            Teller::Away => Settled::Unreachable,
        }
    }

    /// The tool; that nobody serves it is sure.
    pub(crate) async fn found_now(&self, org: OrgId, name: &ToolName) -> Result<Found, StoreDown> {
        match self.parts.toolbox.find(org, name).await? {
            Found::NotAmong(_) => self.parts.toolbox.find_anew(org, name).await,
            found => Ok(found),
        }
    }
}

//! The list of intents that were used up, each page a range of one index.

use gate::IntentFilter;
use ledger::{StoreDown, record::UsedIntent};
use model::{ActionId, AgentId, OrgId};
use tokio_postgres::Row;
use uuid::Uuid;

use crate::{
    PostgresStore,
    database::Call,
    fault::Fault,
    list::first_id,
    rows::{Cells, bigint},
};

/// Newest first, of those that meet a condition. `$2` and `$3` bound the ids of the actions.
macro_rules! newest {
    ($meets:expr) => {
        concat!(
            "select action_id, agent_id, kid, digest, nonce, issued_at, expires_at, used_at
             from used_intent
             where org_id = $1 and action_id >= $2 and action_id < $3",
            $meets,
            " order by action_id desc limit $4"
        )
    };
}

const OF_ORG: &str = newest!("");
const OF_AGENT: &str = newest!(" and agent_id = $5");

impl PostgresStore {
    /// Up to `limit` intents that were used behind this action's, the newest first.
    pub(crate) async fn intents_used(
        &self,
        org: OrgId,
        filter: &IntentFilter,
        after: Option<ActionId>,
        limit: usize,
    ) -> Result<Vec<UsedIntent>, StoreDown> {
        let attempt = "list used intents";
        let below = filter.to.map_or(Uuid::max(), first_id);
        let sql = if filter.agent.is_some() { OF_AGENT } else { OF_ORG };
        let call = Call::new(sql)
            .with(*org.as_uuid())
            .with(filter.from.map_or(Uuid::nil(), first_id))
            .with(after.map_or(below, |after| below.min(*after.as_uuid())))
            .with(bigint(limit as u64));
        let call = match filter.agent {
            Some(agent) => call.with(*agent.as_uuid()),
            None => call,
        };
        let rows = self.reading.ask_one(attempt, call).await?;
        rows.iter().map(used).collect::<Result<_, _>>().map_err(|fault| fault.down(attempt))
    }
}

fn used(row: &Row) -> Result<UsedIntent, Fault> {
    let cells = Cells::of("used_intent", row);
    Ok(UsedIntent {
        action: cells.id("action_id", ActionId::from_uuid)?,
        agent: cells.id("agent_id", AgentId::from_uuid)?,
        kid: cells.get("kid")?,
        digest: cells.digest("digest")?,
        nonce: cells.digest("nonce")?,
        issued_at: cells.moment("issued_at")?,
        expires_at: cells.moment("expires_at")?,
        used_at: cells.moment("used_at")?,
    })
}

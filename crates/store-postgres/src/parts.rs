//! Which partitions of the past are attached.
//!
//! The catalogue is asked by itself: a database that keeps orgs on several nodes joins its own tables
//! with no table of an org.

use ledger::StoreDown;
use model::OrgId;
use tokio_postgres::Row;

use crate::{PostgresStore, database::Call, fault::Fault, rows::Cells};

/// The names of the attached partitions; one that has tiles and is not among them is away.
pub(crate) const ATTACHED: &str = "
    select substr(class.relname, 6)::text as part
    from pg_inherits join pg_class as class on class.oid = pg_inherits.inhrelid
    where pg_inherits.inhparent = 'deed'::regclass";

const ANY_AWAY: &str = "
    select part from past_tile where org_id = $1 and part <> all($2::text[]) limit 1";

impl PostgresStore {
    /// The names of the attached partitions.
    pub(crate) async fn attached(&self, attempt: &'static str) -> Result<Vec<String>, StoreDown> {
        self.all(attempt, Call::new(ATTACHED), name).await
    }

    /// Whether deeds of this org are in a partition that is away.
    pub(crate) async fn has_deeds_away(
        &self,
        attempt: &'static str,
        org: OrgId,
    ) -> Result<bool, StoreDown> {
        let attached = self.attached(attempt).await?;
        let call = Call::new(ANY_AWAY).with(*org.as_uuid()).with(attached);
        let Some(part) = self.found(attempt, call, name).await? else { return Ok(false) };
        // It may have been made, or attached, between the two questions.
        Ok(!self.attached(attempt).await?.contains(&part))
    }
}

fn name(row: &Row) -> Result<String, Fault> {
    Cells::of("past_tile", row).get("part")
}

//! Administration's store of policies and their versions.

use admin::PolicyStore;
use async_trait::async_trait;
use ledger::{
    StoreDown,
    record::{Policy, PolicyVersion},
};
use model::{OrgId, PolicyId, PolicyVersionId};
use tokio_postgres::Row;

use crate::{PostgresStore, database::Call, fault::Fault, rows::Cells};

#[async_trait]
impl PolicyStore for PostgresStore {
    async fn policies(&self, org: OrgId) -> Result<Vec<Policy>, StoreDown> {
        let attempt = "read an org's policies";
        let sql = "
            select id, name, created_at from policy where org_id = $1 order by created_at, id";
        let rows = self.database.ask_one(attempt, Call::new(sql).with(*org.as_uuid())).await?;
        let policies = rows.iter().map(|row| policy(org, row)).collect::<Result<_, _>>();
        policies.map_err(|fault| fault.down(attempt))
    }

    async fn policy_version(
        &self,
        org: OrgId,
        id: PolicyVersionId,
    ) -> Result<Option<PolicyVersion>, StoreDown> {
        let attempt = "read a policy version";
        let sql = "
            select id, policy_id, number, document, digest, created_at from policy_version
            where org_id = $1 and id = $2";
        let call = Call::new(sql).with(*org.as_uuid()).with(*id.as_uuid());
        let rows = self.database.ask_one(attempt, call).await?;
        first_version(org, &rows).map_err(|fault| fault.down(attempt))
    }

    async fn latest_policy_version(
        &self,
        org: OrgId,
        policy: PolicyId,
    ) -> Result<Option<PolicyVersion>, StoreDown> {
        let attempt = "read the latest version of a policy";
        let sql = "
            select id, policy_id, number, document, digest, created_at from policy_version
            where org_id = $1 and policy_id = $2
            order by number desc limit 1";
        let call = Call::new(sql).with(*org.as_uuid()).with(*policy.as_uuid());
        let rows = self.database.ask_one(attempt, call).await?;
        first_version(org, &rows).map_err(|fault| fault.down(attempt))
    }
}

fn policy(org: OrgId, row: &Row) -> Result<Policy, Fault> {
    let cells = Cells::of("policy", row);
    Ok(Policy {
        id: cells.id("id", PolicyId::from_uuid)?,
        org,
        name: cells.get("name")?,
        created_at: cells.moment("created_at")?,
    })
}

fn first_version(org: OrgId, rows: &[Row]) -> Result<Option<PolicyVersion>, Fault> {
    let Some(row) = rows.first() else { return Ok(None) };
    let cells = Cells::of("policy_version", row);
    let number: i32 = cells.get("number")?;
    Ok(Some(PolicyVersion {
        id: cells.id("id", PolicyVersionId::from_uuid)?,
        org,
        policy: cells.id("policy_id", PolicyId::from_uuid)?,
        number: u32::try_from(number).map_err(|error| cells.fault("number", error))?,
        document: cells.get("document")?,
        digest: cells.digest("digest")?,
        created_at: cells.moment("created_at")?,
    }))
}

//! The last test of each connector.

use std::time::Duration;

use admin::{ConnectorTest, Looked, LookedAt};
use model::{ConnectorId, OrgId};
use serde::{Deserialize, Serialize};
use tokio_postgres::Row;

use crate::{
    database::Call,
    fault::Fault,
    rows::{Cells, bigint, system_time, to_json},
};

const KEEP: &str = "
    insert into connector_test (org_id, connector_id, revision, tested_at, duration_ms, checks)
    values ($1, $2, $3, $4, $5, $6)
    on conflict (org_id, connector_id)
    do update set revision = excluded.revision, tested_at = excluded.tested_at,
        duration_ms = excluded.duration_ms, checks = excluded.checks";
const LAST: &str = "
    select revision, tested_at, duration_ms, checks from connector_test
    where org_id = $1 and connector_id = $2";

/// A check as it is kept.
#[derive(Debug, Serialize, Deserialize)]
struct Kept {
    name: String,
    state: String,
    detail: String,
}

pub(super) fn keep(
    (org, id): (OrgId, ConnectorId),
    test: &ConnectorTest,
) -> Result<Call<'static>, Fault> {
    let kept = |check: &Looked| Kept {
        name: check.name.clone(),
        state: check.found.as_str().to_owned(),
        detail: check.detail.clone(),
    };
    let checks: Vec<_> = test.checks.iter().map(kept).collect();
    let checks = to_json("checks", "connector_test", &checks)?;
    let millis = u64::try_from(test.duration.as_millis()).unwrap_or(u64::MAX);
    let call = Call::new(KEEP).with(*org.as_uuid()).with(*id.as_uuid());
    let call = call.with(i64::from(test.revision)).with(system_time(test.tested_at));
    Ok(call.with(bigint(millis)).with(checks))
}

pub(super) fn last((org, id): (OrgId, ConnectorId)) -> Call<'static> {
    Call::new(LAST).with(*org.as_uuid()).with(*id.as_uuid())
}

pub(super) fn read(row: &Row) -> Result<ConnectorTest, Fault> {
    let cells = Cells::of("connector_test", row);
    let checks: Vec<Kept> =
        serde_json::from_str(cells.get("checks")?).map_err(|error| cells.fault("checks", error))?;
    let check = |Kept { name, state, detail }: Kept| {
        let found = LookedAt::ALL.into_iter().find(|found| found.as_str() == state);
        let found = found.ok_or_else(|| cells.fault("checks", format!("a state `{state}`")))?;
        Ok(Looked { name, found, detail })
    };
    Ok(ConnectorTest {
        revision: cells.get::<i64>("revision")?.try_into().unwrap_or(u32::MAX),
        tested_at: cells.moment("tested_at")?,
        duration: Duration::from_millis(cells.count("duration_ms")?),
        checks: checks.into_iter().map(check).collect::<Result<_, Fault>>()?,
    })
}

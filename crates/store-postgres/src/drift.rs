//! Budget counters compared with the charges of the actions that they count.

use std::time::Duration;

use gate::Drift;
use ledger::{StoreDown, record::BudgetUse};
use model::OrgId;
use tokio_postgres::Row;

use crate::{PostgresStore, database::Call, fault::Fault, rows::Cells};

/// A month of charges may be long, and nobody waits for the sum.
const LIMIT: Duration = Duration::from_mins(1);

// One statement, so that counters, charges and version are of one moment. An action's record is
// asked only for those that were charged at all.
const DRIFT: &str = r#"
    with counter as (
        select key, window_start, window_end, used from budget_window
        where org_id = $1 and window_end > now()
    ), part as (
        select part ->> 'key' as key, (part ->> 'window_start')::timestamptz as window_start,
            max((part ->> 'window_end')::timestamptz) as window_end,
            sum((part ->> 'used')::numeric) as used
        from only action
        cross join jsonb_array_elements(record::jsonb -> 'charged') as part
        where org_id = $1 and record like '%"charged":[{%'
            and created_at >= (select min(window_start) from counter)
            and status not in ('failed', 'cancelled')
            and not (status = 'denied' and approval_status is not null)
        group by 1, 2
    )
    select head.version, coalesce(counter.key, part.key) as key,
        coalesce(counter.window_start, part.window_start) as window_start,
        coalesce(counter.window_end, part.window_end) as window_end,
        coalesce(part.used, 0)::text as used
    from org_head as head
    left join (
        counter full join part
        on part.key = counter.key and part.window_start = counter.window_start
    ) on coalesce(counter.window_end, part.window_end) > now()
        and coalesce(part.used, 0) <> coalesce(counter.used, 0)
    where head.org_id = $1"#;

impl PostgresStore {
    /// The counters that are not the sum of their charges.
    pub(crate) async fn budget_drift(&self, org: OrgId) -> Result<Drift, StoreDown> {
        let attempt = "compare budget counters with charges";
        let call = Call::new(DRIFT).with(*org.as_uuid());
        let rows = self.reading.ask_at_leisure(attempt, call, LIMIT).await?;
        drift(&rows).map_err(|fault| fault.down(attempt))
    }
}

fn drift(rows: &[Row]) -> Result<Drift, Fault> {
    let version = rows.first().map(|row| Cells::of("org_head", row).count("version"));
    let counters = rows.iter().map(|row| counter(&Cells::of("budget_window", row)));
    let counters: Result<Vec<_>, _> = counters.collect();
    Ok(Drift {
        version: version.transpose()?.unwrap_or_default(),
        counters: counters?.into_iter().flatten().collect(),
    })
}

/// An org without drift has one row, which names no counter.
fn counter(cells: &Cells<'_>) -> Result<Option<BudgetUse>, Fault> {
    let Some(key) = cells.get("key")? else { return Ok(None) };
    Ok(Some(BudgetUse {
        key,
        window_start: cells.moment("window_start")?,
        window_end: cells.moment("window_end")?,
        used: cells.word("used")?,
    }))
}

//! Budget counters compared with the charges of the actions that they count.

use std::time::Duration;

use gate::Miscount;
use ledger::{StoreDown, record::BudgetUse};
use model::OrgId;

use crate::{PostgresStore, database::Call, fault::Fault, list::first_id, rows::Cells};

/// A month of charges may be long, and nobody waits for the sum.
const LIMIT: Duration = Duration::from_mins(1);

/// Where the longest of the windows that run began, and with it the first action that counts.
const SINCE: &str = "
    select min(window_start) as since from budget_window
    where org_id = $1 and window_end > now()";

// One statement, so that counters and charges are of one moment. Ids begin with the time of their
// making, so that what is older than every window is not read; an action's record is asked only for
// those that were charged at all.
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
        where org_id = $1 and id >= $2 and record like '%"charged":[{%'
            and created_at >= (select min(window_start) from counter)
            and status not in ('failed', 'cancelled')
            and not (status = 'denied' and approval_status is not null)
        group by 1, 2
    )
    select coalesce(counter.key, part.key) as key,
        coalesce(counter.window_start, part.window_start) as window_start,
        coalesce(counter.window_end, part.window_end) as window_end,
        coalesce(counter.used, 0)::text as used, coalesce(part.used, 0)::text as charged
    from counter full join part
        on part.key = counter.key and part.window_start = counter.window_start
    where coalesce(counter.window_end, part.window_end) > now()
        and coalesce(part.used, 0) <> coalesce(counter.used, 0)"#;

impl PostgresStore {
    /// The counters that are not the sum of their charges.
    pub(crate) async fn budget_drift(&self, org: OrgId) -> Result<Vec<Miscount>, StoreDown> {
        let attempt = "compare budget counters with charges";
        let since = Call::new(SINCE).with(*org.as_uuid());
        let since = self.reading.query_with_timeout(attempt, since, LIMIT).await?;
        let since = since.first().map(|row| Cells::of("budget_window", row).moment_if_any("since"));
        let since = since.transpose().map_err(|fault| fault.down(attempt))?.flatten();
        let Some(since) = since else { return Ok(Vec::new()) };
        let call = Call::new(DRIFT).with(*org.as_uuid()).with(first_id(since));
        let rows = self.reading.query_with_timeout(attempt, call, LIMIT).await?;
        let wrong = rows.iter().map(|row| miscount(&Cells::of("budget_window", row)));
        wrong.collect::<Result<_, _>>().map_err(|fault| fault.down(attempt))
    }
}

fn miscount(cells: &Cells<'_>) -> Result<Miscount, Fault> {
    let counter = BudgetUse {
        key: cells.get("key")?,
        window_start: cells.moment("window_start")?,
        window_end: cells.moment("window_end")?,
        used: cells.word("used")?,
    };
    Ok(Miscount { counter, charged: cells.word("charged")? })
}

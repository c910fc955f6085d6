//! Lists of actions: one statement for every combination of filters.
//!
//! A filter that is not asked for is null. The statement is planned for its very values, so such
//! a filter is folded away before the plan is made.

use gate::{Filter, Page, Place};
use ledger::StoreDown;
use model::{DecisionOutcome, Level, OrgId, State, Verdict};

use crate::{
    database::{Call, Database},
    rows::{Cells, system_time},
};

/// Returns up to `limit` actions behind this place, newest first.
pub(crate) async fn page(
    database: &Database,
    org: OrgId,
    filter: &Filter,
    after: Option<Place>,
    limit: usize,
) -> Result<Page, StoreDown> {
    let attempt = "list actions";
    let one_more = i64::try_from(limit).unwrap_or(i64::MAX).saturating_add(1);
    let call = call(org, filter, after).with(one_more);
    let rows = database.ask_planned(attempt, call).await?;
    let shown = rows.iter().take(limit).map(|row| Cells::of("action", row).json("record"));
    let actions = shown.collect::<Result<_, _>>().map_err(|fault| fault.down(attempt))?;
    Ok(Page { actions, has_more: rows.len() > limit })
}

// The filters only name columns of the index `action_newest`, so that the inner statement reads
// no row; the whole rows are fetched for those that are shown.
const LIST: &str = r"
    select action.record
    from (
        select org_id, created_at, id from action
        where org_id = $1
            and ($2::uuid is null or agent_id = $2)
            and ($3::text is null or tool like $3)
            and ($4::text[] is null or state = any($4))
            and ($5::text[] is null or outcome = any($5))
            and ($6::text[] is null or verdict = any($6))
            and ($7::text[] is null or level = any($7))
            and ($8::text is null or on_behalf_of = $8)
            and ($9::timestamptz is null or created_at >= $9)
            and ($10::timestamptz is null or created_at < $10)
            and ($11::text is null or strpos(tool, $11) > 0 or strpos(error_code, $11) > 0)
            and (not $12::boolean or shadow_outcome <> outcome)
            and ($13::timestamptz is null or (created_at, id) < ($13, $14::uuid))
        order by created_at desc, id desc limit $15
    ) as shown
    join action on action.org_id = shown.org_id and action.id = shown.id
    order by shown.created_at desc, shown.id desc";

fn call(org: OrgId, filter: &Filter, after: Option<Place>) -> Call<'_> {
    Call::new(LIST)
        .with(*org.as_uuid())
        .with(filter.agent.map(|id| *id.as_uuid()))
        .with(filter.tool.as_ref().map(policy::Glob::to_like))
        .with(words(&filter.states, State::as_str))
        .with(words(&filter.decisions, DecisionOutcome::as_str))
        .with(words(&filter.verdicts, Verdict::as_str))
        .with(words(&filter.levels, Level::as_str))
        .with(filter.on_behalf_of.as_deref())
        .with(filter.from.map(system_time))
        .with(filter.to.map(system_time))
        .with(filter.text.as_deref())
        .with(filter.shadow_differs.is_some())
        .with(after.map(|place| system_time(place.created_at)))
        .with(after.map(|place| *place.id.as_uuid()))
}

/// Returns the words of a filter; none when it lets everything through.
fn words<T: Copy>(wanted: &[T], word: fn(T) -> &'static str) -> Option<Vec<&'static str>> {
    (!wanted.is_empty()).then(|| wanted.iter().map(|value| word(*value)).collect())
}

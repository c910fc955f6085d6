//! The names of tools and error codes that an org has used, and which of them a filter means.

use gate::Filter;
use tokio_postgres::Row;

use super::{Driver, ListQuery};
use crate::{database::Call, fault::Fault, rows::Cells, unsealed::unsealed_states};

/// More names than this are not gone through one by one.
const MOST: i64 = 5_000;

// Each step goes straight to the next name, whatever the number of actions in between.
const TOOLS: &str = concat!(
    "
    with recursive used as (
        (select tool as name from action
        where org_id = $1 and state = 'sealed' and tool >= $2 order by tool limit 1)
        union all
        select (
            select tool from action
            where org_id = $1 and state = 'sealed' and tool > used.name order by tool limit 1
        )
        from used where starts_with(used.name, $2)
    )
    select name from used where starts_with(name, $2)
    union
    select open.tool
    from ",
    unsealed_states!(),
    "
    cross join lateral (
        select tool from action
        where org_id = $1 and state = stage.name and state <> 'sealed' and starts_with(tool, $2)
        offset 0
    ) as open
    limit $3"
);
const ERRORS: &str = "
    with recursive used as (
        (select error_code as name from action where org_id = $1 and error_code is not null
        order by error_code limit 1)
        union all
        select (
            select error_code from action where org_id = $1 and error_code > used.name
            order by error_code limit 1
        )
        from used where used.name is not null
    )
    select name from used where name is not null limit $2";

/// The question for the tools that the filter may mean.
pub(super) fn tools<'a>(asked: &ListQuery<'a>) -> Call<'a> {
    let glob = asked.filter.tool.as_ref().map(policy::Glob::as_str);
    let start = glob.and_then(|glob| glob.split('*').next()).unwrap_or_default();
    Call::new(TOOLS).with(*asked.org.as_uuid()).with(start).with(MOST)
}

/// The question for the org's error codes.
pub(super) fn errors<'a>(asked: &ListQuery<'a>) -> Call<'a> {
    Call::new(ERRORS).with(*asked.org.as_uuid()).with(MOST)
}

/// The driver by the names that the filter means; none when it means none by a part, or
/// when there are too many.
pub(super) fn named(filter: &Filter, used: &[Vec<Row>]) -> Result<Option<Driver>, Fault> {
    let [tools, errors] = used else { return Ok(None) };
    let (mut tools, mut errors) = (names(tools)?, names(errors)?);
    let many = usize::try_from(MOST).unwrap_or(usize::MAX);
    if tools.len() >= many || errors.len() >= many {
        return Ok(None);
    }
    if let Some(glob) = &filter.tool {
        tools.retain(|name| glob.is_match(name));
    }
    let Some(text) = &filter.text else { return Ok(Some(Driver::Tools(tools))) };
    tools.retain(|name| name.contains(text.as_str()));
    errors.retain(|code| code.contains(text.as_str()));
    Ok(Some(Driver::Named(tools, errors)))
}

fn names(rows: &[Row]) -> Result<Vec<String>, Fault> {
    rows.iter().map(|row| Cells::of("action", row).get("name")).collect()
}

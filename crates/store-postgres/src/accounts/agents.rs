//! The statements of the list of agents, each of which reads one index in the order of the list.
//!
//! An index is chosen by what stands in the statement itself, since plans are made for any values.

use admin::AgentList;
use model::{AgentStatus, OrgId, Timestamp};
use uuid::Uuid;

use crate::{database::Call, rows::system_time};

/// Later than anything is made: the end of the year 9999.
pub(crate) const END: Timestamp = Timestamp::from_unix_millis(253_402_300_799_999);

/// Newest first, of those that meet a condition. `$2` and `$3` are the place that the list begins
/// behind.
macro_rules! newest {
    ($meets:expr) => {
        concat!(
            "select record from agent where org_id = $1",
            $meets,
            " and (created_at, id) < ($2, $3)
              order by created_at desc, id desc limit $4"
        )
    };
}

/// Whether the suspension of a row still holds, or its time is over.
macro_rules! is_suspended {
    () => {
        "(coalesce((record::json ->> 'expires_at')::timestamptz <= now(), false)
          or record::json ->> 'suspension' is not null
          and coalesce((record::json #>> '{suspension,until}')::timestamptz > now(), true))"
    };
}

/// Newest first, of those that meet a condition and stand in one of these parts, each of which has an
/// index of its own.
macro_rules! parts {
    ($meets:expr, $first:expr $(, $part:expr)*) => {
        concat!(
            "select record from (",
            part!($first, $meets),
            $(" union all ", part!($part, $meets),)*
            ") as found order by created_at desc, id desc limit $4"
        )
    };
}

macro_rules! part {
    ($part:expr, $meets:expr) => {
        concat!(
            "(select record, created_at, id from agent
               where org_id = $1 and archived_at is null and record::json ->> 'stop' is null and ",
            $part,
            " and ",
            $meets,
            " and (created_at, id) < ($2, $3)
               order by created_at desc, id desc limit $4)"
        )
    };
}

/// Those that were suspended at some time.
macro_rules! suspended {
    () => {
        "record::json ->> 'suspension' is not null"
    };
}

/// Those that were not, and whose time ends.
macro_rules! ending {
    () => {
        "record::json ->> 'suspension' is null and record::json ->> 'expires_at' is not null"
    };
}

/// Those that were not, and whose time does not end.
macro_rules! free {
    () => {
        "record::json ->> 'suspension' is null and record::json ->> 'expires_at' is null"
    };
}

const ALL: &str = newest!("");
const LIVE: &str = newest!(" and archived_at is null");
const ARCHIVED: &str = newest!(" and archived_at is not null");
const STOPPED: &str = newest!(" and archived_at is null and record::json ->> 'stop' is not null");
const SUSPENDED: &str = parts!(is_suspended!(), suspended!(), ending!());
const ACTIVE: &str = parts!(concat!("not ", is_suspended!()), free!(), suspended!(), ending!());
/// In the order of names, those that stand behind a place and whose names are below a bound. There is one
/// lower bound, since an index is entered at the first that it finds.
const NAMED: &str = concat!(
    "select record from agent
      where org_id = $1 and (name collate \"C\", id) > ($2, $3) and name collate \"C\" < $5
        and ($6::text is null or $6 = case
            when archived_at is not null then 'archived'
            when record::json ->> 'stop' is not null then 'stopped'
            when ",
    is_suspended!(),
    " then 'suspended' else 'active' end)
        and ($7::boolean or archived_at is null)
      order by name collate \"C\", id limit $4"
);

/// The statement that reads what is asked for.
pub(super) fn call(org: OrgId, asked: &AgentList, limit: usize) -> Call<'_> {
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    if let Some(named) = &asked.named {
        let status = asked.status.map(AgentStatus::as_str);
        let archived = asked.archived || asked.status == Some(AgentStatus::Archived);
        let first = (named.as_str(), Uuid::nil());
        let (begin, behind) = asked
            .after
            .as_ref()
            .map_or(first, |after| first.max((after.name.as_str(), *after.id.as_uuid())));
        return Call::new(NAMED)
            .with(*org.as_uuid())
            .with(begin)
            .with(behind)
            .with(limit)
            // Behind every letter that a name may have.
            .with(format!("{named}~"))
            .with(status)
            .with(archived);
    }
    let sql = match (asked.status, asked.archived) {
        (None, true) => ALL,
        (None, false) => LIVE,
        (Some(AgentStatus::Archived), _) => ARCHIVED,
        (Some(AgentStatus::Stopped), _) => STOPPED,
        (Some(AgentStatus::Suspended), _) => SUSPENDED,
        (Some(AgentStatus::Active), _) => ACTIVE,
    };
    let after = asked.after.as_ref();
    Call::new(sql)
        .with(*org.as_uuid())
        .with(system_time(after.map_or(END, |after| after.created_at)))
        .with(after.map_or(Uuid::max(), |after| *after.id.as_uuid()))
        .with(limit)
}

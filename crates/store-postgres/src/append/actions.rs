//! The turn's actions: those that began and those that moved, one statement each.

use std::{
    collections::BTreeMap,
    error::Error,
    sync::{Arc, LazyLock},
    time::{Duration, SystemTime},
};

use bytes::{BufMut, BytesMut};
use ledger::{
    Turn,
    record::{Action, NewAction},
};
use model::ActionId;
use tokio_postgres::types::{IsNull, ToSql, Type, to_sql_checked};

use super::Step;
use crate::{
    database::{Call, Value},
    fault::Fault,
    list::is_of,
    rows::{bigint, system_time},
};

/// The statements that write the actions that the turn begins and those that it moves.
pub(crate) fn steps<'a>(
    turn: &'a Turn,
    (new, moved): (&'a [NewAction], &'a [Arc<Action>]),
    lease: Duration,
) -> Result<Vec<Step<'a>>, Fault> {
    let (new, moved) = last_forms(new, moved);
    let lease_until = system_time(turn.at + lease);
    if let Some(odd) = new.iter().find(|action| !is_of(*action.id.as_uuid(), action.created_at)) {
        // Lists are in the order of ids.
        let why = format!("its id is not of the moment {}", odd.created_at);
        return Err(Fault::Row { table: "action", column: "created_at", why });
    }
    let written = [(BEGUN.as_str(), new), (MOVED.as_str(), moved)];
    let written = written.into_iter().filter(|(_, actions)| !actions.is_empty());
    let step = |(sql, actions): (&'static str, Vec<&'a Action>)| {
        let rows = Rows { actions, lease_until };
        let call = Call::new(sql).with(*turn.org.as_uuid());
        Step::rows(call.with_all(COLUMNS.iter().map(|column| (column.values)(&rows))))
    };
    Ok(written.map(step).collect())
}

static BEGUN: LazyLock<String> = LazyLock::new(|| {
    with_columns(
        "
        insert into action (org_id, {names})
        select $1::uuid, r.* from unnest({arrays}) as r",
    )
});

// `offset 0` keeps the list of rows from being merged into the statement: the planner then knows
// the org only as part of each row's key, and cannot go through the whole org instead.
static MOVED: LazyLock<String> = LazyLock::new(|| {
    with_columns(
        "
        with moved as (
            update action set {changes}
            from (
                select $1::uuid as org_id, r.* from unnest({arrays}) as r ({names})
                offset 0
            ) as r
            where action.org_id = r.org_id and action.id = r.id
            returning action.id
        )
        select 1 / (count(*) = cardinality($2::uuid[]))::integer from moved",
    )
});

/// The statement with every column of [`COLUMNS`] in it, whose values begin at `$2`.
fn with_columns(sql: &str) -> String {
    let each = |text: fn((usize, &Column)) -> String| {
        COLUMNS.iter().enumerate().map(text).collect::<Vec<_>>().join(", ")
    };
    sql.replace("{names}", &each(|(_, column)| column.name.to_owned()))
        .replace("{arrays}", &each(|(at, column)| format!("${}::{}[]", at + 2, column.kind)))
        .replace("{changes}", &each(|(_, Column { name, .. })| format!("{name} = r.{name}")))
}

/// The actions that the turn begins and those that it moves, each in its last form.
fn last_forms<'a>(
    new: &'a [NewAction],
    moved: &'a [Arc<Action>],
) -> (Vec<&'a Action>, Vec<&'a Action>) {
    let mut last: BTreeMap<ActionId, &Action> =
        moved.iter().map(|action| (action.id, &**action)).collect();
    // One that begins twice stays twice here, for the primary key to refuse.
    let last_form = |new: &'a NewAction| last.get(&new.action.id).copied().unwrap_or(&new.action);
    let new: Vec<&Action> = new.iter().map(last_form).collect();
    for action in &new {
        last.remove(&action.id);
    }
    // Renewals of leases lock the same rows without the head. Both take them in the order of their
    // ids, so that neither waits for the other in a circle.
    (new, last.into_values().collect())
}

/// A column of `action` beside `org_id`.
struct Column {
    name: &'static str,
    /// Its type.
    kind: &'static str,
    /// What stands in it, as one value for each row.
    values: for<'a> fn(&Rows<'a>) -> Value<'a>,
}

/// Every column, the id first.
#[rustfmt::skip]
const COLUMNS: &[Column] = &[
    Column { name: "id",                  kind: "uuid",        values: |r| r.each(|a| *a.id.as_uuid()) },
    Column { name: "created_at",          kind: "timestamptz", values: |r| r.each(|a| system_time(a.created_at)) },
    Column { name: "agent_id",            kind: "uuid",        values: |r| r.each(|a| *a.agent.id.as_uuid()) },
    Column { name: "tool",                kind: "text",        values: |r| r.each(|a| a.tool.as_str()) },
    Column { name: "tool_digest",         kind: "bytea",       values: |r| r.each(|a| a.tool_digest.as_ref().map(|d| &d.as_bytes()[..])) },
    Column { name: "mode",                kind: "text",        values: |r| r.each(|a| a.mode.as_str()) },
    Column { name: "state",               kind: "text",        values: |r| r.each(|a| a.state.as_str()) },
    Column { name: "status",              kind: "text",        values: |r| r.each(|a| a.status.as_str()) },
    Column { name: "on_behalf_of",        kind: "text",        values: |r| r.each(|a| a.on_behalf_of.as_deref()) },
    Column { name: "outcome",             kind: "text",        values: |r| r.each(|a| a.decision.outcome.as_str()) },
    Column { name: "shadow_outcome",      kind: "text",        values: |r| r.each(|a| a.decision.shadow.as_ref().map(|s| s.outcome.as_str())) },
    Column { name: "approval_status",     kind: "text",        values: |r| r.each(|a| a.approval.as_ref().map(|p| p.status.as_str())) },
    Column { name: "approval_expires_at", kind: "timestamptz", values: |r| r.each(|a| a.approval.as_ref().map(|p| system_time(p.expires_at))) },
    Column { name: "deadline",            kind: "timestamptz", values: |r| r.each(|a| a.deadline.map(system_time)) },
    Column { name: "execution_status",    kind: "text",        values: |r| r.each(|a| a.execution.as_ref().map(|e| e.status.as_str())) },
    Column { name: "error_code",          kind: "text",        values: |r| r.each(|a| a.execution.as_ref().and_then(|e| e.error_code.as_ref()).map(|code| code.as_str())) },
    Column { name: "verdict",             kind: "text",        values: |r| r.each(|a| a.witness.as_ref().map(|w| w.verdict.as_str())) },
    Column { name: "level",               kind: "text",        values: |r| r.each(|a| a.witness.as_ref().map(|w| w.level.as_str())) },
    Column { name: "deed_id",             kind: "uuid",        values: |r| r.each(|a| a.deed.map(|id| *id.as_uuid())) },
    Column { name: "lease_holder",        kind: "text",        values: |r| r.each(|a| a.lease.as_ref().map(|l| l.holder.as_str())) },
    Column { name: "lease_token",         kind: "bigint",      values: |r| r.each(|a| a.lease.as_ref().map(|l| bigint(l.token))) },
    Column { name: "lease_until",         kind: "timestamptz", values: |r| { let until = r.lease_until; r.each(move |a| a.lease.as_ref().map(|_| until)) } },
    Column { name: "record",              kind: "text",        values: |r| r.each(Record) },
];

/// The rows that a statement writes.
struct Rows<'a> {
    actions: Vec<&'a Action>,
    /// The end of the leases that the turn gives.
    lease_until: SystemTime,
}

impl<'a> Rows<'a> {
    /// One column of the rows, as `unnest` takes it.
    fn each<T: ToSql + Sync + Send + 'a>(&self, value: impl Fn(&'a Action) -> T) -> Value<'a> {
        Box::new(self.actions.iter().map(|action| value(action)).collect::<Vec<_>>())
    }
}

/// The whole action as JSON, written straight to the driver's buffer.
#[derive(Debug)]
struct Record<'a>(&'a Action);

impl ToSql for Record<'_> {
    fn to_sql(&self, _: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        serde_json::to_writer(out.writer(), self.0)?;
        Ok(IsNull::No)
    }

    fn accepts(of: &Type) -> bool {
        <&str as ToSql>::accepts(of)
    }

    to_sql_checked!();
}

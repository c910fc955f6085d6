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

use super::{Step, rules};
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
    rules::judge(&new)?;
    rules::judge(&moved)?;
    let org = *turn.org.as_uuid();
    let begun = (!new.is_empty()).then(|| {
        let rows = Rows { actions: new, lease_until };
        Call::new(&BEGUN).with(org).with_all(COLUMNS.iter().map(|it| (it.values)(&rows)))
    });
    let moved = (!moved.is_empty()).then(|| {
        let rows = Rows { actions: moved, lease_until };
        Call::new(&MOVED).with(org).with_all(of_moved().0.iter().map(|it| (it.values)(&rows)))
    });
    Ok(begun.into_iter().chain(moved).map(Step::rows).collect())
}

static BEGUN: LazyLock<String> = LazyLock::new(|| {
    let every: Vec<_> = COLUMNS.iter().collect();
    format!(
        "
        insert into action (org_id, {names})
        select $1::uuid, r.* from unnest({arrays}) as r
        returning 1",
        names = names(&every),
        arrays = arrays(&every),
    )
});

// The row that is there stands in the way of the insert, and takes what may have changed. So it is
// found by its key, however the tables looked when the plan was made. A row that is not there is
// made as nobody's, and the division by zero then takes it back with the whole turn.
static MOVED: LazyLock<String> = LazyLock::new(|| {
    let (moving, staying) = of_moved();
    let list = |columns: &[&Column], text: fn(&Column) -> String| {
        columns.iter().map(|column| text(column)).collect::<Vec<_>>().join(", ")
    };
    format!(
        "
        with moved as (
            insert into action (org_id, {stays}, {names})
            select $1::uuid, {fillers}, r.* from unnest({arrays}) as r
            on conflict (org_id, id) do update set {changes}
            returning agent_id
        )
        select 1 / (count(*) filter (where agent_id <> $1) = cardinality($2::uuid[]))::integer
        from moved",
        stays = names(&staying),
        fillers = list(&staying, |it| format!("{}::{}", it.filler.unwrap_or("null"), it.kind)),
        names = names(&moving),
        arrays = arrays(&moving),
        changes =
            list(moving.get(1..).unwrap_or_default(), |it| format!("{0} = excluded.{0}", it.name)),
    )
});

fn names(columns: &[&Column]) -> String {
    columns.iter().map(|column| column.name).collect::<Vec<_>>().join(", ")
}

/// The values of the columns, from `$2` on.
fn arrays(columns: &[&Column]) -> String {
    let array = |(at, column): (usize, &&Column)| format!("${}::{}[]", at + 2, column.kind);
    columns.iter().enumerate().map(array).collect::<Vec<_>>().join(", ")
}

/// The columns that an action's later forms are written to, the id first, and those that stay.
fn of_moved() -> (Vec<&'static Column>, Vec<&'static Column>) {
    COLUMNS.iter().partition(|column| column.filler.is_none())
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
    /// Of a column that stays as it was when the action began: what fills it where a row is only
    /// made to meet the one that is there.
    filler: Option<&'static str>,
    /// What stands in it, as one value for each row.
    values: for<'a> fn(&Rows<'a>) -> Value<'a>,
}

/// Every column, the id first.
#[rustfmt::skip]
const COLUMNS: &[Column] = &[
    Column { name: "id",                  kind: "uuid",        filler: None,                values: |r| r.each(|a| *a.id.as_uuid()) },
    Column { name: "created_at",          kind: "timestamptz", filler: Some("'-infinity'"), values: |r| r.each(|a| system_time(a.created_at)) },
    Column { name: "agent_id",            kind: "uuid",        filler: Some("$1"),          values: |r| r.each(|a| *a.agent.id.as_uuid()) },
    Column { name: "tool",                kind: "text",        filler: Some("''"),          values: |r| r.each(|a| a.tool.as_str()) },
    Column { name: "tool_digest",         kind: "bytea",       filler: Some("null"),        values: |r| r.each(|a| a.tool_digest.as_ref().map(|d| &d.as_bytes()[..])) },
    Column { name: "mode",                kind: "text",        filler: Some("'proxy'"),     values: |r| r.each(|a| a.mode.as_str()) },
    Column { name: "state",               kind: "text",        filler: None,                values: |r| r.each(|a| a.state.as_str()) },
    Column { name: "status",              kind: "text",        filler: None,                values: |r| r.each(|a| a.status.as_str()) },
    Column { name: "on_behalf_of",        kind: "text",        filler: Some("null"),        values: |r| r.each(|a| a.on_behalf_of.as_deref()) },
    Column { name: "outcome",             kind: "text",        filler: Some("'allow'"),     values: |r| r.each(|a| a.decision.outcome.as_str()) },
    Column { name: "shadow_outcome",      kind: "text",        filler: Some("null"),        values: |r| r.each(|a| a.decision.shadow.as_ref().map(|s| s.outcome.as_str())) },
    Column { name: "approval_status",     kind: "text",        filler: None,                values: |r| r.each(|a| a.approval.as_ref().map(|p| p.status.as_str())) },
    Column { name: "approval_expires_at", kind: "timestamptz", filler: None,                values: |r| r.each(|a| a.approval.as_ref().map(|p| system_time(p.expires_at))) },
    Column { name: "deadline",            kind: "timestamptz", filler: None,                values: |r| r.each(|a| a.deadline.map(system_time)) },
    Column { name: "execution_status",    kind: "text",        filler: None,                values: |r| r.each(|a| a.execution.as_ref().map(|e| e.status.as_str())) },
    Column { name: "error_code",          kind: "text",        filler: None,                values: |r| r.each(|a| a.execution.as_ref().and_then(|e| e.error_code.as_ref()).map(model::ErrorCode::as_str)) },
    Column { name: "verdict",             kind: "text",        filler: None,                values: |r| r.each(|a| a.witness.as_ref().map(|w| w.verdict.as_str())) },
    Column { name: "level",               kind: "text",        filler: None,                values: |r| r.each(|a| a.witness.as_ref().map(|w| w.level.as_str())) },
    Column { name: "deed_id",             kind: "uuid",        filler: None,                values: |r| r.each(|a| a.deed.map(|id| *id.as_uuid())) },
    Column { name: "lease_holder",        kind: "text",        filler: None,                values: |r| r.each(|a| a.lease.as_ref().map(|l| l.holder.as_str())) },
    Column { name: "lease_token",         kind: "bigint",      filler: None,                values: |r| r.each(|a| a.lease.as_ref().map(|l| bigint(l.token))) },
    Column { name: "lease_until",         kind: "timestamptz", filler: None,                values: |r| { let until = r.lease_until; r.each(move |a| a.lease.as_ref().map(|_| until)) } },
    Column { name: "record",              kind: "text",        filler: None,                values: |r| r.each(Record) },
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

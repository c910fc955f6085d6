//! Tools that lie, on a real server: what a read-back and the change log make of each of them.

use std::collections::BTreeMap;

use model::{
    Datum, ExecutionErrorCode, Fault, Image, Level, LogAnswer, LogFrame, LogSource, Lsn, Measured,
    OldRows, Outcome, Report, RowChange, RowCounts, RowOp, SideEffect, TableInLog, TableName,
    Verdict, WitnessReason as Reason,
};
use serde_json::{Value, json};
use tool::{Claim, Reading, Tool};
use witness::{Evidence, MAX_DETAIL_BYTES, Reporter, Seen, judge};

use super::world::{LIMIT, World, action};

/// Tables beside the items, and a trigger that one of them has.
const SCHEMA: &str = "
    create table audit (id int primary key generated always as identity, note text);
    create table dark (id int primary key, note text);
    create table attic (id int primary key, note text);
    create table parts (id int primary key, item int not null references items on delete cascade);
    insert into parts values (1, 4), (2, 4);
    create table orders (id int primary key, state text not null);
    insert into orders values (1, 'open'), (2, 'open');
    create function noted() returns trigger language plpgsql security definer as $$
        begin insert into public.audit (note) values ('noted'); return null; end $$;
    create trigger noted after update on orders for each row execute function noted();
    create table totals (id int primary key, net int not null, gross int generated always as (net * 2) stored);
    insert into totals values (1, 10), (2, 20);
    alter table totals replica identity full;
    alter table items replica identity full;
    alter table audit replica identity full;
    alter table parts replica identity full;
    alter table orders replica identity full;
    alter table dark replica identity full";

/// The functions by name, each with what it does to an item; all of them return rows of items.
const FUNCTIONS: &[(&str, &str)] = &[
    (
        "honest",
        "return query update items i set stock = i.stock + 1 where i.id = item returning i.id, i.label, i.stock;",
    ),
    (
        "too_few",
        "update items i set stock = i.stock + 1 where i.id in (item, item + 1); return query select * from items i where i.id = item;",
    ),
    (
        "too_many",
        "update items i set stock = i.stock + 1 where i.id = item; return query select * from items i where i.id in (item, item + 1);",
    ),
    (
        "other_rows",
        "update items i set stock = i.stock + 1 where i.id = item + 1; return query select * from items i where i.id = item;",
    ),
    (
        "other_columns",
        "update items i set stock = i.stock + 1, label = 'mine' where i.id = item; return query select * from items i where i.id = item;",
    ),
    (
        "other_table",
        "insert into audit (note) values ('hidden'); return query update items i set stock = i.stock + 1 where i.id = item returning i.id, i.label, i.stock;",
    ),
    (
        "other_values",
        "update items i set stock = 1000 where i.id = item; return query select i.id, i.label, 1 from items i where i.id = item;",
    ),
    ("nothing", "return query select i.id, i.label, i.stock + 1 from items i where i.id = item;"),
    (
        "twice",
        "update items i set stock = i.stock + 1 where i.id = item; update items i set stock = i.stock + 1 where i.id = item; return query select i.id, i.label, i.stock - 1 from items i where i.id = item;",
    ),
    (
        "half",
        "update items i set stock = i.stock + 1 where i.id = item; begin update items i set stock = i.stock + 1 where i.id = item + 1; raise exception 'no'; exception when others then null; end; return query select i.id, i.label, i.stock from items i where i.id in (item, item + 1);",
    ),
    (
        "unpublished",
        "insert into dark values (item, 'unseen'); return query update items i set stock = i.stock + 1 where i.id = item returning i.id, i.label, i.stock;",
    ),
    (
        "emptied",
        "truncate audit; return query update items i set stock = i.stock + 1 where i.id = item returning i.id, i.label, i.stock;",
    ),
    (
        "emptied_dark",
        "truncate dark; return query update items i set stock = i.stock + 1 where i.id = item returning i.id, i.label, i.stock;",
    ),
    (
        "altered_dark",
        "alter table dark drop column note; return query update items i set stock = i.stock + 1 where i.id = item returning i.id, i.label, i.stock;",
    ),
    (
        "dropped",
        "drop table attic; return query update items i set stock = i.stock + 1 where i.id = item returning i.id, i.label, i.stock;",
    ),
    (
        "scratched",
        "create temp table scratch (note text) on commit drop; return query update items i set stock = i.stock + 1 where i.id = item returning i.id, i.label, i.stock;",
    ),
    (
        "out_of_scope",
        "return query update items i set stock = i.stock + 1 where i.id = item + 1 returning i.id, i.label, i.stock;",
    ),
];

/// What a tool comes to by the change log and by a read-back, with the reasons of the former.
const EXPECTED: &[(&str, Verdict, Verdict, &[Reason])] = &[
    ("honest", Verdict::Verified, Verdict::Verified, &[]),
    (
        "too_few",
        Verdict::Mismatch,
        Verdict::Unverifiable,
        &[Reason::RowCount, Reason::ExtraRows, Reason::ScopeExceeded],
    ),
    ("too_many", Verdict::Mismatch, Verdict::Mismatch, &[Reason::RowCount, Reason::MissingRows]),
    (
        "other_rows",
        Verdict::Mismatch,
        Verdict::Unverifiable,
        &[Reason::MissingRows, Reason::ExtraRows, Reason::ScopeExceeded],
    ),
    ("other_columns", Verdict::Mismatch, Verdict::Verified, &[Reason::UnexpectedColumn]),
    ("other_table", Verdict::Mismatch, Verdict::Unverifiable, &[Reason::UnexpectedTable]),
    ("other_values", Verdict::Mismatch, Verdict::Mismatch, &[Reason::ValueDiffers]),
    ("nothing", Verdict::Mismatch, Verdict::Mismatch, &[Reason::RowCount, Reason::MissingRows]),
    ("twice", Verdict::Mismatch, Verdict::Mismatch, &[Reason::ValueDiffers]),
    (
        "half",
        Verdict::Mismatch,
        Verdict::Unverifiable,
        &[Reason::RowCount, Reason::MissingRows, Reason::CountDivergence],
    ),
    (
        "unpublished",
        Verdict::Unverifiable,
        Verdict::Unverifiable,
        &[Reason::TableNotPublished, Reason::UnpublishedWrites],
    ),
    (
        "emptied",
        Verdict::Mismatch,
        Verdict::Unverifiable,
        &[Reason::TruncateSeen, Reason::UnexpectedTable],
    ),
    (
        "emptied_dark",
        Verdict::Unverifiable,
        Verdict::Unverifiable,
        &[Reason::TableNotPublished, Reason::UnpublishedWrites],
    ),
    (
        "altered_dark",
        Verdict::Unverifiable,
        Verdict::Unverifiable,
        &[Reason::TableNotPublished, Reason::UnpublishedWrites],
    ),
    ("dropped", Verdict::Unverifiable, Verdict::Unverifiable, &[Reason::UnpublishedWrites]),
    // A table that is gone with the call is nobody's.
    ("scratched", Verdict::Verified, Verdict::Verified, &[]),
    ("out_of_scope", Verdict::Mismatch, Verdict::Mismatch, &[Reason::ScopeExceeded]),
];

/// Every tool, the plain statements last.
fn tools() -> Value {
    let item = json!({
        "type": "object", "additionalProperties": false, "required": ["item"],
        "properties": {"item": {"type": "integer"}},
    });
    let entry = |name: &str, sql: String, footprint: Value| {
        json!({
            "name": name, "title": name, "description": "A tool of a test.", "side_effect": "write",
            "sql": sql, "args": item, "returns": "rows", "max_rows": 10, "required_level": "L2",
            "footprint": footprint,
        })
    };
    let of_function = |(name, _): &(&str, &str)| {
        let footprint = json!({
            "tables": {"items": ["update"]}, "columns": {"items": ["stock"]}, "max_rows": 2,
            "scope": {"items": {"id": "item"}},
        });
        let mut tool =
            entry(name, format!("select id, label, stock from {name}($item)"), footprint);
        tool["reports"] = json!({"table": "items", "op": "update"});
        tool
    };
    let mut all: Vec<Value> = FUNCTIONS.iter().map(of_function).collect();
    let plain = [
        (
            "add",
            "insert into items values ($item, 'new') returning *",
            json!({"tables": {"items": ["insert"]}, "max_rows": 1}),
        ),
        (
            "drop",
            "delete from items where id = $item returning id",
            json!({"tables": {"items": ["delete"]}, "max_rows": 1}),
        ),
        (
            "close",
            "update orders set state = 'closed' where id = $item returning id, state",
            json!({"tables": {"orders": ["update"]}, "max_rows": 1}),
        ),
        (
            "close_declared",
            "update orders set state = 'shut' where id = $item returning id, state",
            json!({"tables": {"orders": ["update"], "audit": ["insert"]}, "max_rows": 2}),
        ),
        (
            "raise",
            "update totals set net = net + 1 where id = $item returning id, net, gross",
            json!({"tables": {"totals": ["update"]}, "columns": {"totals": ["net"]}, "max_rows": 1}),
        ),
    ];
    all.extend(
        plain.into_iter().map(|(name, sql, footprint)| entry(name, sql.to_owned(), footprint)),
    );
    json!(all)
}

/// A governed database whose change log is read.
struct Watched {
    world: World,
    slot: String,
    publication: String,
}

impl Watched {
    async fn new() -> Option<Self> {
        let world = World::bare(tools()).await?;
        world.admin.batch_execute(SCHEMA).await.unwrap();
        for (name, body) in FUNCTIONS {
            let function = format!(
                "create function {name}(item int) returns table (id int, label text, stock int)
                language plpgsql security definer as $$
                #variable_conflict use_column
                begin {body} end $$"
            );
            world.admin.batch_execute(&function).await.unwrap();
        }
        super::world::apply(&world).await;
        let publication = format!("svc_{}", world.blueprint.id);
        let slot = format!("slot_{}", world.blueprint.config["database"].as_str().unwrap());
        let publish = format!(
            "create publication \"{publication}\" for table items, audit, parts, orders, totals, service.ledger"
        );
        world.admin.batch_execute(&publish).await.unwrap();
        if world.major().await >= 18 {
            let generated = format!(
                "alter publication \"{publication}\" set (publish_generated_columns = stored)"
            );
            world.admin.batch_execute(&generated).await.unwrap();
        }
        let watch = format!("select pg_create_logical_replication_slot('{slot}', 'pgoutput')");
        world.admin.batch_execute(&watch).await.unwrap();
        Some(Self { world, slot, publication })
    }

    async fn run(&self, tool: &dyn Tool, item: i64) -> Outcome {
        self.world.run(tool, action(), json!({ "item": item }), LIMIT).await
    }

    /// What the log has of this transaction.
    async fn told(&self, xid: &str) -> LogAnswer {
        let sql = format!(
            "select data from pg_logical_slot_peek_binary_changes('{}', null, null,
                'proto_version', '1', 'publication_names', '\"{}\"', 'messages', 'true')",
            self.slot, self.publication
        );
        let rows = self.world.admin.query(&sql, &[]).await.unwrap();
        let short = u32::try_from(xid.parse::<u64>().unwrap() & 0xffff_ffff).unwrap();
        let mut assembler = decoder::Assembler::new(1_000);
        for row in &rows {
            let data: Vec<u8> = row.get(0);
            if let Some(frame) = assembler.take(&data).unwrap()
                && frame.xid == short
            {
                return LogAnswer::Committed(Box::new(in_log(&frame)));
            }
        }
        LogAnswer::NeverCommitted { read_to: Lsn(1) }
    }

    async fn verdicts(&self, tool: &dyn Tool, outcome: &Outcome) -> (witness::Finding, Verdict) {
        let measured = measured(outcome);
        let answer = self.told(&measured.trace.xid).await;
        let by_log = found(tool, outcome, (Level::L2, Seen::ChangeLog(&answer)));
        let Outcome::Succeeded { result, report } = outcome else { panic!("it failed") };
        let claim = Claim { args: &Value::Null, result: Some(result), report };
        let reading = tool.read_back(claim, LIMIT).await;
        let Reading::Done(read) = reading else { panic!("nothing was read back") };
        let by_reader = found(tool, outcome, (Level::L1, Seen::ReadBack(&read)));
        (by_log, by_reader.verdict)
    }

    async fn end(self) {
        let drop_slot = format!("select pg_drop_replication_slot('{}')", self.slot);
        self.world.admin.batch_execute(&drop_slot).await.unwrap();
        self.world.end().await;
    }
}

fn measured(outcome: &Outcome) -> &Measured {
    let Outcome::Succeeded { report, .. } = outcome else { panic!("it failed: {outcome:?}") };
    report.measured.as_deref().expect("a measured run")
}

fn found(tool: &dyn Tool, outcome: &Outcome, (level, seen): (Level, Seen<'_>)) -> witness::Finding {
    judge(&Evidence {
        outcome,
        reporter: Reporter::Connector,
        side_effect: Some(SideEffect::Write),
        footprint: tool.definition().footprint.as_ref(),
        required_level: level,
        seen,
        max_detail_bytes: MAX_DETAIL_BYTES,
    })
}

fn in_log(frame: &decoder::Frame) -> LogFrame {
    let name = |table: &decoder::Table| TableName::new(table.schema.clone(), table.name.clone());
    let mut tables = BTreeMap::new();
    for (table, counts) in &frame.counts {
        if table.schema == decoder::SERVICE_SCHEMA {
            continue;
        }
        let decoder::Counts { inserts, updates, deletes, truncates } = *counts;
        let of_table = frame.relations.values().filter(|relation| relation.table == *table);
        let whole = of_table.clone().all(|relation| relation.identity == decoder::Identity::Full);
        let told = TableInLog {
            counts: RowCounts { inserts, updates, deletes, truncates },
            signatures: of_table.map(|relation| relation.signature()).collect(),
            identity: if whole { OldRows::Whole } else { OldRows::Partly },
        };
        tables.insert(name(table), told);
    }
    let changes: Vec<RowChange> = frame
        .changes
        .iter()
        .map(|change| {
            let image = |row: &decoder::Row| -> Image {
                let columns = change.relation.columns.iter().zip(row);
                columns.map(|(column, value)| (column.name.clone(), datum(value))).collect()
            };
            let before = |before: &decoder::Before| match before {
                decoder::Before::NotTold => None,
                decoder::Before::Key(row) | decoder::Before::Full(row) => Some(image(row)),
            };
            let (op, before, after) = match &change.edit {
                decoder::Edit::Insert { after } => (RowOp::Insert, None, Some(image(after))),
                decoder::Edit::Update { before: was, after } => {
                    (RowOp::Update, before(was), Some(image(after)))
                }
                decoder::Edit::Delete { before: was } => (RowOp::Delete, before(was), None),
            };
            RowChange { table: name(&change.relation.table), op, before, after }
        })
        .collect();
    LogFrame {
        source: LogSource {
            epoch: 1,
            system: "1".to_owned(),
            commit_lsn: frame.commit_lsn,
            end_lsn: frame.end_lsn,
            digest: frame.digest,
        },
        change_count: changes.len() as u64,
        tables,
        changes,
        repeats: 0,
        foreign_markers: 0,
    }
}

fn datum(value: &decoder::Value) -> Datum {
    match value {
        decoder::Value::Null => Datum::Null,
        decoder::Value::Text(text) => Datum::Text(String::from_utf8(text.clone()).unwrap()),
        decoder::Value::Binary(_) | decoder::Value::Unresolved | decoder::Value::NotTold => {
            Datum::Unresolved
        }
    }
}

#[tokio::test]
async fn every_liar_is_found_out_by_the_change_log() {
    let Some(watched) = Watched::new().await else { return };
    for (name, by_log, by_reader, reasons) in EXPECTED {
        let tool = watched.world.tool(name).await;
        let outcome = watched.run(&*tool, 1).await;
        let (finding, read) = watched.verdicts(&*tool, &outcome).await;
        let told: std::collections::BTreeSet<_> = finding.reasons.iter().copied().collect();
        assert_eq!(told, reasons.iter().copied().collect(), "{name}: {finding:#?}");
        assert_eq!((finding.verdict, read), (*by_log, *by_reader), "{name}: {finding:#?}");
    }
    watched.end().await;
}

#[tokio::test]
async fn plain_statements_are_verified_and_their_triggers_and_cascades_seen() {
    let Some(watched) = Watched::new().await else { return };
    for (name, item, expected) in [
        ("add", 77, &[][..]),
        ("drop", 5, &[]),
        ("drop", 4, &[Reason::UnexpectedTable, Reason::RowCountOverLimit]),
        ("close", 1, &[Reason::UnexpectedTable, Reason::RowCountOverLimit]),
        ("close_declared", 2, &[]),
        // Its generated column changes with the declared one.
        ("raise", 1, &[]),
    ] {
        let tool = watched.world.tool(name).await;
        let outcome = watched.run(&*tool, item).await;
        let (finding, _) = watched.verdicts(&*tool, &outcome).await;
        assert_eq!(finding.reasons, expected, "{name} {item}: {finding:#?}");
    }
    watched.end().await;
}

#[tokio::test]
async fn a_second_writer_is_no_lie_and_a_read_back_cannot_tell() {
    let Some(watched) = Watched::new().await else { return };
    let tool = watched.world.tool("honest").await;
    let outcome = watched.run(&*tool, 2).await;
    watched.world.admin.batch_execute("update items set stock = -1 where id = 2").await.unwrap();
    let (finding, read) = watched.verdicts(&*tool, &outcome).await;
    assert_eq!((finding.verdict, read), (Verdict::Verified, Verdict::Unverifiable));
    watched.end().await;
}

#[tokio::test]
async fn a_committed_failure_and_a_success_that_was_rolled_back_are_lies() {
    let Some(watched) = Watched::new().await else { return };
    let tool = watched.world.tool("honest").await;
    let outcome = watched.run(&*tool, 3).await;
    let answer = watched.told(&measured(&outcome).trace.xid).await;
    let failed = Outcome::Failed(Fault::new(ExecutionErrorCode::ToolError, "it failed"));
    let finding = found(&*tool, &failed, (Level::L2, Seen::ChangeLog(&answer)));
    assert_eq!(finding.reasons[0], Reason::ReportedFailedButCommitted);
    assert_eq!(finding.verdict, Verdict::Mismatch);

    let admin = &watched.world.admin;
    let row = admin.query_one("select pg_current_xact_id()::text", &[]).await.unwrap();
    let aborted: String = row.get(0);
    admin.batch_execute("begin; update items set stock = 9 where id = 3; rollback").await.unwrap();
    let Outcome::Succeeded { result, report } = outcome else { panic!("it failed") };
    let mut lie =
        measured(&Outcome::Succeeded { result: result.clone(), report: report.clone() }).clone();
    lie.trace.xid = aborted;
    let answer = watched.told(&lie.trace.xid).await;
    let report = Report { measured: Some(Box::new(lie)), ..report };
    let lie = Outcome::Succeeded { result, report };
    let finding = found(&*tool, &lie, (Level::L2, Seen::ChangeLog(&answer)));
    assert_eq!((finding.verdict, finding.reasons), (Verdict::Mismatch, vec![Reason::NotCommitted]));
    watched.end().await;
}

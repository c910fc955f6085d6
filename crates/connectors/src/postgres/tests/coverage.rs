//! What the change log is found to tell of a real database, before and after its owner ran the script.

use model::TableGap;
use serde_json::{Value, json};

use super::world::{World, apply, write_tool};
use crate::{CheckState, coverage, postgres::Coverage};

const BESIDE: &str = "
    create table plain (id int, note text);
    create unlogged table scratch (id int primary key);
    create view seen as select * from items;
    create table parted (id int primary key, at int) partition by range (id);
    create table parted_low partition of parted for values from (0) to (100);
    create table parted_high partition of parted for values from (100) to (200);
    create table \"Odd \"\" name\" (id int primary key)";

fn tools() -> Value {
    json!([write_tool("set", "update items set stock = 7 where id = 1", json!({}), "count")])
}

async fn look(world: &World, beside: &[&str]) -> Coverage {
    let beside: Vec<String> = beside.iter().map(|name| (*name).to_owned()).collect();
    coverage(&world.blueprint, &world.deps, &beside).await.unwrap().unwrap()
}

fn missing<'a>(coverage: &'a Coverage, name: &str) -> &'a [TableGap] {
    let table = coverage.tables.iter().find(|table| table.name == name);
    &table.unwrap_or_else(|| panic!("{name}: {:?}", coverage.tables)).missing
}

fn failed(coverage: &Coverage) -> Vec<&str> {
    let fails = coverage.checks.iter().filter(|line| line.state == CheckState::Fail);
    fails.map(|line| line.name.as_str()).collect()
}

#[tokio::test]
async fn the_script_covers_what_tools_write_and_the_next_look_finds_nothing_missing() {
    let Some(world) = World::new(tools()).await else { return };
    let before = look(&world, &["public.parted"]).await;
    assert!(failed(&before).contains(&"publication"), "{before:?}");
    let gaps = [TableGap::IdentityNotFull, TableGap::NotPublished];
    assert_eq!(missing(&before, "public.items"), gaps);

    world.admin.batch_execute(BESIDE).await.unwrap();
    let before = look(&world, &["public.parted"]).await;
    for leaf in ["public.parted_low", "public.parted_high"] {
        assert_eq!(missing(&before, leaf), gaps);
    }
    // It may run again, and then changes nothing.
    for _ in 0..2 {
        world.admin.batch_execute(before.script.as_ref().unwrap()).await.unwrap();
        let after = look(&world, &["public.parted"]).await;
        assert_eq!(failed(&after), Vec::<&str>::new());
        assert_eq!(after.tables.len(), 3);
        assert!(after.tables.iter().all(|table| table.missing.is_empty()), "{after:?}");
    }
    world.end().await;
}

#[tokio::test]
async fn a_table_that_no_log_can_witness_is_named_with_its_reason_and_left_out() {
    let Some(world) = World::new(tools()).await else { return };
    world.admin.batch_execute(BESIDE).await.unwrap();
    let beside = ["plain", "scratch", "seen", "nowhere", "Odd \" name"];
    let before = look(&world, &beside).await;
    assert_eq!(missing(&before, "public.plain")[0], TableGap::NoKey);
    assert_eq!(missing(&before, "public.scratch")[0], TableGap::Unlogged);
    assert_eq!(missing(&before, "public.seen"), [TableGap::NoTable]);
    assert_eq!(missing(&before, "nowhere"), [TableGap::Absent]);
    world.admin.batch_execute(before.script.as_ref().unwrap()).await.unwrap();
    let published = "select string_agg(tablename, ',' order by tablename)
        from pg_publication_tables where pubname like 'svc_con_%'
            and pubname = (select max(pubname) from pg_publication)";
    let published: String = world.admin.query_one(published, &[]).await.unwrap().get(0);
    assert_eq!(published, "Odd \" name,heartbeat,items,ledger");
    // What was left out is written to as before.
    for sql in ["insert into plain values (1, 'a')", "update plain set note = 'b'"] {
        world.admin.batch_execute(sql).await.unwrap();
    }
    world.end().await;
}

#[tokio::test]
async fn a_table_whose_updates_fail_since_it_is_published_is_told_apart() {
    let Some(world) = World::new(tools()).await else { return };
    world.admin.batch_execute(BESIDE).await.unwrap();
    world.admin.batch_execute("create publication others for table plain, items").await.unwrap();
    let refused = world.admin.batch_execute("update plain set note = 'c'");
    assert_eq!(
        refused.await.unwrap_err().code().map(tokio_postgres::error::SqlState::code),
        Some("55000")
    );
    let found = look(&world, &["plain"]).await;
    let fails = |name: &str| found.tables.iter().find(|t| t.name == name).unwrap().writes_fail;
    assert!(fails("public.plain"));
    assert!(!fails("public.items"));
    world.end().await;
}

#[tokio::test]
async fn what_is_taken_out_of_the_publication_is_found_missing_again() {
    let Some(world) = World::new(tools()).await else { return };
    let before = look(&world, &[]).await;
    world.admin.batch_execute(before.script.as_ref().unwrap()).await.unwrap();
    let named = &before.publication;
    let set = |what: &str| format!("alter publication {named} set {what}");
    for (sql, gap) in [
        (set("table service.ledger, service.heartbeat"), TableGap::NotPublished),
        (
            set("table service.ledger, service.heartbeat, items where (id > 2)"),
            TableGap::RowsFiltered,
        ),
        (
            set("table service.ledger, service.heartbeat, items (id, label)"),
            TableGap::ColumnsFiltered,
        ),
        ("alter table items replica identity default".to_owned(), TableGap::IdentityNotFull),
    ] {
        world.admin.batch_execute(&sql).await.unwrap();
        let found = look(&world, &[]).await;
        assert!(missing(&found, "public.items").contains(&gap), "{sql}: {found:?}");
    }
    world.admin.batch_execute(before.script.as_ref().unwrap()).await.unwrap();
    world.admin.batch_execute("alter table items replica identity full").await.unwrap();
    assert!(missing(&look(&world, &[]).await, "public.items").is_empty());
    for (sql, name) in [
        (set("(publish = 'insert, update, delete')"), "every operation is published"),
        (set("(publish_via_partition_root = true)"), "rows are published by leaf"),
        (set("table items"), "ledger and heartbeat are published"),
        ("drop function service.beat(text)".to_owned(), "the service can write its heartbeat"),
    ] {
        world.admin.batch_execute(&sql).await.unwrap();
        let found = look(&world, &[]).await;
        assert!(failed(&found).contains(&name), "{sql}: {found:?}");
    }
    world.end().await;
}

#[tokio::test]
async fn a_reader_of_the_log_that_cannot_log_in_is_a_finding_and_nothing_else_is_said() {
    let Some(world) = World::bare(tools()).await else { return };
    let found = look(&world, &[]).await;
    assert_eq!(found.checks.len(), 1);
    assert_eq!(found.checks[0].state, CheckState::Fail);
    assert!(found.checks[0].name.starts_with("login of `"));
    assert_eq!((found.tables, found.script), (vec![], None));
    apply(&world).await;
    let found = look(&world, &[]).await;
    assert_eq!(found.checks[0].state, CheckState::Pass);
    world.end().await;
}

#[tokio::test]
async fn what_telling_old_rows_whole_costs_is_said_once_the_database_has_counted() {
    let Some(world) = World::new(tools()).await else { return };
    assert_eq!(look(&world, &[]).await.tables[0].price.row_bytes, None);
    world.admin.batch_execute("update items set stock = stock + 1; analyze items").await.unwrap();
    let sql = "select pg_stat_force_next_flush()";
    world.admin.batch_execute(sql).await.unwrap();
    let price = look(&world, &[]).await.tables[0].price;
    // Five rows on one page.
    assert_eq!((price.row_bytes, price.changed_rows), (Some(8192 / 5), 5));
    assert_eq!(price.bytes(), Some(5 * (8192 / 5)));
    world.end().await;
}

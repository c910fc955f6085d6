//! What the change log is found to tell of a real database, before and after its owner ran the script.

use model::TableGap;
use serde_json::{Value, json};
use tokio_postgres::error::SqlState;

use super::world::{World, apply, write_tool};
use crate::{
    CheckState, coverage,
    postgres::{Coverage, Witness, apply_setup},
};

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
    assert_eq!(refused.await.unwrap_err().code().map(SqlState::code), Some("55000"));
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

const MOVE: &str = "update parted set at = 2";
const RAISE: &str = "update items set stock = stock + 1 where id = 1";

async fn is_refused(world: &World, sql: &str) -> bool {
    match world.admin.batch_execute(sql).await {
        Ok(()) => false,
        Err(error) => {
            assert_eq!(error.code().map(SqlState::code), Some("42P10"), "{error}");
            true
        }
    }
}

/// Runs the script, after which the table takes updates, and returns what is missing of it then.
async fn scripted(world: &World, name: &str) -> Vec<TableGap> {
    let script = look(world, &[name]).await.script.unwrap();
    world.admin.batch_execute(&script).await.unwrap_or_else(|error| panic!("{error}: {script}"));
    let found = look(world, &[name]).await;
    assert_eq!(failed(&found), Vec::<&str>::new());
    assert!(found.tables.iter().all(|table| !table.writes_fail), "{found:?}");
    missing(&found, name).to_vec()
}

#[tokio::test]
async fn old_rows_are_not_logged_in_full_while_a_publication_of_somebody_else_leaves_out_columns() {
    let Some(world) = World::new(tools()).await else { return };
    let others = "create publication \"other\nones\" for table items (id, label)";
    world.admin.batch_execute(others).await.unwrap();
    let before = look(&world, &[]).await;
    let gaps = [TableGap::IdentityNotFull, TableGap::PublishedInPart];
    assert_eq!(missing(&before, "public.items")[..2], gaps);
    assert_eq!(before.tables[0].partial_publications, ["other\nones"]);
    assert!(!before.tables[0].writes_fail);
    assert_eq!(scripted(&world, "public.items").await, gaps);
    assert!(!is_refused(&world, RAISE).await);

    for identity in ["full", "nothing"] {
        let sql = format!("alter table items replica identity {identity}");
        world.admin.batch_execute(&sql).await.unwrap();
        let found = look(&world, &[]).await;
        assert!(found.tables[0].writes_fail, "{identity}: {found:?}");
        assert!(world.admin.batch_execute(RAISE).await.is_err(), "{identity}");
        assert_eq!(scripted(&world, "public.items").await, gaps);
        assert!(!is_refused(&world, RAISE).await, "{identity}");
    }
    world.admin.batch_execute("drop publication \"other\nones\"").await.unwrap();
    assert_eq!(scripted(&world, "public.items").await, []);
    assert!(!is_refused(&world, RAISE).await);
    world.end().await;
}

#[tokio::test]
async fn a_key_that_a_publication_leaves_out_is_seen_to_refuse_writes_also_of_a_partition() {
    let Some(world) = World::new(tools()).await else { return };
    world.admin.batch_execute(BESIDE).await.unwrap();
    let others = "create publication others for table items (label), parted (at)
        with (publish_via_partition_root = true)";
    world.admin.batch_execute(others).await.unwrap();
    assert!(is_refused(&world, RAISE).await);
    world.admin.batch_execute("insert into parted values (1, 1)").await.unwrap();
    assert!(is_refused(&world, MOVE).await);
    let found = look(&world, &["parted"]).await;
    assert_eq!(found.tables.len(), 3);
    for table in &found.tables {
        assert!(table.writes_fail, "{found:?}");
        assert_eq!(table.partial_publications, ["others"]);
    }
    // With the keys in it, only old rows in full would be refused.
    let others = "alter publication others set table items (id, label), parted (id)";
    world.admin.batch_execute(others).await.unwrap();
    assert!(!is_refused(&world, RAISE).await && !is_refused(&world, MOVE).await);
    let found = look(&world, &["parted"]).await;
    for table in &found.tables {
        assert!(!table.writes_fail, "{found:?}");
        assert_eq!(table.partial_publications, ["others"]);
    }
    // A list of the partition says nothing where its root is published in its place.
    let others = "alter publication others set table parted, parted_low (id);
        alter table parted_low replica identity full";
    world.admin.batch_execute(others).await.unwrap();
    assert!(!is_refused(&world, MOVE).await);
    let found = look(&world, &["parted"]).await;
    let low = found.tables.iter().find(|table| table.name == "public.parted_low").unwrap();
    assert_eq!((low.writes_fail, &*low.missing), (false, &[TableGap::NotPublished][..]));
    world.end().await;
}

#[tokio::test]
async fn a_row_filter_on_columns_beside_the_key_is_seen_to_refuse_writes() {
    let Some(world) = World::new(tools()).await else { return };
    for (filtered, fails) in [("id > 2", false), ("stock > 2", true), ("id > 2 or stock > 2", true)]
    {
        let others = format!(
            "drop publication if exists others;
            create publication others for table items where ({filtered})"
        );
        world.admin.batch_execute(&others).await.unwrap();
        assert_eq!(is_refused(&world, RAISE).await, fails, "{filtered}");
        assert_eq!(look(&world, &[]).await.tables[0].writes_fail, fails, "{filtered}");
    }
    // Old rows in full have every column.
    assert_eq!(scripted(&world, "public.items").await, []);
    assert!(!is_refused(&world, RAISE).await);
    world.end().await;
}

#[tokio::test]
async fn the_script_changes_nothing_if_writes_would_be_refused_by_what_came_after_the_look() {
    let Some(world) = World::new(tools()).await else { return };
    let script = look(&world, &[]).await.script.unwrap();
    let others = "create publication others for table items (id, label)";
    world.admin.batch_execute(others).await.unwrap();
    let refused = world.admin.batch_execute(&script).await.unwrap_err();
    let refused = refused.as_db_error().unwrap();
    assert!(refused.message().starts_with("nothing was changed"), "{refused:?}");
    assert!(refused.message().contains("\"items\""), "{refused:?}");
    world.admin.batch_execute("rollback").await.unwrap();
    assert!(!is_refused(&world, RAISE).await);
    let found = look(&world, &[]).await;
    assert!(missing(&found, "public.items").contains(&TableGap::NotPublished));
    assert!(failed(&found).contains(&"publication"));
    world.end().await;
}

#[tokio::test]
async fn a_key_that_is_checked_late_is_no_identity_and_children_are_not_published() {
    let Some(world) = World::new(tools()).await else { return };
    let tables = "
        create table late (id int primary key deferrable, net int, note text);
        create table covering (id int, note text, primary key (id) include (note));
        create table parent (id int primary key, note text);
        create table child () inherits (parent);
        insert into late values (1, 1, 'a');
        insert into covering values (1, 'a');
        insert into child values (1, 'a');
        create publication others for table late (id, net), covering (id) with (publish = 'delete')";
    world.admin.batch_execute(tables).await.unwrap();
    let found = look(&world, &["late", "covering", "parent"]).await;
    let fails = |name: &str| found.tables.iter().find(|t| t.name == name).unwrap().writes_fail;
    assert!(world.admin.batch_execute("delete from late").await.is_err());
    assert!(fails("public.late") && !fails("public.covering"));
    let script = found.script.unwrap();
    assert!(script.contains("-- Left out: \"public\".\"late\""), "{script}");
    world.admin.batch_execute(&script).await.unwrap();
    for sql in ["update late set net = 2", "update parent set note = 'b'", "delete from covering"] {
        world.admin.batch_execute(sql).await.unwrap_or_else(|error| panic!("{sql}: {error}"));
    }
    world.end().await;
}

#[tokio::test]
async fn an_owner_who_gave_the_right_to_write_away_runs_the_script_all_the_same() {
    let Some(world) = World::bare(tools()).await else { return };
    let owner = world.owned("createrole").await;
    apply_setup(&world.blueprint, &world.deps, &owner, Witness::Later).await.unwrap();
    apply(&world).await;
    let script = look(&world, &[]).await.script.unwrap();
    let user = &owner.user;
    let given =
        format!("revoke update, delete on items from {user}; set session authorization {user}");
    world.admin.batch_execute(&given).await.unwrap();
    assert!(world.admin.batch_execute(RAISE).await.is_err());
    world.admin.batch_execute(&script).await.unwrap_or_else(|error| panic!("{error}: {script}"));
    world.admin.batch_execute("reset session authorization").await.unwrap();
    assert_eq!(missing(&look(&world, &[]).await, "public.items"), []);
    world.end().await;
}

#[tokio::test]
async fn no_name_adds_a_statement_to_the_script() {
    let Some(world) = World::new(tools()).await else { return };
    let evil = "{tables};\nrollback; create table pwned ();--";
    let made = format!(
        "create table \"{evil}\" (id int primary key);
        create publication \"{evil}\" for table items (id, label)"
    );
    world.admin.batch_execute(&made).await.unwrap();
    let found = look(&world, &[evil, &format!("nowhere.{evil}")]).await;
    let script = found.script.unwrap();
    // Twice for the table and once for the rest: no place of the template is looked for in a name.
    assert_eq!(script.matches("{tables}").count(), 5, "{script}");
    for about in ["-- the publication", "-- Left out: \"nowhere\""] {
        let line = script.lines().find(|line| line.starts_with(about));
        assert!(line.is_some_and(|line| line.contains("pwned")), "{about}: {script}");
    }
    world.admin.batch_execute(&script).await.unwrap_or_else(|error| panic!("{error}: {script}"));
    assert_eq!(world.count("select count(*) from pg_tables where tablename = 'pwned'").await, 0);
    let found = look(&world, &[evil]).await;
    assert_eq!(missing(&found, &format!("public.{evil}")), []);
    world.end().await;
}

const GENERATED: &str = "
    create table stored (id int primary key, net int, gross int generated always as (net * 2) stored);
    create table computed (id int primary key, net int, gross int generated always as (net * 2) virtual);
    insert into stored values (1, 1);
    insert into computed values (1, 1);
    create publication everything for all tables";
const STORED: &str = "update stored set net = net + 1";
const COMPUTED: &str = "update computed set net = net + 1";

#[tokio::test]
async fn on_18_a_table_with_a_generated_column_takes_updates_before_and_after_the_script() {
    let Some(world) = World::new(tools()).await else { return };
    if world.major().await < 18 {
        eprintln!(
            "left out: virtual columns came with PostgreSQL 18; `cargo xtask versions` has it"
        );
        return world.end().await;
    }
    world.admin.batch_execute(GENERATED).await.unwrap();
    assert!(!is_refused(&world, STORED).await && !is_refused(&world, COMPUTED).await);
    // The other publication was there first, and does not publish what is generated.
    let gaps = [TableGap::IdentityNotFull, TableGap::PublishedInPart];
    assert_eq!(scripted(&world, "public.stored").await, gaps);
    assert!(!is_refused(&world, STORED).await);
    let sql = "alter table stored replica identity full";
    world.admin.batch_execute(sql).await.unwrap();
    assert!(is_refused(&world, STORED).await);
    assert!(look(&world, &["stored"]).await.tables[1].writes_fail);

    let sql = "alter publication everything set (publish_generated_columns = stored)";
    world.admin.batch_execute(sql).await.unwrap();
    assert_eq!(scripted(&world, "public.stored").await, []);
    assert!(!is_refused(&world, STORED).await);

    // Nothing publishes a virtual column.
    let gaps = [TableGap::IdentityNotFull, TableGap::VirtualColumns];
    assert_eq!(scripted(&world, "public.computed").await, gaps);
    assert!(!is_refused(&world, COMPUTED).await);
    let sql = "alter table computed replica identity full";
    world.admin.batch_execute(sql).await.unwrap();
    assert!(is_refused(&world, COMPUTED).await);
    assert_eq!(scripted(&world, "public.computed").await, gaps);
    assert!(!is_refused(&world, COMPUTED).await);

    // As after an upgrade from a version that did not know the choice.
    world.admin.batch_execute("drop publication everything").await.unwrap();
    assert_eq!(scripted(&world, "public.stored").await, []);
    let named = look(&world, &[]).await.publication;
    let sql = format!("alter publication {named} set (publish_generated_columns = none)");
    world.admin.batch_execute(&sql).await.unwrap();
    assert!(is_refused(&world, STORED).await);
    let found = look(&world, &["stored"]).await;
    assert_eq!(failed(&found), ["generated columns are published"]);
    assert_eq!(missing(&found, "public.stored"), [TableGap::ColumnsFiltered]);
    assert!(found.tables[1].writes_fail);
    assert_eq!(scripted(&world, "public.stored").await, []);
    assert!(!is_refused(&world, STORED).await);
    world.end().await;
}

//! What write tools change, leave behind and refuse.

use futures_util::{FutureExt, future::try_join};
use model::{Outcome, Report};
use serde_json::{Value, json};
use tokio_postgres::error::SqlState;

use super::world::{LIMIT, World, action, failed, result, write_tool as tool};
use crate::{BuildError, postgres::run::unless_aborted};

fn id() -> Value {
    json!({"id": {"type": "integer"}})
}

#[tokio::test]
async fn a_write_reports_what_it_changed() {
    let tools = json!([
        tool("add", "insert into items values ($id, 'new') returning id, label", id(), "row"),
        tool("drop", "delete from items where id = $id", id(), "count"),
    ]);
    let Some(world) = World::new(tools).await else { return };
    let added = Outcome::Succeeded {
        result: json!({"id": 9, "label": "new"}),
        report: Report::of_rows(Some(1)),
    };
    assert_eq!(world.call("add", json!({"id": 9})).await, added);
    assert_eq!(world.count("select count(*) from items where id = 9").await, 1);
    let dropped = world.call("drop", json!({"id": 9})).await;
    assert_eq!(result(dropped), json!({"count": 1}));
    assert_eq!(world.count("select count(*) from items where id = 9").await, 0);
    assert_eq!(result(world.call("drop", json!({"id": 9})).await), json!({"count": 0}));
    world.end().await;
}

#[tokio::test]
async fn the_ledger_row_the_marker_and_the_change_are_one_transaction() {
    let tools = json!([tool("drop", "delete from items where id = $id", id(), "count")]);
    let Some(world) = World::new(tools).await else { return };
    let slot = format!("slot_{}", world.blueprint.config["database"].as_str().unwrap());
    let make = format!("select pg_create_logical_replication_slot('{slot}', 'test_decoding')");
    world.admin.batch_execute(&make).await.unwrap();
    let (tool, act, args) = (world.tool("drop").await, action(), json!({"id": 2}));
    result(world.run(&*tool, act, args.clone(), LIMIT).await);
    let row = world
        .admin
        .query_one("select xid::text, kind, org, tool, request_digest, nonce, mac, db_user::text, action_id from service.ledger", &[])
        .await
        .unwrap();
    let text = |at: usize| row.get::<_, String>(at);
    let digest = crypto::sha256(crypto::json::canonical(&args)).to_string();
    assert_eq!(
        [text(1), text(2), text(3), text(4)],
        ["act".to_owned(), world.blueprint.org.to_string(), "shop.drop".to_owned(), digest.clone()]
    );
    assert_eq!(text(7), world.blueprint.config["user"].as_str().unwrap());
    assert_eq!(text(8), act.to_string());
    let peek =
        format!("select xid::text, data from pg_logical_slot_peek_changes('{slot}', null, null)");
    let changes: Vec<(String, String)> = world
        .admin
        .query(&peek, &[])
        .await
        .unwrap()
        .iter()
        .map(|row| (row.get(0), row.get(1)))
        .collect();
    let (xid, message) = changes.iter().find(|(_, data)| data.starts_with("message:")).unwrap();
    let of_ours: Vec<&str> =
        changes.iter().filter(|(other, _)| other == xid).map(|(_, data)| data.as_str()).collect();
    assert!(message.starts_with("message: transactional: 1 prefix: service,"), "{message}");
    assert_eq!(xid, &text(0));
    assert_eq!(of_ours.len(), 5, "begin, ledger row, marker, change, commit: {of_ours:?}");
    assert!(of_ours[1].starts_with("table service.ledger: INSERT"), "{of_ours:?}");
    assert!(of_ours[3].starts_with("table public.items: DELETE"), "{of_ours:?}");
    let marker: Value = serde_json::from_str(message.split("content:").nth(1).unwrap()).unwrap();
    assert_eq!(marker["act"], json!(act));
    assert_eq!(marker["con"], json!(world.blueprint.id));
    assert_eq!(marker["xid"], json!(xid));
    assert_eq!(marker["rd"], json!(digest));
    assert_eq!((&marker["n"], &marker["mac"]), (&json!(text(5)), &json!(text(6))));
    assert!(message.len() < 600);
    world.admin.batch_execute(&format!("select pg_drop_replication_slot('{slot}')")).await.unwrap();
    world.end().await;
}

#[tokio::test]
async fn too_many_rows_are_rolled_back() {
    let returning = "delete from items where id <= $id returning id";
    let tools = json!([
        tool("count", "delete from items where id <= $id", id(), "count"),
        tool("rows", returning, id(), "rows"),
        tool("row", returning, id(), "row"),
    ]);
    let Some(world) = World::new(tools).await else { return };
    let message = failed(world.call("count", json!({"id": 3})).await, "tool_error");
    assert!(message.contains("changed 3 rows, at most 2"), "{message}");
    failed(world.call("rows", json!({"id": 5})).await, "result_too_large");
    failed(world.call("row", json!({"id": 2})).await, "result_invalid");
    assert_eq!(world.count("select count(*) from items").await, 5);
    assert_eq!(world.count("select count(*) from service.ledger").await, 0);
    assert_eq!(result(world.call("count", json!({"id": 2})).await), json!({"count": 2}));
    world.end().await;
}

#[tokio::test]
async fn a_failed_statement_changes_nothing_and_says_why_without_row_values() {
    let tools = json!([
        tool("add", "insert into items values ($id, 'secret label')", id(), "count"),
        tool("cast", "update items set stock = label::int where id = $id", id(), "count"),
        tool("late", "insert into later values ($id)", id(), "count"),
    ]);
    let Some(world) = World::bare(tools).await else { return };
    let deferred = "create table later (id int unique deferrable initially deferred);
        insert into later values (1)";
    world.admin.batch_execute(deferred).await.unwrap();
    super::world::apply(&world).await;
    let user = world.blueprint.config["user"].as_str().unwrap();
    world.admin.batch_execute(&format!("grant insert on later to {user}")).await.unwrap();
    let message = failed(world.call("add", json!({"id": 1})).await, "tool_error");
    assert!(message.contains("23505") && message.contains("items_pkey"), "{message}");
    assert!(!message.contains("secret"), "{message}");
    let message = failed(world.call("cast", json!({"id": 3})).await, "tool_error");
    assert_eq!(message, "SQLSTATE 22P02: invalid input syntax for type integer");
    // A constraint that is checked at COMMIT fails there, which is certain too.
    let message = failed(world.call("late", json!({"id": 1})).await, "tool_error");
    assert!(message.contains("23505"), "{message}");
    assert_eq!(world.count("select count(*) from service.ledger").await, 0);
    world.end().await;
}

#[tokio::test]
async fn one_action_commits_once() {
    let tools = json!([tool("add", "insert into items values ($id, 'x')", id(), "count")]);
    let Some(world) = World::new(tools).await else { return };
    let (tool, act) = (world.tool("add").await, action());
    result(world.run(&*tool, act, json!({"id": 7}), LIMIT).await);
    let again = world.run(&*tool, act, json!({"id": 8}), LIMIT).await;
    super::world::unknown(again, "instance_lost");
    assert_eq!(world.count("select count(*) from items where id = 8").await, 0);
    world.end().await;
}

#[tokio::test]
async fn a_write_tool_may_do_only_what_its_footprint_granted() {
    let mut entry = tool("label", "update items set label = 'x' where id = $id", id(), "count");
    entry["footprint"] = json!({
        "tables": {"items": ["update"]}, "columns": {"items": ["stock"]}, "max_rows": 1,
    });
    let Some(world) = World::new(json!([entry])).await else { return };
    let message = failed(world.call("label", json!({"id": 1})).await, "connector_misconfigured");
    assert!(message.contains("42501"), "{message}");
    world.end().await;
}

#[tokio::test]
async fn tools_reach_the_ledger_through_its_functions_alone() {
    let tools = json!([tool(
        "forge",
        "update service.ledger set kind = 'void' where attempt <> $id",
        id(),
        "count"
    ),]);
    let Some(world) = World::new(tools).await else { return };
    let message = failed(world.call("forge", json!({"id": 1})).await, "connector_misconfigured");
    assert!(message.contains("42501"), "{message}");
    world.end().await;
}

#[tokio::test]
async fn statements_that_are_no_single_query_are_refused_when_the_connector_is_built() {
    let table = [
        ("delete from items; delete from items", "expected one statement"),
        ("commit", "begins with one of"),
        ("begin", "begins with one of"),
        ("do $$ begin commit; end $$", "begins with one of"),
        ("call p()", "begins with one of"),
        ("copy items to program 'sh'", "begins with one of"),
        ("set role postgres", "begins with one of"),
        ("truncate items", "begins with one of"),
        ("delete from nothing", "42P01"),
        ("delete from items where id = 'x", "never ends"),
        ("delete from items where id = $1", "named parameters"),
        ("delete from items where id = $other", "not a property"),
        ("select point(1, 2) as p", "cast it to text"),
        ("select 1 as a, 2 as a", "two columns"),
        ("delete from items", "returns no rows"),
    ];
    let Some(mut world) =
        World::new(json!([tool("x", "delete from items", json!({}), "count")])).await
    else {
        return;
    };
    for (sql, expected) in table {
        world.blueprint.config["tools"] = json!([tool("x", sql, json!({}), "rows")]);
        let Err(BuildError::Config { findings }) = world.build().await else { panic!("{sql}") };
        let [finding] = &findings[..] else { panic!("{sql}: {findings:?}") };
        assert_eq!(finding.at, "/tools/0/sql");
        assert!(finding.message.contains(expected), "{sql}: {finding}");
    }
    world.end().await;
}

#[tokio::test]
async fn the_digest_covers_the_statement_and_the_types_that_the_server_gives_it() {
    let make = |sql: &str| json!([tool("x", sql, id(), "count")]);
    let Some(mut world) = World::new(make("delete from items where id = $id")).await else {
        return;
    };
    let first = world.tool("x").await.definition().digest;
    assert_eq!(world.tool("x").await.definition().digest, first, "the same again");
    world.blueprint.config["tools"] = make("delete from items where id = $id and true");
    assert_ne!(world.tool("x").await.definition().digest, first);
    world.blueprint.config["tools"] = make("delete from items where id = $id");
    let kept = world.tool("x").await;
    world.admin.batch_execute("alter table items alter column id type bigint").await.unwrap();
    assert_ne!(world.tool("x").await.definition().digest, first, "the type of `$id` changed");
    world.close_connections().await;
    let outcome = world.run(&*kept, action(), json!({"id": 1}), LIMIT).await;
    let message = failed(outcome, "connector_misconfigured");
    assert!(message.contains("types"), "{message}");
    world.end().await;
}

#[tokio::test]
async fn of_statements_sent_together_the_one_that_failed_first_says_why() {
    let Some(world) = World::bare(json!([])).await else { return };
    world.admin.batch_execute("begin").await.unwrap();
    let mut failing = Box::pin(world.admin.batch_execute("select 1 / 0"));
    let mut behind = Box::pin(unless_aborted(world.admin.batch_execute("select 1")));
    // Both are sent, and both are answered once what is sent behind them is.
    assert!((&mut failing).now_or_never().is_none() && (&mut behind).now_or_never().is_none());
    let refused = world.admin.batch_execute("select 2").await.unwrap_err();
    assert_eq!(refused.code(), Some(&SqlState::IN_FAILED_SQL_TRANSACTION));
    let error = try_join(behind, failing).await.unwrap_err();
    assert_eq!(error.code(), Some(&SqlState::DIVISION_BY_ZERO));
    world.end().await;
}

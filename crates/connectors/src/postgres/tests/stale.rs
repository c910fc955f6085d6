//! Statements that the server no longer runs as they were prepared.

use std::sync::Arc;

use model::Outcome;
use serde_json::{Value, json};
use tool::Tool;

use super::world::{LIMIT, World, action, failed, read_tool, result, write_tool};
use crate::{Connector, postgres::fault::is_stale};

/// A function that refuses to run so often as the counter says, and one that takes every prepared
/// statement away from its session.
const FUNCTIONS: &str = "
    create sequence refusals;
    create function refuse(times int, state text, said text) returns int language plpgsql as $$
    begin
        if nextval('refusals') <= times then
            raise exception using errcode = state, message = said;
        end if;
        return pg_backend_pid();
    end $$;
    create function deallocate() returns int language plpgsql as $$
    begin execute 'deallocate all'; return pg_backend_pid(); end $$;
    grant usage on sequence refusals to public;
    alter table items add feels mood not null default 'happy'";

fn tools() -> Value {
    let (text, integer) = (json!({"type": "string"}), json!({"type": "integer"}));
    json!([
        read_tool("process", "select pg_backend_pid() as process", json!({}), "row"),
        read_tool("deallocate", "select deallocate() as process", json!({}), "row"),
        // A sequence, which no roll-back takes back, counts how often it is run.
        write_tool(
            "refuse",
            "select refuse($times, $state, $said) as process",
            json!({"times": integer, "state": text, "said": text}),
            "row"
        ),
        read_tool(
            "feeling",
            "select id from items where feels = $feels and id = 1",
            json!({"feels": text}),
            "row"
        ),
        write_tool(
            "feel",
            "update items set feels = $feels where id = 1",
            json!({"feels": text}),
            "count"
        ),
    ])
}

async fn world() -> Option<World> {
    let world = World::bare(tools()).await?;
    world.admin.batch_execute(FUNCTIONS).await.unwrap();
    super::world::apply(&world).await;
    Some(world)
}

/// A tool of this connector, so that calls of several share its connections.
fn tool(connector: &dyn Connector, name: &str) -> Arc<dyn Tool> {
    let name = format!("shop.{name}");
    let mut tools = connector.tools().into_iter();
    tools.find(|tool| tool.definition().name.as_str() == name).unwrap()
}

async fn run(world: &World, tool: &Arc<dyn Tool>, args: Value) -> Outcome {
    world.run(&**tool, action(), args, LIMIT).await
}

async fn process(world: &World, tool: &Arc<dyn Tool>, args: Value) -> Value {
    result(run(world, tool, args).await)["process"].clone()
}

#[tokio::test]
async fn a_type_that_was_made_again_costs_no_call() {
    let Some(world) = world().await else { return };
    let connector = world.build().await.unwrap();
    let (reads, writes) = (tool(&*connector, "feeling"), tool(&*connector, "feel"));
    let happy = json!({"feels": "happy"});
    for _ in 0..3 {
        assert_eq!(result(run(&world, &reads, happy.clone()).await), json!({"id": 1}));
        assert_eq!(result(run(&world, &writes, happy.clone()).await), json!({"count": 1}));
        let made_again = "begin;
            alter table items alter feels drop default, alter feels type text;
            drop type mood;
            create type mood as enum ('happy', 'sad', 'calm');
            alter table items alter feels type mood using feels::mood;
            commit";
        world.admin.batch_execute(made_again).await.unwrap();
    }
    for _ in 0..20 {
        assert_eq!(result(run(&world, &writes, happy.clone()).await), json!({"count": 1}));
        assert_eq!(result(run(&world, &reads, happy.clone()).await), json!({"id": 1}));
    }
    assert_eq!(world.count("select count(*) from service.ledger").await, 23);
    world.end().await;
}

#[tokio::test]
async fn a_statement_that_has_begun_to_run_is_not_sent_again_whatever_it_fails_with() {
    let Some(world) = world().await else { return };
    let tool = world.tool("refuse").await;
    let dropped = "cache lookup failed for type 17074";
    for (state, code) in
        [("26000", "tool_error"), ("42P05", "connector_misconfigured"), ("XX000", "tool_error")]
    {
        let args = |times: i32| json!({"times": times, "state": state, "said": dropped});
        world.admin.batch_execute("alter sequence refusals restart").await.unwrap();
        let first = process(&world, &tool, args(0)).await;
        let message = failed(run(&world, &tool, args(9)).await, code);
        assert!(message.contains(dropped), "{message}");
        assert_eq!(process(&world, &tool, args(0)).await, first, "the connection is as good");
        assert_eq!(world.count("select last_value from refusals").await, 3, "one for each call");
    }
    world.end().await;
}

#[tokio::test]
async fn a_statement_that_was_deallocated_is_prepared_once_more() {
    let Some(world) = world().await else { return };
    let connector = world.build().await.unwrap();
    let (asks, deallocates) = (tool(&*connector, "process"), tool(&*connector, "deallocate"));
    let first = process(&world, &asks, json!({})).await;
    assert_eq!(process(&world, &deallocates, json!({})).await, first);
    assert_eq!(process(&world, &asks, json!({})).await, first, "prepared once more");
    assert_ne!(process(&world, &asks, json!({})).await, first, "on another connection");
    world.end().await;
}

#[tokio::test]
async fn what_says_that_a_statement_is_stale_is_told_from_other_errors() {
    let Some(world) = World::bare(json!([])).await else { return };
    for (state, said, stale) in [
        ("26000", "in any language", true),
        ("42P05", "in any language", true),
        ("XX000", "cache lookup failed for type 17074", true),
        ("XX000", "cache lookup failed for relation 17074", false),
        ("XX000", "tuple concurrently updated", false),
        ("0A000", "cached plan must not change result type", false),
        ("42P01", "relation does not exist", false),
        ("40001", "could not serialize access", false),
    ] {
        let raise = format!(
            "do $$ begin raise exception using errcode = '{state}', message = '{said}'; end $$"
        );
        let error = world.admin.batch_execute(&raise).await.unwrap_err();
        assert_eq!(is_stale(&error), stale, "{state}: {said}");
    }
    world.end().await;
}

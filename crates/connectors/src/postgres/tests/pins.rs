//! Tools as they were accepted: known without their database, and held against what it says now.

use std::{collections::BTreeMap, net::SocketAddr};

use crypto::{json::canonical, sha256};
use serde_json::{Value, json};
use testkit::eventually::until;
use tokio::{
    io::copy_bidirectional,
    net::{TcpListener, TcpStream},
    task::AbortHandle,
};
use tool::Tool;

use super::world::{LIMIT, World, action, failed, read_tool, result, write_tool};
use crate::{Credential, targeted};

fn tools() -> Value {
    let id = json!({"id": {"type": "integer"}});
    json!([
        read_tool("read", "select stock, note from items where id = $id", id.clone(), "row"),
        write_tool(
            "add",
            "update items set stock = stock + 1 where id = $id returning stock, note",
            id,
            "row"
        ),
    ])
}

/// An address that leads to the server until it is aborted.
async fn leading_to(server: SocketAddr) -> (SocketAddr, AbortHandle) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let leading = tokio::spawn(async move {
        while let Ok((mut client, _)) = listener.accept().await {
            let mut server = TcpStream::connect(server).await.unwrap();
            tokio::spawn(async move { copy_bidirectional(&mut client, &mut server).await });
        }
    });
    (address, leading.abort_handle())
}

/// The world with a column that tests alter, and a connector whose tools were accepted.
async fn accepted() -> Option<World> {
    let mut world = World::bare(tools()).await?;
    world.admin.batch_execute("alter table items add note varchar(10)").await.unwrap();
    super::world::apply(&world).await;
    world.blueprint.tools = world.build().await.unwrap().tool_schemas();
    assert_eq!(world.blueprint.tools.len(), 2);
    Some(world)
}

async fn alter(world: &World, what: &str) {
    let sql = format!("alter table items {what}");
    world.admin.batch_execute(&sql).await.unwrap();
}

async fn run(world: &World, tool: &dyn Tool) -> model::Outcome {
    world.run(tool, action(), json!({"id": 1}), LIMIT).await
}

#[tokio::test]
async fn a_tool_that_was_accepted_is_known_while_its_database_is_away() {
    let Some(mut world) = accepted().await else { return };
    let (address, leading) = leading_to(world.address).await;
    world.blueprint.config["port"] = json!(address.port());
    let learnt = world.build_anew().await;
    world.blueprint.tools = learnt.tool_schemas();
    leading.abort();
    let is_away = async || TcpStream::connect(address).await.is_err();
    until("nobody listens there any more", is_away).await;
    let away = world.build().await.unwrap();
    let definitions = |tools: Vec<std::sync::Arc<dyn Tool>>| {
        tools.iter().map(|tool| tool.definition().clone()).collect::<Vec<_>>()
    };
    assert_eq!(definitions(away.tools()), definitions(learnt.tools()));
    assert!(away.last_connect_error().is_none(), "nobody has tried yet");
    for tool in away.tools() {
        assert!(tool.changed_to().await.is_none());
        assert!(tool.check_args(&json!({"id": "one"})).is_err(), "arguments are judged as ever");
        failed(run(&world, &*tool).await, "connector_unreachable");
    }
    assert!(away.last_connect_error().is_some());
    world.end().await;
}

#[tokio::test]
async fn a_tool_that_nobody_accepted_is_known_as_changed_and_never_runs() {
    let Some(mut world) = accepted().await else { return };
    let config = &mut world.blueprint.config["tools"];
    config[1]["sql"] = json!("update items set stock = 0 where id = $id returning stock, note");
    let mut another = config[0].clone();
    another["name"] = json!("again");
    config.as_array_mut().unwrap().push(another);
    let built = world.build().await.unwrap();
    assert_eq!(built.tool_schemas().len(), 1, "only what was accepted is kept");
    for tool in built.tools() {
        let name = tool.definition().name.as_str();
        if name.split_once('.').is_some_and(|(_, tool)| tool == "read") {
            assert!(tool.changed_to().await.is_none());
            result(run(&world, &*tool).await);
        } else {
            assert_eq!(tool.changed_to().await, Some(tool.definition().digest), "{name}");
            failed(run(&world, &*tool).await, "connector_misconfigured");
        }
    }
    assert_eq!(built.tools().len(), 3);
    assert_eq!(world.count("select stock::int8 from items where id = 1").await, 1);
    world.end().await;
}

#[tokio::test]
async fn a_tool_runs_where_it_was_accepted_to_run_and_nowhere_else() {
    let Some(mut world) = accepted().await else { return };
    world.admin.batch_execute("create schema other; create table other.items (id int primary key, stock int, note varchar(10))").await.unwrap();
    let home = world.blueprint.config.clone();
    for (part, value) in [
        ("search_path", json!(["other", "public"])),
        ("database", json!("postgres")),
        ("host", json!("localhost")),
        ("user", home["read_user"].clone()),
        ("read_user", home["user"].clone()),
        ("owner", json!("another")),
    ] {
        world.blueprint.config[part] = value;
        for tool in world.build().await.unwrap().tools() {
            let definition = tool.definition();
            assert_eq!(tool.changed_to().await, Some(definition.digest), "{part}");
            failed(run(&world, &*tool).await, "connector_misconfigured");
        }
        world.blueprint.config = home.clone();
    }
    for tool in world.build().await.unwrap().tools() {
        assert!(tool.changed_to().await.is_none());
        result(run(&world, &*tool).await);
    }
    world.end().await;
}

#[tokio::test]
async fn what_an_older_version_accepted_is_taken_over_with_the_target_that_it_has() {
    let Some(world) = accepted().await else { return };
    let (config, tools) = (&world.blueprint.config, &world.blueprint.tools);
    let older = |(name, pin): (&model::ToolName, &Value)| {
        let types = json!({
            "parameters": [{"name": "id", "type": "int4"}],
            "columns": [{"name": "stock", "type": "int4"}, {"name": "note", "type": "varchar"}],
        });
        let whole = json!({"name": name, "entry": pin["entry"], "types": types});
        let mut older = pin.clone();
        older.as_object_mut().unwrap().remove("target").unwrap();
        older["digest"] = json!(sha256(canonical(&whole)));
        (name.clone(), older)
    };
    let older: BTreeMap<_, _> = tools.iter().map(older).collect();
    assert_eq!(targeted("postgres", config, &older), *tools);
    assert_eq!(targeted("postgres", config, tools), *tools, "once is enough");
    let mut moved = config.clone();
    moved["database"] = json!("another");
    assert_eq!(targeted("postgres", &moved, tools), *tools, "what has a target keeps it");
    let mut forged = older.clone();
    for pin in forged.values_mut() {
        pin["entry"]["sql"] = json!("select 1");
    }
    assert_eq!(targeted("postgres", config, &forged), forged, "it is of no version");
    world.end().await;
}

#[tokio::test]
async fn without_its_password_a_tool_is_known_and_fails_to_log_in() {
    let Some(mut world) = accepted().await else { return };
    world.blueprint.credential = Credential::default();
    for tool in world.build().await.unwrap().tools() {
        failed(run(&world, &*tool).await, "connector_auth_failed");
    }
    world.blueprint.tools.clear();
    assert!(world.build().await.is_err(), "nothing is learnt without it");
    world.end().await;
}

#[tokio::test]
async fn a_write_whose_place_was_not_recorded_is_not_run() {
    let Some(world) = accepted().await else { return };
    let tool = world.tool("add").await;
    assert_eq!(tool.place(), None);
    failed(run(&world, &*tool).await, "connector_unreachable");
    assert_eq!(world.count("select count(*) from service.ledger").await, 0);
    let tool = world.tool("add").await;
    assert!(tool.changed_to().await.is_none(), "a look makes the place known");
    assert_eq!(result(run(&world, &*tool).await)["stock"], json!(2));
    world.end().await;
}

#[tokio::test]
async fn a_plan_that_went_stale_is_made_again_where_the_types_are_the_same() {
    let Some(world) = accepted().await else { return };
    let (read, add) = (world.tool("read").await, world.tool("add").await);
    for tool in [&read, &add] {
        assert!(tool.changed_to().await.is_none());
        result(run(&world, &**tool).await);
    }
    for width in [20, 30] {
        // The server takes another width for another result, and refuses the plan that it has.
        alter(&world, &format!("alter note type varchar({width})")).await;
        result(run(&world, &*read).await);
        result(run(&world, &*add).await);
    }
    assert_eq!(world.count("select count(*) from service.ledger").await, 3);
    assert_eq!(world.count("select stock::int8 from items where id = 1").await, 4);
    world.end().await;
}

#[tokio::test]
async fn a_tool_whose_types_changed_is_told_and_does_not_run_until_they_are_back() {
    let Some(world) = accepted().await else { return };
    let (read, add) = (world.tool("read").await, world.tool("add").await);
    for tool in [&read, &add] {
        assert!(tool.changed_to().await.is_none());
        result(run(&world, &**tool).await);
    }
    alter(&world, "alter note type text").await;
    for tool in [&read, &add] {
        let said = failed(run(&world, &**tool).await, "connector_misconfigured");
        assert!(said.contains("accepted"), "{said}");
        assert!(tool.changed_to().await.is_some());
    }
    let afresh = world.tool("add").await;
    let found = afresh.changed_to().await;
    assert!(found.is_some(), "a restart does not accept the new types");
    let (name, anew) = (&afresh.definition().name, world.build_anew().await.tools());
    let anew = anew.iter().find(|tool| tool.definition().name == *name).unwrap();
    assert_eq!(found, Some(anew.definition().digest), "what would be accepted");
    assert_eq!(world.count("select count(*) from service.ledger").await, 1);
    alter(&world, "alter note type varchar(10)").await;
    until("the types are as they were", async || add.changed_to().await.is_none()).await;
    result(run(&world, &*add).await);
    world.end().await;
}

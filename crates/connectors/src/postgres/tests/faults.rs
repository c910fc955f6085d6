//! Hangs, locks, refused addresses and refused log-ins.

use std::time::Duration;

use crypto::Secret;
use egress::PrivateNetworks;
use model::Fault;
use serde_json::{Value, json};
use tokio::{
    net::TcpListener,
    time::{Instant, advance, pause, resume},
};

use super::world::{
    LIMIT, World, action, connector_of, deps, failed, read_tool, result, revision_of, write_tool,
};
use crate::{Blueprint, BuildError, Credential, Registry, Revision};

fn tools() -> Value {
    json!([
        read_tool(
            "sleep",
            "select pg_sleep($s::float8)::text as x",
            json!({"s": {"type": "number"}}),
            "row"
        ),
        read_tool(
            "limit",
            "select (extract(epoch from current_setting('statement_timeout')::interval) * 1000)::int4
                as millis",
            json!({}),
            "row"
        ),
        write_tool("set", "update items set stock = 7 where id = 1", json!({}), "count"),
        write_tool(
            "hang",
            "update items set stock = 8 where id = 2 and pg_sleep(30) is not null",
            json!({}),
            "count"
        ),
    ])
}

fn connect_fault(error: BuildError) -> Fault {
    match error {
        BuildError::Connect(fault) => fault,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_slow_statement_ends_as_a_certain_failure_within_the_calls_time() {
    let Some(mut world) = World::new(tools()).await else { return };
    // A statement has four fifths of what is left, so that the call can still say how it ended.
    let tool = world.tool("limit").await;
    let limit = Duration::from_secs(10);
    let told = result(world.run(&*tool, action(), json!({}), limit).await);
    let millis = told["millis"].as_u64().unwrap();
    assert!((1..=8_000).contains(&millis), "{millis}");
    world.blueprint.config["limits"] = json!({"statement_ms": 500});
    for (name, args) in [("sleep", json!({"s": 30})), ("hang", json!({}))] {
        let tool = world.tool(name).await;
        let outcome = world.run(&*tool, action(), args, LIMIT).await;
        failed(outcome, "statement_timeout");
    }
    assert_eq!(world.count("select count(*) from items where stock = 8").await, 0);
    world.end().await;
}

#[tokio::test]
async fn a_run_that_is_given_up_stops_its_backend() {
    let Some(world) = World::new(tools()).await else { return };
    let tool = world.tool("hang").await;
    let run = world.run(&*tool, action(), json!({}), LIMIT);
    tokio::select! {
        outcome = run => panic!("{outcome:?}"),
        () = world.until_asleep(true) => {}
    }
    world.until_asleep(false).await;
    assert_eq!(world.count("select count(*) from items where stock = 8").await, 0);
    world.end().await;
}

#[tokio::test]
async fn a_lock_that_is_not_had_is_a_certain_failure() {
    let Some(mut world) = World::new(tools()).await else { return };
    world.blueprint.config["limits"] = json!({"lock_ms": 100});
    let tool = world.tool("set").await;
    world.admin.batch_execute("begin; select 1 from items where id = 1 for update").await.unwrap();
    failed(world.run(&*tool, action(), json!({}), LIMIT).await, "lock_timeout");
    world.admin.batch_execute("rollback").await.unwrap();
    assert_eq!(result(world.call("set", json!({})).await), json!({"count": 1}));
    world.end().await;
}

#[tokio::test]
async fn a_private_address_is_refused_unless_private_networks_are_allowed() {
    let Some(mut world) = World::new(tools()).await else { return };
    world.deps = deps(PrivateNetworks::Refused);
    let fault = connect_fault(world.build().await.unwrap_err());
    assert_eq!(fault.code.as_str(), "egress_refused");
    for host in ["169.254.169.254", "::ffff:127.0.0.1"] {
        world.deps = deps(PrivateNetworks::Allowed);
        world.blueprint.config["host"] = json!(host);
        let fault = connect_fault(world.build().await.unwrap_err());
        assert_eq!(fault.code.as_str(), "egress_refused", "{host}");
    }
    world.end().await;
}

#[tokio::test]
async fn a_server_that_never_answers_is_unreachable() {
    let Some(mut world) = World::new(tools()).await else { return };
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    world.blueprint.config["port"] = json!(silent.local_addr().unwrap().port());
    world.blueprint.config["limits"] = json!({"connect_ms": 200});
    let fault = connect_fault(world.build().await.unwrap_err());
    assert_eq!(fault.code.as_str(), "connector_unreachable");
    drop(silent);
    let fault = connect_fault(world.build().await.unwrap_err());
    assert_eq!(fault.code.as_str(), "connector_unreachable");
    world.end().await;
}

#[tokio::test]
async fn a_wrong_password_is_told_and_never_repeated() {
    let Some(mut world) = World::new(tools()).await else { return };
    let wrong = |field: &str| (field.to_owned(), Secret::new("canary-password".to_owned()));
    let fields = ["conn_password", "read_password"].map(wrong);
    world.blueprint.credential = Credential::new(fields.into());
    let error = world.build().await.unwrap_err();
    let (text, debug) = (error.to_string(), format!("{error:?} {:?}", world.blueprint));
    assert_eq!(connect_fault(error).code.as_str(), "connector_auth_failed");
    assert!(!text.contains("canary") && !debug.contains("canary"), "{text} {debug}");
    world.blueprint.credential = Credential::default();
    let error = world.build().await.unwrap_err();
    assert!(error.to_string().contains("`conn_password`"), "{error}");
    world.end().await;
}

#[tokio::test]
async fn a_role_that_may_do_too_much_runs_no_tools() {
    let Some(world) = World::new(tools()).await else { return };
    let user = world.blueprint.config["user"].as_str().unwrap();
    let owner = world.blueprint.config["owner"].as_str().unwrap();
    for (give, take) in [
        ("alter role {user} superuser", "alter role {user} nosuperuser"),
        ("alter role {user} replication", "alter role {user} noreplication"),
        (
            "grant pg_execute_server_program to {user}",
            "revoke pg_execute_server_program from {user}",
        ),
        ("grant {owner} to {user}", "revoke {owner} from {user}"),
    ] {
        let sql = |text: &str| text.replace("{user}", user).replace("{owner}", owner);
        world.admin.batch_execute(&sql(give)).await.unwrap();
        let fault = connect_fault(world.build().await.unwrap_err());
        assert_eq!(fault.code.as_str(), "connector_misconfigured", "{give}");
        assert!(fault.message.contains("has too many privileges"), "{}", fault.message);
        world.admin.batch_execute(&sql(take)).await.unwrap();
    }
    assert!(world.build().await.is_ok());
    world.end().await;
}

#[tokio::test]
async fn calls_beyond_the_connections_wait_and_then_fail_as_busy() {
    let Some(mut world) = World::new(tools()).await else { return };
    world.blueprint.config["limits"] = json!({"connections": 1, "connect_ms": 10_000});
    let tool = world.tool("sleep").await;
    let call = |s: f64| world.run(&*tool, action(), json!({"s": s}), LIMIT);
    let (first, second) = tokio::join!(call(0.1), call(0.1));
    result(first);
    result(second);
    let second = async {
        world.until_asleep(true).await;
        // While the first one has the connection, the time to wait for it passes.
        pause();
        call(0.0).await
    };
    let message = tokio::select! {
        first = call(15.0) => panic!("{first:?}"),
        second = second => failed(second, "connector_unreachable"),
    };
    resume();
    assert!(message.contains("busy"), "{message}");
    world.end().await;
}

#[tokio::test]
async fn a_restarted_server_costs_no_call() {
    let Some(world) = World::new(tools()).await else { return };
    let tool = world.tool("set").await;
    result(world.run(&*tool, action(), json!({}), LIMIT).await);
    world.close_connections().await;
    result(world.run(&*tool, action(), json!({}), LIMIT).await);
    world.end().await;
}

#[tokio::test]
async fn many_who_wait_for_a_connector_that_cannot_be_built_hear_of_one_try() {
    let Some(mut world) = World::new(tools()).await else { return };
    // It takes connections and says nothing on them.
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    world.blueprint.config["port"] = json!(silent.local_addr().unwrap().port());
    world.blueprint.config["limits"] = json!({"connect_ms": 500});
    let registry = Registry::new(world.deps.clone());
    let all = (0..50).map(|_| connector_of(&registry, &world.blueprint));
    pause();
    let began = Instant::now();
    let built = futures_util::future::join_all(all).await;
    assert!(built.iter().flatten().all(|built| built.last_connect_error().is_some()));
    let one = Duration::from_millis(500);
    assert!((one..one * 2).contains(&began.elapsed()), "{:?}", began.elapsed());
    resume();
    world.end().await;
}

#[tokio::test]
async fn the_registry_builds_once_for_each_revision() {
    let Some(mut world) = World::new(tools()).await else { return };
    let registry = Registry::new(world.deps.clone());
    let (first, same) = tokio::join!(
        connector_of(&registry, &world.blueprint),
        connector_of(&registry, &world.blueprint)
    );
    let first = first.unwrap();
    assert!(std::sync::Arc::ptr_eq(&first, &same.unwrap()));
    let older = world.blueprint.clone();
    world.blueprint.revision = 2;
    let second = connector_of(&registry, &world.blueprint).await.unwrap();
    assert!(!std::sync::Arc::ptr_eq(&first, &second));
    assert!(!std::sync::Arc::ptr_eq(&second, &connector_of(&registry, &older).await.unwrap()));
    let kept = connector_of(&registry, &world.blueprint).await.unwrap();
    assert!(std::sync::Arc::ptr_eq(&second, &kept), "an older caller does not push the newer out");
    world.blueprint.revision = 3;
    world.blueprint.config["host"] = json!("169.254.169.254");
    let failed = connector_of(&registry, &world.blueprint).await.unwrap();
    assert!(failed.last_connect_error().is_some());
    world.blueprint.config["host"] = json!("127.0.0.1");
    let again = connector_of(&registry, &world.blueprint).await.unwrap();
    assert!(std::sync::Arc::ptr_eq(&failed, &again), "a failed build is remembered");
    pause();
    advance(Duration::from_secs(3)).await;
    resume();
    let built = connector_of(&registry, &world.blueprint).await.unwrap();
    assert!(built.last_connect_error().is_none(), "a failed build is tried again");
    world.end().await;
}

#[tokio::test]
async fn a_credential_is_opened_once_for_each_build() {
    let Some(world) = World::new(tools()).await else { return };
    let registry = Registry::new(world.deps.clone());
    let opened = std::cell::Cell::new(0);
    let open = || {
        opened.set(opened.get() + 1);
        world.blueprint.clone()
    };
    for _ in 0..3 {
        registry.get_or_build(revision_of(&world.blueprint), open).await.unwrap();
    }
    assert_eq!(opened.get(), 1);
    registry.let_go(Duration::ZERO);
    registry.get_or_build(revision_of(&world.blueprint), open).await.unwrap();
    assert_eq!(opened.get(), 2);
    // A failed build is remembered without the credential.
    let away = Blueprint { config: json!({ "host": "a.invalid" }), ..world.blueprint.clone() };
    let open = || {
        opened.set(opened.get() + 1);
        Blueprint { revision: 2, ..away.clone() }
    };
    for _ in 0..3 {
        let wanted = Revision { revision: 2, ..revision_of(&world.blueprint) };
        registry.get_or_build(wanted, open).await.unwrap_err();
    }
    assert_eq!(opened.get(), 3);
    world.end().await;
}

#[tokio::test]
async fn a_connector_that_nobody_asks_for_is_let_go_and_built_again() {
    let Some(world) = World::new(tools()).await else { return };
    let registry = Registry::new(world.deps.clone());
    let first = connector_of(&registry, &world.blueprint).await.unwrap();
    assert_eq!(registry.let_go(Duration::from_mins(5)), 0, "it was asked for just now");
    assert_eq!(registry.let_go(Duration::ZERO), 1);
    let again = connector_of(&registry, &world.blueprint).await.unwrap();
    assert!(!std::sync::Arc::ptr_eq(&first, &again));
    world.end().await;
}

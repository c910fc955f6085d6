//! Lost answers, dead backends, and what settles them.

use model::SideEffect;
use serde_json::{Value, json};
use testkit::eventually::until;
use tokio::time::{pause, resume};
use tool::Settled;

use super::{
    proxy::{self, OnCommit},
    world::{LIMIT, World, action, failed, read_tool, result, unknown, write_tool},
};

fn tools() -> Value {
    let id = json!({"id": {"type": "integer"}});
    json!([
        write_tool("add", "insert into items values ($id, 'x')", id, "count"),
        write_tool(
            "slow",
            "update items set stock = 0 where id = 1 and pg_sleep($s::float8) is not null",
            json!({"s": {"type": "number"}}),
            "count"
        ),
        read_tool("read", "select 1 as one", json!({}), "row"),
    ])
}

async fn behind_proxy(on_commit: OnCommit) -> Option<World> {
    let mut world = World::new(tools()).await?;
    let proxy = proxy::start(world.address, on_commit).await;
    world.blueprint.config["port"] = json!(proxy.port());
    Some(world)
}

#[tokio::test]
async fn a_lost_answer_to_commit_is_unknown_and_settles_as_applied() {
    let Some(world) = behind_proxy(OnCommit::LoseAnswer).await else { return };
    let (tool, act) = (world.tool("add").await, action());
    unknown(world.run(&*tool, act, json!({"id": 9}), LIMIT).await, "connector_unreachable");
    assert_eq!(world.count("select count(*) from items where id = 9").await, 1);
    // The tombstone is rolled back, so its own lost COMMIT does not matter here.
    let direct = direct(&world).await;
    assert_eq!(world.settle(&*direct, act).await, Settled::Applied);
    assert_eq!(world.settle(&*direct, act).await, Settled::Applied, "and again");
    world.end().await;
}

#[tokio::test]
async fn a_lost_commit_is_unknown_and_settles_as_not_applied() {
    let Some(world) = behind_proxy(OnCommit::LoseRequest).await else { return };
    let (tool, act) = (world.tool("add").await, action());
    unknown(world.run(&*tool, act, json!({"id": 9}), LIMIT).await, "connector_unreachable");
    let direct = direct(&world).await;
    assert_eq!(world.settle(&*direct, act).await, Settled::NotApplied);
    assert_eq!(world.settle(&*direct, act).await, Settled::NotApplied, "and again");
    assert_eq!(world.count("select count(*) from items where id = 9").await, 0);
    world.end().await;
}

#[tokio::test]
async fn a_commit_that_is_not_answered_in_time_is_unknown() {
    let Some(world) = behind_proxy(OnCommit::HoldAnswer).await else { return };
    let (tool, act) = (world.tool("add").await, action());
    let committed = async {
        let sql = "select count(*) from items where id = 9";
        until("the row is committed", async || world.count(sql).await == 1).await;
        pause();
    };
    let (outcome, ()) = tokio::join!(world.run(&*tool, act, json!({"id": 9}), LIMIT), committed);
    unknown(outcome, "tool_timeout");
    resume();
    assert_eq!(world.settle(&*direct(&world).await, act).await, Settled::Applied);
    world.end().await;
}

#[tokio::test]
async fn a_run_is_settled_in_its_own_database_or_not_at_all() {
    let Some(world) = behind_proxy(OnCommit::LoseAnswer).await else { return };
    let Some(elsewhere) = World::new(tools()).await else { return };
    let (tool, act) = (world.tool("add").await, action());
    let place = tool.place();
    unknown(world.run(&*tool, act, json!({"id": 9}), LIMIT).await, "connector_unreachable");
    // The connector leads to another database now, which lacks the run.
    let mut blueprint = world.blueprint.clone();
    blueprint.config = elsewhere.blueprint.config.clone();
    let moved = crate::build(&blueprint, &world.deps).await.unwrap().tools().remove(0);
    let settled = moved.settle(blueprint.org, act, place.as_deref()).await;
    assert_eq!(settled, Settled::Unknowable);
    // Another connector, or the same one after a change, may mean another database.
    for at in 1..3 {
        let mut blueprint = elsewhere.blueprint.clone();
        blueprint.config = direct_blueprint(&world).config;
        if at == 1 {
            (blueprint.id, blueprint.revision) = (world.blueprint.id, 2);
        }
        let other = crate::build(&blueprint, &world.deps).await.unwrap().tools().remove(0);
        let settled = other.settle(world.blueprint.org, act, place.as_deref()).await;
        assert_eq!(settled, Settled::Unknowable);
    }
    for world in [&world, &elsewhere] {
        let voids = "select count(*) from service.ledger where kind = 'void'";
        assert_eq!(world.count(voids).await, 0, "nothing is said of it there");
    }
    let run = tool::Run {
        org: world.blueprint.org,
        action: action(),
        request_digest: crypto::sha256("x"),
        args: &json!({"id": 10}),
        place: place.as_deref(),
        level: model::Level::L0,
        time_limit: LIMIT,
    };
    failed(moved.run(run).await, "connector_unreachable");
    assert_eq!(elsewhere.count("select count(*) from items where id = 10").await, 0);
    assert_eq!(world.settle(&*direct(&world).await, act).await, Settled::Applied);
    world.end().await;
    elsewhere.end().await;
}

/// The same connector without the proxy.
async fn direct(world: &World) -> std::sync::Arc<dyn tool::Tool> {
    let connector = crate::build(&direct_blueprint(world), &world.deps).await.unwrap();
    connector.tools().into_iter().find(|t| t.definition().side_effect == SideEffect::Write).unwrap()
}

fn direct_blueprint(world: &World) -> crate::Blueprint {
    let mut blueprint = world.blueprint.clone();
    blueprint.config["port"] = json!(world.address.port());
    blueprint
}

#[tokio::test]
async fn after_a_tombstone_a_late_run_applies_nothing() {
    let Some(world) = World::new(tools()).await else { return };
    let (tool, act) = (world.tool("add").await, action());
    assert_eq!(world.settle(&*tool, act).await, Settled::NotApplied);
    failed(world.run(&*tool, act, json!({"id": 9}), LIMIT).await, "instance_lost");
    assert_eq!(world.count("select count(*) from items where id = 9").await, 0);
    assert_eq!(world.settle(&*tool, act).await, Settled::NotApplied);
    assert_eq!(world.count("select count(*) from service.ledger where kind = 'void'").await, 1);
    world.end().await;
}

#[tokio::test]
async fn a_killed_backend_is_a_certain_failure_and_settles_as_not_applied() {
    let Some(world) = World::new(tools()).await else { return };
    let (tool, act) = (world.tool("slow").await, action());
    let kill = async {
        world.until_asleep(true).await;
        world.close_connections().await;
    };
    let args = json!({"s": 15});
    let (outcome, ()) = tokio::join!(world.run(&*tool, act, args, LIMIT), kill);
    failed(outcome, "connector_unreachable");
    assert_eq!(world.settle(&*tool, act).await, Settled::NotApplied);
    assert_eq!(
        result(world.call("add", json!({"id": 8})).await),
        json!({"count": 1}),
        "it goes on"
    );
    world.end().await;
}

#[tokio::test]
async fn settling_waits_for_the_transaction_that_holds_the_action() {
    let Some(world) = World::new(tools()).await else { return };
    let (tool, act) = (world.tool("slow").await, action());
    let settle = async {
        world.until_asleep(true).await;
        world.settle(&*tool, act).await
    };
    let args = json!({"s": 1.5});
    let (outcome, settled) = tokio::join!(world.run(&*tool, act, args, LIMIT), settle);
    assert_eq!((result(outcome), settled), (json!({"count": 1}), Settled::Applied));
    world.end().await;
}

#[tokio::test]
async fn reads_settle_without_the_database_and_writes_not_without_it() {
    let Some(world) = World::new(tools()).await else { return };
    let (read, add) = (world.tool("read").await, world.tool("add").await);
    let database = world.blueprint.config["database"].as_str().unwrap();
    let close = format!("alter database {database} connection limit 0");
    world.admin.batch_execute(&close).await.unwrap();
    world.close_connections().await;
    assert_eq!(world.settle(&*read, action()).await, Settled::NotApplied);
    assert_eq!(world.settle(&*add, action()).await, Settled::Unreachable);
    failed(world.run(&*add, action(), json!({"id": 9}), LIMIT).await, "connector_unreachable");
    world.end().await;
}

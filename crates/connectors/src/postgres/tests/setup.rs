//! Setting the governed schema up, and the lines that say what is missing.

use futures_util::future::join_all;
use serde_json::{Value, json};
use tool::{Estimate, Estimated};

use super::world::{LIMIT, World, apply, failed, read_tool, result, write_tool};
use crate::{
    BuildError, CheckLine, CheckState, SHOP_CONNECTOR, SHOP_SEED, check,
    postgres::{Owner, SetupError, Witness, apply_setup, setup_sql},
    read_config,
};

fn tools() -> Value {
    json!([
        read_tool("read", "select label from items where id = 1", json!({}), "row"),
        write_tool("set", "update items set stock = 7 where id = 1", json!({}), "count"),
    ])
}

fn state<'a>(lines: &'a [CheckLine], name: &str) -> &'a CheckLine {
    lines.iter().find(|line| line.name == name).unwrap_or_else(|| panic!("{name}: {lines:?}"))
}

#[tokio::test]
async fn the_script_may_run_again_and_changes_nothing() {
    let Some(world) = World::new(tools()).await else { return };
    result(world.call("set", json!({})).await);
    apply(&world).await;
    assert_eq!(world.count("select count(*) from service.ledger").await, 1);
    result(world.call("set", json!({})).await);
    world.end().await;
}

#[tokio::test]
async fn scripts_that_change_the_same_roles_at_once_all_come_to_their_end() {
    let Some(world) = World::bare(tools()).await else { return };
    for _ in 0..5 {
        join_all((0..8).map(|_| apply(&world))).await;
    }
    assert_eq!(world.build().await.unwrap().tools().len(), 2);
    world.end().await;
}

#[tokio::test]
async fn check_names_what_is_missing_and_is_content_after_the_setup() {
    let Some(world) = World::bare(tools()).await else { return };
    let lines = check(&world.blueprint, &world.deps).await.unwrap();
    assert_eq!(state(&lines, "address").state, CheckState::Pass);
    let login = format!("login of `{}`", world.blueprint.config["user"].as_str().unwrap());
    assert_eq!(state(&lines, &login).state, CheckState::Fail);
    let user = world.blueprint.config["user"].as_str().unwrap();
    let read = world.blueprint.config["read_user"].as_str().unwrap();
    for (role, field) in [(user, "conn_password"), (read, "read_password")] {
        let create = format!("create role {role} login password '{field} of a test'");
        world.admin.batch_execute(&create).await.unwrap();
    }
    let lines = check(&world.blueprint, &world.deps).await.unwrap();
    assert_eq!(state(&lines, &login).state, CheckState::Pass);
    for name in ["schema `service`", "ledger", "writes can begin", "writes can be settled"] {
        let line = state(&lines, name);
        assert_eq!((line.state, line.detail.as_str()), (CheckState::Fail, "run the setup script"));
    }
    let Err(BuildError::Config { findings }) = world.build().await else { panic!() };
    assert!(findings[0].message.contains("is not set up"), "{findings:?}");
    apply(&world).await;
    world.build().await.unwrap();
    let lines = check(&world.blueprint, &world.deps).await.unwrap();
    let failed: Vec<_> = lines.iter().filter(|line| line.state == CheckState::Fail).collect();
    assert!(failed.is_empty(), "{failed:?}");
    assert_eq!(state(&lines, "all 2 tools fit").state, CheckState::Pass);
    let messages = state(&lines, "only the service can emit logical messages");
    assert_eq!(messages.state, CheckState::Advice);
    let script = setup_sql(&world.blueprint, Witness::Later).unwrap();
    let recommended: String = script
        .lines()
        .filter_map(|line| line.strip_prefix("--     "))
        .skip_while(|line| !line.starts_with("do "))
        .flat_map(|line| [line, "\n"])
        .collect();
    assert!(recommended.starts_with("do $$"), "{recommended}");
    world.admin.batch_execute(&recommended).await.unwrap();
    result(world.call("set", json!({})).await);
    let lines = check(&world.blueprint, &world.deps).await.unwrap();
    let messages = state(&lines, "only the service can emit logical messages");
    assert_eq!(messages.state, CheckState::Pass);
    world.end().await;
}

#[tokio::test]
async fn roles_get_what_the_tools_declare_and_no_more() {
    let Some(world) = World::new(tools()).await else { return };
    let user = world.blueprint.config["user"].as_str().unwrap();
    let read = world.blueprint.config["read_user"].as_str().unwrap();
    for (role, rights, expected) in [
        (user, "select", true),
        (user, "insert", true),
        (user, "truncate", false),
        (read, "select", true),
        (read, "insert, update, delete, truncate", false),
    ] {
        let has = format!("select has_table_privilege('{role}', 'items', '{rights}')::int::int8");
        assert_eq!(world.count(&has).await == 1, expected, "{role} {rights}");
    }
    world.end().await;
}

#[tokio::test]
async fn the_demo_shop_is_seeded_governed_and_answers() {
    let shop = read_config(SHOP_CONNECTOR).unwrap();
    let Some(mut world) = World::bare(shop["tools"].clone()).await else { return };
    world.blueprint.config["read_tables"] = shop["read_tables"].clone();
    for _ in 0..2 {
        world.admin.batch_execute(SHOP_SEED).await.unwrap();
    }
    apply(&world).await;
    assert_eq!(world.build().await.unwrap().tools().len(), 7);
    let customer = result(world.call("customers.read", json!({"customer": 3})).await);
    assert_eq!(customer["tags"], json!([]));
    assert_eq!(customer["credit"], json!("1.11"));
    assert_eq!(customer["avatar"], json!("reda7exuhdnyrSuDAYygcg=="));
    let found = result(world.call("customers.search", json!({"text": "chloe"})).await);
    assert_eq!(found["rows"].as_array().unwrap().len(), 50);
    let order = result(world.call("orders.read", json!({"order": 7})).await);
    assert_eq!((&order["total"], &order["refunded"]), (&json!("29.07"), &json!("6.00")));
    let orders = result(world.call("orders.search", json!({"customer": 8, "limit": 2})).await);
    assert_eq!(orders["rows"].as_array().unwrap().len(), 2);
    let refund = json!({"order": 7, "amount": 12.5, "reason": "late"});
    let refunded = result(world.call("refunds.create", refund).await);
    assert_eq!((&refunded["id"], &refunded["amount"]), (&json!(401), &json!("12.50")));
    let too_much = json!({"order": 7, "amount": 1000, "reason": "late"});
    assert_eq!(result(world.call("refunds.create", too_much).await), Value::Null);
    let shipped =
        world.call("orders.update_status", json!({"order": 6, "status": "shipped"})).await;
    assert_eq!(result(shipped)["status"], json!("shipped"));
    failed(world.call("orders.delete", json!({"order": 7})).await, "tool_error");
    assert_eq!(result(world.call("orders.delete", json!({"order": 6})).await), json!({"count": 1}));
    assert_eq!(world.count("select count(*) from orders").await, 4999);
    world.end().await;
}

#[tokio::test]
async fn the_demo_shop_says_beforehand_what_a_refund_would_change() {
    let shop = read_config(SHOP_CONNECTOR).unwrap();
    let Some(mut world) = World::bare(shop["tools"].clone()).await else { return };
    world.blueprint.config["read_tables"] = shop["read_tables"].clone();
    world.admin.batch_execute(SHOP_SEED).await.unwrap();
    apply(&world).await;
    let refunds = world.tool("refunds.create").await;
    let after =
        |order: u64, amount: &str| json!({ "order_id": order, "amount": amount, "reason": "late" });
    let before = ", 6.00 of it refunded before";
    for (order, amount, note, after) in [
        (2, json!(20), "20.00 of 22.52".to_owned(), Some(after(2, "20.00"))),
        (7, json!(23.07), format!("23.07 of 29.07{before}"), Some(after(7, "23.07"))),
        (
            14,
            json!(35.9),
            "35.90 of 38.24, 7.00 of it refunded before; that is more than is left".to_owned(),
            None,
        ),
        (3, json!(23.834), "23.834 of 23.83; that is more than is left".to_owned(), None),
        (3, json!(0.001), "0.001 of 23.83; that is less than the smallest amount".to_owned(), None),
        (999_999, json!(1), "there is no such order".to_owned(), None),
    ] {
        let args = json!({ "order": order, "amount": amount, "reason": "late" });
        let told = refunds.estimate(&args, LIMIT).await;
        let rows = u64::from(after.is_some());
        let row = json!({
            "table": "refunds", "op": "insert", "rows": rows, "note": note, "before": null,
            "after": after,
        });
        assert_eq!(told, Estimate::Given(Estimated { rows: vec![row], is_whole: true }));
        let count = format!("select count(*) from refunds where order_id = {order}");
        let there = world.count(&count).await;
        world.call("refunds.create", args).await;
        assert_eq!(world.count(&count).await - there, i64::from(rows == 1), "as foretold: {note}");
    }
    world.end().await;
}

/// What the database refuses the setup by this role for.
async fn refused(world: &World, owner: &Owner, witness: Witness) -> String {
    match apply_setup(&world.blueprint, &world.deps, owner, witness).await {
        Err(SetupError::Refused(sentence)) => sentence,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn an_owner_who_may_make_roles_and_nothing_else_sets_the_schema_up() {
    let Some(world) = World::bare(tools()).await else { return };
    let owner = world.owned("createrole").await;
    for _ in 0..2 {
        apply_setup(&world.blueprint, &world.deps, &owner, Witness::Later).await.unwrap();
    }
    result(world.call("set", json!({})).await);
    let decoder = world.blueprint.config["decoder_user"].as_str().unwrap();
    let made = format!("select count(*) from pg_roles where rolname = '{decoder}'");
    assert_eq!(world.count(&made).await, 0, "nobody asked for it");
    let said = refused(&world, &owner, Witness::Wanted).await;
    assert!(said.contains("replication") && said.contains(decoder), "{said}");
    // What was made by one is kept up by the other.
    apply(&world).await;
    assert_eq!(world.count(&made).await, 1);
    apply_setup(&world.blueprint, &world.deps, &owner, Witness::Later).await.unwrap();
    let lines = check(&world.blueprint, &world.deps).await.unwrap();
    assert!(lines.iter().all(|line| line.state != CheckState::Fail), "{lines:?}");
    world.end().await;
}

#[tokio::test]
async fn a_setup_that_lacks_a_power_says_which() {
    let Some(world) = World::bare(tools()).await else { return };
    let owner = world.owned("").await;
    let said = refused(&world, &owner, Witness::Later).await;
    assert!(said.contains("needs CREATEROLE"), "{said}");
    let run = async |sql: String| world.admin.batch_execute(&sql).await.unwrap();
    run(format!("alter role {} createrole; alter table items owner to current_user", owner.user))
        .await;
    let said = refused(&world, &owner, Witness::Later).await;
    assert!(said.contains("items of") && said.contains("made a member"), "{said}");
    run(format!("alter database {} owner to current_user", world.blueprint.config["database"]))
        .await;
    let said = refused(&world, &owner, Witness::Later).await;
    assert!(said.contains("as the owner of"), "{said}");
    world.end().await;
}

#[tokio::test]
async fn check_tells_of_rights_that_went_came_and_of_types_that_changed() {
    let Some(mut world) = World::new(tools()).await else { return };
    world.blueprint.tools = world.build().await.unwrap().tool_schemas();
    let user = world.blueprint.config["user"].as_str().unwrap().to_owned();
    let name = format!("rights of `{user}` on \"items\"");
    let look = async || check(&world.blueprint, &world.deps).await.unwrap();
    assert_eq!(state(&look().await, &name).state, CheckState::Pass);
    let sql = format!("grant truncate on items to {user}");
    world.admin.batch_execute(&sql).await.unwrap();
    let spare = state(&look().await, &name).clone();
    assert_eq!(spare.state, CheckState::Advice);
    assert!(spare.detail.contains("truncate"), "{spare:?}");
    let sql = format!("revoke insert, update on items from {user}");
    world.admin.batch_execute(&sql).await.unwrap();
    let lacking = state(&look().await, &name).clone();
    assert_eq!(lacking.state, CheckState::Fail);
    assert!(lacking.detail.contains("insert, update"), "{lacking:?}");
    apply(&world).await;
    world.admin.batch_execute("alter table items alter label type varchar(99)").await.unwrap();
    let lines = look().await;
    let changed: Vec<_> = lines.iter().filter(|line| line.state == CheckState::Fail).collect();
    assert_eq!(
        changed.iter().map(|line| line.name.as_str()).collect::<Vec<_>>(),
        ["tool `shop.read`"]
    );
    world.end().await;
}

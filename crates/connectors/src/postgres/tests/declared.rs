//! Connectors that were never reached: no server is needed for what is not there.

use std::collections::BTreeMap;

use crypto::{Secret, sha256};
use egress::PrivateNetworks;
use model::{ConnectorId, OrgId, Outcome};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tool::{Estimate, Run, Settled, Tool};

use super::world::{LIMIT, action, connector_of, deps, failed, read_tool, write_tool};
use crate::{Blueprint, BuildError, Credential, InUse, Registry, Standing, check, postgres::KIND};

/// A connector at a port where nobody listens.
fn nobody_there() -> Blueprint {
    let id = json!({"id": {"type": "integer"}});
    let mut add =
        write_tool("add", "update items set stock = 1 where id = $id", id.clone(), "count");
    add["estimate_sql"] = json!("select * from items where id = $id");
    let passwords = ["conn_password"].map(|field| (field.to_owned(), Secret::new("x".to_owned())));
    Blueprint {
        org: "org_01h2xcejqtf2nbrexx3vqjhp41".parse::<OrgId>().unwrap(),
        id: "con_01h2xcejqtf2nbrexx3vqjhp41".parse::<ConnectorId>().unwrap(),
        name: "shop".parse().unwrap(),
        kind: KIND.to_owned(),
        revision: 1,
        config: json!({
            "host": "127.0.0.1", "port": 1, "database": "none", "tls": {"mode": "disable"},
            "tools": [read_tool("read", "select $id::int as id", id, "row"), add],
        }),
        credential: Credential::new(BTreeMap::from(passwords)),
        tools: BTreeMap::new(),
    }
}

async fn run(tool: &dyn Tool, args: &Value) -> Outcome {
    let org = "org_01h2xcejqtf2nbrexx3vqjhp41".parse().unwrap();
    let request_digest = sha256("x");
    let place = None;
    tool.run(Run {
        org,
        action: action(),
        request_digest,
        args,
        place,
        level: model::Level::L0,
        time_limit: LIMIT,
    })
    .await
}

/// Every declared tool is there and comes to this code.
async fn comes_to(blueprint: &Blueprint, code: &str) {
    let registry = Registry::new(deps(PrivateNetworks::Allowed));
    let connector = connector_of(&registry, blueprint).await.unwrap();
    let in_use = registry.in_use(|_, _, _| true);
    let [InUse { org, id, name, standing: Standing::Lost(fault), .. }] = in_use.as_slice() else {
        panic!("{in_use:?}")
    };
    assert_eq!((*org, *id, name), (blueprint.org, blueprint.id, &blueprint.name));
    assert_eq!((fault.code.as_str(), connector.tool_schemas().len()), (code, 0));
    let tools = connector.tools();
    let names: Vec<_> = tools.iter().map(|tool| tool.definition().name.to_string()).collect();
    assert_eq!(names, ["shop.read", "shop.add"]);
    for tool in &tools {
        assert!(tool.check_args(&json!({"id": "one"})).is_err(), "what the config declares");
        assert_eq!(tool.check_args(&json!({"id": 1})), Ok(()));
        assert!(!failed(run(&**tool, &json!({"id": 1})).await, code).is_empty());
        assert_eq!(tool.place(), None);
    }
    assert_eq!(tools[0].estimate(&json!({"id": 1}), LIMIT).await, Estimate::NotOffered);
    assert_eq!(tools[1].estimate(&json!({"id": 1}), LIMIT).await, Estimate::Failed);
    let settle = async |tool: &dyn Tool| tool.settle(blueprint.org, action(), None).await;
    assert_eq!(settle(&*tools[0]).await, Settled::NotApplied);
    assert_eq!(settle(&*tools[1]).await, Settled::Unreachable);
}

#[tokio::test]
async fn what_was_never_reached_has_the_tools_that_its_config_declares() {
    let blueprint = nobody_there();
    comes_to(&blueprint, "connector_unreachable").await;
    let lines = check(&blueprint, &deps(PrivateNetworks::Allowed)).await.unwrap();
    assert!(!lines.is_empty());
}

#[tokio::test]
async fn what_never_had_a_credential_has_the_tools_that_its_config_declares() {
    let blueprint = Blueprint { credential: Credential::default(), ..nobody_there() };
    comes_to(&blueprint, "connector_auth_failed").await;
}

#[tokio::test]
async fn what_takes_connections_and_says_nothing_is_not_waited_for_long() {
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut blueprint = nobody_there();
    blueprint.config["port"] = json!(silent.local_addr().unwrap().port());
    blueprint.config["limits"] = json!({"connect_ms": 60_000});
    comes_to(&blueprint, "connector_unreachable").await;
}

#[tokio::test]
async fn a_config_that_declares_no_tools_that_hold_together_has_none() {
    let registry = Registry::new(deps(PrivateNetworks::Allowed));
    let mut blueprint = nobody_there();
    blueprint.config["tools"][0]["sql"] = json!("vacuum");
    let built = connector_of(&registry, &blueprint).await;
    assert!(matches!(built, Err(BuildError::Config { .. })), "{built:?}");
}

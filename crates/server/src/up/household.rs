//! The demo's org and what is in it, made by the same use cases as anybody's.

use std::collections::BTreeMap;

use admin::{Activation, By, KeyMode, NewAgent, NewConnector, NewKey, NewOrg};
use connectors::{Blueprint, postgres};
use crypto::Secret;
use ledger::record::PolicyMode;
use model::{ConnectorId, ConnectorName, IntentMode, OrgId, Scope};
use serde_json::{Value, json};
use uuid::Uuid;

use super::{
    cluster::{Cluster, SHOP},
    folder::{Cast, Secrets},
};
use crate::{exit::Failure, wire_up::Wired};

const POLICY: &str = include_str!("policy.yaml");
const AGENT: &str = "support";

/// Makes the org, its connector, its agent with a key, and its policy.
pub(super) async fn found(
    wired: &Wired,
    cluster: &Cluster,
    secrets: &Secrets,
) -> Result<Cast, Failure> {
    let admin = &wired.core.admin;
    let new = NewOrg { name: "Demo".to_owned(), time_zone: "UTC".to_owned() };
    let org = admin.create_org(new).await.map_err(Failure::internal)?.org.id;
    let operator = admin.in_org(org, By::Operator);
    let connector = NewConnector {
        name: SHOP.to_owned(),
        kind: postgres::KIND.to_owned(),
        config: config(cluster)?,
        credential: credential(secrets),
        test: false,
    };
    operator.create_connector(connector).await.map_err(Failure::internal)?;
    let agent = NewAgent {
        name: AGENT.to_owned(),
        labels: [("team".to_owned(), "care".to_owned())].into(),
        intent_mode: IntentMode::Off,
    };
    let agent = operator.create_agent(agent).await.map_err(Failure::internal)?.object.id;
    let key = NewKey {
        name: "demo".to_owned(),
        scopes: vec![Scope::ActionsExecute, Scope::ActionsRead],
        mode: KeyMode::Live,
        expires_at: None,
    };
    let key = operator.create_agent_key(agent, key).await.map_err(Failure::internal)?;
    let policy = operator.create_policy("demo").await.map_err(Failure::internal)?.object.id;
    let version = operator.create_policy_version(policy, POLICY).await;
    let activation = Activation {
        version: version.map_err(Failure::internal)?.object.id,
        mode: PolicyMode::Enforce,
        reason: "The demo's own policy.".to_owned(),
    };
    operator.activate_policy(activation).await.map_err(Failure::internal)?;
    Ok(Cast { org, agent, key: key.text.secret().clone() })
}

/// Prepares the shop for being governed.
pub(super) async fn set_up_shop(
    deps: &connectors::Deps,
    cluster: &Cluster,
    secrets: &Secrets,
) -> Result<(), Failure> {
    let name: Result<ConnectorName, _> = SHOP.parse();
    let blueprint = Blueprint {
        org: OrgId::from_uuid(Uuid::nil()),
        id: ConnectorId::from_uuid(Uuid::nil()),
        name: name.map_err(Failure::internal)?,
        kind: postgres::KIND.to_owned(),
        revision: 0,
        config: config(cluster)?,
        credential: connectors::Credential::new(credential(secrets)),
    };
    let (user, password) = (cluster.user.clone(), cluster.password.clone());
    let superuser = postgres::Superuser { user, password };
    postgres::apply_setup(&blueprint, deps, &superuser).await.map_err(Failure::internal)
}

fn credential(secrets: &Secrets) -> BTreeMap<String, Secret<String>> {
    [
        (postgres::CONN_PASSWORD.to_owned(), secrets.conn.clone()),
        (postgres::READ_PASSWORD.to_owned(), secrets.read.clone()),
    ]
    .into()
}

/// Returns the shop's connector file, pointed at this cluster.
fn config(cluster: &Cluster) -> Result<Value, Failure> {
    let mut config =
        connectors::read_config(connectors::SHOP_CONNECTOR).map_err(Failure::internal)?;
    if let Some(members) = config.as_object_mut() {
        members.insert("host".to_owned(), json!(cluster.host));
        members.insert("port".to_owned(), json!(cluster.port));
        members.insert("database".to_owned(), json!(SHOP));
    }
    Ok(config)
}

//! The governed shop: its connector, pointed at the demo's cluster, and the schema that governing
//! it takes.

use std::collections::BTreeMap;

use admin::NewConnector;
use connectors::{Blueprint, postgres};
use crypto::Secret;
use model::{ConnectorId, ConnectorName, OrgId};
use serde_json::{Value, json};
use uuid::Uuid;

use super::{
    cluster::{Cluster, SHOP},
    folder::Secrets,
};
use crate::exit::Failure;

/// The shop's connector.
pub(super) fn connector(cluster: &Cluster, secrets: &Secrets) -> Result<NewConnector, Failure> {
    let credential = credential(secrets);
    Ok(NewConnector { credential, ..NewConnector::of(postgres::KIND, SHOP, config(cluster)?) })
}

/// Prepares the shop for being governed.
pub(super) async fn set_up(
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
        tools: BTreeMap::new(),
    };
    let (user, password) = (cluster.user.clone(), cluster.password.clone());
    let owner = postgres::Owner { user, password };
    let witness = postgres::Witness::Later;
    postgres::apply_setup(&blueprint, deps, &owner, witness).await.map_err(Failure::internal)
}

fn credential(secrets: &Secrets) -> BTreeMap<String, Secret<String>> {
    BTreeMap::from([
        (postgres::CONN_PASSWORD.to_owned(), secrets.conn.clone()),
        (postgres::READ_PASSWORD.to_owned(), secrets.read.clone()),
    ])
}

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

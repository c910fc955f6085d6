//! The governed shop: its connector, pointed at the demo's cluster, the schema that governing it
//! takes, and its change log as evidence.

use std::{collections::BTreeMap, time::Duration};

use admin::{ConnectorError, Gaps, NewConnector};
use connectors::{Blueprint, postgres};
use crypto::Secret;
use evidence::EvidenceStore;
use model::{ConnectorId, ConnectorName, Level, OrgId, causes};
use serde_json::{Value, json};
use uuid::Uuid;

use super::{
    cluster::{Cluster, SHOP},
    folder::Secrets,
};
use crate::{cli::ShopWitness, core::Core, exit::Failure};

/// For how long the first look at the change log is waited for.
const FOLLOWED_WITHIN: Duration = Duration::from_secs(15);

/// The shop's connector.
pub(super) fn connector(
    cluster: &Cluster,
    secrets: &Secrets,
    witness: ShopWitness,
) -> Result<NewConnector, Failure> {
    let (credential, mut config) = (credential(secrets), config(cluster)?);
    if witness == ShopWitness::Log {
        let tools = config.get_mut("tools").and_then(Value::as_array_mut).into_iter().flatten();
        let tools = tools.filter_map(Value::as_object_mut);
        for tool in tools.filter(|tool| tool.get("side_effect") != Some(&json!("read"))) {
            tool.insert("required_level".to_owned(), json!(Level::L2));
        }
    }
    Ok(NewConnector { credential, ..NewConnector::of(postgres::KIND, SHOP, config) })
}

/// Has the shop's change log read as evidence.
pub(super) async fn witness(
    core: &Core,
    cluster: &Cluster,
    (org, connector): (OrgId, ConnectorId),
) -> Result<(), Failure> {
    let operator = core.operator(org);
    let coverage = operator.witness_coverage(connector, &[]).await.map_err(not_witnessed)?;
    if let Some(script) = coverage.script {
        cluster.run_in_shop(&script).await?;
    }
    let reason = "The writes of the demo's shop are compared with its change log.";
    let whole = (&[][..], Gaps::Refused);
    operator.enable_witness(connector, whole, reason).await.map_err(not_witnessed)?;
    Ok(())
}

fn not_witnessed(error: ConnectorError) -> Failure {
    Failure::usage(format!(
        "the shop's change log cannot be read as evidence: {}; it requires a cluster with \
         `wal_level = logical`; with `--fresh --witness report` the demo does not use it",
        causes(&error)
    ))
}

/// Comes back once the change log is followed: what is called before would have no evidence.
pub(super) async fn followed(logs: &dyn EvidenceStore) -> Result<(), Failure> {
    let begun = async {
        for log in logs.followed_logs().await.map_err(Failure::internal)? {
            while logs.following(log).await.map_err(Failure::internal)?.is_none() {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
        Ok(())
    };
    tokio::time::timeout(FOLLOWED_WITHIN, begun).await.unwrap_or_else(|_| {
        let sentence = "no instance follows the shop's change log; the log of the service shows \
                        the reason";
        Err(Failure::internal(sentence))
    })
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
    let witness = match &secrets.decoder {
        Some(_) => postgres::Witness::Wanted,
        None => postgres::Witness::Later,
    };
    postgres::apply_setup(&blueprint, deps, &owner, witness).await.map_err(Failure::internal)
}

fn credential(secrets: &Secrets) -> BTreeMap<String, Secret<String>> {
    let tools =
        [(postgres::CONN_PASSWORD, &secrets.conn), (postgres::READ_PASSWORD, &secrets.read)];
    let decoder = secrets.decoder.as_ref().map(|decoder| (postgres::DECODER_PASSWORD, decoder));
    let all = tools.into_iter().chain(decoder);
    all.map(|(field, secret)| (field.to_owned(), secret.clone())).collect()
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

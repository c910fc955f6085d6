//! The adapters over stores in memory; what needs a governed database is tested end to end.

use std::{collections::BTreeMap, sync::Arc};

use admin::{Candidate, ConnectorCheck, NewConnector, UnfitError};
use connectors::BuiltinSource;
use crypto::{Secret, SystemEntropy, vault::Ring};
use egress::{Egress, PrivateNetworks, Rules};
use gate::{Found, Toolbox};
use model::{Clock, ConnectorId, Mint, OrgId, Status};
use serde_json::{Value, json};
use testkit::{ManualClock, START};

use super::*;
use crate::{clock::SystemClock, demo::Stage, secrets};

fn deps(private_networks: PrivateNetworks) -> connectors::Deps {
    let rules = Rules { private_networks, ..Rules::default() };
    connectors::Deps {
        egress: Egress::new(rules).expect("rules"),
        vault: Arc::new(Ring::parse(&secrets::random_key()).expect("a ring")),
        entropy: Arc::new(SystemEntropy::new()),
    }
}

/// A shop at a port where nobody listens.
fn nobody_there() -> Value {
    let mut config = connectors::read_config(connectors::SHOP_CONNECTOR).expect("a config");
    config["port"] = json!(1);
    config
}

fn credential() -> admin::Credential {
    let password = || Secret::new("password".to_owned());
    BTreeMap::from([
        ("conn_password".to_owned(), password()),
        ("read_password".to_owned(), password()),
    ])
}

async fn check(
    kind: &str,
    config: &Value,
    credential: &admin::Credential,
) -> Result<(), UnfitError> {
    check_under(PrivateNetworks::Allowed, kind, (config, credential)).await
}

async fn check_under(
    private_networks: PrivateNetworks,
    kind: &str,
    (config, credential): (&Value, &admin::Credential),
) -> Result<(), UnfitError> {
    let entropy = SystemEntropy::new();
    let mint = Mint::new(model::Timestamp::EPOCH, &entropy);
    let candidate = Candidate {
        credential_kind: None,
        org: mint.id(OrgId::from_uuid),
        id: mint.id(ConnectorId::from_uuid),
        name: &"shop".parse().expect("a name"),
        kind,
        config,
        credential,
    };
    Adapters::new(deps(private_networks)).check(candidate).await.map(drop)
}

#[tokio::test]
async fn a_config_without_credential_is_looked_at_by_itself() {
    let empty = admin::Credential::new();
    assert_eq!(check("postgres", &nobody_there(), &empty).await, Ok(()));
    let wrong = check("postgres", &json!({ "host": 7 }), &empty).await;
    assert!(matches!(wrong, Err(UnfitError::Config(sentences)) if !sentences.is_empty()));
    let unknown = check("oracle", &json!({}), &empty).await;
    assert_eq!(unknown, Err(UnfitError::UnknownKind("oracle".to_owned())));
}

#[tokio::test]
async fn what_keeps_a_connector_from_being_used_is_told_apart() {
    let (config, full) = (nobody_there(), credential());
    let unreachable = check("postgres", &config, &full).await;
    assert!(matches!(unreachable, Err(UnfitError::Unreachable(_))), "{unreachable:?}");
    let refused = check_under(PrivateNetworks::Refused, "postgres", (&config, &full)).await;
    assert!(matches!(refused, Err(UnfitError::Egress(_))), "{refused:?}");
    let mut half = full.clone();
    half.remove("conn_password");
    let lacking = check("postgres", &config, &half).await;
    assert!(matches!(&lacking, Err(UnfitError::Config(it)) if it[0].contains("conn_password")));
}

#[test]
fn a_credential_is_for_one_receiver_of_every_type() {
    let adapters = Adapters::new(deps(PrivateNetworks::Allowed));
    let database = |host: &str| json!({ "host": host, "database": "shop" });
    let api = |host: &str| json!({ "base_url": format!("https://{host}") });
    for kind in connectors::KINDS {
        let of = |host: &str| {
            let config = if *kind == "rest" { api(host) } else { database(host) };
            (adapters.receiver(kind, &config), adapters.target(kind, &config))
        };
        assert_eq!(of("db.example"), of("DB.example"), "{kind}");
        let (home, other) = (of("db.example"), of("evil.example"));
        assert!(home.0 != other.0 && home.1 != other.1, "{kind}");
        assert!(home.0.is_object() && home.1.is_object(), "{kind}");
    }
}

/// The demo's org with a connector more, to which nobody answers.
async fn tools() -> (Stage, OrgTools) {
    tools_by(Arc::new(SystemClock)).await
}

/// As above, by this clock.
async fn tools_by(clock: Arc<dyn Clock>) -> (Stage, OrgTools) {
    let stage = Stage::set().await.expect("a stage");
    let records = Records::new(Arc::clone(&stage.core.stores.actions));
    let accounts = Arc::clone(&stage.core.stores.accounts);
    let deps = deps(PrivateNetworks::Allowed);
    let tools = OrgTools::new(accounts, clock, deps, Arc::new(records));
    (stage, tools.expect("tools"))
}

#[tokio::test]
async fn tools_are_found_by_the_connector_in_their_name() {
    let (stage, tools) = tools().await;
    let find = async |name: &str| {
        tools.find(stage.org, &name.parse().expect("a name")).await.expect("an answer")
    };
    let Found::Served(own) = find("service.whoami").await else { panic!("the service's own") };
    assert_eq!((own.connector.id, own.connector.kind.as_str()), (None, "service"));
    assert!(matches!(find("service.nothing").await, Found::Nobody));
    assert!(matches!(find("nowhere.tool").await, Found::NotAmong(None)));
    // The demo's connector is of a type that no adapter has.
    assert!(matches!(find("shop.refund").await, Found::Unavailable));
}

#[tokio::test]
async fn the_list_has_what_can_be_called_now_sorted_by_name() {
    let (stage, tools) = tools().await;
    let every = tools.every(stage.org).await.expect("a list");
    let names: Vec<_> = every.iter().map(|served| served.tool.definition().name.as_str()).collect();
    assert_eq!(names, ["service.action_status", "service.whoami"]);
}

async fn connect(stage: &Stage, name: &str) {
    let new = NewConnector::of(crate::demo::KIND, name, json!({}));
    stage.core.operator(stage.org).create_connector(new).await.expect("a connector");
}

#[tokio::test]
async fn connectors_are_read_again_after_a_second_or_when_asked_to() {
    let clock = Arc::new(ManualClock::at(START));
    let (stage, tools) = tools_by(clock.clone()).await;
    let name = "later.tool".parse().expect("a name");
    assert!(matches!(tools.find(stage.org, &name).await, Ok(Found::NotAmong(None))));
    connect(&stage, "later").await;
    assert!(matches!(tools.find(stage.org, &name).await, Ok(Found::NotAmong(None))), "remembered");
    assert!(matches!(tools.find_anew(stage.org, &name).await, Ok(Found::Unavailable)));
    let name = "latest.tool".parse().expect("a name");
    connect(&stage, "latest").await;
    clock.pass(toolbox::READ_FOR);
    assert!(matches!(tools.find(stage.org, &name).await, Ok(Found::Unavailable)));
}

#[tokio::test]
async fn an_agent_sees_its_own_actions_and_no_others() {
    let (mine, other) = (Stage::set().await.expect("one"), Stage::set().await.expect("another"));
    let refund = json!({ "order": 1001, "amount": 5 });
    let first = mine.call("shop.refund", refund.clone()).await.expect("an action");
    let second = mine.call("shop.refund", refund.clone()).await.expect("an action");
    let foreign = other.call("shop.refund", refund).await.expect("an action");
    let records = Records::new(Arc::clone(&mine.core.stores.actions));
    let caller = records.caller(mine.org, first.id).await.expect("the caller");
    assert_eq!((caller.agent, caller.livemode), (first.agent.id, true));
    let seen = records.action_status(mine.org, first.id, second.id).await.expect("an answer");
    assert_eq!(seen.map(|seen| seen.status), Some(Status::Executed));
    let unseen = records.action_status(mine.org, first.id, foreign.id).await.expect("an answer");
    assert_eq!(unseen, None);
    assert!(records.caller(mine.org, foreign.id).await.is_err(), "of another org");
}

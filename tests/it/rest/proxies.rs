//! Proxies that the environment names, which the service does not use: they would see every request to an
//! API, and dial where the guarded way out does not.

use serde_json::json;

use super::{Pets, SECRET, made, open_policy};
use crate::{
    calls::assert_sealed,
    house::{House, Request, Service, Start},
    targets::Unvisited,
};

/// The variables that clients read the address of a proxy from.
const NAMES: [&str; 6] =
    ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"];

#[tokio::test]
async fn a_proxy_of_the_environment_hears_of_no_request() {
    let Some(house) = House::new("").await else { return };
    let (pets, proxy) = (Pets::open().await, Unvisited::listen().await);
    let url = format!("http://{}", proxy.address);
    let verbs = NAMES.into_iter().fold(house.verbs.clone(), |verbs, name| verbs.with(name, &url));
    let service = Service::start(&verbs, Start::Plain).await;
    let org = service.caller(&house.org_key().await);
    let tokens = format!("{}/token", pets.url());
    let fields = json!({ "token_url": tokens, "client_id": "u", "client_secret": SECRET });
    let connector = json!({
        "name": "zoo", "type": "rest", "config": pets.config(),
        "credential": { "kind": "oauth2_client_credentials", "fields": fields },
    });
    let made = made(&org, connector).await;
    let test = format!("/v1/connectors/{}/test", made["id"].as_str().unwrap());
    let checks = org.send(Request::raw(&test, "")).await.ok();
    assert_eq!(checks["ok"], true, "{checks}");
    house.activate("zoo", &open_policy("zoo")).await;
    let agent = service.caller(&house.agent("keeper").await.key);
    assert_sealed(&agent.executed("zoo.listPets", json!({ "limit": 1 })).await, "executed");
    let seen = pets.seen();
    for line in ["HEAD / ", "POST /token ", "GET /pets?limit=1 "] {
        assert!(seen.iter().any(|seen| seen.starts_with(line)), "{line}: {seen:?}");
    }
    assert_eq!(proxy.visits().await, 0);
}

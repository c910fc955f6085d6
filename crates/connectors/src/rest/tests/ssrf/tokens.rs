//! Attempts to lead the request for a token to where it may not go.

use std::sync::atomic::Ordering::Relaxed;

use egress::PrivateNetworks;
use model::Outcome;
use serde_json::json;

use super::{
    super::world::{Reply, Stub, credential, deps_over, named, run, said, word},
    addresses::{LOOPBACK, NEVER, PRIVATE},
    bracketed, pinned, scripted, standing,
};
use crate::{Blueprint, CheckState, build, check};

/// A connector to this API whose tokens come from this URL.
async fn asking(base_url: &str, token_url: &str) -> Blueprint {
    let mut blueprint = standing("127.0.0.1", 80);
    blueprint.config["base_url"] = json!(base_url);
    blueprint.config["auth"] = json!("credential");
    blueprint.config["timeout_ms"] = json!(30_000);
    let fields = [("token_url", token_url), ("client_id", "i"), ("client_secret", "s")];
    pinned(Blueprint { credential: credential("oauth2_client_credentials", &fields), ..blueprint })
        .await
}

/// A server that grants a token to each request.
async fn granting() -> Stub {
    let granted = json!({"access_token": "one", "token_type": "Bearer", "expires_in": 3600});
    Stub::new(vec![Reply::Bytes(said("200 OK", granted.to_string().as_bytes()))]).await
}

fn assert_refused(outcome: &Outcome, what: &str) {
    assert_eq!(word(outcome), "failed egress_refused", "{what}");
    let Outcome::Failed(fault) = outcome else { panic!("{what}") };
    assert!(fault.message.starts_with("the token request failed: "), "{what}: {}", fault.message);
}

#[tokio::test]
async fn no_token_comes_from_an_address_that_may_not_be_reached() {
    let (tokens, api) = (granting().await, Stub::saying("200 OK", b"{}").await);
    let port = tokens.at.port();
    for address in NEVER {
        for host in [bracketed(address), "tokens.example.com".to_owned()] {
            let asking = asking(&api.url(), &format!("http://{host}:{port}/token")).await;
            let (egress, _) = scripted(PrivateNetworks::Allowed, &[&[address]]);
            let connector = build(&asking, &deps_over(egress)).await.unwrap();
            let outcome = run(&*named(&*connector, "pets.tool"), json!({})).await;
            assert_refused(&outcome, &format!("{host}, {address}"));
        }
    }
    assert!(tokens.seen().is_empty() && api.seen().is_empty());
}

#[tokio::test]
async fn outside_development_no_token_comes_from_a_private_network_or_without_tls() {
    let tokens = granting().await;
    let port = tokens.at.port();
    let called = async |url: &str, address: &str| {
        let asking = asking("https://8.8.8.8", url).await;
        let (egress, script) = scripted(PrivateNetworks::Refused, &[&[address]]);
        let connector = build(&asking, &deps_over(egress)).await.unwrap();
        let outcome = run(&*named(&*connector, "pets.tool"), json!({})).await;
        assert_refused(&outcome, &format!("{url}, {address}"));
        script.asked.load(Relaxed)
    };
    for address in PRIVATE.iter().chain(LOOPBACK) {
        let literal = format!("https://{}:{port}/token", bracketed(address));
        assert_eq!(called(&literal, address).await, 0);
        let named = format!("https://tokens.example.com:{port}/token");
        assert_eq!(called(&named, address).await, 1);
    }
    let plain = format!("http://tokens.example.com:{port}/token");
    assert_eq!(called(&plain, "8.8.8.8").await, 0, "nobody is asked for its address");
    assert!(tokens.seen().is_empty());
}

#[tokio::test]
async fn a_token_servers_name_is_judged_when_it_is_used_and_not_when_it_was_checked() {
    let (tokens, api) = (granting().await, Stub::saying("200 OK", b"{}").await);
    let url = format!("http://tokens.example.com:{}/token", tokens.at.port());
    let asking = asking(&api.url(), &url).await;
    let (egress, script) = scripted(
        PrivateNetworks::Allowed,
        &[&["127.0.0.1"], &["169.254.169.254"], &["127.0.0.1", "fd00:ec2::254"], &["127.0.0.1"]],
    );
    let deps = deps_over(egress);
    let lines = check(&asking, &deps).await.unwrap();
    let line = lines.iter().find(|line| line.name == "credential").unwrap();
    assert_eq!((line.state, tokens.seen().len()), (CheckState::Advice, 1), "{line:?}");
    let connector = build(&asking, &deps).await.unwrap();
    let tool = named(&*connector, "pets.tool");
    let of_the_check = api.seen().len();
    for _ in 0..2 {
        assert_refused(&run(&*tool, json!({})).await, "after the check");
    }
    assert_eq!((tokens.seen().len(), api.seen().len()), (1, of_the_check));
    assert_eq!(word(&run(&*tool, json!({})).await), "succeeded");
    assert_eq!((tokens.seen().len(), script.asked.load(Relaxed)), (2, 4));
}

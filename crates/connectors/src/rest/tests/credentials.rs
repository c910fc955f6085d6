//! Who a connector says that it is.

use std::time::Duration;

use futures_util::future::join_all;
use model::Outcome;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::world::{
    Reply, Stub, blueprint, built, config, credential, named, run, said, tool, with, word,
};
use crate::{Blueprint, BuildError, Credential};

/// A kind of credentials, its fields, and what is looked for.
type Row = (&'static str, &'static [(&'static str, &'static str)], &'static str);

fn asking(stub: &Stub, credential: Credential) -> Blueprint {
    let mut config = config(stub, json!([tool("POST", "/pets", &[])]));
    config["auth"] = json!("credential");
    Blueprint { credential, ..blueprint(config) }
}

async fn called(blueprint: &Blueprint) -> Outcome {
    let connector = built(blueprint).await.unwrap();
    run(&*named(&*connector, "pets.tool"), json!({})).await
}

async fn refusal(blueprint: &Blueprint) -> String {
    match built(blueprint).await {
        Err(error @ (BuildError::Config { .. } | BuildError::Credential { .. })) => {
            error.to_string()
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn each_kind_says_who_asks() {
    let table: [Row; 4] = [
        ("bearer", &[("token", "canary")], "authorization: Bearer canary"),
        ("basic", &[("username", "u"), ("password", "p:w")], "authorization: Basic dTpwOnc="),
        ("header", &[("name", "X-API-Key"), ("value", "canary")], "x-api-key: canary"),
        ("header", &[("name", "Authorization"), ("value", "Token x")], "authorization: Token x"),
    ];
    for (kind, fields, line) in table {
        let stub = Stub::saying("200 OK", b"{}").await;
        let outcome = called(&asking(&stub, credential(kind, fields))).await;
        assert_eq!(word(&outcome), "succeeded");
        let seen = stub.seen().remove(0);
        assert!(seen.contains(&format!("\r\n{line}\r\n")), "{seen}");
    }
}

#[tokio::test]
async fn without_the_credential_that_it_needs_nothing_is_sent() {
    let stub = Stub::saying("200 OK", b"{}").await;
    let outcome = called(&asking(&stub, Credential::default())).await;
    assert_eq!(word(&outcome), "failed connector_auth_failed");
    assert!(stub.seen().is_empty());
}

#[tokio::test]
async fn a_credential_that_cannot_be_used_is_refused_without_its_value() {
    let table: [Row; 8] = [
        ("bearer", &[("token", "can\nary")], "token"),
        ("basic", &[("username", "u:canary"), ("password", "p")], "username"),
        ("header", &[("name", "Host"), ("value", "canary")], "name"),
        ("header", &[("name", "can ary"), ("value", "v")], "name"),
        ("header", &[("value", "canary")], "name"),
        ("passwords", &[("x", "canary")], "kind"),
        (
            "oauth2_client_credentials",
            &[("token_url", "ftp://canary"), ("client_id", "i"), ("client_secret", "s")],
            "token_url",
        ),
        ("bearer", &[("token", "t"), ("client_key", "canary")], "client_certificate_pem"),
    ];
    for (kind, fields, expected) in table {
        let stub = Stub::saying("200 OK", b"{}").await;
        let error = refusal(&asking(&stub, credential(kind, fields))).await;
        assert!(error.contains(expected) && !error.contains("canary"), "{kind}: {error}");
    }
}

#[tokio::test]
async fn an_api_that_asks_nobody_takes_no_credential() {
    let stub = Stub::saying("200 OK", b"{}").await;
    let mut asking = asking(&stub, credential("bearer", &[("token", "t")]));
    asking.config["auth"] = json!("none");
    assert!(refusal(&asking).await.contains("/auth"));
}

fn token(answer: &Value) -> Reply {
    Reply::Bytes(said("200 OK", answer.to_string().as_bytes()))
}

fn client(tokens: &Stub) -> Credential {
    let url = format!("{}/token", tokens.url());
    credential(
        "oauth2_client_credentials",
        &[
            ("token_url", &url),
            ("client_id", "id:1"),
            ("client_secret", "s/canary"),
            ("scope", "pets:read pets:write"),
        ],
    )
}

#[tokio::test]
async fn a_token_is_fetched_once_and_kept() {
    let granted = json!({"access_token": "one", "token_type": "bearer", "expires_in": 3600});
    let tokens = Stub::new(vec![token(&granted)]).await;
    let stub = Stub::saying("200 OK", b"{}").await;
    let connector = built(&asking(&stub, client(&tokens))).await.unwrap();
    let tool = named(&*connector, "pets.tool");
    for _ in 0..3 {
        assert_eq!(word(&run(&*tool, json!({})).await), "succeeded");
    }
    assert!(stub.seen().iter().all(|seen| seen.contains("\r\nauthorization: Bearer one\r\n")));
    let asked = tokens.seen();
    assert_eq!(asked.len(), 1);
    assert!(asked[0].starts_with("POST /token HTTP/1.1\r\n"));
    // `id%3A1:s%2Fcanary`
    assert!(asked[0].contains("authorization: Basic aWQlM0ExOnMlMkZjYW5hcnk="), "{}", asked[0]);
    let form = "grant_type=client_credentials&scope=pets%3Aread%20pets%3Awrite";
    assert!(asked[0].ends_with(form), "{}", asked[0]);
}

#[tokio::test]
async fn a_token_that_has_died_is_fetched_again() {
    let granted = json!({"access_token": "one", "token_type": "Bearer", "expires_in": 0});
    let tokens = Stub::new(vec![token(&granted)]).await;
    let stub = Stub::saying("200 OK", b"{}").await;
    let connector = built(&asking(&stub, client(&tokens))).await.unwrap();
    for _ in 0..2 {
        run(&*named(&*connector, "pets.tool"), json!({})).await;
    }
    assert_eq!(tokens.seen().len(), 2);
}

#[tokio::test]
async fn many_who_need_a_token_at_one_time_make_one_request_for_it() {
    let granted = json!({"access_token": "one", "token_type": "Bearer", "expires_in": "3600"});
    let tokens = Stub::new(vec![token(&granted)]).await;
    let stub = Stub::saying("200 OK", b"{}").await;
    let connector = built(&asking(&stub, client(&tokens))).await.unwrap();
    let tool = named(&*connector, "pets.tool");
    for outcome in join_all((0..16).map(|_| run(&*tool, json!({})))).await {
        assert_eq!(word(&outcome), "succeeded");
    }
    assert_eq!((tokens.seen().len(), stub.seen().len()), (1, 16));
}

#[tokio::test]
async fn who_waits_for_anothers_token_request_waits_no_longer_than_its_own_call_may_take() {
    let tokens = Stub::new(vec![Reply::ThenSilence(Vec::new())]).await;
    let stub = Stub::saying("200 OK", b"{}").await;
    let mut asking = asking(&stub, client(&tokens));
    let declared = |members| with(tool("POST", "/pets", &[]), members);
    asking.config["tools"] = json!([
        declared(json!({"name": "patient"})),
        declared(json!({"name": "hasty", "timeout_ms": 1000})),
    ]);
    let connector = built(&asking).await.unwrap();
    let (patient, hasty) = (named(&*connector, "pets.patient"), named(&*connector, "pets.hasty"));
    let second = async {
        tokens.pause_after(1).await;
        let began = Instant::now();
        (run(&*hasty, json!({})).await, began.elapsed())
    };
    let (first, (second, took)) = tokio::join!(run(&*patient, json!({})), second);
    // What timed out is the token request of another, so the API has certainly received nothing.
    assert_eq!(word(&second), "failed tool_timeout");
    assert!(took < Duration::from_secs(2), "{took:?}");
    assert_eq!(second, first);
    assert_eq!((tokens.seen().len(), stub.seen().len()), (1, 0));
}

#[tokio::test]
async fn a_token_that_is_not_taken_is_renewed_once() {
    let granted = |name: &str| token(&json!({"access_token": name, "token_type": "Bearer"}));
    let tokens = Stub::new(vec![granted("one"), granted("two")]).await;
    let refused = Reply::Bytes(said("401 No", b""));
    let stub = Stub::new(vec![refused.clone(), Reply::Bytes(said("200 OK", b"{}"))]).await;
    let outcome = called(&asking(&stub, client(&tokens))).await;
    assert_eq!(word(&outcome), "succeeded");
    let seen = stub.seen();
    assert!(seen[0].contains("Bearer one") && seen[1].contains("Bearer two"), "{seen:?}");
    let tokens = Stub::new(vec![granted("one")]).await;
    let stub = Stub::new(vec![refused]).await;
    let outcome = called(&asking(&stub, client(&tokens))).await;
    assert_eq!(word(&outcome), "failed connector_auth_failed");
    assert_eq!((stub.seen().len(), tokens.seen().len()), (2, 2));
}

#[tokio::test]
async fn a_write_that_may_have_been_applied_is_not_sent_again_for_a_token() {
    let granted = json!({"access_token": "one", "token_type": "Bearer"});
    let tokens = Stub::new(vec![token(&granted)]).await;
    let stub = Stub::saying("401 No", b"").await;
    let mut asking = asking(&stub, client(&tokens));
    asking.config["tools"][0]["not_applied"] = json!([404]);
    assert_eq!(word(&called(&asking).await), "unknown connector_auth_failed");
    assert_eq!(stub.seen().len(), 1);
}

#[tokio::test]
async fn without_a_token_nothing_is_sent() {
    let other = json!({"access_token": "canary", "token_type": "mac"});
    let replies = [
        said("200 OK", b"{\"access_token\": \"can\nary\", \"token_type\": \"bearer\"}"),
        said("200 OK", other.to_string().as_bytes()),
        said("200 OK", b"{\"access_token\": {\"canary\": 1}}"),
        said("200 OK", &vec![b' '; 100_000]),
        said("400 canary", b"canary"),
        said("302 Go\r\nLocation: http://169.254.169.254/", b""),
        b"canary".to_vec(),
    ];
    for reply in replies {
        let tokens = Stub::new(vec![Reply::Bytes(reply)]).await;
        let stub = Stub::saying("200 OK", b"{}").await;
        let outcome = called(&asking(&stub, client(&tokens))).await;
        assert!(matches!(outcome, Outcome::Failed(_)), "{outcome:?}");
        assert!(
            stub.seen().is_empty() && !format!("{outcome:?}").contains("canary"),
            "{outcome:?}"
        );
    }
}

#[tokio::test]
async fn a_token_server_that_fails_is_out_of_reach_and_refuses_nobody() {
    for (status, expected) in [
        ("400 No", "failed connector_auth_failed"),
        ("401 No", "failed connector_auth_failed"),
        ("429 Later", "failed connector_unreachable"),
        ("500 No", "failed connector_unreachable"),
        ("503 Later", "failed connector_unreachable"),
    ] {
        let tokens = Stub::saying(status, b"").await;
        let stub = Stub::saying("200 OK", b"{}").await;
        assert_eq!(word(&called(&asking(&stub, client(&tokens))).await), expected, "{status}");
        assert!(stub.seen().is_empty(), "{status}");
    }
}

#[tokio::test]
async fn nothing_that_is_built_shows_a_secret() {
    let tokens = Stub::saying("500 No", b"").await;
    let table: [(&str, &[(&str, &str)]); 3] = [
        ("bearer", &[("token", "canary")]),
        ("basic", &[("username", "canary"), ("password", "canary")]),
        ("header", &[("name", "X-Key"), ("value", "canary")]),
    ];
    let stub = Stub::saying("200 OK", b"{}").await;
    let mut shown = vec![format!("{:?}", built(&asking(&stub, client(&tokens))).await.unwrap())];
    for (kind, fields) in table {
        let connector = built(&asking(&stub, credential(kind, fields))).await.unwrap();
        shown.push(format!("{connector:?}"));
    }
    for text in shown {
        assert!(!text.contains("canary") && !text.contains("Y2FuYXJ5"), "{text}");
    }
}

//! Requests that are wrong: each is refused with its status, code and `param`, and none is
//! recorded.

use serde_json::{Value, json};

use crate::{
    calls::caller,
    house::{Answer, Caller, Request, SharedHouse, call, exchange},
};

/// Sends a body as it stands.
async fn post(caller: &Caller, body: impl Into<bytes::Bytes>) -> Answer {
    let request = Request::raw("/v1/actions", body).header("Content-Type", "application/json");
    caller.send(request).await
}

/// The text of a call with these arguments, as written.
fn with_args(args: &str) -> String {
    format!("{{\"tool\":\"lab.note\",\"args\":{args},\"mode\":\"gateway\"}}")
}

async fn recorded(caller: &Caller) -> usize {
    let list = caller.read("/v1/actions?limit=100").await;
    list["data"].as_array().unwrap().len()
}

#[tokio::test]
async fn json_that_two_parsers_could_read_in_two_ways_is_refused() {
    let Some((_, caller)) = caller().await else { return };
    let (nul, lone) = ("\\u0000", "\\ud800");
    let cases = [
        ("{\"mark\":\"a\",\"mark\":\"b\"}".to_owned(), "a key twice"),
        ("{\"x\":{\"a\":1,\"a\":1}}".to_owned(), "a key twice, deeper"),
        ("{\"mark\":9007199254740992}".to_owned(), "2^53"),
        ("{\"mark\":9007199254740993}".to_owned(), "2^53 + 1"),
        ("{\"mark\":-9007199254740993}".to_owned(), "-(2^53 + 1)"),
        ("{\"mark\":1e400}".to_owned(), "no double"),
        (format!("{{\"mark\":\"{nul}\"}}"), "NUL"),
        (format!("{{\"{nul}\":1}}"), "NUL in a name"),
        (format!("{{\"mark\":\"{lone}\"}}"), "a lone surrogate"),
        (format!("{{\"mark\":{}1{}}}", "[".repeat(32), "]".repeat(32)), "33 levels"),
        ("{\"mark\":\"a\"".to_owned(), "no end"),
        ("{\"mark\":'a'}".to_owned(), "no JSON"),
        ("{\"mark\":01}".to_owned(), "a zero in front"),
    ];
    for (args, what) in cases {
        let error = post(&caller, with_args(&args)).await.is(400)["error"].clone();
        assert_eq!(error["code"], "validation_failed", "{what}: {error}");
        assert!(error["action"].is_null(), "{what}: {error}");
    }
    assert_eq!(recorded(&caller).await, 0);
}

#[tokio::test]
async fn the_name_of_the_member_at_fault_is_told() {
    let Some((_, caller)) = caller().await else { return };
    let digits = "{\"mark\":9007199254740993}";
    post(&caller, with_args(digits)).await.error(400, "validation_failed", Some("args"));
    let twice = "{\"tool\":\"lab.note\",\"tool\":\"lab.note\",\"args\":{}}";
    post(&caller, twice).await.error(400, "validation_failed", Some("tool"));
    let wrong = [
        (json!({ "args": {} }), "tool"),
        (json!({ "tool": "", "args": {} }), "tool"),
        (json!({ "tool": "x".repeat(201), "args": {} }), "tool"),
        (json!({ "tool": 7, "args": {} }), "tool"),
        (json!({ "tool": "lab.note" }), "args"),
        (json!({ "tool": "lab.note", "args": [] }), "args"),
        (json!({ "tool": "lab.note", "args": "x" }), "args"),
        (json!({ "tool": "lab.note", "args": {}, "mode": "fast" }), "mode"),
        (json!({ "tool": "lab.note", "args": {}, "wait": -1 }), "wait"),
        (json!({ "tool": "lab.note", "args": {}, "wait": 25.5 }), "wait"),
        (json!({ "tool": "lab.note", "args": {}, "wait": "5" }), "wait"),
        (json!({ "tool": "lab.note", "args": {}, "colour": "blue" }), "colour"),
        (json!({ "tool": "lab.note", "args": {}, "tool_digest": "sha256:0" }), "tool_digest"),
        (json!({ "tool": "crm.x", "args": {}, "mode": "proxy" }), "connector_type"),
        (json!({ "tool": "crm.x", "args": {}, "connector_type": "No" }), "connector_type"),
        (json!({ "tool": "lab.note", "args": {}, "context": { "client": 1 } }), "context.client"),
        (json!({ "tool": "lab.note", "args": {}, "context": { "shoes": 1 } }), "context.shoes"),
        (
            json!({ "tool": "lab.note", "args": {}, "context": { "transport": "A B" } }),
            "context.transport",
        ),
    ];
    for (body, param) in wrong {
        let answer = caller.send(Request::post("/v1/actions", &body)).await;
        answer.error(400, "validation_failed", Some(param));
    }
    assert_eq!(recorded(&caller).await, 0);
}

#[tokio::test]
async fn arguments_that_the_tool_does_not_take_are_refused_before_anything_is_recorded() {
    let Some((_, caller)) = caller().await else { return };
    for args in [json!({}), json!({ "mark": 7 }), json!({ "mark": "a", "more": 1 })] {
        let answer = caller.call("lab.note", args).await;
        answer.error(400, "validation_failed", Some("args"));
    }
    assert_eq!(recorded(&caller).await, 0);
}

#[tokio::test]
async fn arguments_of_the_largest_size_pass_and_one_byte_more_does_not() {
    let Some((shared, caller)) = caller().await else { return };
    let call = |bytes: usize| {
        let frame = "{\"text\":\"\"}".len();
        let args = json!({ "text": "x".repeat(bytes - frame) });
        crate::edge::edge_call(&args)
    };
    let largest = caller.send(Request::post("/v1/actions", &call(262_144))).await;
    assert_eq!(largest.ok()["status"], "authorized");
    let larger = caller.send(Request::post("/v1/actions", &call(262_145))).await;
    larger.error(400, "validation_failed", Some("args"));
    // A client that is still sending hears the answer too.
    for _ in 0..5 {
        let huge = caller.send(Request::post("/v1/actions", &call(3_000_000))).await;
        huge.error(413, "body_too_large", None);
    }
    let head = format!(
        "POST /v1/actions HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {}\r\n\
         Content-Type: application/json\r\nContent-Length: 3000000\r\n\r\n",
        caller.key.as_ref().unwrap()
    );
    let answer = exchange(shared.service.address, head.as_bytes()).await;
    assert!(answer.starts_with("HTTP/1.1 413") && answer.contains("body_too_large"), "{answer}");
    assert_eq!(recorded(&caller).await, 1);
}

#[tokio::test]
async fn a_body_that_is_no_json_by_its_type_is_refused() {
    let Some((_, caller)) = caller().await else { return };
    let body = call("lab.note", json!({ "mark": "no" })).to_string();
    for kind in ["text/plain", "application/x-www-form-urlencoded", "application/jsonp"] {
        let request = Request::raw("/v1/actions", body.clone()).header("Content-Type", kind);
        let answer = caller.send(request).await;
        assert_eq!(answer.is(415)["error"]["code"], "media_type_unsupported");
    }
    let bare = caller.send(Request::raw("/v1/actions", body.clone())).await;
    assert_eq!(bare.is(415)["error"]["code"], "media_type_unsupported");
    let request = Request::raw("/v1/actions", body).header("Content-Type", "application/json");
    let packed = caller.send(request.header("Content-Encoding", "gzip")).await;
    assert_eq!(packed.is(415)["error"]["code"], "media_type_unsupported");
    assert_eq!(recorded(&caller).await, 0);
}

#[tokio::test]
async fn unknown_and_repeated_query_parameters_are_refused() {
    let Some((_, caller)) = caller().await else { return };
    let cases = [
        ("/v1/actions?colour=blue", "colour"),
        ("/v1/actions?limit=1&limit=2", "limit"),
        ("/v1/actions?limit=0", "limit"),
        ("/v1/actions?limit=101", "limit"),
        ("/v1/actions?limit=many", "limit"),
        ("/v1/actions?state=sealed,", "state"),
        ("/v1/actions?state=melted", "state"),
        ("/v1/actions?decision=perhaps", "decision"),
        ("/v1/actions?verdict=verified", "verdict"),
        ("/v1/actions?level=L3", "level"),
        ("/v1/actions?q=x", "q"),
        ("/v1/actions?tool=*a*b*c*", "tool"),
        ("/v1/actions?created_at[gte]=yesterday", "created_at[gte]"),
        ("/v1/actions?created_at[lt]=2024-01-01", "created_at[lt]"),
        ("/v1/actions?shadow_differs=false", "shadow_differs"),
        ("/v1/actions?agent=agt_1", "agent"),
        ("/v1/actions?cursor=abc", "cursor"),
        ("/v1/actions?on_behalf_of=%ff", "on_behalf_of"),
        ("/v1/tools?include_hidden=yes", "include_hidden"),
        ("/v1/health?deep=true", "deep"),
    ];
    for (path, param) in cases {
        caller.get(path).await.error(400, "validation_failed", Some(param));
    }
}

#[tokio::test]
async fn bad_headers_are_refused_by_name() {
    let Some((_, caller)) = caller().await else { return };
    let body = call("lab.note", json!({ "mark": "no" }));
    let long = "x".repeat(257);
    let cases = [
        (422, "Service-On-Behalf-Of", ""),
        (422, "Service-On-Behalf-Of", "two words"),
        (422, "Service-On-Behalf-Of", &long),
        (422, "Service-Session", &long),
        (422, "Service-Session", "a b"),
        (422, "Service-Intent", "no jws"),
        (422, "Service-Intent", "a.b"),
        (400, "Idempotency-Key", ""),
        (400, "Idempotency-Key", &long),
    ];
    for (status, name, value) in cases {
        let request = Request::post("/v1/actions", &body).header(name, value);
        caller.send(request).await.error(status, "validation_failed", Some(name));
    }
    for name in ["Service-Session", "Service-On-Behalf-Of"] {
        let request = Request::post("/v1/actions", &body).header(name, "a").header(name, "a");
        caller.send(request).await.error(422, "validation_failed", Some(name));
    }
    let twice = Request::post("/v1/actions", &body).keyed("a").keyed("a");
    caller.send(twice).await.error(400, "validation_failed", Some("Idempotency-Key"));
    let version = Request::get("/v1/version").header("Service-Version", "1999-01-01");
    let answer = caller.send(version).await;
    assert_eq!(answer.is(400)["error"]["code"], "version_unsupported");
    assert_eq!(recorded(&caller).await, 0);
}

#[tokio::test]
async fn an_intent_that_the_agents_mode_ignores_is_told_as_ignored() {
    let Some((_, caller)) = caller().await else { return };
    let body = call("lab.sleep", json!({ "milliseconds": 0 }));
    let request = Request::post("/v1/actions", &body).header("Service-Intent", "e30.e30.c2ln");
    let action = caller.send(request).await.ok();
    let intent = caller.detail(&action).await["deeds"][0]["body"]["action"]["intent"].clone();
    assert_eq!((&intent["mode"], &intent["status"]), (&json!("off"), &json!("ignored")));
}

#[tokio::test]
async fn requests_that_two_servers_could_read_in_two_ways_are_refused() {
    let Some(shared) = SharedHouse::get().await else { return };
    let address = shared.service.address;
    let heads = [
        "GET /v1/version HTTP/1.1\r\n\r\n",
        "GET /v1/version HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        "GET /v1/version HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer x\r\nAuthorization: Bearer y\r\n\r\n",
        "GET http://b/v1/version HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET /v1/../v1/version HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET /v1/version HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}",
        "GET /v1/version HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: upgrade\r\n\r\n",
        "POST /v1/actions HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
        "POST /v1/actions HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
        "POST /v1/actions HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    ];
    for head in heads {
        let answer = exchange(address, head.as_bytes()).await;
        assert!(answer.starts_with("HTTP/1.1 400"), "{head}\n{answer}");
    }
    let traced = exchange(address, b"TRACE /v1/version HTTP/1.1\r\nHost: a\r\n\r\n").await;
    assert!(traced.starts_with("HTTP/1.1 405"), "{traced}");
}

#[tokio::test]
async fn paths_match_exactly_and_methods_are_named() {
    let Some((_, caller)) = caller().await else { return };
    for path in ["/v1/health/", "//v1/health", "/V1/health", "/v1", "/v1/overviews", "/nothing"] {
        caller.get(path).await.error(404, "route_unknown", None);
    }
    let answer = caller.send(Request::post("/v1/health", &json!({}))).await;
    answer.error(405, "method_not_allowed", None);
    assert!(answer.header("allow").unwrap().contains("GET"));
    for id in ["act_1", "agt_00000000000000000000000000", "act_8zzzzzzzzzzzzzzzzzzzzzzzzz"] {
        caller.get(&format!("/v1/actions/{id}")).await.error(404, "not_found", None);
    }
}

#[tokio::test]
async fn every_error_leads_to_a_page_that_explains_it() {
    let Some((_, caller)) = caller().await else { return };
    let error = caller.get("/v1/actions/act_1").await.error(404, "not_found", None);
    let page = error["doc_url"].as_str().unwrap();
    let path = page.split_once("//").unwrap().1.split_once('/').unwrap().1;
    let page = caller.get(&format!("/{path}")).await;
    assert!(String::from_utf8_lossy(&page.body).contains("not_found"));
    assert_ne!(error["message"], Value::Null);
}

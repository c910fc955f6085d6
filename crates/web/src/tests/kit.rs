//! The way of a request through the router.

use super::support::*;

fn get(path: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
}

fn post(path: &str, key: &str, more: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "POST {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\nAuthorization: Bearer {key}\r\n\
         Content-Type: application/json\r\nContent-Length: {length}\r\n{more}\r\n{body}"
    )
}

#[tokio::test]
async fn every_response_carries_its_request_id_and_versioned_ones_the_version() {
    let server = start(quick()).await;
    for path in ["/v1/ping", "/v1/nothing", "/v1/never/again"] {
        let answer = exchange(server.address, get(path)).await;
        let id = header(&answer, "service-request-id").unwrap();
        assert!(id.parse::<model::RequestId>().is_ok(), "{id}");
        assert_eq!(header(&answer, "service-version"), Some("2026-10-01"));
        assert_eq!(header(&answer, "cache-control"), Some("no-store"));
        if let (404, body) = parsed(&answer) {
            assert_eq!(body["error"]["request_id"], id);
            assert_eq!(body["error"]["doc_url"], "http://test/docs/errors/route_unknown");
        }
    }
    let answer = exchange(server.address, get("/nothing")).await;
    assert_eq!(header(&answer, "service-version"), None);
}

#[tokio::test]
async fn the_envelope_has_its_six_fields_always() {
    let server = start(quick()).await;
    let (_, body) = parsed(&exchange(server.address, get("/nothing")).await);
    let mut names: Vec<&str> =
        body["error"].as_object().unwrap().keys().map(String::as_str).collect();
    names.sort_unstable();
    assert_eq!(names, ["code", "doc_url", "message", "param", "request_id", "type"]);
}

#[tokio::test]
async fn an_unknown_version_is_refused_and_a_known_one_taken() {
    let server = start(quick()).await;
    let with = |version: &str| {
        format!("GET /v1/ping HTTP/1.1\r\nHost: a\r\nConnection: close\r\n{version}\r\n")
    };
    let known = exchange(server.address, with("Service-Version: 2026-10-01\r\n")).await;
    assert_eq!(parsed(&known).0, 200);
    for version in [
        "Service-Version: 2025-01-01\r\n",
        "Service-Version: \r\n",
        "Service-Version: 2026-10-01\r\nService-Version: 2026-10-01\r\n",
    ] {
        let (status, body) = parsed(&exchange(server.address, with(version)).await);
        assert_eq!((status, body["error"]["code"].as_str()), (400, Some("version_unsupported")));
        assert_eq!(body["error"]["param"], "Service-Version");
    }
}

#[tokio::test]
async fn a_wrong_method_is_told_which_ones_there_are() {
    let server = start(quick()).await;
    let request = "DELETE /v1/ping HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
    let answer = exchange(server.address, request).await;
    assert_eq!(parsed(&answer).0, 405);
    assert_eq!(header(&answer, "allow"), Some("GET, HEAD"));
    let answer = exchange(server.address, get("/v1/echo")).await;
    assert_eq!(header(&answer, "allow"), Some("POST"));
}

#[tokio::test]
async fn head_is_get_without_its_body() {
    let server = start(quick()).await;
    let answer = exchange(server.address, get("/v1/ping").replace("GET", "HEAD")).await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert_eq!(header(&answer, "content-length"), Some("13"));
    assert!(answer.ends_with("\r\n\r\n"), "{answer}");
}

#[tokio::test]
async fn a_path_parameter_is_decoded_once() {
    let server = start(quick()).await;
    let (_, body) = parsed(&exchange(server.address, get("/v1/item/a%2Fb%2520c")).await);
    assert_eq!(body["name"], "a/b%20c");
    let (status, _) = parsed(&exchange(server.address, get("/v1/item/%ff")).await);
    assert_eq!(status, 404);
    let (status, _) = parsed(&exchange(server.address, get("/v1/item/a%00")).await);
    assert_eq!(status, 404);
}

#[tokio::test]
async fn a_panic_is_a_500_envelope_and_the_server_lives_on() {
    let server = start(quick()).await;
    let request = "POST /v1/panic HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
    let (status, body) = parsed(&exchange(server.address, request).await);
    assert_eq!((status, body["error"]["code"].as_str()), (500, Some("internal_error")));
    assert_eq!(body["error"]["type"], "api_error");
    assert_eq!(parsed(&exchange(server.address, get("/v1/ping")).await).0, 200);
}

#[tokio::test]
async fn queries_are_read_strictly() {
    let server = start(quick()).await;
    for (query, param) in [
        ("n=1&n=2", "n"),
        ("m=1", "m"),
        ("n=%ff", "n"),
        ("n=%4", "n"),
        ("n=%00", "n"),
        ("n=a%00b", "n"),
        ("n%00=1", "n%00"),
        ("%6E=1&n=2", "n"),
        ("n[x]=1", "n[x]"),
    ] {
        let answer = exchange(server.address, get(&format!("/v1/ping?{query}"))).await;
        let (status, body) = parsed(&answer);
        assert_eq!(status, 400, "{query}");
        assert_eq!(body["error"]["param"], param, "{query}");
    }
    let (_, body) = parsed(&exchange(server.address, get("/v1/ping?n=a+b%2Bc")).await);
    assert_eq!(body["pong"], "a b+c");
}

#[tokio::test]
async fn credentials_are_judged_before_the_body() {
    let server = start(quick()).await;
    #[rustfmt::skip]
    let cases = [
        ("svc_live_nobody", 401, "unauthenticated",    Some(r#"Bearer realm="service", error="invalid_token", error_description="the API key is not valid""#)),
        (ORG,               403, "insufficient_scope", Some(r#"Bearer realm="service", error="insufficient_scope", scope="actions:execute""#)),
        (READ_ONLY,         403, "insufficient_scope", Some(r#"Bearer realm="service", error="insufficient_scope", scope="actions:execute""#)),
        ("svc_live_down",   503, "service_unavailable", None),
    ];
    for (key, status, code, challenge) in cases {
        let answer = exchange(server.address, post("/v1/echo", key, "", "not json")).await;
        let (got, body) = parsed(&answer);
        assert_eq!((got, body["error"]["code"].as_str()), (status, Some(code)));
        assert_eq!(header(&answer, "www-authenticate"), challenge);
        assert_eq!(header(&answer, "retry-after"), (status == 503).then_some("1"));
    }
    let agent = format!(
        "GET /v1/settings HTTP/1.1\r\nHost: a\r\nConnection: close\r\nAuthorization: Bearer {AGENT}\r\n\r\n"
    );
    let answer = exchange(server.address, agent).await;
    assert_eq!(parsed(&answer).0, 403);
    assert!(header(&answer, "www-authenticate").unwrap().ends_with(r#"scope="admin""#));
}

#[tokio::test]
async fn a_missing_or_other_credential_is_the_same_401() {
    let server = start(quick()).await;
    for credential in ["", "Authorization: Basic YTpi\r\n", "Authorization: Bearer\r\n"] {
        let request = format!(
            "POST /v1/echo HTTP/1.1\r\nHost: a\r\nConnection: close\r\n{credential}Content-Length: 0\r\n\r\n"
        );
        let answer = exchange(server.address, request).await;
        assert_eq!(parsed(&answer).0, 401, "{answer}");
        assert!(header(&answer, "www-authenticate").unwrap().contains("invalid_token"));
    }
}

#[tokio::test]
async fn a_body_is_one_object_of_known_members() {
    let server = start(quick()).await;
    #[rustfmt::skip]
    let cases = [
        (r#"{"name":"a"}"#,                        200, None),
        ("",                                       400, None),
        ("[]",                                     400, None),
        ("null",                                   400, None),
        (r#"{"name":"a"} {}"#,                     400, None),
        (r#"{"name":"a",}"#,                       400, None),
        ("\u{feff}{}",                             400, None),
        ("{}",                                     400, Some("name")),
        (r#"{"name":1}"#,                          400, Some("name")),
        (r#"{"name":null}"#,                       400, Some("name")),
        (r#"{"name":"a","name":"b"}"#,             400, Some("name")),
        (r#"{"name":"a","nmae":"b"}"#,             400, Some("nmae")),
        (r#"{"name":"a","args":{"x":1,"x":2}}"#,   400, Some("args")),
        (r#"{"name":"a","args":9007199254740993}"#,400, Some("args")),
        (r#"{"name":"a","args":"\ud800"}"#,        400, Some("args")),
        (r#"{"name":"a","args":"\u0000"}"#,        400, Some("args")),
    ];
    for (text, status, param) in cases {
        let answer = exchange(server.address, post("/v1/echo", AGENT, "", text)).await;
        let (got, body) = parsed(&answer);
        assert_eq!(got, status, "{text}: {answer}");
        assert_eq!(body["error"]["param"].as_str(), param, "{text}");
    }
}

#[tokio::test]
async fn a_body_over_the_limit_is_refused_before_it_is_read() {
    let server = start(quick()).await;
    let head = "POST /v1/echo HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n";
    let key = format!("Authorization: Bearer {AGENT}\r\n");
    // Announced and never sent: the answer must not wait for it.
    let announced = format!("{head}{key}Content-Length: 65\r\nExpect: 100-continue\r\n\r\n");
    let answer = exchange(server.address, announced).await;
    assert!(answer.starts_with("HTTP/1.1 413"), "{answer}");
    assert!(!answer.contains("100 Continue"));
    let chunk = format!("20\r\n{}\r\n", "a".repeat(32));
    let chunked =
        format!("{head}{key}Transfer-Encoding: chunked\r\n\r\n{}0\r\n\r\n", chunk.repeat(3));
    let (status, body) = parsed(&exchange(server.address, chunked).await);
    assert_eq!((status, body["error"]["code"].as_str()), (413, Some("body_too_large")));
    let exact = format!(r#"{{"name":"{}"}}"#, "a".repeat(53));
    assert_eq!(exact.len(), 64);
    assert_eq!(parsed(&exchange(server.address, post("/v1/echo", AGENT, "", &exact)).await).0, 200);
}

#[tokio::test]
async fn a_body_of_another_media_type_is_refused() {
    let server = start(quick()).await;
    let request = post("/v1/echo", AGENT, "", "{}");
    for other in ["text/plain", "application/json; charset=latin1", "application/jsonx"] {
        let other = request.replace("application/json", other);
        let (status, body) = parsed(&exchange(server.address, other).await);
        assert_eq!(status, 415);
        assert_eq!(body["error"]["param"], "Content-Type");
    }
    let utf8 = post("/v1/echo", AGENT, "", r#"{"name":"a"}"#)
        .replace("application/json", "Application/JSON; charset=UTF-8");
    assert_eq!(parsed(&exchange(server.address, utf8).await).0, 200);
}

#[tokio::test]
async fn a_body_where_none_belongs_is_refused() {
    let server = start(quick()).await;
    let (status, body) =
        parsed(&exchange(server.address, post("/v1/panic", AGENT, "", "{}")).await);
    assert_eq!((status, body["error"]["code"].as_str()), (400, Some("validation_failed")));
}

#[tokio::test]
async fn an_idempotency_key_is_1_to_255_printable_characters() {
    let server = start(quick()).await;
    let send = |key: String| {
        let more = format!("Idempotency-Key: {key}\r\n");
        exchange(server.address, post("/v1/echo", AGENT, &more, r#"{"name":"a"}"#))
    };
    assert_eq!(parsed(&send("k".repeat(255)).await).1["key"], "k".repeat(255));
    for bad in [String::new(), "k".repeat(256), "a\tb".to_owned()] {
        let (status, body) = parsed(&send(bad).await);
        assert_eq!((status, body["error"]["param"].as_str()), (400, Some("Idempotency-Key")));
    }
}

#[tokio::test(start_paused = true)]
async fn a_handler_that_takes_too_long_is_a_503() {
    let request = http::Request::get("/v1/never").header("host", "a");
    let body = http_body_util::Empty::<bytes::Bytes>::new();
    let (_control, lifecycle) = crate::Control::new();
    let router = router(crate::TrustedProxies::default(), lifecycle);
    let response = router.answer(request.body(body).unwrap()).await;
    assert_eq!(response.status(), 503);
    assert_eq!(response.headers()["retry-after"], "1");
}

//! The requests that calls come to, and that no argument makes another of them.

use serde_json::{Value, json};

use super::world::{
    ACTION, Stub, blueprint, built, config, named, outcome, result, run, tool, with,
};

/// The request line and the body of the one request that a call comes to.
pub(super) async fn asked(declared: Value, args: Value) -> (String, String) {
    let stub = Stub::saying("200 OK", b"{}").await;
    result(&stub, declared, args).await;
    let seen = stub.seen();
    assert_eq!(seen.len(), 1);
    let (head, body) = seen[0].split_once("\r\n\r\n").unwrap();
    (head.lines().next().unwrap().to_owned(), body.to_owned())
}

#[tokio::test]
async fn arguments_go_where_the_tool_says() {
    let args = ["pet", "limit", "tags", "filter", "raw"];
    let parameters = json!({"parameters": [
        {"in": "query", "name": "page[size]", "arg": "limit"},
        {"in": "query", "name": "tag", "arg": "tags"},
        {"in": "query", "name": "filter", "style": "deep_object"},
        {"in": "query", "name": "raw", "style": "json"},
    ]});
    let declared = with(tool("GET", "/pets/{pet}/toys", &args), parameters);
    let call = json!({
        "pet": "a b;ü", "limit": 5, "tags": ["x", "y&z=1"],
        "filter": {"age": 3, "kind": "cat"}, "raw": {"a": [1]},
    });
    let (line, body) = asked(declared, call).await;
    let expected = "GET /pets/a%20b%3B%C3%BC/toys?page%5Bsize%5D=5&tag=x&tag=y%26z%3D1\
                    &filter%5Bage%5D=3&filter%5Bkind%5D=cat\
                    &raw=%7B%22a%22%3A%5B1%5D%7D HTTP/1.1";
    assert_eq!((&*line, &*body), (expected, ""));
}

#[tokio::test]
async fn what_nothing_is_said_of_is_query_or_body_by_the_method() {
    let (line, body) = asked(tool("GET", "/pets", &["b", "a"]), json!({"a": true, "b": "x"})).await;
    assert_eq!((&*line, &*body), ("GET /pets?a=true&b=x HTTP/1.1", ""));
    let (line, body) = asked(tool("DELETE", "/pets", &["a"]), json!({"a": 1})).await;
    assert_eq!((&*line, &*body), ("DELETE /pets?a=1 HTTP/1.1", ""));
    let called = json!({"pet": 7, "name": "Rex", "toys": [1, null]});
    let (line, body) = asked(tool("PUT", "/pets/{pet}", &["pet", "name", "toys"]), called).await;
    assert_eq!((&*line, &*body), ("PUT /pets/7 HTTP/1.1", r#"{"name":"Rex","toys":[1,null]}"#));
}

#[tokio::test]
async fn a_body_can_be_one_argument() {
    let declared = with(tool("POST", "/pets", &["pets"]), json!({"body": {"arg": "pets"}}));
    let (_, body) = asked(declared.clone(), json!({"pets": [{"name": "Rex"}]})).await;
    assert_eq!(body, r#"[{"name":"Rex"}]"#);
    let (_, body) = asked(declared, json!({})).await;
    assert_eq!(body, "");
}

#[tokio::test]
async fn arguments_that_are_left_out_are_not_sent() {
    let (line, _) = asked(tool("GET", "/pets", &["a", "b"]), json!({"b": null})).await;
    assert_eq!(line, "GET /pets HTTP/1.1");
}

#[tokio::test]
async fn headers_are_the_configs_the_calls_and_the_actions() {
    let stub = Stub::saying("200 OK", b"{}").await;
    let declared = with(
        tool("POST", "/pets", &["trace", "name"]),
        json!({
            "parameters": [{"in": "header", "name": "X-Trace", "arg": "trace"}],
            "idempotency_header": "Idempotency-Key",
        }),
    );
    let mut config = config(&stub, json!([declared]));
    config["headers"] = json!({"X-Api-Version": "2024-01-01"});
    let connector = built(&blueprint(config)).await.unwrap();
    run(&*named(&*connector, "pets.tool"), json!({"trace": "t-1", "name": "Rex"})).await;
    let seen = stub.seen()[0].to_lowercase();
    for line in [
        "x-api-version: 2024-01-01",
        "x-trace: t-1",
        &format!("idempotency-key: {ACTION}"),
        "content-type: application/json",
        "accept: application/json, */*;q=0.1",
        "accept-encoding: identity",
        "user-agent: chancery",
    ] {
        assert!(seen.contains(&format!("\r\n{line}\r\n")), "{line}: {seen}");
    }
    assert!(!seen.contains("authorization"));
}

#[tokio::test]
async fn a_header_that_is_an_argument_takes_the_place_of_the_connectors() {
    let parameters =
        json!({"parameters": [{"in": "header", "name": "User-Agent", "arg": "agent"}]});
    let declared = with(tool("GET", "/pets", &["agent"]), parameters);
    let stub = Stub::saying("200 OK", b"{}").await;
    outcome(&stub, declared, json!({"agent": "me"})).await;
    let seen = stub.seen()[0].to_lowercase();
    assert!(seen.contains("\r\nuser-agent: me\r\n"), "{seen}");
    assert_eq!(seen.matches("user-agent").count(), 1, "{seen}");
}

#[tokio::test]
async fn an_argument_is_one_segment_of_the_path() {
    let stub = Stub::saying("200 OK", b"{}").await;
    let declared = tool("GET", "/pets/{pet}", &["pet"]);
    let connector = built(&blueprint(config(&stub, json!([declared.clone()])))).await.unwrap();
    let tool = named(&*connector, "pets.tool");
    let steps = ["", ".", "..", "../admin", "a/..", "a/../b", "..\\admin", "./x"];
    let encoded = ["%2e%2e", ".%2E", "%252e%252e", "..%2frefunds%2f7", "a%2Fb", "a%5cb", "%2f"];
    let others = [
        "a/b",
        "a\\b",
        "../refunds/7",
        "..;x",
        ";",
        "..?x",
        "..#x",
        "a\r\nHost: x",
        "a%00",
        "%25252525252541",
    ];
    for bad in steps.iter().chain(&encoded).chain(&others) {
        let error = tool.check_args(&json!({"pet": bad})).unwrap_err();
        assert!(error.starts_with("/pet: expected"), "{bad}: {error}");
    }
    for bad in [json!(null), json!([]), json!({})] {
        assert!(tool.check_args(&json!({"pet": bad})).is_err());
    }
    // Two arguments of one segment make no step together.
    let two = super::world::tool("GET", "/pets/{a}{b}", &["a", "b"]);
    let connector = built(&blueprint(config(&stub, json!([two])))).await.unwrap();
    let tool = named(&*connector, "pets.tool");
    for (one, other) in [("%2", "e."), ("%2e%2", "e"), ("a%2", "fb")] {
        let error = tool.check_args(&json!({"a": one, "b": other})).unwrap_err();
        assert!(error.starts_with("/b: expected"), "{one}{other}: {error}");
    }
    tool.check_args(&json!({"a": "x", "b": "."})).unwrap_err();
    tool.check_args(&json!({"a": "x", "b": "y"})).unwrap();
    for (value, path) in [
        ("a?admin=1", "/pets/a%3Fadmin%3D1"),
        ("a#x", "/pets/a%23x"),
        ("a;b", "/pets/a%3Bb"),
        ("100%", "/pets/100%25"),
        ("%zz%+5", "/pets/%25zz%25%2B5"),
        (&*"x".repeat(300), &*format!("/pets/{}", "x".repeat(300))),
        ("a?b=c#d", "/pets/a%3Fb%3Dc%23d"),
        ("a%2e%2e", "/pets/a%252e%252e"),
        ("a;b=c", "/pets/a%3Bb%3Dc"),
        ("@evil.example", "/pets/%40evil.example"),
        ("...", "/pets/..."),
    ] {
        let (line, _) = asked(declared.clone(), json!({"pet": value})).await;
        assert_eq!(line, format!("GET {path} HTTP/1.1"));
    }
}

#[tokio::test]
async fn an_argument_is_one_line_of_a_header() {
    let stub = Stub::saying("200 OK", b"{}").await;
    let declared = with(
        tool("GET", "/pets", &["trace"]),
        json!({"parameters": [{"in": "header", "name": "X-Trace", "arg": "trace"}]}),
    );
    let connector = built(&blueprint(config(&stub, json!([declared])))).await.unwrap();
    let tool = named(&*connector, "pets.tool");
    for bad in [json!("a\r\nHost: x"), json!("a\0"), json!("ü"), json!({"a": [1]}), json!([[1]])] {
        let error = tool.check_args(&json!({"trace": bad})).unwrap_err();
        assert!(error.starts_with("/trace: expected"), "{error}");
    }
}

#[tokio::test]
async fn an_address_that_grows_too_long_is_refused() {
    let stub = Stub::saying("200 OK", b"{}").await;
    let declared = tool("GET", "/pets", &["a"]);
    let connector = built(&blueprint(config(&stub, json!([declared])))).await.unwrap();
    let tool = named(&*connector, "pets.tool");
    let error = tool.check_args(&json!({"a": "x".repeat(9_000)})).unwrap_err();
    assert!(error.contains("8192 bytes"), "{error}");
}

#[tokio::test]
async fn the_base_has_a_path_of_its_own() {
    let stub = Stub::saying("200 OK", b"{}").await;
    for base in ["/v1", "/v1/"] {
        let mut config = config(&stub, json!([tool("GET", "/pets", &[])]));
        config["base_url"] = json!(format!("{}{base}", stub.url()));
        let connector = built(&blueprint(config)).await.unwrap();
        run(&*named(&*connector, "pets.tool"), json!({})).await;
    }
    assert!(stub.seen().iter().all(|seen| seen.starts_with("GET /v1/pets HTTP/1.1\r\n")));
}

#[tokio::test]
async fn a_read_is_asked_for_again_on_a_new_connection() {
    use super::world::{Reply, said};
    let stub =
        Stub::new(vec![Reply::ThenReset(Vec::new()), Reply::Bytes(said("200 OK", b"1"))]).await;
    let found = outcome(&stub, tool("GET", "/pets", &[]), json!({})).await;
    assert!(matches!(found, model::Outcome::Succeeded { .. }), "{found:?}");
    assert_eq!(stub.seen().len(), 2);
}

//! Requests that two parsers may read differently.

use super::support::*;

struct Case {
    name: &'static str,
    request: &'static str,
    status: u16,
    code: &'static str,
    param: Option<&'static str>,
}

const fn case(
    name: &'static str,
    request: &'static str,
    status: u16,
    code: &'static str,
    param: Option<&'static str>,
) -> Case {
    Case { name, request, status, code, param }
}

const BAD: &str = "validation_failed";

#[rustfmt::skip]
const REFUSED: &[Case] = &[
    case("no host",             "GET /v1/ping HTTP/1.1\r\n\r\n", 400, BAD, Some("Host")),
    case("empty host",          "GET /v1/ping HTTP/1.1\r\nHost:\r\n\r\n", 400, BAD, Some("Host")),
    case("two hosts",           "GET /v1/ping HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n", 400, BAD, Some("Host")),
    case("two credentials",     "GET /v1/ping HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer x\r\nAuthorization: Bearer y\r\n\r\n", 400, BAD, Some("Authorization")),
    case("coding twice",        "POST /v1/echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400, BAD, Some("Transfer-Encoding")),
    case("coding with more",    "POST /v1/echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: identity, chunked\r\n\r\n0\r\n\r\n", 400, BAD, Some("Transfer-Encoding")),
    case("latin-1 header",      "GET /v1/ping HTTP/1.1\r\nHost: a\r\nX-Name: \u{e9}\r\n\r\n", 400, BAD, Some("x-name")),
    case("other authority",     "GET http://b/v1/ping HTTP/1.1\r\nHost: a\r\n\r\n", 400, BAD, Some("Host")),
    case("get with body",       "GET /v1/ping HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nx", 400, BAD, None),
    case("get with chunks",     "GET /v1/ping HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400, BAD, None),
    case("trace",               "TRACE /v1/ping HTTP/1.1\r\nHost: a\r\n\r\n", 405, "method_not_allowed", None),
    case("dot segment",         "GET /v1/./ping HTTP/1.1\r\nHost: a\r\n\r\n", 400, BAD, None),
    case("dot-dot segment",     "GET /v1/x/../ping HTTP/1.1\r\nHost: a\r\n\r\n", 400, BAD, None),
    case("encoded dot-dot",     "GET /v1/x/%2E%2e/ping HTTP/1.1\r\nHost: a\r\n\r\n", 400, BAD, None),
    case("compressed body",     "POST /v1/echo HTTP/1.1\r\nHost: a\r\nContent-Encoding: gzip\r\nContent-Length: 0\r\n\r\n", 415, "media_type_unsupported", Some("Content-Encoding")),
    case("odd expectation",     "POST /v1/echo HTTP/1.1\r\nHost: a\r\nExpect: 200-ok\r\nContent-Length: 0\r\n\r\n", 400, BAD, Some("Expect")),
    case("upgrade",             "GET /v1/ping HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: h2c\r\n\r\n", 400, BAD, Some("Upgrade")),
    case("two idempotency keys","POST /v1/echo HTTP/1.1\r\nHost: a\r\nIdempotency-Key: a\r\nIdempotency-Key: a\r\nContent-Length: 0\r\n\r\n", 400, BAD, Some("Idempotency-Key")),
    case("double slash",        "GET //v1/ping HTTP/1.1\r\nHost: a\r\n\r\n", 404, "route_unknown", None),
    case("slash at the end",    "GET /v1/ping/ HTTP/1.1\r\nHost: a\r\n\r\n", 404, "route_unknown", None),
    case("other case",          "GET /V1/ping HTTP/1.1\r\nHost: a\r\n\r\n", 404, "route_unknown", None),
];

#[tokio::test]
async fn a_request_that_two_parsers_may_read_differently_is_refused_in_the_envelope() {
    let server = start(quick()).await;
    for case in REFUSED {
        let answer = exchange(server.address, case.request).await;
        let (status, body) = parsed(&answer);
        assert_eq!(status, case.status, "{}: {answer}", case.name);
        assert_eq!(body["error"]["code"], case.code, "{}", case.name);
        assert_eq!(body["error"]["param"].as_str(), case.param, "{}", case.name);
        assert_eq!(answer.matches("HTTP/1.1 ").count(), 1, "{}: {answer}", case.name);
    }
}

#[tokio::test]
async fn what_is_no_http_is_refused_and_the_connection_closed() {
    let server = start(quick()).await;
    #[rustfmt::skip]
    let corpus = [
        "GET /v1/ping HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nx",
        "GET /v1/ping HTTP/1.1\r\nHost: a\r\nContent-Length: +2\r\n\r\nxx",
        "GET /v1/ping HTTP/1.1\r\nHost: a\r\nX: a\r\n b\r\n\r\n",
        "GET /v1/ping HTTP/1.1\r\nHost : a\r\n\r\n",
        "GET /v1/ping HTTP/1.1\r\nHost: a\0b\r\n\r\n",
        "POST /v1/echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
        "GET  HTTP/1.1\r\nHost: a\r\n\r\n",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    ];
    for request in corpus {
        let answer =
            exchange(server.address, format!("{request}GET /v1/ping HTTP/1.1\r\nHost: a\r\n\r\n"))
                .await;
        assert!(!answer.contains("pong"), "{request:?}: {answer}");
    }
}

#[tokio::test]
async fn nothing_is_read_as_a_second_request_behind_a_length_and_a_coding() {
    let server = start(quick()).await;
    let inner = "GET /v1/ping HTTP/1.1\r\nHost: a\r\n\r\n";
    for order in [
        "Content-Length: 5\r\nTransfer-Encoding: chunked",
        "Transfer-Encoding: chunked\r\nContent-Length: 5",
    ] {
        let request =
            format!("POST /v1/panic HTTP/1.1\r\nHost: a\r\n{order}\r\n\r\n0\r\n\r\n{inner}");
        let answer = exchange(server.address, request).await;
        assert_eq!(answer.matches("HTTP/1.1 ").count(), 1, "{order}: {answer}");
        assert!(!answer.contains("pong"), "{answer}");
    }
}

#[tokio::test]
async fn too_much_head_is_refused_in_the_envelope() {
    let server = start(quick()).await;
    let long = format!("GET /v1/ping?n={} HTTP/1.1\r\nHost: a\r\n\r\n", "a".repeat(9_000));
    let (status, body) = parsed(&exchange(server.address, long).await);
    assert_eq!((status, body["error"]["code"].as_str()), (414, Some("uri_too_long")));
    let fat = format!("GET /v1/ping HTTP/1.1\r\nHost: a\r\nX: {}\r\n\r\n", "a".repeat(33_000));
    let many = format!("GET /v1/ping HTTP/1.1\r\nHost: a\r\n{}\r\n", "X: a\r\n".repeat(80));
    for request in [fat, many] {
        let (status, body) = parsed(&exchange(server.address, request).await);
        assert_eq!((status, body["error"]["code"].as_str()), (431, Some("headers_too_large")));
    }
}

#[tokio::test]
async fn absolute_form_of_the_same_host_is_a_request_like_any_other() {
    let server = start(quick()).await;
    let request = "GET http://a/v1/ping?n=1 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
    assert_eq!(parsed(&exchange(server.address, request).await).1["pong"], "1");
}

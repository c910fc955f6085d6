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
    case("bare line feed, request line", "GET /v1/ping HTTP/1.1\nHost: a\r\n\r\n", 400, BAD, None),
    case("bare line feed, header", "GET /v1/ping HTTP/1.1\r\nHost: a\n\r\n", 400, BAD, None),
    case("bare line feed, end of head", "GET /v1/ping HTTP/1.1\r\nHost: a\r\n\n", 400, BAD, None),
    case("http/1.0 without host", "GET /v1/ping HTTP/1.0\r\n\r\n", 400, BAD, Some("Host")),
    case("no host",             "GET /v1/ping HTTP/1.1\r\n\r\n", 400, BAD, Some("Host")),
    case("empty host",          "GET /v1/ping HTTP/1.1\r\nHost:\r\n\r\n", 400, BAD, Some("Host")),
    case("host with a space",   "GET /v1/ping HTTP/1.1\r\nHost: a b\r\n\r\n", 400, BAD, Some("Host")),
    case("host with a slash",   "GET /v1/ping HTTP/1.1\r\nHost: a/b\r\n\r\n", 400, BAD, Some("Host")),
    case("host with a user",    "GET /v1/ping HTTP/1.1\r\nHost: u@a\r\n\r\n", 400, BAD, Some("Host")),
    case("host with odd port",  "GET /v1/ping HTTP/1.1\r\nHost: a:b\r\n\r\n", 400, BAD, Some("Host")),
    case("fragment",            "GET /v1/ping#x HTTP/1.1\r\nHost: a\r\n\r\n", 400, BAD, None),
    case("fragment in a query", "GET /v1/ping?n=1#x HTTP/1.1\r\nHost: a\r\n\r\n", 400, BAD, None),
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
        assert_eq!(answer.matches("HTTP/1.").count(), 1, "{}: {answer}", case.name);
    }
}

#[tokio::test]
async fn what_is_no_http_is_refused_in_the_envelope_and_the_connection_closed() {
    let server = start(quick()).await;
    #[rustfmt::skip]
    let corpus = [
        ("two lengths",           "GET /v1/ping HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nx"),
        ("signed length",         "GET /v1/ping HTTP/1.1\r\nHost: a\r\nContent-Length: +2\r\n\r\nxx"),
        ("hexadecimal length",    "GET /v1/ping HTTP/1.1\r\nHost: a\r\nContent-Length: 0x2\r\n\r\nxx"),
        ("list of lengths",       "GET /v1/ping HTTP/1.1\r\nHost: a\r\nContent-Length: 2, 2\r\n\r\nxx"),
        ("negative length",       "GET /v1/ping HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n"),
        ("folded header",         "GET /v1/ping HTTP/1.1\r\nHost: a\r\nX: a\r\n b\r\n\r\n"),
        ("space before a colon",  "GET /v1/ping HTTP/1.1\r\nHost : a\r\n\r\n"),
        ("NUL in a header",       "GET /v1/ping HTTP/1.1\r\nHost: a\0b\r\n\r\n"),
        ("bare return in header", "GET /v1/ping HTTP/1.1\r\nHost: a\rX: b\r\n\r\n"),
        ("unknown coding",        "POST /v1/echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n"),
        ("chunk of no size",      "POST /v1/panic HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n\r\n"),
        ("no target",             "GET  HTTP/1.1\r\nHost: a\r\n\r\n"),
        ("HTTP/0.9",              "GET /v1/ping\r\n"),
        ("HTTP/3.7",              "GET /v1/ping HTTP/3.7\r\nHost: a\r\n\r\n"),
        ("preface of HTTP/2",     "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
        ("hello of TLS",          "\u{16}\u{3}\u{1}\u{2}\0\u{1}\0"),
    ];
    for (name, request) in corpus {
        let answer =
            exchange(server.address, format!("{request}GET /v1/ping HTTP/1.1\r\nHost: a\r\n\r\n"))
                .await;
        assert!(!answer.contains("pong"), "{name}: {answer}");
        let (status, body) = parsed(&answer);
        assert_eq!((status, &body["error"]["code"]), (400, &BAD.into()), "{name}: {answer}");
        assert_eq!(body["error"]["request_id"], header(&answer, "service-request-id").unwrap());
        assert_eq!(header(&answer, "connection"), Some("close"), "{name}: {answer}");
        assert_eq!(answer.matches("HTTP/1.1 ").count(), 1, "{name}: {answer}");
    }
}

#[tokio::test]
async fn a_body_whose_length_is_told_in_two_ways_is_refused_and_nothing_behind_it_is_read() {
    let server = start(quick()).await;
    let inner = "GET /v1/ping HTTP/1.1\r\nHost: a\r\n\r\n";
    let body = "c\r\n{\"name\":\"a\"}\r\n0\r\n\r\n";
    for framing in [
        "Content-Length: 22\r\nTransfer-Encoding: chunked",
        "Transfer-Encoding: chunked\r\nContent-Length: 22",
        "transfer-encoding: chunked\r\nX: y\r\ncontent-length: 0",
        "Content-Length: 0\r\nTransfer-Encoding: chunked",
        "Content-Length: 22\r\nContent-Length: 22",
    ] {
        let request = format!(
            "POST /v1/echo HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {AGENT}\r\n\
             Content-Type: application/json\r\n{framing}\r\n\r\n{body}{inner}"
        );
        let answer = exchange(server.address, request).await;
        let (status, told) = parsed(&answer);
        assert_eq!(
            (status, told["error"]["code"].as_str()),
            (400, Some(BAD)),
            "{framing}: {answer}"
        );
        assert_eq!(told["error"]["param"], "Content-Length", "{framing}: {answer}");
        assert_eq!(header(&answer, "connection"), Some("close"), "{framing}: {answer}");
        assert_eq!(answer.matches("HTTP/1.1 ").count(), 1, "{framing}: {answer}");
    }
}

#[tokio::test]
async fn a_body_behind_which_no_head_is_found_is_the_last_one_of_its_connection() {
    let server = start(quick()).await;
    let hidden = "POST /v1/echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n";
    let long = format!("c;{}\r\n{{\"name\":\"a\"}}\r\n0\r\n\r\n", "x".repeat(5_000));
    for body in ["c\r\n{\"name\":\"a\"}\r\n0\r\nX: a\n\r\n\r\n", &long] {
        for (key, status) in [(AGENT, 200), ("svc_live_nobody", 401)] {
            let request = format!(
                "POST /v1/echo HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {key}\r\n\
                 Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n{body}{hidden}"
            );
            let answer = exchange(server.address, request).await;
            assert_eq!(parsed(&answer).0, status, "{answer}");
            assert_eq!(header(&answer, "connection"), Some("close"), "{answer}");
            assert_eq!(answer.matches("HTTP/1.1 ").count(), 1, "{answer}");
        }
    }
}

#[tokio::test]
async fn too_much_head_is_refused_in_the_envelope() {
    let server = start(quick()).await;
    let long = format!("GET /v1/ping?n={} HTTP/1.1\r\nHost: a\r\n\r\n", "a".repeat(9_000));
    let (status, body) = parsed(&exchange(server.address, long).await);
    assert_eq!((status, body["error"]["code"].as_str()), (414, Some("uri_too_long")));
    let fat = format!("GET /v1/ping HTTP/1.1\r\nHost: a\r\nX: {}\r\n\r\n", "a".repeat(33_000));
    let very_long = format!("GET /{} HTTP/1.1\r\nHost: a\r\n\r\n", "a".repeat(70_000));
    let (status, body) = parsed(&exchange(server.address, very_long).await);
    assert_eq!((status, body["error"]["code"].as_str()), (414, Some("uri_too_long")));
    let hundred = format!("GET /v1/ping HTTP/1.1\r\nHost: a\r\n{}\r\n", "X: a\r\n".repeat(101));
    let endless = format!("GET /v1/ping HTTP/1.1\r\nHost: a\r\nX: {}", "a".repeat(70_000));
    let many = format!("GET /v1/ping HTTP/1.1\r\nHost: a\r\n{}\r\n", "X: a\r\n".repeat(80));
    for request in [fat, many, hundred, endless] {
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

#[tokio::test]
async fn requests_that_follow_each_other_on_a_connection_are_each_looked_at() {
    let server = start(quick()).await;
    let good = "GET /v1/ping?n=1 HTTP/1.1\r\nHost: a\r\n\r\n";
    let body = r#"{"name":
"a"}"#;
    let length = body.len();
    let post = format!(
        "POST /v1/echo HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {AGENT}\r\n\
         Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
    );
    let bad = "GET /v1/ping HTTP/1.1\nHost: a\r\n\r\n";
    // Line feeds of a body are its own.
    let answer = exchange(server.address, format!("{good}{post}{good}")).await;
    assert_eq!(answer.matches("HTTP/1.1 200").count(), 3, "{answer}");
    let mut stream = tokio::net::TcpStream::connect(server.address).await.unwrap();
    let mut answers = String::new();
    for request in [good, &post, bad, good] {
        let mut part = [0; 4096];
        if tokio::io::AsyncWriteExt::write_all(&mut stream, request.as_bytes()).await.is_ok() {
            let read = tokio::io::AsyncReadExt::read(&mut stream, &mut part).await.unwrap_or(0);
            answers.push_str(std::str::from_utf8(&part[..read]).unwrap());
        }
    }
    assert_eq!(answers.matches("HTTP/1.1 200").count(), 2, "{answers}");
    assert_eq!(answers.matches("HTTP/1.1 400").count(), 1, "{answers}");
    assert!(answers.contains("bare line feed"), "{answers}");
}

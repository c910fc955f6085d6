//! Which heads are refused, however the bytes arrive.

use super::*;

fn refused(sent: &str) -> Option<Unreadable> {
    let whole = {
        let mut heads = Heads::new();
        let passed = heads.pass(sent.as_bytes());
        assert!(passed == sent.len() || heads.refused().why().is_some(), "{sent:?}");
        heads.refused().why()
    };
    let (mut heads, mut held) = (Heads::new(), Vec::new());
    for byte in sent.bytes() {
        held.push(byte);
        held.drain(..heads.pass(&held));
    }
    assert_eq!(heads.refused().why(), whole, "{sent:?} byte by byte");
    whole
}

#[test]
fn a_line_of_a_head_that_ends_in_a_bare_line_feed_is_found() {
    for sent in [
        "GET / HTTP/1.1\nHost: a\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\n\n",
        "\nGET / HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\n\r\nGET / HTTP/1.1\nHost: a\r\n\r\n",
        "POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\na\nbGET / HTTP/1.1\nHost: a\r\n\r\n",
        "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3;x\r\na\nb\r\n0\r\nT: 1\r\n\r\nGET /\n",
    ] {
        assert_eq!(refused(sent), Some(Unreadable::BareLineFeed), "{sent:?}");
    }
}

#[test]
fn line_feeds_of_bodies_and_what_nobody_can_frame_are_let_be() {
    for sent in [
        "\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n",
        "POST / HTTP/1.1\r\ncontent-length: 4\r\n\r\n\n\n\n\nGET / HTTP/1.1\r\n\r\n",
        "POST / HTTP/1.1\r\nTransfer-Encoding: Chunked\r\n\r\nA\r\n\n\n\n\n\n\n\n\n\n\n\r\n0\r\n\r\n",
        "POST / HTTP/1.1\r\nContent-Length: 1\r\n\r\naPOST / HTTP/1.1\r\nContent-Length: 0\r\n\r\n\
         POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nsize\r\n\n",
    ] {
        assert_eq!(refused(sent), None, "{sent:?}");
    }
}

#[test]
fn a_length_that_is_not_the_only_one_is_found() {
    for headers in [
        "Content-Length: 1\r\nContent-Length: 1",
        "Content-Length: 1\r\nX: y\r\ncontent-length: 2",
        "Content-Length: 0\r\nTransfer-Encoding: chunked",
        "transfer-encoding: chunked\r\nX: y\r\nCONTENT-LENGTH: 0",
    ] {
        let first = "POST / HTTP/1.1\r\nContent-Length: 1\r\n\r\na";
        let sent = format!("{first}POST / HTTP/1.1\r\n{headers}\r\n\r\n\n");
        assert_eq!(refused(&sent), Some(Unreadable::TwoLengths), "{sent:?}");
    }
}

#[test]
fn what_has_no_form_of_a_head_is_refused_before_it_ends() {
    use Unreadable::{Coding, Form, Fragment, Length, Version};
    for (sent, why) in [
        ("\u{16}\u{3}\u{1}\u{2}\0\u{1}\0\r\n", Form),
        ("GET  HTTP/1.1\r\n", Form),
        ("GET /a b HTTP/1.1\r\n", Version),
        ("GET / HTTP/2.0\r\n", Version),
        ("GET / HTTP/1.1\r\nHost : a\r\n", Form),
        ("GET /#a HTTP/1.1\r\nHost: a\r\n\r\n", Fragment),
        ("GET http:// HTTP/1.1\r\nHost: a\r\n\r\n", Form),
        ("POST / HTTP/1.1\r\nContent-Length: +1\r\n\r\n", Length),
        ("POST / HTTP/1.1\r\nContent-Length: 1, 1\r\n\r\n", Length),
        ("POST / HTTP/1.1\r\nContent-Length: 18446744073709551615\r\n\r\n", Length),
        ("POST / HTTP/1.1\r\nTransfer-Encoding: gzip\r\n\r\n", Coding),
        ("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", Coding),
    ] {
        assert_eq!(refused(sent), Some(why), "{sent:?}");
    }
}

#[test]
fn a_head_that_does_not_end_is_refused_for_what_is_long_in_it() {
    for (begin, more, why) in [
        ("GET /", "aaaaaaaa", Unreadable::Target),
        ("GET / HTTP/1.1\r\nX: ", "aaaaaaaa", Unreadable::Headers),
        ("GET / HTTP/1.1\r\n", "X: a\r\n", Unreadable::Headers),
    ] {
        let mut heads = Heads::new();
        assert_eq!(heads.pass(format!("{begin}{}", more.repeat(10_000)).as_bytes()), 0);
        assert_eq!(heads.refused().why(), Some(why), "{begin}");
    }
}

/// The head of a common call, without its body.
const CALL: &str = "POST /v1/actions HTTP/1.1\r\nHost: chancery.example\r\n\
    Authorization: Bearer ck_live_01m3vnbxf8fs3vevfvv7fgc051_0123456789abcdefghijklmnopqrstuv\r\n\
    Content-Type: application/json\r\nAccept: application/json\r\nUser-Agent: agent/1.0\r\n\
    Idempotency-Key: 01J8ZQ3V6X4W9Y2T5R7P0N1M3K\r\nService-Session: ses_81f2\r\n\
    X-Forwarded-For: 203.0.113.7\r\nContent-Length: 0\r\n\r\n";

/// Tells what it costs that a head is read here and then by the HTTP library, beside what that
/// takes for the request over a pipe in memory. `docs/performance.md` has the command.
#[tokio::test]
#[ignore = "it measures, and means something in a release build alone"]
#[expect(clippy::disallowed_methods, reason = "it measures")]
async fn what_reading_a_head_twice_costs() {
    use std::{
        convert::Infallible,
        time::{Duration, Instant},
    };

    use http_body_util::Empty;
    use hyper::{body::Incoming, server::conn::http1, service::service_fn};
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    const CALLS: u32 = 10_000;
    let many = CALL.repeat(100);
    // The fastest of several rounds is the one that nobody else's work was in.
    let (mut here, mut library) = (Duration::MAX, Duration::MAX);
    for _ in 0..30 {
        let began = Instant::now();
        let mut heads = Heads::new();
        for _ in 0..CALLS {
            assert_eq!(heads.pass(std::hint::black_box(CALL.as_bytes())), CALL.len());
        }
        here = here.min(began.elapsed());
        let (client, server) = tokio::io::duplex(256 * 1024);
        let answer = service_fn(async |_: http::Request<Incoming>| {
            Ok::<_, Infallible>(http::Response::new(Empty::<bytes::Bytes>::new()))
        });
        let server = hyper_util::rt::TokioIo::new(server);
        let serving =
            tokio::spawn(http1::Builder::new().half_close(true).serve_connection(server, answer));
        let (mut answers, mut calls) = tokio::io::split(client);
        let reading = tokio::spawn(async move { answers.read_to_end(&mut Vec::new()).await });
        let began = Instant::now();
        for _ in 0..CALLS / 100 {
            calls.write_all(many.as_bytes()).await.unwrap();
        }
        calls.shutdown().await.unwrap();
        serving.await.unwrap().unwrap();
        library = library.min(began.elapsed());
        assert!(reading.await.unwrap().unwrap() > CALLS as usize, "every call is answered");
    }
    let share = here.as_secs_f64() / library.as_secs_f64();
    println!("here {:?}, hyper {:?} a request: {share:.2}", here / CALLS, library / CALLS);
    assert!(share < 1.0, "{share}");
}

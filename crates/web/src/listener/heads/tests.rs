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

//! What counts as ambiguous, however the bytes arrive.

use super::*;

fn found(sent: &str) -> Option<Ambiguity> {
    let whole = {
        let mut heads = Heads::new();
        heads.see(sent.as_bytes());
        heads.found().found()
    };
    let mut heads = Heads::new();
    sent.bytes().for_each(|byte| heads.see(&[byte]));
    assert_eq!(heads.found().found(), whole, "{sent:?} byte by byte");
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
        assert_eq!(found(sent), Some(Ambiguity::BareLineFeed), "{sent:?}");
    }
}

#[test]
fn line_feeds_of_bodies_and_what_nobody_can_frame_are_let_be() {
    for sent in [
        "\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n",
        "POST / HTTP/1.1\r\ncontent-length: 4\r\n\r\n\n\n\n\nGET / HTTP/1.1\r\n\r\n",
        "POST / HTTP/1.1\r\nTransfer-Encoding: Chunked\r\n\r\nA\r\n\n\n\n\n\n\n\n\n\n\n\r\n0\r\n\r\n",
        "POST / HTTP/1.1\r\nContent-Length: x\r\n\r\n\n",
        "POST / HTTP/1.1\r\nContent-Length: 1\r\n\r\naPOST / HTTP/1.1\r\nContent-Length: 0\r\n\r\n\
         POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nsize\r\n\n",
    ] {
        assert_eq!(found(sent), None, "{sent:?}");
    }
}

#[test]
fn a_length_that_is_not_the_only_one_is_found() {
    for headers in [
        "Content-Length: 1\r\nContent-Length: 1",
        "Content-Length: 1\r\nX: y\r\ncontent-length: 2",
        "Content-Length: 0\r\nTransfer-Encoding: chunked",
        "transfer-encoding: chunked\r\nX: y\r\nCONTENT-LENGTH: 0",
        "Transfer-Encoding: gzip\r\nContent-Length: 1",
    ] {
        let first = "POST / HTTP/1.1\r\nContent-Length: 1\r\n\r\na";
        let sent = format!("{first}POST / HTTP/1.1\r\n{headers}\r\n\r\n\n");
        assert_eq!(found(&sent), Some(Ambiguity::TwoLengths), "{sent:?}");
    }
}

#[test]
fn an_endless_line_is_not_kept() {
    let mut heads = Heads::new();
    for _ in 0..100 {
        heads.see(&[b'a'; 4096]);
    }
    assert!(heads.line.len() <= MAX_LINE + 4096);
}

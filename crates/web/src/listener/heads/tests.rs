//! What counts as a bare line feed, however the bytes arrive.

use super::*;

fn found(sent: &str) -> bool {
    let whole = {
        let mut heads = Heads::new();
        heads.see(sent.as_bytes());
        heads.found().was_seen()
    };
    let mut heads = Heads::new();
    sent.bytes().for_each(|byte| heads.see(&[byte]));
    assert_eq!(heads.found().was_seen(), whole, "{sent:?} byte by byte");
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
        assert!(found(sent), "{sent:?}");
    }
}

#[test]
fn line_feeds_of_bodies_and_what_nobody_can_frame_are_let_be() {
    for sent in [
        "\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n",
        "POST / HTTP/1.1\r\ncontent-length: 4\r\n\r\n\n\n\n\nGET / HTTP/1.1\r\n\r\n",
        "POST / HTTP/1.1\r\nTransfer-Encoding: Chunked\r\n\r\nA\r\n\n\n\n\n\n\n\n\n\n\n\r\n0\r\n\r\n",
        "POST / HTTP/1.1\r\nContent-Length: x\r\n\r\n\n",
        "POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n\n",
        "POST / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n\n",
        "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nsize\r\n\n",
    ] {
        assert!(!found(sent), "{sent:?}");
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

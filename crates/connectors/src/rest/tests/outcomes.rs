//! What calls come to where an API answers as none should. Every row is tried with a tool that reads
//! and with one that writes: of a read whatever is no answer has failed, of a write only what is
//! certain has.

use std::time::Duration;

use serde_json::{Value, json};

use super::world::{Reply, Stub, outcome, result, said, tool, with, word};

/// A pause before each byte with which no answer is whole in time.
const PAUSE: Duration = Duration::from_secs(2);

/// What a read and a write come to, in a word each.
async fn both(reply: Reply) -> (String, String) {
    let stub = Stub::new(vec![reply]).await;
    let read = outcome(&stub, tool("GET", "/things", &[]), json!({})).await;
    let write = outcome(&stub, tool("POST", "/things", &["a"]), json!({"a": 1})).await;
    (word(&read), word(&write))
}

/// As above, of an answer that does not come in time.
async fn both_late(reply: Reply) -> (String, String) {
    let stub = Stub::new(vec![reply]).await;
    let get = outcome(&stub, tool("GET", "/things", &[]), json!({}));
    let (read, ()) = tokio::join!(get, stub.pause_after(1));
    tokio::time::resume();
    let post = outcome(&stub, tool("POST", "/things", &["a"]), json!({"a": 1}));
    let (write, ()) = tokio::join!(post, stub.pause_after(2));
    tokio::time::resume();
    (word(&read), word(&write))
}

fn words(read: &str, write: &str) -> (String, String) {
    (read.to_owned(), write.to_owned())
}

async fn answered(head: &str, body: &[u8]) -> (String, String) {
    both(Reply::Bytes(said(head, body))).await
}

#[tokio::test]
async fn a_success_is_one() {
    for status in ["200 OK", "201 Created", "202 Accepted", "204 No Content"] {
        let found = answered(status, b"").await;
        assert_eq!(found, words("succeeded", "succeeded"), "{status}");
    }
}

#[tokio::test]
async fn statuses_that_tell_that_nothing_was_applied_are_certain() {
    for status in [400, 404, 405, 415, 422, 429] {
        let found = answered(&format!("{status} No"), b"{}").await;
        assert_eq!(found, words("failed tool_error", "failed tool_error"), "{status}");
    }
    for status in [401, 403] {
        let found = answered(&format!("{status} No"), b"{}").await;
        let expected = words("failed connector_auth_failed", "failed connector_auth_failed");
        assert_eq!(found, expected, "{status}");
    }
}

#[tokio::test]
async fn after_any_other_status_nobody_knows_of_a_write() {
    for status in [301, 303, 304, 402, 408, 409, 410, 425, 451, 500, 502, 503, 504, 599, 999] {
        let found = answered(&format!("{status} Well"), b"").await;
        assert_eq!(found, words("failed tool_error", "unknown tool_error"), "{status}");
    }
}

#[tokio::test]
async fn a_tool_declares_otherwise() {
    let stub = Stub::saying("503 Busy", b"").await;
    let said = json!({"not_applied": [503], "success": [200]});
    let declared = with(tool("POST", "/things", &[]), said);
    assert_eq!(word(&outcome(&stub, declared, json!({})).await), "failed tool_error");
    let stub = Stub::saying("404 Gone", b"").await;
    let declared = with(tool("DELETE", "/things", &[]), json!({"success": [204, 404]}));
    assert_eq!(word(&outcome(&stub, declared, json!({})).await), "succeeded");
    let stub = Stub::saying("201 Created", b"").await;
    let declared = with(tool("POST", "/things", &[]), json!({"success": [200]}));
    assert_eq!(word(&outcome(&stub, declared, json!({})).await), "unknown tool_error");
}

#[tokio::test]
async fn a_redirect_to_a_metadata_address_is_not_followed() {
    let other = Stub::saying("200 OK", b"secrets").await;
    for to in ["http://169.254.169.254/latest/meta-data/".to_owned(), other.url()] {
        for status in [301, 302, 303, 307, 308] {
            let found = answered(&format!("{status} Go\r\nLocation: {to}"), b"").await;
            assert_eq!(found, words("failed tool_error", "unknown tool_error"), "{status}");
        }
    }
    assert!(other.seen().is_empty());
}

#[tokio::test]
async fn slow_bytes_that_take_too_long_are_a_timeout() {
    let whole = said("200 OK", b"{\"a\": 1}");
    let found = both_late(Reply::Slowly(whole, PAUSE)).await;
    assert_eq!(found, words("failed tool_timeout", "unknown tool_timeout"));
}

#[tokio::test]
async fn slow_bytes_that_come_in_time_are_an_answer() {
    let whole = said("200 OK", b"{\"a\": 1}");
    let found = both(Reply::Slowly(whole, Duration::from_millis(1))).await;
    assert_eq!(found, words("succeeded", "succeeded"));
}

#[tokio::test]
async fn silence_is_a_timeout() {
    for bytes in [&b""[..], b"HTTP/1.1 200", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{"] {
        let found = both_late(Reply::ThenSilence(bytes.to_vec())).await;
        assert_eq!(found, words("failed tool_timeout", "unknown tool_timeout"));
    }
}

#[tokio::test]
async fn an_answer_that_is_reset_at_any_byte_is_none() {
    let whole = said("200 OK", b"{\"a\": 1}");
    for length in 0..whole.len() {
        let found = both(Reply::ThenReset(whole[..length].to_vec())).await;
        let expected = words("failed connector_unreachable", "unknown connector_unreachable");
        assert_eq!(found, expected, "after {length} bytes");
    }
}

#[tokio::test]
async fn an_answer_that_ends_at_any_byte_is_none() {
    let whole = said("200 OK", b"{\"a\": 1}");
    for length in 0..whole.len() {
        let found = both(Reply::Bytes(whole[..length].to_vec())).await;
        let expected = words("failed connector_unreachable", "unknown connector_unreachable");
        assert_eq!(found, expected, "after {length} bytes");
    }
}

#[tokio::test]
async fn a_write_that_was_cut_off_is_sent_once() {
    let stub = Stub::new(vec![Reply::ThenReset(Vec::new())]).await;
    outcome(&stub, tool("POST", "/things", &[]), json!({})).await;
    assert_eq!(stub.seen().len(), 1);
}

#[tokio::test]
async fn wrong_lengths_are_no_answer() {
    let expected = words("failed connector_unreachable", "unknown connector_unreachable");
    for head in [
        "Content-Length: 9",
        "Content-Length: -1",
        "Content-Length: 2\r\nContent-Length: 3",
        "Content-Length: 2, 3",
        "Content-Length: 18446744073709551616",
        "Transfer-Encoding: chunked",
    ] {
        let bytes = format!("HTTP/1.1 200 OK\r\n{head}\r\n\r\n{{}}");
        let found = both(Reply::Bytes(bytes.into_bytes())).await;
        assert_eq!(found, expected, "{head}");
    }
}

#[tokio::test]
async fn bytes_beyond_the_length_are_left() {
    let bytes = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}HTTP/1.1 500 No\r\n\r\n".to_vec();
    assert_eq!(both(Reply::Bytes(bytes)).await, words("succeeded", "succeeded"));
}

#[tokio::test]
async fn a_storm_of_interim_answers_ends_the_call() {
    let storm = b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n".repeat(50_000);
    let (read, write) = both_late(Reply::ThenSilence(storm)).await;
    assert!(read.starts_with("failed "), "{read}");
    assert!(write.starts_with("unknown "), "{write}");
}

#[tokio::test]
async fn a_few_interim_answers_are_passed_over() {
    let hints = b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n".repeat(2);
    let bytes = [hints, said("200 OK", b"{}")].concat();
    assert_eq!(both(Reply::Bytes(bytes)).await, words("succeeded", "succeeded"));
}

#[tokio::test]
async fn a_head_without_an_end_is_no_answer() {
    let bytes = [b"HTTP/1.1 200 OK\r\nX: ".to_vec(), vec![b'x'; 1_000_000]].concat();
    let expected = words("failed connector_unreachable", "unknown connector_unreachable");
    assert_eq!(both(Reply::ThenSilence(bytes)).await, expected);
}

#[tokio::test]
async fn another_protocol_is_no_answer() {
    let expected = words("failed connector_unreachable", "unknown connector_unreachable");
    for bytes in [&b"SSH-2.0-OpenSSH_9.6\r\n"[..], b"\x16\x03\x01\x00\x05hello", b"\0\0\0\0\0\0\0"]
    {
        assert_eq!(both(Reply::Bytes(bytes.to_vec())).await, expected, "{bytes:?}");
    }
}

#[tokio::test]
async fn what_is_no_json_is_kept_as_the_text_that_it_is() {
    for body in [&b"{\"a\": "[..], b"<html>no</html>", b"{'a': 1}", b"{\"a\": 1} {", b"NaN"] {
        let stub = Stub::saying("200 OK\r\nContent-Type: text/html", body).await;
        let found = result(&stub, tool("GET", "/things", &[]), json!({})).await;
        let text = std::str::from_utf8(body).unwrap();
        assert_eq!(found, json!({"content_type": "text/html", "text": text}));
    }
    let stub = Stub::saying("200 OK", b"\xff\xfe").await;
    let found = result(&stub, tool("POST", "/things", &[]), json!({})).await;
    assert_eq!(found, json!({"content_type": null, "base64": "//4="}));
}

#[tokio::test]
async fn json_under_another_content_type_is_json() {
    let stub = Stub::saying("200 OK\r\nContent-Type: text/plain", b" {\"a\": 1}\n").await;
    let found = result(&stub, tool("GET", "/things", &[]), json!({})).await;
    assert_eq!(found, json!({"a": 1}));
}

#[tokio::test]
async fn a_key_that_stands_twice_makes_a_text_of_the_whole() {
    let stub = Stub::saying("200 OK", b"{\"a\": 1, \"a\": 2}").await;
    let found = result(&stub, tool("GET", "/things", &[]), json!({})).await;
    assert_eq!(found, json!("{\"a\": 1, \"a\": 2}"));
}

#[tokio::test]
async fn no_digit_of_a_huge_number_is_lost() {
    let body = br#"{"id": 12345678901234567890, "half": 0.5, "far": 1e400, "fine": 1}"#;
    let stub = Stub::saying("200 OK", body).await;
    let found = result(&stub, tool("GET", "/things", &[]), json!({})).await;
    let expected = json!({"id": "12345678901234567890", "half": 0.5, "far": "1e400", "fine": 1});
    assert_eq!(found, expected);
}

#[tokio::test]
async fn nesting_without_end_is_a_text() {
    let body = [vec![b'['; 100_000], vec![b']'; 100_000]].concat();
    let stub = Stub::saying("200 OK", &body).await;
    let found = result(&stub, tool("GET", "/things", &[]), json!({})).await;
    assert_eq!(found.as_str().unwrap().len(), 200_000);
}

#[tokio::test]
async fn a_gzip_bomb_stays_packed() {
    // A thousand bytes that would be a megabyte; nothing unpacks them to find out.
    let bomb = vec![0x1f; 1_000];
    for packed in ["gzip", "br", "deflate", "gzip, identity", "GZIP"] {
        let found = answered(&format!("200 OK\r\nContent-Encoding: {packed}"), &bomb).await;
        assert_eq!(found, words("failed result_invalid", "applied"), "{packed}");
    }
    let bytes = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n\x1f\x8b".to_vec();
    assert_eq!(both(Reply::Bytes(bytes)).await, words("failed result_invalid", "applied"));
    let found = answered("200 OK\r\nContent-Encoding: identity", b"{}").await;
    assert_eq!(found, words("succeeded", "succeeded"));
}

#[tokio::test]
async fn an_answer_that_is_too_large_is_not_read_to_its_end() {
    let head = b"HTTP/1.1 200 OK\r\nContent-Length: 1000000000000\r\n\r\n".to_vec();
    let bytes = [head, vec![b'x'; 2 << 20]].concat();
    let found = both(Reply::ThenSilence(bytes)).await;
    assert_eq!(found, words("failed result_too_large", "applied"));
}

#[tokio::test]
async fn the_result_is_the_part_that_the_tool_names() {
    let body = br#"{"data": {"items": [{"id": "a"}]}}"#;
    let pointed = |pointer: &str| with(tool("GET", "/x", &[]), json!({"result": pointer}));
    let stub = Stub::saying("200 OK", body).await;
    assert_eq!(result(&stub, pointed("/data/items/0"), json!({})).await, json!({"id": "a"}));
    let missing = outcome(&stub, pointed("/data/none"), json!({})).await;
    assert_eq!(word(&missing), "failed result_invalid");
    let write = with(tool("POST", "/x", &[]), json!({"result": "/data/none"}));
    assert_eq!(word(&outcome(&stub, write, json!({})).await), "applied");
}

#[tokio::test]
async fn an_empty_answer_is_null() {
    let stub = Stub::saying("204 No Content", b"").await;
    assert_eq!(result(&stub, tool("DELETE", "/x", &[]), json!({})).await, Value::Null);
    let stub =
        Stub::new(vec![Reply::Bytes(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n".to_vec())])
            .await;
    assert_eq!(result(&stub, tool("HEAD", "/x", &[]), json!({})).await, Value::Null);
}

#[tokio::test]
async fn where_nobody_listens_a_write_was_certainly_not_applied() {
    let stub = Stub::saying("200 OK", b"").await;
    let gone = Stub { at: "127.0.0.1:1".parse().unwrap(), ..stub };
    let write = outcome(&gone, tool("POST", "/things", &[]), json!({})).await;
    assert_eq!(word(&write), "failed connector_unreachable");
}

#[tokio::test]
async fn what_the_api_says_stands_in_no_fault() {
    for reply in
        [said("500 canary\r\nX-Told: canary", b"canary"), b"HTTP/1.1 canary\r\n\r\n".to_vec()]
    {
        let stub = Stub::new(vec![Reply::Bytes(reply)]).await;
        let found = outcome(&stub, tool("POST", "/things", &[]), json!({})).await;
        assert!(!format!("{found:?}").contains("canary"), "{found:?}");
    }
}

//! Input made to confuse: each comes back exactly as it was sent, or is refused, and nothing of it
//! is recorded in another form.

use serde_json::{Value, json};
use tokio::process::Command;

use crate::{
    calls::caller,
    edge::edge_call,
    house::{Request, SharedHouse, call, exchange, name, program},
};

#[tokio::test]
async fn names_that_look_like_others_are_no_tools() {
    let Some((_, caller)) = caller().await else { return };
    let tools = [
        "lаb.note",          // A Cyrillic letter.
        "lab.note\u{200b}",  // A zero-width space.
        "lab.note\u{202e}x", // Right to left from here.
        "LAB.NOTE",
        "lab.note ",
        "lab .note",
        "lab..note",
        "lab.note\r\nx: y",
        "lab.ﬁle", // A ligature.
        "lab.note\u{e0041}",
        "*",
        "lab.*",
        "lab.note;drop table lab_notes",
        "../lab.note",
    ];
    for tool in tools {
        let refused = caller.call(tool, json!({ "mark": "never" })).await;
        let code = refused.json()["error"]["code"].clone();
        assert!(code == "tool_unknown" || code == "validation_failed", "{tool:?}: {refused:?}");
        let action = refused.json()["error"]["action"].clone();
        // What is recorded is what was sent, to the byte.
        assert!(action.is_null() || action["tool"] == tool, "{tool:?}: {action}");
    }
}

#[tokio::test]
async fn texts_come_back_as_they_were_sent() {
    let Some((shared, caller)) = caller().await else { return };
    let texts = [
        "e\u{301} and \u{e9} are two texts",
        "\u{202e}reversed\u{202c}",
        "zero\u{200b}width\u{feff}",
        "\u{e0041}\u{e007f} tags",
        "😀 \u{10ffff}",
        "line\r\nfeed\u{85}\u{2028}\u{2029}\t\u{7f}\u{1}",
        "<script>alert('\"`')</script> {{ 7*7 }} ${7*7} %s %n",
        "'; drop table lab_notes; --",
        "=1+1|cmd' @sum(a1)",
    ];
    for text in texts {
        let mark = format!("{} {text}", name());
        let action = caller.executed("lab.note", json!({ "mark": mark })).await;
        assert_eq!(action["execution"]["result"]["mark"], mark.as_str());
        let detail = caller.detail(&action).await;
        assert_eq!(detail["request"]["mark"], mark.as_str());
        assert_eq!(shared.house.notes(&mark).await, 1);
    }
    let log = shared.service.log();
    assert!(!log.contains("drop table") && !log.contains("<script>"), "arguments are not logged");
}

#[tokio::test]
async fn keys_that_parsers_treat_as_special_are_keys_like_any_other() {
    let Some((_, caller)) = caller().await else { return };
    let args = json!({
        "__proto__": { "admin": true },
        "constructor": { "prototype": 1 },
        "$serde_json::private::Number": "1",
        "$serde_json::private::RawValue": "{}",
        "é": 1,
        "e\u{301}": 2,
        "": 3,
        "a.b": { "/": "~0" },
    });
    let sent = caller.insist(Request::post("/v1/actions", &edge_call(&args))).await.ok();
    assert_eq!(caller.detail(&sent).await["request"], args);
    let many: Value =
        (0..20_000).map(|n| (format!("k{n}"), json!(n))).collect::<serde_json::Map<_, _>>().into();
    let answer = caller.send(Request::post("/v1/actions", &edge_call(&many))).await;
    answer.error(400, "validation_failed", Some("args"));
    let many: Value =
        (0..15_000).map(|n| (format!("k{n}"), json!(n))).collect::<serde_json::Map<_, _>>().into();
    let sent = caller.insist(Request::post("/v1/actions", &edge_call(&many))).await.ok();
    assert_eq!(caller.detail(&sent).await["request"], many);
}

#[tokio::test]
async fn bytes_that_are_no_text_or_more_than_one_document_are_refused() {
    let Some((_, caller)) = caller().await else { return };
    let whole = br#"{"tool":"lab.note","args":{"mark":"x"}}"#;
    let bodies: [(&str, Vec<u8>); 7] = [
        ("a byte order mark", [b"\xef\xbb\xbf".as_slice(), whole].concat()),
        ("a second document", [whole.as_slice(), b" {}"].concat()),
        ("something behind", [whole.as_slice(), b"x"].concat()),
        ("an overlong slash", br#"{"tool":"lab.note","args":{"mark":"!!"}}"#.iter().flat_map(|b| if *b == b'!' { vec![0xc0, 0xaf] } else { vec![*b] }).collect()),
        ("a byte of no character", [b"{\"tool\":\"lab.note\",\"args\":{\"mark\":\"".as_slice(), b"\xff\"}}"].concat()),
        ("UTF-16", whole.iter().flat_map(|byte| [*byte, 0]).collect()),
        ("nothing", Vec::new()),
    ];
    for (what, body) in bodies {
        let request = Request::raw("/v1/actions", body).header("Content-Type", "application/json");
        let error = caller.send(request).await.is(400)["error"].clone();
        assert_eq!(error["code"], "validation_failed", "{what}: {error}");
    }
    assert_eq!(caller.read("/v1/actions").await["data"], json!([]));
}

#[tokio::test]
async fn a_body_in_chunks_of_one_byte_is_the_same_body() {
    let Some((shared, caller)) = caller().await else { return };
    let mark = name();
    let body = call("lab.note", json!({ "mark": mark })).to_string();
    let chunks: Vec<_> = body.chars().map(|byte| format!("1\r\n{byte}\r\n")).collect();
    let chunks = chunks.concat();
    let request = format!(
        "POST /v1/actions HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {}\r\n\
         Content-Type: application/json\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n\
         {chunks}0\r\n\r\n",
        shared.service.address,
        caller.key.as_deref().unwrap()
    );
    let answer = exchange(shared.service.address, request.as_bytes()).await;
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert_eq!(shared.house.notes(&mark).await, 1);
}

#[tokio::test]
async fn ids_that_are_none_lead_nowhere() {
    let Some(shared) = SharedHouse::get().await else { return };
    let caller = shared.caller().await;
    let action = caller.executed("lab.sleep", json!({ "milliseconds": 0 })).await;
    let id = action["id"].as_str().unwrap();
    let bare = id.strip_prefix("act_").unwrap();
    let ids = [
        format!("deed_{bare}"),
        bare.to_owned(),
        id.to_uppercase(),
        format!("{id}%00"),
        format!("{id}%2f"),
        format!("{id}%0a"),
        format!("%61ct_{bare}x"),
        format!("act_{}", "z".repeat(26)),
        format!("act_{}", "0".repeat(4000)),
        "act_%27or%201=1--".to_owned(),
        "*".to_owned(),
        "act_".to_owned(),
    ];
    for id in ids {
        let answer = caller.get(&format!("/v1/actions/{id}")).await;
        assert!(matches!(answer.status.as_u16(), 400 | 404), "{id}: {answer:?}");
    }
}

/// A second implementation of the canonical form, by somebody else's parser: Python's.
const CANONICAL: &str = r"
import hashlib, json, sys
from decimal import Decimal
def number(x):
    if isinstance(x, int): return str(x)
    if x == 0: return '0'
    sign, digits, exponent = Decimal(repr(x)).normalize().as_tuple()
    digits = ''.join(map(str, digits)); point = len(digits) + exponent
    if 0 < point <= 21: body = digits.ljust(point, '0')[:point] + ('.' + digits[point:] if digits[point:] else '')
    elif -6 < point <= 0: body = '0.' + '0' * -point + digits
    else: body = digits[0] + ('.' + digits[1:] if digits[1:] else '') + 'e' + ('+' if point > 0 else '-') + str(abs(point - 1))
    return '-' * sign + body
def text(s): return json.dumps(s, ensure_ascii=False).replace('\x7f', '\x7f')
def canonical(v):
    if v is None or isinstance(v, bool): return json.dumps(v)
    if isinstance(v, (int, float)): return number(v)
    if isinstance(v, str): return text(v)
    if isinstance(v, list): return '[' + ','.join(map(canonical, v)) + ']'
    names = sorted(v, key=lambda name: name.encode('utf-16-be'))
    return '{' + ','.join(text(name) + ':' + canonical(v[name]) for name in names) + '}'
for line in sys.stdin:
    body = canonical(json.loads(line)).encode()
    print('sha256:' + hashlib.sha256(body).hexdigest())
";

#[tokio::test]
async fn a_second_canonical_form_gives_the_same_digests() {
    let Some((shared, caller)) = caller().await else { return };
    let python = program("CHANCERY_PYTHON").unwrap_or_else(|| "python3".into());
    if Command::new(&python).arg("--version").output().await.is_err() {
        eprintln!("left out: the second canonical form needs `python3`");
        return;
    }
    let texts = [
        r#"{"z":1,"a":[true,null,false],"é":"\u00e9","\ud83d\ude00":"😀","\ufb33":"דּ","€":"\u20ac"}"#,
        r#"{"n":[0,-0,1.0,1e2,1E+2,0.1,1e-7,5e-324,2.2250738585072014e-308,1234567890.1234567]}"#,
        r#"{"n":[9007199254740991,-9007199254740991,0.000001,0.0000001,333333333.33333329,4.5e15,2e-3]}"#,
        r#"{"t":"\u0001\u0008\t\n\u000b\f\r\"\\\/\u007f\u0080\u2028<>&'"}"#,
        r#"{"":{"":[[],{},[[]]]},"1":1,"10":10,"9":9,"A":1,"a":2}"#,
    ];
    let file = shared.house.write("texts.jsonl", &(texts.join("\n") + "\n"));
    let script = shared.house.write("canonical.py", CANONICAL);
    let mut command = Command::new(&python);
    command.arg(script).stdin(std::fs::File::open(file).unwrap());
    let output = command.output().await.unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let digests = String::from_utf8(output.stdout).unwrap();
    for (text, digest) in texts.iter().zip(digests.lines()) {
        // An edge's result: the service compares its own digest with the one that is told.
        let action = crate::edge::authorized(&caller).await;
        let report = format!(
            r#"{{"status":"succeeded","started_at":{0},"finished_at":{0},"result":{text},"result_digest":"{digest}"}}"#,
            action["created_at"]
        );
        let path = action["next_action"]["report_url"].as_str().unwrap();
        let request = Request::raw(path, report).header("Content-Type", "application/json");
        assert_eq!(caller.send(request).await.ok()["status"], "executed", "{text}");
    }
}

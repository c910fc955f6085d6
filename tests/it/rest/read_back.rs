//! Calls of an API that are looked at again: one that is honest, and liars by name.

use std::{net::SocketAddr, process::Command};

use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

use super::{made, open_policy};
use crate::{
    house::{House, Request, lines},
    house::{program, root},
};

/// What the API does with a pet of this name: the level, the verdict and the reasons that a call which
/// makes one comes to.
const PETS: [(&str, &str, &str, &[&str]); 8] = [
    ("Honest", "L1", "VERIFIED", &[]),
    ("Absent", "L1", "MISMATCH", &["not_there"]),
    ("Renamed", "L1", "MISMATCH", &["value_differs"]),
    ("Partial", "L1", "UNVERIFIABLE", &["readback_unreadable"]),
    ("Failing", "L0", "UNVERIFIABLE", &["witness_gave_up", "required_level_unmet"]),
    ("Hanging", "L0", "UNVERIFIABLE", &["readback_timeout", "required_level_unmet"]),
    ("Locked", "L0", "UNVERIFIABLE", &["readback_denied", "required_level_unmet"]),
    ("Nameless", "L0", "UNVERIFIABLE", &["no_key", "required_level_unmet"]),
];

/// Whoever does not answer is asked twice.
const SETTINGS: &str = "witness: { readback_timeout: 1s }\ngate: { worker: { max_attempts: 2 } }\n";

async fn open() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(serve(stream));
        }
    });
    at
}

/// Answers one request and hangs up; a question about some pets it never answers.
async fn serve(mut stream: TcpStream) {
    let mut read = Vec::new();
    let mut byte = [0];
    while !read.ends_with(b"\r\n\r\n") && stream.read(&mut byte).await.unwrap_or(0) > 0 {
        read.push(byte[0]);
    }
    let head = String::from_utf8(read).unwrap();
    let length = head.lines().find_map(|line| {
        line.to_lowercase().strip_prefix("content-length: ").map(|it| it.parse().unwrap())
    });
    let mut body = vec![0; length.unwrap_or(0)];
    stream.read_exact(&mut body).await.unwrap();
    let Some((status, answer)) = answer(&head, &body) else {
        std::future::pending::<()>().await;
        return;
    };
    let answer = answer.to_string();
    let head = format!("HTTP/1.1 {status} Well\r\nContent-Length: {}\r\n\r\n", answer.len());
    let _ = stream.write_all(format!("{head}{answer}").as_bytes()).await;
    let _ = stream.shutdown().await;
}

/// The status and the body; nothing where it says nothing.
fn answer(head: &str, body: &[u8]) -> Option<(u16, Value)> {
    if head.starts_with("POST /pets ") {
        let pet: Value = serde_json::from_slice(body).unwrap();
        // It says that it made it, whatever becomes of it.
        let id = PETS.iter().position(|(name, ..)| pet["name"] == *name).unwrap();
        let id = if pet["name"] == "Nameless" { Value::Null } else { json!(id) };
        return Some((201, json!({"id": id, "name": pet["name"]})));
    }
    let id = head.strip_prefix("GET /pets/").and_then(|rest| rest.split(' ').next());
    let id: usize = id.and_then(|id| id.parse().ok()).unwrap_or(usize::MAX);
    match PETS.get(id).map(|(name, ..)| *name) {
        Some("Honest") => Some((200, json!({"id": id, "name": "Honest", "born": "today"}))),
        Some("Renamed") => Some((200, json!({"id": id, "name": "C4NARY of another name"}))),
        Some("Partial") => Some((200, json!({"id": id}))),
        Some("Failing") => Some((500, json!({"error": "C4NARY of a failure"}))),
        Some("Locked") => Some((403, json!({"error": "C4NARY of a failure"}))),
        Some("Hanging") => None,
        _ => Some((404, json!({"error": "C4NARY of a failure"}))),
    }
}

fn config(at: SocketAddr) -> Value {
    let args = |properties: Value, required: &[&str]| json!({"type": "object", "additionalProperties": false, "required": required, "properties": properties});
    json!({
        "base_url": format!("http://{at}"), "auth": "none",
        "tools": [
            {
                "name": "get", "title": "Look a pet up", "description": "Shows one pet.",
                "method": "GET", "path": "/pets/{pet}",
                "args": args(json!({"pet": {"type": "integer"}}), &["pet"]),
            },
            {
                "name": "create", "title": "Add a pet", "description": "Adds one pet.",
                "method": "POST", "path": "/pets",
                "args": args(json!({"name": {"type": "string"}}), &["name"]),
                "required_level": "L1",
                "read_back": {
                    "operation": "get",
                    "args": {"pet": {"result": "/id"}},
                    "compare": [
                        {"read": "/id", "with": {"result": "/id"}},
                        {"read": "/name", "with": {"arg": "name"}},
                    ],
                },
            },
        ],
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_write_is_looked_at_again_and_liars_are_found_out() {
    let Some(house) = House::new(SETTINGS).await else { return };
    let service = house.serve().await;
    let org = service.caller(&house.org_key().await);
    let connector = json!({"name": "zoo", "type": "rest", "config": config(open().await)});
    made(&org, connector).await;
    house.activate("zoo", &open_policy("zoo")).await;
    let agent = service.caller(&house.agent("keeper").await.key);
    for (name, level, verdict, reasons) in PETS {
        let called = agent.call("zoo.create", json!({"name": name})).await.json();
        // Whoever does not answer at once is waited for behind the caller's back.
        let path = format!("/v1/actions/{}?wait=20", called["id"].as_str().unwrap());
        let action = agent.read(&path).await;
        assert_eq!(action["status"], "executed", "{name}: {action}");
        let witness = &action["witness"];
        let found = (&witness["level"], &witness["verdict"], &witness["reasons"]);
        assert_eq!(found, (&json!(level), &json!(verdict), &json!(reasons)), "{name}: {witness}");
        let method = if level == "L1" { "read_back" } else { "reported" };
        assert_eq!(witness["method"], method, "{name}");
        assert!(!witness.to_string().contains("C4NARY"), "{witness}");
        let path =
            format!("/v1/actions/{}?expand[]=witness.detail", action["id"].as_str().unwrap());
        let detail = org.read(&path).await["witness"]["detail"].clone();
        let passes = detail["passes"].as_array().unwrap();
        let told = passes.iter().flat_map(|pass| pass["reasons"].as_array().unwrap());
        assert_eq!(&told.collect::<Vec<_>>(), reasons, "{name}: {detail}");
        if name == "Renamed" {
            let summary = "The value is not the one that was reported. That is at `/name`.";
            assert_eq!(witness["summary"], summary);
            let field = json!({
                "place": "/name", "expected": "Renamed",
                "observed": "C4NARY of another name", "result": "value_differs",
            });
            assert_eq!(detail["fields"][0], field);
        }
    }
    // Whoever checks the deeds takes every one of them, in every language.
    let deeds = house.sound_log(&org).await;
    let of_calls = deeds.iter().filter(|deed| deed.json()["action"]["witness"].is_object());
    let levels: Vec<_> =
        of_calls.map(|deed| deed.json()["action"]["witness"]["level"].clone()).collect();
    assert_eq!(levels, PETS.map(|(_, level, ..)| json!(level)));
    let file = house.write("calls.jsonl", &lines(&deeds));
    let keys = org.read("/.well-known/service/keys.json").await;
    let keys = house.write("calls-keys.json", &keys.to_string());
    for (runner, script) in [("CHANCERY_PYTHON", "verify.py"), ("CHANCERY_NODE", "verify.mjs")] {
        let Some(runner) = program(runner) else { continue };
        let script = root().join("docs/verifiers").join(script);
        let mut command = Command::new(runner);
        command.env("PYTHONDONTWRITEBYTECODE", "1").arg(script).arg(&file);
        let output = command.arg("--keys").arg(&keys).output();
        let output = output.unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    }
}

#[tokio::test]
async fn an_admin_asks_for_more_evidence_than_an_operation_offers() {
    let Some(house) = House::new("").await else { return };
    let service = house.serve().await;
    let org = service.caller(&house.org_key().await);
    let mut config = config(open().await);
    let write = config["tools"][1].as_object_mut().unwrap();
    write.remove("read_back");
    write.remove("required_level");
    let made = made(&org, json!({"name": "zoo", "type": "rest", "config": config})).await;
    let at = format!("/v1/connectors/{}/tools/zoo.create", made["id"].as_str().unwrap());
    org.send(Request::post(&at, &json!({"required_level": "L1"}))).await.ok();
    house.activate("zoo", &open_policy("zoo")).await;
    let agent = service.caller(&house.agent("keeper").await.key);
    let action = agent.executed("zoo.create", json!({"name": "Honest"})).await;
    assert_eq!(action["witness"]["verdict"], "UNVERIFIABLE", "{action}");
    let reasons = json!(["readback_not_offered", "required_level_unmet"]);
    assert_eq!(action["witness"]["reasons"], reasons);
}

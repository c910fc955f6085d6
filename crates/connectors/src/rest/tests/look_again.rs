//! Writes that are looked at again: what the other operation is asked, and what of its answers is
//! evidence.

use std::{collections::BTreeMap, time::Duration};

use model::{Field, Outcome, ReadBack, ReadBackGap, Report, Resource};
use serde_json::{Value, json};
use tool::{Claim, Reading, Tool};

use super::{
    super::{TYPE, digest_of_pin},
    world::{Reply, Stub, blueprint, built, config, named, run, said, tool, with},
};

const LIMIT: Duration = Duration::from_secs(20);

/// What `tool`, which makes a pet, and `get`, which looks one up, are.
fn tools() -> Value {
    let get = with(tool("GET", "/pets/{pet}", &["pet"]), json!({"name": "get"}));
    let make = with(
        tool("POST", "/pets", &["name", "kind"]),
        json!({
            "required_level": "L1",
            "read_back": {
                "operation": "get",
                "args": {"pet": {"result": "/id"}},
                "compare": [
                    {"read": "/name", "with": {"arg": "name"}},
                    {"read": "/kind", "with": {"arg": "kind"}},
                    {"read": "/id", "with": {"result": "/id"}},
                    {"read": "/state", "with": {"value": "new"}},
                ],
            },
        }),
    );
    json!([get, make])
}

fn ok(body: Value) -> Reply {
    Reply::Bytes(said("200 OK", body.to_string().as_bytes()))
}

/// Makes a pet of an API that answers so, and looks at it again.
async fn looked(replies: Vec<Reply>, args: Value) -> (Reading, Vec<String>) {
    let stub = Stub::new(replies).await;
    let connector = built(&blueprint(config(&stub, tools()))).await.unwrap();
    let tool = named(&*connector, "pets.tool");
    (look(&*tool, args).await, stub.seen())
}

async fn look(tool: &dyn Tool, args: Value) -> Reading {
    let Outcome::Succeeded { result, report } = run(tool, args.clone()).await else {
        panic!("the write succeeds")
    };
    tool.read_back(Claim { args: &args, result: Some(&result), report: &report }, LIMIT).await
}

fn field(place: &str, told: impl Into<Option<Value>>, found: impl Into<Option<Value>>) -> Field {
    Field { place: place.to_owned(), told: told.into(), found: found.into() }
}

fn unread(gap: ReadBackGap) -> Reading {
    Reading::Done(ReadBack::Unread(gap))
}

#[tokio::test]
async fn each_declared_field_is_read_where_the_result_says_that_it_is() {
    let stands = json!({"id": 7, "name": "Rex", "state": "old"});
    let args = json!({"name": "Mia", "kind": "cat"});
    let (reading, seen) = looked(vec![ok(json!({"id": 7})), ok(stands)], args).await;
    let fields = vec![
        field("/name", json!("Mia"), json!("Rex")),
        field("/kind", json!("cat"), None),
        field("/id", json!(7), json!(7)),
        field("/state", json!("new"), json!("old")),
    ];
    assert_eq!(reading, Reading::Done(ReadBack::Resource(Resource::There(fields))));
    assert!(seen[1].starts_with("GET /pets/7 HTTP/1.1\r\n"), "{}", seen[1]);
}

#[tokio::test]
async fn what_a_call_leaves_out_is_not_compared_and_what_its_answer_lacks_is_not_told() {
    let tools = json!([
        with(tool("GET", "/pets", &["kind"]), json!({"name": "get"})),
        with(
            tool("POST", "/pets", &["name", "kind"]),
            json!({"read_back": {
                "operation": "get",
                "args": {"kind": {"arg": "kind"}},
                "compare": [
                    {"read": "/name", "with": {"arg": "name"}},
                    {"read": "/kind", "with": {"arg": "kind"}},
                    {"read": "/id", "with": {"result": "/id"}},
                ],
            }})
        ),
    ]);
    let stub = Stub::new(vec![ok(json!({})), ok(json!({"id": 1, "name": null}))]).await;
    let connector = built(&blueprint(config(&stub, tools))).await.unwrap();
    let reading = look(&*named(&*connector, "pets.tool"), json!({"name": null})).await;
    let fields = vec![field("/name", json!(null), json!(null)), field("/id", None, json!(1))];
    assert_eq!(reading, Reading::Done(ReadBack::Resource(Resource::There(fields))));
    assert!(stub.seen()[1].starts_with("GET /pets HTTP/1.1\r\n"), "{:?}", stub.seen());
}

#[tokio::test]
async fn an_answer_of_which_only_the_digest_is_left_tells_nothing() {
    let tools = json!([
        with(tool("GET", "/pets", &[]), json!({"name": "get"})),
        with(
            tool("POST", "/pets", &["name"]),
            json!({"read_back": {
                "operation": "get",
                "args": {},
                "compare": [{"read": "/id", "with": {"result": "/id"}}],
            }})
        ),
    ]);
    let stub = Stub::new(vec![ok(json!({"id": 1}))]).await;
    let connector = built(&blueprint(config(&stub, tools))).await.unwrap();
    let (args, report) = (json!({"name": "Mia"}), Report::default());
    let claim = Claim { args: &args, result: None, report: &report };
    let reading = named(&*connector, "pets.tool").read_back(claim, LIMIT).await;
    let fields = vec![field("/id", None, json!(1))];
    assert_eq!(reading, Reading::Done(ReadBack::Resource(Resource::There(fields))));
}

#[tokio::test]
async fn numbers_that_a_double_would_round_are_told_and_found_digit_for_digit() {
    // The second is a double.
    for id in ["9007199254740993", "9007199254740994"] {
        let body = format!(r#"{{"id": {id}, "name": "Mia", "kind": "cat", "state": "new"}}"#);
        let reply = || Reply::Bytes(said("200 OK", body.as_bytes()));
        let args = json!({"name": "Mia", "kind": "cat"});
        let (reading, seen) = looked(vec![reply(), reply()], args).await;
        let Reading::Done(ReadBack::Resource(Resource::There(fields))) = reading else {
            panic!("{reading:?}")
        };
        assert!(fields.iter().all(|field| field.told == field.found), "{fields:?}");
        assert!(seen[1].starts_with(&format!("GET /pets/{id} ")), "{}", seen[1]);
    }
}

#[tokio::test]
async fn an_answer_that_tells_nothing_has_its_reason() {
    let answered = |head: &str| Reply::Bytes(said(head, b"{}"));
    let table = [
        (answered("404 Not Found"), Reading::Done(ReadBack::Resource(Resource::NotThere))),
        (answered("410 Gone"), Reading::Done(ReadBack::Resource(Resource::NotThere))),
        (answered("401 No"), unread(ReadBackGap::Denied)),
        (answered("403 No"), unread(ReadBackGap::Denied)),
        (answered("500 Oh"), Reading::Unreachable),
        (answered("503 Busy"), Reading::Unreachable),
        (answered("429 Slowly"), Reading::Unreachable),
        (answered("302 Go\r\nLocation: /pets/8"), Reading::Unreachable),
        (answered("200 OK\r\nContent-Encoding: gzip"), unread(ReadBackGap::Unreadable)),
        (
            Reply::Bytes(said("200 OK", "x".repeat((1 << 20) + 1).as_bytes())),
            unread(ReadBackGap::Unreadable),
        ),
        (Reply::ThenReset(b"HTTP/1.1 200 OK\r\n".to_vec()), Reading::Unreachable),
        (Reply::Bytes(b"no HTTP at all\r\n\r\n".to_vec()), Reading::Unreachable),
    ];
    for (reply, expected) in table {
        let tried = format!("{reply:?}").chars().take(200).collect::<String>();
        let replies = vec![ok(json!({"id": 7})), reply];
        let (reading, _) = looked(replies, json!({"name": "Mia", "kind": "cat"})).await;
        assert_eq!(reading, expected, "{tried}");
    }
}

#[tokio::test]
async fn an_answer_that_does_not_come_in_time_tells_nothing() {
    for bytes in [&b""[..], b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{"] {
        let replies = vec![ok(json!({"id": 7})), Reply::ThenSilence(bytes.to_vec())];
        let stub = Stub::new(replies).await;
        let connector = built(&blueprint(config(&stub, tools()))).await.unwrap();
        let tool = named(&*connector, "pets.tool");
        let looking = look(&*tool, json!({"name": "Mia", "kind": "cat"}));
        let (reading, ()) = tokio::join!(looking, stub.pause_after(2));
        assert_eq!(reading, unread(ReadBackGap::Timeout));
        tokio::time::resume();
    }
}

#[tokio::test]
async fn an_answer_that_is_no_json_tells_no_field() {
    let replies = vec![ok(json!({"id": 7})), Reply::Bytes(said("200 OK", b"<html>"))];
    let (reading, _) = looked(replies, json!({"name": "Mia", "kind": "cat"})).await;
    let Reading::Done(ReadBack::Resource(Resource::There(fields))) = reading else {
        panic!("{reading:?}")
    };
    assert!(fields.iter().all(|field| field.found.is_none()), "{fields:?}");
}

#[tokio::test]
async fn without_a_key_that_the_other_operation_takes_nothing_is_asked() {
    for result in [json!({}), json!({"id": {"deep": 1}}), json!({"id": ".."}), json!({"id": null})]
    {
        let (reading, seen) = looked(vec![ok(result.clone())], json!({"name": "Mia"})).await;
        assert_eq!(reading, unread(ReadBackGap::NoKey), "{result}");
        assert_eq!(seen.len(), 1, "{seen:?}");
    }
}

#[tokio::test]
async fn a_tool_that_declares_no_read_back_offers_none() {
    let stub = Stub::new(vec![ok(json!({}))]).await;
    let tools = json!([tool("POST", "/pets", &["name"])]);
    let connector = built(&blueprint(config(&stub, tools))).await.unwrap();
    let reading = look(&*named(&*connector, "pets.tool"), json!({"name": "Mia"})).await;
    assert_eq!(reading, unread(ReadBackGap::NotOffered));
    assert!(TYPE.witness_levels.contains(&model::Level::L1));
}

#[tokio::test]
async fn an_operation_that_nobody_accepted_is_not_asked() {
    let stub = Stub::new(vec![ok(json!({"id": 7}))]).await;
    let mut blueprint = blueprint(config(&stub, tools()));
    let first = built(&blueprint).await.unwrap();
    let mut pins: BTreeMap<_, _> = first.tool_schemas();
    let other = json!({"digest": crypto::sha256("another"), "entry": {}});
    assert!(digest_of_pin(&other).is_some());
    pins.insert("pets.get".parse().unwrap(), other);
    blueprint.tools = pins;
    let connector = built(&blueprint).await.unwrap();
    let args = json!({"name": "Mia", "kind": "cat"});
    let reading = look(&*named(&*connector, "pets.tool"), args).await;
    assert_eq!(reading, unread(ReadBackGap::NotOffered));
    assert_eq!(stub.seen().len(), 1);
}

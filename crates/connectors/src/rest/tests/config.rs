//! What a config may say, and what is kept of its tools.

use std::collections::BTreeMap;

use crypto::{json::canonical, sha256};
use egress::PrivateNetworks;
use model::{Outcome, SideEffect};
use serde_json::{Value, json};
use tool::Settled;

use super::world::{
    ACTION, Stub, blueprint, built, config, credential, deps, named, run, tool, with, word,
};
use crate::{Blueprint, BuildError, CheckState, build, check, findings, targeted};

fn told(config: Value) -> String {
    let found = findings(&blueprint(config)).unwrap();
    found.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

fn of(tool: Value) -> Value {
    json!({"base_url": "https://api.example.com/v1", "tools": [tool]})
}

#[test]
fn what_is_wrong_in_a_config_is_told_by_its_place() {
    let get = || tool("GET", "/pets/{pet}", &["pet"]);
    let parameter = |it: Value| with(tool("GET", "/pets", &["a"]), json!({"parameters": [it]}));
    let table = [
        (json!({}), "`base_url` is missing"),
        (json!({"base_url": "https://a.example"}), "expected either `openapi`"),
        (
            json!({"base_url": "https://a.example", "openapi": "{}", "tools": [get()]}),
            "expected either",
        ),
        (
            json!({"base_url": "https://a.example/{tenant}", "tools": [get()]}),
            "`/base_url`: expected an address without",
        ),
        (
            json!({"base_url": "https://a.example/?x=1", "tools": [get()]}),
            "`/base_url`: the address has a query",
        ),
        (json!({"base_url": "https://u:p@a.example", "tools": [get()]}), "names a user"),
        (
            json!({"base_url": "https://a.example", "tools": [get(), get()]}),
            "are both named `tool`",
        ),
        (
            json!({"base_url": "https://a.example", "headers": {"Host": "b"}, "tools": [get()]}),
            "`/headers/Host`",
        ),
        (
            json!({"base_url": "https://a.example", "headers": {"X": "a\r\nb"}, "tools": [get()]}),
            "`/headers/X`",
        ),
        (of(with(get(), json!({"path": "/pets/{pet"}))), "/path`: expected arguments in braces"),
        (of(with(get(), json!({"path": "/pets/{pet}?a=1"}))), "/path`: expected visible ASCII"),
        (
            of(with(get(), json!({"path": "/pets/{other}"}))),
            "`other` is sent but is not a property",
        ),
        (of(with(get(), json!({"body": {"arg": "pet"}}))), "has no body"),
        (
            of(with(get(), json!({"success": [200, 404], "not_applied": [404]}))),
            "404 is among `success`",
        ),
        (of(with(get(), json!({"idempotency_header": "Host"}))), "idempotency_header"),
        (of(with(get(), json!({"args": {"type": "object"}}))), "additionalProperties"),
        (of(with(get(), json!({"method": "TRACE"}))), "/method`: expected one of"),
        (of(with(get(), json!({"name": "undo"}))), "reserved for undoing"),
        (of(with(get(), json!({"other": 1}))), "the schema has no property `other`"),
        (
            of(parameter(json!({"in": "header", "name": "Authorization", "arg": "a"}))),
            "the connector sets this header itself",
        ),
        (of(parameter(json!({"in": "cookie", "name": "a"}))), "/in`"),
        (of(parameter(json!({"in": "query", "name": "b"}))), "`b` is sent but is not a property"),
        (of(with(tool("POST", "/p/{a}", &["a"]), json!({"body": {"arg": "a"}}))), "two places"),
        (
            of(with(tool("POST", "/p", &["a", "b"]), json!({"body": {"arg": "a"}}))),
            "`b` is not sent",
        ),
    ];
    for (config, expected) in table {
        let found = told(config.clone());
        assert!(found.contains(expected), "expected {expected} in {found} of {config}");
    }
    assert_eq!(told(of(get())), "");
}

#[test]
fn a_path_argument_is_required() {
    let mut optional = tool("GET", "/pets/{pet}", &["pet"]);
    optional["args"]["required"] = json!([]);
    assert!(told(of(optional)).contains("expected `pet` among `required`"));
}

#[test]
fn a_look_again_is_held_to_the_tools_that_there_are() {
    let read = with(tool("GET", "/pets/{pet}", &["pet"]), json!({"name": "get"}));
    let write = with(tool("POST", "/pets", &["name"]), json!({"name": "create"}));
    let config =
        |write: Value| json!({"base_url": "https://a.example", "tools": [read.clone(), write]});
    let with_read_back = |it: Value| config(with(write.clone(), json!({"read_back": it})));
    let compare = json!([{"read": "/name", "with": {"arg": "name"}}]);
    let good = json!({"operation": "get", "args": {"pet": {"result": "/id"}}, "compare": compare});
    assert_eq!(told(with_read_back(good.clone())), "");
    let other = |key: &str, value: Value| {
        let mut it = good.clone();
        it[key] = value;
        it
    };
    let table = [
        (other("operation", json!("none")), "no tool is named `none`"),
        (other("operation", json!("create")), "`create` is not a read tool"),
        (other("args", json!({})), "`get` needs the argument `pet`"),
        (other("args", json!({"pet": {"value": 1}, "x": {"value": 1}})), "takes no argument `x`"),
        (other("args", json!({"pet": {"arg": "id"}})), "has no argument `id`"),
        (other("compare", json!([])), "at least 1 items"),
        (other("compare", json!([{"read": "/a", "with": {"arg": "id"}}])), "no argument `id`"),
        (other("args", json!({"pet": {"arg": "name", "value": 1}})), "at most 1 members"),
    ];
    for (it, expected) in table {
        let found = told(with_read_back(it));
        assert!(found.contains(expected), "expected {expected} in {found}");
    }
    let mut reading = read.clone();
    reading["read_back"] = good;
    let both = json!({"base_url": "https://a.example", "tools": [reading]});
    assert!(told(both).contains("a read tool changes nothing"));
}

#[tokio::test]
async fn what_a_tool_does_follows_from_its_method_unless_it_says_otherwise() {
    let stub = Stub::saying("200 OK", b"{}").await;
    let table = [
        ("GET", json!({}), SideEffect::Read),
        ("HEAD", json!({}), SideEffect::Read),
        ("POST", json!({}), SideEffect::Write),
        ("PUT", json!({}), SideEffect::Write),
        ("PATCH", json!({}), SideEffect::Write),
        ("DELETE", json!({}), SideEffect::Destructive),
        ("POST", json!({"side_effect": "read"}), SideEffect::Read),
        ("GET", json!({"side_effect": "destructive"}), SideEffect::Destructive),
    ];
    for (method, said, expected) in table {
        let declared = with(tool(method, "/things", &[]), said);
        let connector = built(&blueprint(config(&stub, json!([declared])))).await.unwrap();
        let tool = named(&*connector, "pets.tool");
        assert_eq!(tool.definition().side_effect, expected, "{method}");
        let settled = match expected {
            SideEffect::Read => Settled::NotApplied,
            SideEffect::Write | SideEffect::Destructive => Settled::Unknowable,
        };
        let (org, action) =
            ("org_01h2xcejqtf2nbrexx3vqjhp41".parse().unwrap(), ACTION.parse().unwrap());
        assert_eq!(tool.settle(org, action, None).await, settled);
    }
}

#[tokio::test]
async fn tools_are_learnt_from_the_config_alone_with_everything_said() {
    let stub = Stub::saying("200 OK", b"{}").await;
    let connector =
        built(&blueprint(config(&stub, json!([tool("POST", "/p", &["a"])])))).await.unwrap();
    let learnt = connector.tool_schemas();
    let known = &learnt[&"pets.tool".parse().unwrap()];
    let digest = named(&*connector, "pets.tool").definition().digest;
    assert_eq!(known["digest"], json!(digest));
    let entry = &known["entry"];
    assert_eq!(entry["side_effect"], "write");
    assert_eq!(entry["required_level"], "L0");
    assert_eq!(entry["body"], json!({"members": ["a"]}));
    assert_eq!(entry["not_applied"], json!([400, 401, 403, 404, 405, 415, 422, 429]));
    assert!(stub.seen().is_empty());
}

#[tokio::test]
async fn a_tool_that_was_declared_otherwise_since_is_known_and_does_not_run() {
    let stub = Stub::saying("200 OK", b"{}").await;
    let before = blueprint(config(&stub, json!([tool("GET", "/p", &[])])));
    let tools = built(&before).await.unwrap().tool_schemas();
    let same = Blueprint { tools: tools.clone(), ..before.clone() };
    let connector = built(&same).await.unwrap();
    assert_eq!(named(&*connector, "pets.tool").changed_to().await, None);
    assert_eq!(connector.tool_schemas(), tools);
    let edits: [fn(&mut Value); 5] = [
        |config| config["base_url"] = json!("http://127.0.0.1:1/other"),
        |config| config["tools"][0]["path"] = json!("/other"),
        |config| config["tools"][0]["success"] = json!([201]),
        |config| config["headers"] = json!({"X-Other": "1"}),
        |config| config["max_bytes"] = json!(17),
    ];
    for edit in edits {
        let mut other = same.clone();
        edit(&mut other.config);
        let connector = built(&other).await.unwrap();
        let tool = named(&*connector, "pets.tool");
        assert_eq!(tool.changed_to().await, Some(tool.definition().digest));
        assert_eq!(word(&run(&*tool, json!({})).await), "failed connector_misconfigured");
    }
    assert!(stub.seen().is_empty());
}

#[tokio::test]
async fn what_an_older_version_accepted_is_taken_over_with_the_target_that_it_has() {
    let stub = Stub::saying("200 OK", b"{}").await;
    let before = blueprint(config(&stub, json!([tool("GET", "/p", &[])])));
    let tools = built(&before).await.unwrap().tool_schemas();
    let older = tools.iter().map(|(name, pin)| {
        let digest = sha256(canonical(&json!({"name": name, "entry": pin["entry"]})));
        (name.clone(), json!({"digest": digest, "entry": pin["entry"]}))
    });
    let older: BTreeMap<_, _> = older.collect();
    assert_eq!(targeted("rest", &before.config, &older), tools);
    assert_eq!(targeted("rest", &config(&stub, json!([])), &tools), tools, "once is enough");
}

#[test]
fn the_host_of_an_api_has_the_form_of_one() {
    let with = |url: &str| told(json!({"base_url": url, "tools": [tool("GET", "/p", &[])]}));
    for good in ["https://api.example.com", "https://10.0.0.1:8443/v1", "https://[2001:db8::1]/"] {
        assert_eq!(with(good), "", "{good}");
    }
    for bad in [
        "https://api..example.com",
        "https://-api.example.com",
        "https://127.1",
        "https://2130706433",
    ] {
        assert!(with(bad).contains("`/base_url`: expected a host"), "{bad}: {}", with(bad));
    }
}

#[tokio::test]
async fn an_address_that_may_not_be_reached_makes_no_connector() {
    let deps = deps(PrivateNetworks::Refused);
    for url in [
        "https://127.0.0.1",
        "https://169.254.169.254",
        "https://[::1]",
        "https://10.0.0.1:8443/v1",
        "http://8.8.8.8",
    ] {
        let config = json!({"base_url": url, "auth": "none", "tools": [tool("GET", "/p", &[])]});
        let error = build(&blueprint(config), &deps).await.unwrap_err();
        let BuildError::Connect(fault) = error else { panic!("{url}: {error:?}") };
        assert_eq!(fault.code.as_str(), "egress_refused", "{url}");
    }
}

#[tokio::test]
async fn a_check_tells_line_by_line_what_is_missing() {
    let stub = Stub::saying("200 OK", b"{}").await;
    let lines = |blueprint: Blueprint| async move {
        let lines = check(&blueprint, &deps(PrivateNetworks::Allowed)).await.unwrap();
        lines.into_iter().map(|line| (line.name, line.state)).collect::<BTreeMap<_, _>>()
    };
    let open = blueprint(config(&stub, json!([tool("GET", "/p", &[])])));
    let found = lines(open.clone()).await;
    for name in ["config", "address", "answers", "all 1 tools fit"] {
        assert_eq!(found[name], CheckState::Pass, "{found:?}");
    }
    let mut asking = open.clone();
    asking.config["auth"] = json!("credential");
    assert_eq!(lines(asking.clone()).await["credential"], CheckState::Fail);
    asking.credential = credential("bearer", &[("token", "t")]);
    assert_eq!(lines(asking.clone()).await["credential"], CheckState::Advice);
    asking.config["check_path"] = json!("/me");
    assert_eq!(lines(asking.clone()).await["credential"], CheckState::Pass);
    assert!(stub.seen().last().unwrap().starts_with("GET /me HTTP/1.1\r\n"));
    let closed = Stub::saying("403 No", b"").await;
    asking.config["base_url"] = json!(closed.url());
    let found = lines(asking).await;
    assert_eq!((found["answers"], found["credential"]), (CheckState::Pass, CheckState::Fail));
    let mut gone = open.clone();
    gone.config["base_url"] = json!("http://127.0.0.1:1");
    assert_eq!(lines(gone).await["answers"], CheckState::Fail);
    let mut changed = open;
    changed.tools = [("pets.tool".parse().unwrap(), json!({"digest": "none"}))].into();
    assert_eq!(lines(changed).await["tool `pets.tool`"], CheckState::Fail);
}

#[tokio::test]
async fn a_connector_that_could_not_be_reached_says_so_until_it_can() {
    let stub = Stub::saying("200 OK", b"{}").await;
    let connector =
        built(&blueprint(config(&stub, json!([tool("GET", "/p", &[])])))).await.unwrap();
    assert!(connector.last_connect_error().is_none());
    assert!(matches!(
        run(&*named(&*connector, "pets.tool"), json!({})).await,
        Outcome::Succeeded { .. }
    ));
    assert!(connector.last_connect_error().is_none());
    let mut gone = blueprint(config(&stub, json!([tool("GET", "/p", &[])])));
    gone.config["base_url"] = json!("http://127.0.0.1:1");
    let connector = built(&gone).await.unwrap();
    run(&*named(&*connector, "pets.tool"), json!({})).await;
    assert_eq!(connector.last_connect_error().unwrap().code.as_str(), "connector_unreachable");
}

//! Bodies of a description: which media types are served, and how forms are written.

use serde_json::{Value, json};

use super::{
    openapi::{args, config, described, every_operation, reason},
    world::{Stub, blueprint, built, named, run},
};

pub(super) fn with_body(body: Value) -> Value {
    described(json!({"/refunds": {"post": {"operationId": "op", "requestBody": body}}}))
}

pub(super) fn form(schema: Value, encoding: Value) -> Value {
    let media = json!({"schema": schema, "encoding": encoding});
    with_body(json!({"required": true, "content": {"application/x-www-form-urlencoded": media}}))
}

/// The content type and the body of a call; `None` where the request has no body.
pub(super) async fn sent(description: Value, args: Value) -> Option<(String, String)> {
    let stub = Stub::saying("200 OK", b"{}").await;
    let mut config = config(description);
    config["base_url"] = json!(stub.url());
    let connector = built(&blueprint(config)).await.unwrap();
    let tool = named(&*connector, "pets.op");
    tool.check_args(&args).unwrap();
    run(&*tool, args).await;
    let seen = stub.seen().remove(0);
    let (head, body) = seen.split_once("\r\n\r\n").unwrap();
    let kind = head.lines().find_map(|line| line.strip_prefix("content-type: "))?;
    Some((kind.to_owned(), body.to_owned()))
}

pub(super) async fn built_of(description: Value) -> std::sync::Arc<dyn tool::Tool> {
    let connector = built(&blueprint(config(description))).await.unwrap();
    named(&*connector, "pets.op")
}

pub(super) fn pair(kind: &str, body: &str) -> (String, String) {
    (kind.to_owned(), body.to_owned())
}

pub(super) const FORM: &str = "application/x-www-form-urlencoded";

#[tokio::test]
async fn json_is_sent_where_it_is_offered_and_else_patches_and_forms_by_name() {
    let schema = json!({"type": "object", "properties": {"a": {"type": "string"}}});
    let media = json!({"schema": schema});
    let call = json!({"a": "x&y"});
    let json = r#"{"a":"x&y"}"#;
    for (kinds, expected) in [
        (vec!["application/json"], Some(pair("application/json", json))),
        (
            vec![FORM, "application/json", "multipart/form-data"],
            Some(pair("application/json", json)),
        ),
        (vec!["Application/JSON; charset=utf-8"], Some(pair("application/json", json))),
        (vec!["*/*"], Some(pair("application/json", json))),
        (vec!["application/merge-patch+json"], Some(pair("application/merge-patch+json", json))),
        (vec![FORM, "multipart/form-data"], Some(pair(FORM, "a=x%26y"))),
    ] {
        let content: serde_json::Map<_, _> =
            kinds.iter().map(|kind| ((*kind).to_owned(), media.clone())).collect();
        let found = sent(with_body(json!({"content": content})), call.clone()).await;
        assert_eq!(found, expected, "{kinds:?}");
    }
    // The most specific name counts: a range is what is left.
    let content = json!({
        "*/*": {"schema": {"type": "object", "properties": {"other": {}}}},
        "application/json": media,
    });
    let found = args(with_body(json!({"content": content}))).await;
    assert!(found["properties"].get("a").is_some(), "{found}");
    let patch = json!({"type": "array", "items": {"type": "object"}});
    let content = json!({"application/json-patch+json": {"schema": patch}});
    let call = json!({"body": [{"op": "remove", "path": "/a"}]});
    let found = sent(with_body(json!({"content": content})), call).await;
    assert_eq!(
        found,
        Some(pair("application/json-patch+json", r#"[{"op":"remove","path":"/a"}]"#))
    );
}

#[tokio::test]
async fn a_form_is_written_as_its_encoding_says() {
    let strings = json!({"type": "array", "items": {"type": "string"}});
    let schema = json!({"type": "object", "properties": {
        "amount": {"type": "integer"},
        "note": {"type": "string", "nullable": true},
        "metadata": {"type": "object", "additionalProperties": {"type": "string"}},
        "address": {"type": "object"},
        "tags": strings,
        "labels": strings,
        "lines": {"type": "array", "items": {"type": "object"}},
        "details": {"type": "object"},
    }});
    let encoding = json!({
        "metadata": {"style": "deepObject", "explode": true},
        "labels": {"style": "form", "explode": false},
        "details": {"contentType": "application/json"},
        "amount": {"contentType": "text/plain"},
    });
    for (call, expected) in [
        (json!({"amount": 5, "note": "a b&c=d"}), "amount=5&note=a%20b%26c%3Dd"),
        (json!({"note": null, "amount": 5}), "amount=5"),
        (json!({"metadata": {"order": "7", "x": ""}}), "metadata%5Border%5D=7&metadata%5Bx%5D="),
        (json!({"tags": ["a,b", "c"]}), "tags=a%2Cb&tags=c"),
        (json!({"tags": []}), ""),
        (json!({"labels": ["a,b", "c"]}), "labels=a%2Cb,c"),
        (json!({"address": {"city": "Ulm"}}), "address=%7B%22city%22%3A%22Ulm%22%7D"),
        (json!({"details": {"a": [1]}}), "details=%7B%22a%22%3A%5B1%5D%7D"),
        (json!({"lines": [{"a": 1}, {}]}), "lines=%7B%22a%22%3A1%7D&lines=%7B%7D"),
        (json!({}), ""),
    ] {
        let found = sent(form(schema.clone(), encoding.clone()), call.clone()).await;
        assert_eq!(found, Some(pair(FORM, expected)), "{call}");
    }
}

#[tokio::test]
async fn a_form_of_any_members_is_one_argument() {
    let schema = json!({"type": "object", "additionalProperties": {"type": "string"}});
    let call = json!({"body": {"a": "1", "b": "2"}});
    assert_eq!(sent(form(schema, json!({})), call).await, Some(pair(FORM, "a=1&b=2")));
    let stub = Stub::saying("200 OK", b"{}").await;
    let mut config = config(form(json!({}), json!({})));
    config["base_url"] = json!(stub.url());
    let connector = built(&blueprint(config)).await.unwrap();
    let tool = named(&*connector, "pets.op");
    for (body, expected) in [
        (json!([1]), "/body: expected an object, since the body is a form"),
        (
            json!({"tags": ["a", null]}),
            "/body/tags: expected a list without `null`, which a form cannot have",
        ),
        (json!({"tags": vec![1; 4_097]}), "/body/tags: expected at most 4096 items"),
        (json!({"_method": "DELETE"}), "/body/_method: expected no member that changes the method"),
    ] {
        assert_eq!(tool.check_args(&json!({"body": body})).unwrap_err(), expected);
    }
}

#[test]
fn a_member_of_a_form_that_cannot_be_written_is_left_out_or_the_operation_is() {
    let schema = json!({"type": "object", "properties": {
        "amount": {"type": "integer"},
        "expand": {"type": "array", "items": {"type": "string"}},
        "file": {"type": "string"},
        "raw": {"type": "string"},
    }});
    let encoding = json!({
        "expand": {"style": "deepObject", "explode": true},
        "file": {"contentType": "image/png"},
        "raw": {"allowReserved": true},
    });
    let (served, left_out) = every_operation(&form(schema.clone(), encoding.clone()));
    assert_eq!(served.len(), 1);
    let left_out: Vec<_> =
        left_out.iter().map(|left| (left.operation.as_str(), left.reason.as_str())).collect();
    assert_eq!(
        left_out,
        [
            (
                "POST /refunds, `expand` of its body",
                "a list in the style `deepObject` with `explode: true`"
            ),
            ("POST /refunds, `file` of its body", "the encoding `image/png`"),
            (
                "POST /refunds, `raw` of its body",
                "`allowReserved`, with which a value could add other members"
            ),
        ]
    );
    let mut needed = schema;
    needed["required"] = json!(["expand"]);
    assert_eq!(
        reason(&form(needed, encoding)),
        "its body's `expand`: a list in the style `deepObject` with `explode: true`"
    );
}

#[tokio::test]
async fn a_body_that_may_be_left_out_is_not_sent_without_its_arguments() {
    let schema = json!({"type": "object", "required": ["a"], "properties": {"a": {"type": "string"}, "b": {"type": "string"}}});
    let content = json!({"application/json": {"schema": schema}});
    let optional = with_body(json!({"content": content}));
    assert_eq!(sent(optional.clone(), json!({})).await, None);
    let found = sent(optional.clone(), json!({"a": "x"})).await;
    assert_eq!(found, Some(pair("application/json", r#"{"a":"x"}"#)));
    // One that is sent has what a body needs.
    let found = built_of(optional).await.check_args(&json!({"b": "x"})).unwrap_err();
    assert!(found.contains('a'), "{found}");
    let schema = json!({"type": "object", "properties": {"a": {"type": "string"}}});
    let content = json!({"application/json": {"schema": schema}});
    let required = with_body(json!({"required": true, "content": content}));
    let found = sent(required, json!({})).await;
    assert_eq!(found, Some(pair("application/json", "{}")));
}

#[tokio::test]
async fn no_tool_has_a_body_that_no_argument_fills() {
    let read_only =
        json!({"type": "object", "properties": {"id": {"type": "string", "readOnly": true}}});
    let content = |schema: &Value| json!({"application/json": {"schema": schema}});
    assert_eq!(sent(with_body(json!({"content": content(&read_only)})), json!({})).await, None);
    let body = json!({"required": true, "content": content(&read_only)});
    assert_eq!(reason(&with_body(body)), "its body has no member that a call can send");
    // One without any member, which may be left out, is none.
    let empty = json!({"type": "object", "properties": {}});
    let found = args(with_body(json!({"content": content(&empty)}))).await;
    assert_eq!(found["properties"], json!({}));
    assert_eq!(sent(with_body(json!({"content": content(&empty)})), json!({})).await, None);
}

#[test]
fn a_body_of_a_method_that_has_none_is_left_out_with_its_reason() {
    let body = |required| json!({"required": required, "content": {"application/json": {}}});
    let with = |required| {
        described(json!({"/things": {"get": {"operationId": "op", "requestBody": body(required)}}}))
    };
    let (served, left_out) = every_operation(&with(false));
    assert_eq!(served.len(), 1);
    assert_eq!(left_out[0].operation, "GET /things, its body");
    assert_eq!(left_out[0].reason, "a body with a method that has none");
    assert_eq!(reason(&with(true)), "it sends a body with a method that has none");
}

#[tokio::test]
async fn a_body_whose_required_members_are_not_listed_is_one_argument() {
    let schema =
        json!({"type": "object", "required": ["kind"], "properties": {"a": {"type": "string"}}});
    let content = json!({"application/json": {"schema": schema}});
    let found = args(with_body(json!({"required": true, "content": content}))).await;
    assert_eq!(found["required"], json!(["body"]));
}

#[tokio::test]
async fn an_encoding_of_a_composed_form_counts() {
    let tags = json!({"type": "object", "properties": {"tags": {"type": "array"}}});
    let schema = json!({"type": "object", "properties": {"a": {}}, "allOf": [tags]});
    let encoding = json!({"tags": {"style": "form", "explode": false}});
    let call = json!({"body": {"tags": ["a", "b"]}});
    assert_eq!(sent(form(schema, encoding), call).await, Some(pair(FORM, "tags=a,b")));
}

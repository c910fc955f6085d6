//! Bodies of a description: which media types are served, and how forms are written.

use serde_json::{Value, json};

use super::{
    openapi::{args, config, described, every_operation, reason},
    world::{Stub, blueprint, built, named, run},
};

fn with_body(body: Value) -> Value {
    described(json!({"/refunds": {"post": {"operationId": "op", "requestBody": body}}}))
}

fn form(schema: Value, encoding: Value) -> Value {
    let media = json!({"schema": schema, "encoding": encoding});
    with_body(json!({"required": true, "content": {"application/x-www-form-urlencoded": media}}))
}

/// The content type and the body of a call; `None` where the request has no body.
async fn sent(description: Value, args: Value) -> Option<(String, String)> {
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

async fn built_of(description: Value) -> std::sync::Arc<dyn tool::Tool> {
    let connector = built(&blueprint(config(description))).await.unwrap();
    named(&*connector, "pets.op")
}

fn pair(kind: &str, body: &str) -> (String, String) {
    (kind.to_owned(), body.to_owned())
}

const FORM: &str = "application/x-www-form-urlencoded";

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

/// A form whose members are not all known is one argument, in which a member of any name may be.
#[tokio::test]
async fn no_member_of_an_open_form_is_written_as_a_part_of_another() {
    let schema = json!({"type": "object", "minProperties": 1, "properties": {
        "user": {"type": "object", "properties": {"role": {"enum": ["guest"]}}},
        "tags": {"type": "array", "items": {"type": "string"}},
    }});
    let encoding = json!({"user": {"style": "deepObject", "explode": true}});
    let description = form(schema, encoding);
    let tool = built_of(description.clone()).await;
    for (body, expected) in [
        (
            json!({"user[role]": "admin"}),
            "/body/user[role]: expected no member that servers may read as `user` or a part of it",
        ),
        (
            json!({"user": {"role": "guest"}, "user[role]": "admin"}),
            "/body/user: expected no member that is written as `user[role]`, which is another \
             argument",
        ),
        (json!({"_METHOD": "DELETE"}), "/body/_METHOD: expected no member that changes the method"),
    ] {
        assert_eq!(tool.check_args(&json!({"body": body})).unwrap_err(), expected);
    }
    // Servers look past blanks and brackets, read `.` as the start of a part, or ignore the case.
    for (name, other) in [
        ("[user][role]", "user"),
        (" user[role]", "user"),
        ("User[role]", "user"),
        ("USER", "user"),
        ("user.role", "user"),
        ("user]", "user"),
        ("tags[]", "tags"),
    ] {
        let error = tool.check_args(&json!({"body": {name: "admin"}})).unwrap_err();
        let expected = format!("no member that servers may read as `{other}` or a part of it");
        assert_eq!(error, format!("/body/{name}: expected {expected}"));
    }
    // Of the others nothing is known, so that brackets in their names say nothing.
    let call = json!({"body": {"user": {"role": "guest"}, "other[a]": "b", "tags": ["c", "d"]}});
    let expected = "other%5Ba%5D=b&tags=c&tags=d&user%5Brole%5D=guest";
    assert_eq!(sent(description, call).await, Some(pair(FORM, expected)));
}

/// A member that is not in the call has its name all the same.
#[tokio::test]
async fn no_member_is_written_as_another_that_a_call_leaves_out() {
    let schema = json!({"type": "object", "properties": {
        "user": {"type": "object"},
        "user[role]": {"enum": ["guest"]},
    }});
    let mut open = schema.clone();
    open["minProperties"] = json!(1);
    let encoding = json!({"user": {"style": "deepObject", "explode": true}});
    for (schema, argument) in [(schema, None), (open, Some("body"))] {
        let tool = built_of(form(schema, encoding.clone())).await;
        let call = |members: Value| argument.map_or(members.clone(), |it| json!({it: members}));
        let error = tool.check_args(&call(json!({"user": {"role": "admin"}}))).unwrap_err();
        let at = argument.map_or_else(String::new, |argument| format!("/{argument}"));
        let expected = "no member that is written as `user[role]`, which is another argument";
        assert_eq!(error, format!("{at}/user: expected {expected}"));
        tool.check_args(&call(json!({"user": {"age": 1}, "user[role]": "guest"}))).unwrap();
    }
}

#[tokio::test]
async fn a_member_of_responses_stays_out_of_a_form() {
    let user = json!({"type": "object", "readOnly": true, "properties": {
        "role": {"type": "string"},
        "address": {"type": "object"},
    }});
    let schema = json!({"type": "object", "minProperties": 1, "additionalProperties": false,
        "properties": {"name": {"type": "string"}, "user": user}});
    let encoding = json!({"user": {"style": "deepObject", "explode": true}});
    let tool = built_of(form(schema, encoding)).await;
    let call = json!({"body": {"name": "a", "user": {"role": "admin"}}});
    let error = tool.check_args(&call).unwrap_err();
    assert_eq!(error, "/body: the schema has no property `user`");
}

#[tokio::test]
async fn a_required_member_of_a_form_is_not_empty() {
    let lists = json!({"type": "array", "items": {"type": "string"}});
    let schema = json!({"type": "object", "additionalProperties": false, "required": ["ids"],
        "properties": {"ids": lists, "tags": lists}});
    let tool = built_of(form(schema.clone(), json!({}))).await;
    tool.check_args(&json!({"ids": ["a"], "tags": []})).unwrap();
    let error = tool.check_args(&json!({"ids": []})).unwrap_err();
    assert!(error.starts_with("/ids: expected at least one item or member"), "{error}");
    // Of a body that may be left out, too, and of one that is an argument as a whole.
    let media = json!({"schema": schema});
    let optional = with_body(json!({"content": {FORM: media}}));
    let tool = built_of(optional).await;
    tool.check_args(&json!({})).unwrap();
    let error = tool.check_args(&json!({"ids": [], "tags": ["a"]})).unwrap_err();
    assert!(error.starts_with("/ids: expected at least one item or member"), "{error}");
    let mut whole = schema.clone();
    whole["minProperties"] = json!(1);
    let tool = built_of(form(whole, json!({}))).await;
    let error = tool.check_args(&json!({"body": {"ids": []}})).unwrap_err();
    assert!(error.starts_with("/body/ids: expected at least one item or member"), "{error}");
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

#[test]
fn members_of_a_form_have_single_values_within_them() {
    let user = json!({"type": "object", "properties": {
        "role": {"type": "string"},
        "address": {"type": "object", "properties": {"city": {"type": "string"}}},
    }});
    let schema = json!({"type": "object", "properties": {"user": user}});
    let mut open = schema.clone();
    open["minProperties"] = json!(1);
    let encoding = json!({"user": {"style": "deepObject", "explode": true}});
    for (schema, at) in
        [(schema.clone(), "/properties/user"), (open, "/properties/body/properties/user")]
    {
        let (served, left_out) = every_operation(&form(schema, encoding.clone()));
        let left_out: Vec<_> =
            left_out.iter().map(|left| (left.operation.as_str(), left.reason.as_str())).collect();
        let reason = "a list or an object within another in the style `deepObject`";
        assert_eq!(left_out, [("POST /refunds, `address` of its body's `user`", reason)]);
        let (called, _) = served.into_iter().next().unwrap().into_parts();
        let found = called.args.pointer(at).unwrap();
        let expected = json!({"role": {"type": "string"}, "address": false});
        assert_eq!(found["properties"], expected, "{at}");
    }
    // Without an encoding such a member is JSON.
    let (served, left_out) = every_operation(&form(schema, json!({})));
    assert!(left_out.is_empty(), "{left_out:?}");
    let (called, _) = served.into_iter().next().unwrap().into_parts();
    assert_eq!(called.args["properties"]["user"], user);
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

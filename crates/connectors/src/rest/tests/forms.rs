//! Which names the members of a form have, and what is within them.

use serde_json::{Value, json};

use super::{
    bodies::{FORM, built_of, form, pair, sent, with_body},
    openapi::every_operation,
    world::{Stub, blueprint, config, tool, with},
};
use crate::findings;

/// A form whose members are not all known is one argument, in which a member of any name may be.
#[tokio::test]
async fn no_member_of_an_open_form_is_written_as_a_part_of_another() {
    let schema = json!({"type": "object", "minProperties": 1, "properties": {
        "user": {"type": "object", "properties": {"role": {"enum": ["guest"]}}},
        "tags": {"type": "array", "items": {"type": "string"}},
        "is_admin": {"const": false},
        "card[number]": {"type": "string"},
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
            "/body/user[role]: expected no member that servers may read as `user` or a part of it",
        ),
    ] {
        assert_eq!(tool.check_args(&json!({"body": body})).unwrap_err(), expected);
    }
    for name in [
        "_METHOD",
        "[_method]",
        "]_method",
        "[]_method",
        " _method",
        ".method",
        "_method[",
        "_method[a]",
    ] {
        let error = tool.check_args(&json!({"body": {name: "DELETE"}})).unwrap_err();
        assert_eq!(error, format!("/body/{name}: expected no member that changes the method"));
    }
    let long = "a".repeat(1_001);
    let error = tool.check_args(&json!({"body": {&*long: "a"}})).unwrap_err();
    assert_eq!(error, format!("/body/{long}: expected a name of at most 1000 bytes"));
    // Servers look past blanks and brackets, read `.` as the start of a part, or ignore the case.
    for (name, other) in [
        ("[user][role]", "user"),
        (" user[role]", "user"),
        ("User[role]", "user"),
        ("USER", "user"),
        ("user.role", "user"),
        ("user]", "user"),
        ("]user", "user"),
        ("[]user", "user"),
        ("tags[]", "tags"),
        // PHP has no `.` and no blank in a name.
        ("is.admin", "is_admin"),
        ("is admin", "is_admin"),
        ("is[admin", "is_admin"),
        // What is described is a part of it.
        ("card", "card[number]"),
        ("CARD[Number]", "card[number]"),
        ("card.number", "card[number]"),
        ("[card][number]", "card[number]"),
    ] {
        let error = tool.check_args(&json!({"body": {name: "admin"}})).unwrap_err();
        let expected = format!("no member that servers may read as `{other}` or a part of it");
        assert_eq!(error, format!("/body/{name}: expected {expected}"));
    }
    // Of the others nothing is known, so that brackets in their names say nothing.
    let call = json!({"body": {
        "card[number]": "1", "other[a]": "b", "tags": ["c", "d"], "tags_other": "e", "user": {"role": "guest"},
    }});
    let expected =
        "card%5Bnumber%5D=1&other%5Ba%5D=b&tags=c&tags=d&tags_other=e&user%5Brole%5D=guest";
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
        for role in ["ROLE", " role", "role."] {
            assert!(tool.check_args(&call(json!({"user": {role: "admin"}}))).is_err(), "{role}");
        }
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
        [(schema.clone(), "/properties/user"), (open.clone(), "/properties/body/properties/user")]
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
    // A form that is a reference is narrowed beside it.
    let mut description = form(json!({"$ref": "#/components/schemas/F"}), encoding);
    description["components"] = json!({"schemas": {"F": open}});
    let (served, left_out) = every_operation(&description);
    assert_eq!(left_out.len(), 1, "{left_out:?}");
    let (called, _) = served.into_iter().next().unwrap().into_parts();
    let body = &called.args["properties"]["body"];
    assert_eq!(body["properties"]["user"], json!({"properties": {"address": false}}), "{body}");
    // Without an encoding such a member is JSON.
    let (served, left_out) = every_operation(&form(schema, json!({})));
    assert!(left_out.is_empty(), "{left_out:?}");
    let (called, _) = served.into_iter().next().unwrap().into_parts();
    assert_eq!(called.args["properties"]["user"], user);
}

/// What applies to the same object describes its members too, wherever it is.
#[tokio::test]
async fn described_members_are_found_wherever_they_are() {
    let of = |name: &str| json!({"type": "object", "properties": {name: {"enum": ["guest"]}}});
    let mut schema = json!({
        "allOf": [of("a"), {"$ref": "#/components/schemas/B"}],
        "anyOf": [of("c"), {"required": ["e"], "properties": {"e": {"type": "array"}}}],
        "oneOf": [of("d")],
    });
    schema["type"] = json!("object");
    let mut description = form(schema, json!({}));
    description["components"] = json!({"schemas": {"B": of("b")}});
    let tool = built_of(description).await;
    for name in ["a", "b", "c", "d", "e"] {
        let body = json!({"body": {format!("{name}[]"): "admin"}});
        let error = tool.check_args(&body).unwrap_err();
        assert!(error.contains(&format!("servers may read as `{name}`")), "{error}");
    }
    // One of two choices requires it, so a call may leave it out.
    tool.check_args(&json!({"body": {"e": []}})).unwrap();
}

/// A schema whose references lead from one to the next is refused before anything follows them.
#[tokio::test]
async fn a_chain_of_very_many_references_is_refused() {
    let mut definitions = serde_json::Map::new();
    for number in 0..40_000 {
        let next = json!({"$ref": format!("#/$defs/{}", number + 1)});
        definitions.insert(number.to_string(), next);
    }
    definitions.insert("40000".to_owned(), json!({"type": "object"}));
    let mut declared = with(
        tool("POST", "/pets", &["body"]),
        json!({"body": {"arg": "body", "media_type": FORM}}),
    );
    declared["args"]["properties"]["body"] = json!({"$ref": "#/$defs/0"});
    declared["args"]["$defs"] = json!(definitions);
    let stub = Stub::saying("200 OK", b"{}").await;
    let found = findings(&blueprint(config(&stub, json!([declared])))).unwrap();
    assert!(!found.is_empty());
}

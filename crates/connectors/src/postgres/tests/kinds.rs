//! Types whose values do not cross, and values that one tool returns and the next one takes.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::world::{World, apply, read_tool, result, write_tool};
use crate::{BuildError, CheckLine, CheckState, check};

/// A parameter of a type that is not in the table, what is said of it, and the statement and arguments
/// that do as it says.
type Case = (&'static str, &'static str, (&'static str, Value, Value));

fn cases() -> Vec<Case> {
    [moments(), others()].concat()
}

/// Those in which dates and times stand.
fn moments() -> Vec<Case> {
    vec![
        (
            "date '2024-02-29' <@ $x::daterange",
            "pass its bounds, as `daterange($from::date, $to::date)`",
            (
                "date '2024-02-29' <@ daterange($from::date, $to::date)",
                json!({"from": "2024-02-01", "to": "2024-03-01"}),
                json!(true),
            ),
        ),
        (
            "(timestamptz '2024-02-29 12:00Z' <@ $x::tstzrange)",
            "pass its bounds, as `tstzrange($from::timestamptz, $to::timestamptz)`",
            (
                "timestamptz '2024-02-29 12:00Z' <@ tstzrange($from::timestamptz, $to::timestamptz)",
                json!({"from": "2024-02-01T00:00:00Z", "to": null}),
                json!(true),
            ),
        ),
        (
            "$x::datemultirange::text",
            "pass the dates and times in it as arguments of their own",
            (
                "datemultirange(daterange($from::date, $to::date))::text",
                json!({"from": "2024-02-01", "to": "2024-03-01"}),
                json!("{[2024-02-01,2024-03-01)}"),
            ),
        ),
        (
            "$x::stay::text",
            "pass the dates and times in it as arguments of their own",
            (
                "row($room::int4, $day::date)::stay::text",
                json!({"room": 7, "day": "2024-02-01"}),
                json!("(7,2024-02-01)"),
            ),
        ),
        (
            "$x::timetz::text",
            "write `$x::time::timetz`",
            ("$x::time::timetz::text", json!({"x": "13:37:00"}), json!("13:37:00+00")),
        ),
        (
            "$x::shift_multirange::text",
            "pass the dates and times in it as arguments of their own",
            (
                "shift_multirange(shift($from::timestamptz, $to::timestamptz))::text",
                json!({"from": null, "to": null}),
                json!("{(,)}"),
            ),
        ),
    ]
}

fn others() -> Vec<Case> {
    vec![
        (
            "host($x::inet)",
            "write `$x::text::inet`",
            ("host($x::text::inet)", json!({"x": "10.0.0.1/8"}), json!("10.0.0.1")),
        ),
        (
            "array_length($x::inet[], 1)",
            "write `$x::text[]::inet[]`",
            ("array_length($x::text[]::inet[], 1)", json!({"x": ["::1", "10.0.0.1"]}), json!(2)),
        ),
        (
            "upper($x::int4range)",
            "write `$x::text::int4range`",
            ("upper($x::text::int4range)", json!({"x": "[1,4]"}), json!(5)),
        ),
        (
            "$x::pause::text",
            "write `$x::text::public.pause`",
            ("$x::text::public.pause::text", json!({"x": "90 minutes"}), json!("01:30:00")),
        ),
        (
            "array_length($x::bit[], 1)",
            "write `$x::text[]::varbit[]`",
            ("array_length($x::text[]::varbit[], 1)", json!({"x": ["101"]}), json!(1)),
        ),
        (
            r#"$x::"Odd Type"::text"#,
            r#"write `$x::text::public."Odd Type"`"#,
            (r#"$x::text::public."Odd Type"::text"#, json!({"x": "(1)"}), json!("(1)")),
        ),
        (
            r#"($x::"char")::text"#,
            r#"write `$x::text::"char"`"#,
            (r#"($x::text::"char")::text"#, json!({"x": "r"}), json!("r")),
        ),
        (
            "length($x::bit)",
            "write `$x::text::varbit`",
            ("length($x::text::varbit)", json!({"x": "101"}), json!(3)),
        ),
    ]
}

/// A tool for each of the expressions, whose arguments take anything.
fn tools<'a>(all: impl Iterator<Item = (&'a str, Vec<&'a str>)>) -> Value {
    let tool = |(at, (sql, names)): (usize, (&str, Vec<&str>))| {
        let args: BTreeMap<&str, bool> = names.into_iter().map(|name| (name, true)).collect();
        read_tool(&format!("t{at}"), &format!("select {sql} as value"), json!(args), "row")
    };
    all.enumerate().map(tool).collect()
}

async fn world(tools: Value) -> Option<World> {
    let world = World::bare(tools).await?;
    let types = "
        create type stay as (room int4, day date);
        create type shift as range (subtype = timestamptz);
        create type \"Odd Type\" as (n int4);
        create domain pause as interval";
    world.admin.batch_execute(types).await.unwrap();
    apply(&world).await;
    Some(world)
}

#[tokio::test]
async fn a_parameter_of_an_unknown_type_is_refused_with_what_to_write_instead() {
    let cases = cases();
    let unfit = tools(cases.iter().map(|(sql, ..)| (*sql, vec!["x"])));
    let Some(world) = world(unfit).await else { return };
    let Err(BuildError::Config { findings }) = world.build().await else { panic!() };
    assert_eq!(findings.len(), cases.len(), "{findings:?}");
    for (at, (finding, (sql, instead, _))) in findings.iter().zip(&cases).enumerate() {
        assert_eq!(finding.at, format!("/tools/{at}/sql"), "{sql}");
        assert!(finding.message.starts_with("no argument can be of the type `"), "{finding:?}");
        assert!(finding.message.ends_with(&format!("of `$x`: {instead}")), "{finding:?}");
    }
    let lines = check(&world.blueprint, &world.deps).await.unwrap();
    let fails: Vec<_> = lines.iter().filter(|line| line.state == CheckState::Fail).collect();
    assert_eq!(
        fails.len(),
        cases.len(),
        "checking says it of a connector that is there: {lines:?}"
    );
    world.end().await;
}

#[tokio::test]
async fn what_to_write_instead_of_an_unknown_type_runs() {
    let cases = cases();
    let fit = cases.iter().map(|(_, _, (sql, args, _))| {
        (*sql, args.as_object().unwrap().keys().map(String::as_str).collect())
    });
    let Some(world) = world(tools(fit)).await else { return };
    for (at, (_, _, (sql, args, expected))) in cases.iter().enumerate() {
        let answer = result(world.call(&format!("t{at}"), args.clone()).await);
        assert_eq!(&answer["value"], expected, "{sql}");
    }
    world.end().await;
}

#[tokio::test]
async fn a_tool_that_was_accepted_with_an_unknown_type_sends_no_words_to_the_server() {
    let fits = read_tool("on", "select $x::text as value", json!({"x": {"type": "string"}}), "row");
    let Some(mut world) = World::new(json!([fits])).await else { return };
    let mut pins = world.build().await.unwrap().tool_schemas();
    // As an earlier version kept a parameter of a type that it did not know.
    for pin in pins.values_mut() {
        pin["statement"]["parameters"][0]["codec"] = json!("opaque");
    }
    world.blueprint.tools = pins;
    let refused = world.tool("on").await.check_args(&json!({"x": "[today,tomorrow)"}));
    let sentence = refused.unwrap_err();
    assert!(sentence.starts_with("/x: expected null"), "{sentence}");
    assert_eq!(result(world.call("on", json!({})).await)["value"], Value::Null);
    world.end().await;
}

#[tokio::test]
async fn checking_names_arguments_that_do_not_take_what_a_column_of_their_name_returns() {
    let takes = |kind: Value| json!({"id": {"type": kind}});
    let asks = |name: &str, kind: Value| {
        read_tool(name, "select label from items where id = $id", takes(kind), "row")
    };
    let tools = json!([
        read_tool("list", "select id::int8 as id, 1.5 as price from items", json!({}), "rows"),
        asks("text", json!("string")),
        asks("number", json!("integer")),
        asks("both", json!(["string", "integer"])),
        asks("any", json!(["number", "null"])),
        write_tool("touch", "update items set stock = 1 returning label as id", json!({}), "count"),
        read_tool("marks", "select stock as mark from items", json!({}), "rows"),
        read_tool("marked", "select $mark::text as is", json!({"mark": {"type": "string"}}), "row"),
        read_tool(
            "priced",
            "select $price::numeric > 1 as is",
            json!({"price": {"type": "number"}}),
            "row"
        ),
        read_tool(
            "page",
            "select id::text as after, id from items where id > $after::int4",
            json!({"after": {"type": "integer"}}),
            "rows"
        ),
    ]);
    let Some(world) = World::new(tools).await else { return };
    let lines = check(&world.blueprint, &world.deps).await.unwrap();
    let advice: Vec<&CheckLine> =
        lines.iter().filter(|line| line.name.starts_with("argument `")).collect();
    let told: Vec<(&str, &str)> =
        advice.iter().map(|line| (line.name.as_str(), line.detail.as_str())).collect();
    assert!(advice.iter().all(|line| line.state == CheckState::Advice), "{advice:?}");
    let detail = |tool: &str, name: &str, given: &str, taken: &str, instead: &str| {
        format!(
            "`{tool}` returns `{name}` as {given} in JSON, and this argument accepts only {taken}: \
             {instead}"
        )
    };
    let widened = |given: &str| format!("add `{given}` to its `type`, or cast the column");
    let expected = [
        ("argument `id` of `text`", detail("list", "id", "integer", "string", &widened("integer"))),
        // Its parameter would not take the other kind, whatever the schema says.
        (
            "argument `mark` of `marked`",
            detail("marks", "mark", "integer", "string", "cast the column"),
        ),
        (
            "argument `price` of `priced`",
            detail("list", "price", "string", "number", &widened("string")),
        ),
        (
            "argument `after` of `page`",
            detail("page", "after", "string", "integer", "cast the column"),
        ),
    ];
    assert_eq!(told, expected.each_ref().map(|(name, detail)| (*name, detail.as_str())));
    world.end().await;
}

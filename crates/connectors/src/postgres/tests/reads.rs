//! What comes back from read tools.

use model::{Outcome, Report};
use serde_json::{Value, json};

use super::world::{LIMIT, World, action, failed, read_tool as tool, result};

/// One row of every type, and what it is in JSON.
const TYPES: &[(&str, &str)] = &[
    ("true", "true"),
    ("false", "false"),
    ("'-32768'::int2", "-32768"),
    ("'-2147483648'::int4", "-2147483648"),
    ("'4294967295'::oid", "4294967295"),
    ("1::int8", "1"),
    ("9007199254740991::int8", "9007199254740991"),
    ("'-9007199254740991'::int8", "-9007199254740991"),
    ("9007199254740992::int8", "\"9007199254740992\""),
    ("'-9007199254740992'::int8", "\"-9007199254740992\""),
    ("'-9223372036854775808'::int8", "\"-9223372036854775808\""),
    ("9007199254740993::int8", "\"9007199254740993\""),
    ("0::numeric", "\"0\""),
    ("1.10::numeric", "\"1.10\""),
    ("-0.00012345::numeric", "\"-0.00012345\""),
    (
        "12345678901234567890123456789.000000001::numeric",
        "\"12345678901234567890123456789.000000001\"",
    ),
    ("1e20::numeric", "\"100000000000000000000\""),
    ("1e-20::numeric(40,25)", "\"0.0000000000000000000100000\""),
    ("10000::numeric", "\"10000\""),
    ("'NaN'::numeric", "\"NaN\""),
    ("'-Infinity'::numeric", "\"-Infinity\""),
    ("0.1::float4", "0.1"),
    ("0.1::float8 + 0.2::float8", "0.30000000000000004"),
    ("1::float8", "1"),
    ("'-0'::float8", "\"-0.0\""),
    ("'NaN'::float8", "\"NaN\""),
    ("'Infinity'::float8", "\"Infinity\""),
    ("'-Infinity'::float4", "\"-Infinity\""),
    ("1e300::float8", "\"1e300\""),
    ("9007199254740993::float8", "\"9007199254740992.0\""),
    ("'grüße \"x\"'::text", "\"grüße \\\"x\\\"\""),
    ("'ab'::char(4)", "\"ab  \""),
    ("'n'::name", "\"n\""),
    ("'happy'::mood", "\"happy\""),
    ("7::positive", "7"),
    ("'550e8400-e29b-41d4-a716-446655440000'::uuid", "\"550e8400-e29b-41d4-a716-446655440000\""),
    ("'\\x00ff10'::bytea", "\"AP8Q\""),
    ("''::bytea", "\"\""),
    ("'2024-02-29'::date", "\"2024-02-29\""),
    ("'1999-12-31'::date", "\"1999-12-31\""),
    ("'0044-03-15 BC'::date", "\"0044-03-15 BC\""),
    ("'infinity'::date", "\"infinity\""),
    ("'23:59:59.999999'::time", "\"23:59:59.999999\""),
    ("'2024-01-02 03:04:05.000006'::timestamp", "\"2024-01-02T03:04:05.000006\""),
    ("'2024-01-02 03:04:05.000006+02'::timestamptz", "\"2024-01-02T01:04:05.000006Z\""),
    ("'1969-12-31 23:59:59.5+00'::timestamptz", "\"1969-12-31T23:59:59.500000Z\""),
    ("'10000-01-01 00:00:00+00'::timestamptz", "\"10000-01-01T00:00:00.000000Z\""),
    ("'4713-01-01 00:00:00+00 BC'::timestamptz", "\"4713-01-01T00:00:00.000000Z BC\""),
    ("'-infinity'::timestamptz", "\"-infinity\""),
    ("'{\"a\": [1, 2.50, null, \"é\\\"\"]}'::jsonb", "{\"a\": [1, 2.5, null, \"é\\\"\"]}"),
    ("'{\"a\": 9007199254740993}'::jsonb", "\"{\\\"a\\\": 9007199254740993}\""),
    ("'[0.1000000000000000000001]'::jsonb", "\"[0.1000000000000000000001]\""),
    ("'[0.30000000000000004]'::jsonb", "[0.30000000000000004]"),
    ("'{\"a\": 1, \"a\": 2}'::json", "\"{\\\"a\\\": 1, \\\"a\\\": 2}\""),
    ("'[1e2, \"9007199254740993\"]'::json", "[100, \"9007199254740993\"]"),
    ("'\"t\"'::jsonb", "\"t\""),
    ("array[1, null, 3]::int4[]", "[1, null, 3]"),
    ("array[[1, 2], [3, 4]]::int8[]", "[[1, 2], [3, 4]]"),
    ("array['a,\"b', '', null]::text[]", "[\"a,\\\"b\", \"\", null]"),
    ("'{}'::text[]", "[]"),
    ("array['{\"a\": 1}']::jsonb[]", "[{\"a\": 1}]"),
    ("array['happy']::mood[]", "[\"happy\"]"),
    (
        "array[timestamptz '2024-01-01 00:00:00+00' + (now() - now())]",
        "[\"2024-01-01T00:00:00.000000Z\"]",
    ),
    ("null::int4", "null"),
    ("null::text", "null"),
    ("null::jsonb", "null"),
    ("null::int4[]", "null"),
];

#[tokio::test]
async fn every_type_comes_back_without_loss() {
    let columns: Vec<String> =
        TYPES.iter().enumerate().map(|(at, (sql, _))| format!("{sql} as c{at}")).collect();
    let sql = format!("select {}", columns.join(", "));
    let tools = json!([tool("types", &sql, json!({}), "row")]);
    let Some(world) = World::new(tools).await else { return };
    let row = result(world.call("types", json!({})).await);
    for (at, (sql, expected)) in TYPES.iter().enumerate() {
        let expected: Value = serde_json::from_str(expected).unwrap();
        assert_eq!(row[format!("c{at}")], expected, "{sql}");
    }
    let again = crypto::json::parse(&crypto::json::canonical(&row)).unwrap();
    assert_eq!(again, row, "the result is the value that its digest covers");
    world.end().await;
}

#[tokio::test]
async fn every_type_goes_in_and_comes_back_the_same() {
    let table = [
        ("bool", json!(true), json!(true)),
        ("int2", json!(-5), json!(-5)),
        ("int4", json!("77"), json!(77)),
        ("int8", json!("9223372036854775807"), json!("9223372036854775807")),
        ("int8", json!(9_007_199_254_740_991_i64), json!(9_007_199_254_740_991_i64)),
        ("int8", json!("-17"), json!(-17)),
        ("numeric", json!("12345678901234567890.123"), json!("12345678901234567890.123")),
        ("numeric", json!(0.1), json!("0.1")),
        ("float8", json!(1e-7), json!(1e-7)),
        ("float8", json!("NaN"), json!("NaN")),
        ("float4", json!(0.1), json!(0.1)),
        ("text", json!("'); drop table items; --"), json!("'); drop table items; --")),
        ("mood", json!("sad"), json!("sad")),
        ("positive", json!(3), json!(3)),
        (
            "uuid",
            json!("550e8400-e29b-41d4-a716-446655440000"),
            json!("550e8400-e29b-41d4-a716-446655440000"),
        ),
        ("bytea", json!("AP8Q"), json!("AP8Q")),
        ("date", json!("0044-03-15 BC"), json!("0044-03-15 BC")),
        ("time", json!("13:37:00"), json!("13:37:00.000000")),
        ("timestamp", json!("2024-01-02T03:04:05.000006"), json!("2024-01-02T03:04:05.000006")),
        ("timestamptz", json!("2024-01-02T03:04:05+02:00"), json!("2024-01-02T01:04:05.000000Z")),
        (
            "timestamptz",
            json!("4713-01-01T00:00:00.000000Z BC"),
            json!("4713-01-01T00:00:00.000000Z BC"),
        ),
        (
            "timestamptz",
            json!("10000-01-01T00:00:00.000000Z"),
            json!("10000-01-01T00:00:00.000000Z"),
        ),
        ("jsonb", json!({"a": [1, "x", null, 0.5]}), json!({"a": [1, "x", null, 0.5]})),
        ("json", json!("text"), json!("text")),
        ("int4[]", json!([1, null, 3]), json!([1, null, 3])),
        ("int8[]", json!([["1", 2], [3, 4]]), json!([[1, 2], [3, 4]])),
        (
            "text[]",
            json!(["a,\"b\\", "", null, "NULL", "{}"]),
            json!(["a,\"b\\", "", null, "NULL", "{}"]),
        ),
        ("jsonb[]", json!([{"a": [1]}, [1, 2]]), json!([{"a": [1]}, [1, 2]])),
        ("bytea[]", json!(["AP8Q"]), json!(["AP8Q"])),
        ("text", json!(null), json!(null)),
    ];
    let tools: Vec<Value> = table
        .iter()
        .enumerate()
        .map(|(at, (ty, ..))| {
            let sql = format!("select $value::{ty} as value");
            tool(&format!("t{at}"), &sql, json!({"value": true}), "row")
        })
        .collect();
    let Some(world) = World::new(Value::Array(tools)).await else { return };
    for (at, (ty, sent, expected)) in table.into_iter().enumerate() {
        let tool = world.tool(&format!("t{at}")).await;
        let args = json!({"value": sent});
        assert_eq!(tool.check_args(&args), Ok(()), "{ty}");
        assert_eq!(result(world.call(&format!("t{at}"), args).await)["value"], expected, "{ty}");
    }
    world.end().await;
}

#[tokio::test]
async fn arguments_that_a_type_cannot_take_are_told_before_the_run() {
    let types = ["int4", "bool", "uuid", "bytea", "timestamptz", "date", "int4[]", "numeric"];
    let tools: Vec<Value> = types
        .iter()
        .map(|ty| {
            let name = ty.replace("[]", "s");
            tool(&name, &format!("select $value::{ty} as value"), json!({"value": true}), "row")
        })
        .collect();
    let Some(world) = World::new(Value::Array(tools)).await else { return };
    let table = [
        ("int4", json!("1; select 2"), "integer"),
        ("int4", json!(1.5), "integer"),
        ("bool", json!("yes"), "true or false"),
        ("uuid", json!(7), "UUID"),
        ("bytea", json!("***"), "base64"),
        ("timestamptz", json!("tomorrow"), "2024-01-31T13:37:00Z"),
        ("timestamptz", json!("04:05 tomorrow"), "2024-01-31T13:37:00Z"),
        ("date", json!("now"), "2024-01-31"),
        ("int4s", json!(["x"]), "item 0"),
        ("int4s", json!(1), "an array"),
        ("numeric", json!("1; 2"), "a number"),
    ];
    for (name, value, expected) in table {
        let error = world.tool(name).await.check_args(&json!({"value": value})).unwrap_err();
        assert!(error.starts_with("/value: ") && error.contains(expected), "{name}: {error}");
    }
    let error = world.tool("int4").await.check_args(&json!({"valeu": 1})).unwrap_err();
    assert!(error.contains("`valeu`"), "{error}");
    world.end().await;
}

#[tokio::test]
async fn rows_row_and_count_are_what_they_say() {
    let items = "select id, label from items where id <= $most order by id";
    let most = json!({"most": {"type": "integer"}});
    let tools = json!([
        tool("rows", items, most.clone(), "rows"),
        tool("row", items, most.clone(), "row"),
        tool("count", items, most, "count"),
    ]);
    let Some(world) = World::new(tools).await else { return };
    let call = async |name, most: i64| world.call(name, json!({"most": most})).await;
    assert_eq!(result(call("rows", 0).await), json!({"rows": []}));
    let two = json!({"rows": [{"id": 1, "label": "item 1"}, {"id": 2, "label": "item 2"}]});
    assert_eq!(result(call("rows", 2).await), two);
    assert_eq!(result(call("row", 0).await), Value::Null);
    assert_eq!(result(call("row", 1).await), json!({"id": 1, "label": "item 1"}));
    assert_eq!(result(call("count", 5).await), json!({"count": 5}));
    failed(call("rows", 5).await, "result_too_large");
    failed(call("row", 2).await, "result_invalid");
    world.end().await;
}

#[tokio::test]
async fn a_read_reports_no_changes_and_leaves_no_ledger_row() {
    let tools = json!([tool("all", "select id from items limit 1", json!({}), "row")]);
    let Some(world) = World::new(tools).await else { return };
    let expected = Outcome::Succeeded { result: json!({"id": 1}), report: Report::of_rows(None) };
    assert_eq!(world.call("all", json!({})).await, expected);
    assert_eq!(world.count("select count(*) from service.ledger").await, 0);
    world.end().await;
}

#[tokio::test]
async fn a_read_tool_cannot_write_whatever_its_statement_hides() {
    let tools = json!([
        tool(
            "cte",
            "with gone as (delete from items returning id) select id from gone",
            json!({}),
            "rows"
        ),
        tool("function", "select nextval('counter') as n", json!({}), "row"),
        tool(
            "unlock",
            "select set_config('transaction_read_only', 'off', false) as x",
            json!({}),
            "row"
        ),
    ]);
    let Some(world) = World::bare(tools).await else { return };
    world.admin.batch_execute("create sequence counter").await.unwrap();
    super::world::apply(&world).await;
    world.admin.batch_execute("grant all on all tables in schema public to public").await.unwrap();
    world
        .admin
        .batch_execute("grant all on all sequences in schema public to public")
        .await
        .unwrap();
    let message = failed(world.call("cte", json!({})).await, "connector_misconfigured");
    assert!(message.contains("25006"), "{message}");
    failed(world.call("function", json!({})).await, "connector_misconfigured");
    failed(world.call("unlock", json!({})).await, "tool_error");
    assert_eq!(world.count("select count(*) from items").await, 5);
    world.end().await;
}

#[tokio::test]
async fn arguments_are_values_and_never_sql() {
    let sql = "select count(*) as n from items where label = $label or label like $label";
    let tools = json!([tool("find", sql, json!({"label": {"type": "string"}}), "row")]);
    let Some(world) = World::new(tools).await else { return };
    for attack in [
        "' or '1'='1",
        "x'; delete from items; --",
        "$1",
        "\\' or 1=1 --",
        "item 1' union select 1 --",
        "pg_sleep(10)",
    ] {
        let found = result(world.call("find", json!({"label": attack})).await);
        assert_eq!(found, json!({"n": 0}), "{attack}");
    }
    assert_eq!(result(world.call("find", json!({"label": "item 1"})).await), json!({"n": 1}));
    assert_eq!(world.count("select count(*) from items").await, 5);
    world.end().await;
}

#[tokio::test]
async fn settings_that_a_statement_leaves_behind_do_not_reach_the_next_call() {
    let sql = "select
        set_config('timezone', 'Asia/Tokyo', false) as a,
        set_config('search_path', 'pg_temp', false) as b,
        set_config('statement_timeout', '1', false) as c,
        set_config('extra_float_digits', '-15', false) as d";
    let tools = json!([
        tool("spoil", sql, json!({}), "row"),
        tool(
            "read",
            "select id, timestamptz '2024-01-01 00:00:00+00' as at, 0.1::float8 + 0.2::float8 as f, (now() - now())::text as t from items where id = 1",
            json!({}),
            "row"
        ),
    ]);
    let Some(mut world) = World::new(tools).await else { return };
    world.blueprint.config["limits"] = json!({"connections": 1});
    let connector = world.build().await.unwrap();
    for tool in connector.tools() {
        let outcome = world.run(&*tool, action(), json!({}), LIMIT).await;
        let row = result(outcome);
        if tool.definition().name.tool() == "read" {
            let expected = json!({
                "id": 1, "at": "2024-01-01T00:00:00.000000Z", "f": 0.1 + 0.2,
                "t": "00:00:00",
            });
            assert_eq!(row, expected);
        }
    }
    world.end().await;
}

#[tokio::test]
async fn a_result_past_the_cap_fails_even_when_it_is_one_row() {
    let tools = json!([
        tool("one", "select repeat('x', 20000000) as x", json!({}), "row"),
        tool(
            "many",
            "select repeat('x', 4000000) as x from generate_series(1, 3)",
            json!({}),
            "rows"
        ),
        tool("small", "select repeat('x', 7000000) as x", json!({}), "row"),
    ]);
    let Some(world) = World::new(tools).await else { return };
    failed(world.call("one", json!({})).await, "result_too_large");
    failed(world.call("many", json!({})).await, "result_too_large");
    assert_eq!(
        result(world.call("small", json!({})).await)["x"].as_str().unwrap().len(),
        7_000_000
    );
    world.end().await;
}

#![expect(clippy::needless_raw_string_hashes, reason = "`expect!` writes its texts so")]

mod addresses;
mod cel_spec;

use std::{collections::BTreeMap, sync::Arc};

use model::{SideEffect, Timestamp};
use serde_json::{Value as Json, json};

use super::{
    Machine, Scope, check, decimal::Decimal, names::nearest, parse, pattern::Patterns, value::Value,
};
use crate::call::{Agent, Call, CallFacts};

/// The expression's value over the arguments in a short form, or why it has none.
fn run(text: &str, args: &Json) -> String {
    let constants = BTreeMap::from([
        ("eu".to_owned(), Arc::new(json!(["AT", "DE"]))),
        ("cap".to_owned(), Arc::new(json!(500))),
    ]);
    let parsed = match parse(text, &constants, &mut Patterns::default()) {
        Ok(parsed) => parsed,
        Err(problem) => return format!("refused: {}", problem.message),
    };
    if let Err(problem) = check::kinds(&parsed.expr) {
        return format!("refused: {}", problem.message);
    }
    let agent = Agent {
        id: "agt_00000000000000000000000001".parse().unwrap(),
        name: "support".to_owned(),
        labels: BTreeMap::from([("team".to_owned(), "pay".to_owned())]),
    };
    let now = Timestamp::parse_rfc3339("2026-10-01T12:30:45.250Z").unwrap();
    let mut call = Call::new("pay.refund", agent, now).with_args(args.clone());
    call.facts = CallFacts {
        session: Some("s1".to_owned()),
        side_effect: Some(SideEffect::Write),
        ..CallFacts::default()
    };
    let scope = Scope::new(&call);
    match Machine::new(&scope).value(&parsed.expr) {
        Ok(value) => show(&value),
        Err(failure) => {
            let part = text.get(failure.span.start..failure.span.end).unwrap();
            format!("{part}: {}", failure.cause)
        }
    }
}

fn show(value: &Value<'_>) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(value) => value.to_string(),
        Value::Int(value) => value.to_string(),
        Value::Double(value) => format!("{value:?}"),
        Value::Text(text) => format!("'{text}'"),
        Value::List(list) => {
            format!("[{}]", list.iter().map(|item| show(&item)).collect::<Vec<_>>().join(", "))
        }
        Value::Map(map) => format!("map of {}", map.len()),
        Value::Time(at) => at.to_string(),
        Value::Span(span) => super::duration::print(*span),
        Value::Decimal(value) => format!("{value}d"),
        Value::Ip(address) => address.to_string(),
        Value::Cidr(cidr) => cidr.to_string(),
    }
}

fn check_all(args: &Json, cases: &[(&str, &str)]) {
    for (text, expected) in cases {
        assert_eq!(run(text, args), *expected, "{text}");
    }
}

#[test]
fn arguments_facts_and_constants_are_read() {
    let args = json!({"amount": 20, "customer": {"id": "c1", "tags": ["vip"]}, "odd-name": 1, "none": null});
    check_all(
        &args,
        &[
            ("args.amount", "20"),
            ("args.customer.id", "'c1'"),
            ("args['odd-name']", "1"),
            ("args.customer.tags[0]", "'vip'"),
            ("args.none", "null"),
            ("agent.id", "'agt_00000000000000000000000001'"),
            ("agent.name", "'support'"),
            ("agent.labels.team == 'pay'", "true"),
            ("'team' in agent.labels && !('x' in agent.labels)", "true"),
            ("call.tool", "'pay.refund'"),
            ("call.mode", "'gateway'"),
            ("call.session", "'s1'"),
            ("call.side_effect", "'write'"),
            ("call.on_behalf_of == null", "true"),
            ("has(call.on_behalf_of)", "false"),
            ("has(call.session)", "true"),
            ("call.livemode && !call.tool_changed", "true"),
            ("now", "2026-10-01T12:30:45.25Z"),
            ("'DE' in constants.eu && constants.cap == 500", "true"),
        ],
    );
}

#[test]
fn a_missing_field_is_an_error_unless_it_is_guarded() {
    let args = json!({"a": {"b": 1}, "n": null});
    check_all(
        &args,
        &[
            ("args.x > 1", "args.x: no such field `x`"),
            ("args.a.x", "args.a.x: no such field `x`"),
            ("args.x.y", "args.x: no such field `x`"),
            ("args.a.b.c", "args.a.b.c: an int has no fields or elements"),
            ("args.n.x", "args.n.x: null has no fields or elements"),
            ("has(args.a.b)", "true"),
            ("has(args.n)", "true"),
            ("has(args.x)", "false"),
            ("has(args.x.y)", "args.x: no such field `x`"),
            ("has(args.x) && args.x > 1", "false"),
            ("args.?x.orValue(7)", "7"),
            ("args.?a.b.orValue(7)", "1"),
            ("args.?x.y.z.orValue(7)", "7"),
            ("args.?a.?b.hasValue()", "true"),
            ("args.?x.hasValue()", "false"),
            ("args.?x[0].orValue('none')", "'none'"),
            ("args.x.orValue(1)", "refused: expected a chain with `.?` before `.orValue`"),
            (
                "args.?x == 1",
                "refused: expected `.orValue(…)` or `.hasValue()` after a chain with `.?`",
            ),
        ],
    );
}

#[test]
fn and_and_or_take_a_settling_side_beside_an_error() {
    let args = json!({"t": true, "f": false});
    check_all(
        &args,
        &[
            ("args.x && args.f", "false"),
            ("args.f && args.x", "false"),
            ("args.x && args.t", "args.x: no such field `x`"),
            ("args.t && args.x && args.y", "args.x: no such field `x`"),
            ("args.x || args.t", "true"),
            ("args.t || args.x", "true"),
            ("args.x || args.f", "args.x: no such field `x`"),
            ("(args.x || args.t) && args.f", "false"),
            ("!args.x || args.t", "true"),
            ("1 > 0 ? args.t : args.x", "true"),
            ("args.x ? 1 : 2", "args.x: no such field `x`"),
        ],
    );
}

#[test]
fn nothing_is_coerced() {
    let args =
        json!({"s": "5", "i": 5, "d": 5.0, "n": null, "big": 18_446_744_073_709_551_615_u64});
    check_all(
        &args,
        &[
            ("args.s == 5", "false"),
            ("args.s != 5", "true"),
            ("args.s > 5", "args.s > 5: `>` does not take a string and an int"),
            ("args.n > 1", "args.n > 1: `>` does not take null and an int"),
            ("args.n == null", "true"),
            ("args.i == args.d", "true"),
            ("args.i + args.d", "args.i + args.d: `+` does not take an int and a double"),
            ("args.i + 1", "6"),
            ("args.big > 9223372036854775807", "true"),
            ("args.i && true", "args.i: expected a bool, found an int"),
            ("'a' + 1 == 'a1'", "refused: `+` does not take string and int"),
            ("!1", "refused: `!` takes bool, this is int"),
            ("call.tool > 1", "refused: `>` does not take string and int"),
            ("args.i in args.i", "args.i in args.i: `in` does not take an int and an int"),
        ],
    );
}

#[test]
fn numbers_compare_exactly_and_arithmetic_is_checked() {
    let args = json!({"i": 9_007_199_254_740_993_i64, "max": i64::MAX, "min": i64::MIN});
    check_all(
        &args,
        &[
            ("args.i == 9007199254740992.0", "false"),
            ("args.i > 9007199254740992.0", "true"),
            ("args.max < 9223372036854775808.0", "true"),
            ("args.min == -9223372036854775808.0", "true"),
            ("3 < 3.5 && 3.5 < 4 && -3.5 < -3 && -4 < -3.5", "true"),
            ("args.max + 1", "args.max + 1: the result is out of range"),
            ("args.min - 1", "args.min - 1: the result is out of range"),
            ("-args.min", "-args.min: the result is out of range"),
            ("args.max * 2", "args.max * 2: the result is out of range"),
            ("-9223372036854775808", "-9223372036854775808"),
            ("9223372036854775808", "refused: expected a 64-bit integer or a finite fraction"),
            ("1 - -1", "2"),
            ("2 + 3 * 4 - 1", "13"),
            ("0xff", "255"),
            ("1e3", "1000.0"),
            (".5 + .25", "0.75"),
        ],
    );
}

#[test]
fn no_double_is_infinite_or_not_a_number() {
    let args =
        json!({"nan": "NaN", "inf": "-inf", "word": "Infinity", "far": "1e999", "big": 1e308});
    let unread = |text: &str| format!("{text}: `double` cannot read the value");
    for text in ["double(args.nan)", "double(args.inf)", "double(args.word)", "double(args.far)"] {
        assert_eq!(run(text, &args), unread(text));
        assert_eq!(run(&format!("{text} > 100"), &args), unread(text), "no denial is stepped over");
        assert_eq!(run(&format!("!({text} <= 100.0)"), &args), unread(text));
    }
    for text in ["args.big + args.big", "-args.big - args.big", "args.big * 10.0"] {
        assert_eq!(run(text, &args), format!("{text}: the result is out of range"));
    }
    check_all(
        &args,
        &[
            ("double('1e308') == args.big", "true"),
            ("double('-0.5') + 0.25", "-0.25"),
            ("args.big - args.big", "0.0"),
            ("double(9223372036854775807)", "9.223372036854776e18"),
        ],
    );
}

#[test]
fn money_is_exact() {
    let args =
        json!({"amount": "19.99", "cents": 5, "bad": "1,000.00", "double": 0.1, "half": 0.5});
    check_all(
        &args,
        &[
            ("decimal(args.amount) * 3", "59.97d"),
            ("decimal(args.amount) <= decimal('19.990')", "true"),
            ("decimal(args.amount) < 20", "true"),
            ("decimal('0.1') + decimal('0.2') == decimal('0.3')", "true"),
            ("decimal('-0.5') - 1", "-1.5d"),
            ("decimal(args.bad)", "decimal(args.bad): `decimal` cannot read the value"),
            ("decimal(1.5)", "refused: `decimal` does not take double"),
            ("decimal('1') < 1.5", "refused: `<` does not take decimal and double"),
            ("decimal('5') == 5 && decimal('5.0') in [5]", "true"),
            // A double stands for another number than was written, so that it equals no decimal.
            ("decimal('0.1') == args.double || decimal('0.5') == args.half", "false"),
            (
                "decimal('1') > args.double",
                "decimal('1') > args.double: `>` does not take a decimal and a double",
            ),
            (
                "decimal('170000000000000000000') + decimal('170000000000000000000')",
                "decimal('170000000000000000000') + decimal('170000000000000000000'): the result is out of range",
            ),
        ],
    );
    assert_eq!(
        "-0.000000000000000001".parse::<Decimal>().unwrap().to_string(),
        "-0.000000000000000001"
    );
    assert!("1.".parse::<Decimal>().is_err() && ".5".parse::<Decimal>().is_err());
    assert!("1.0000000000000000001".parse::<Decimal>().is_err());
    assert_eq!(Decimal::from(i64::MIN).to_string(), i64::MIN.to_string());
}

#[test]
fn a_url_that_two_readers_could_take_for_two_hosts_has_none() {
    let urls = [
        "api.example.org/v1",
        "//api.example.org/v1",
        "mailto:ann@example.org",
        "https:///v1",
        "https://",
        "https://api.example.org@evil.test/",
        "https://evil.test\\@api.example.org/",
        "https:/\\evil.test/",
        "https://api.example.org\\.evil.test/",
        "https://api.exam\tple.org/",
        " https://api.example.org/",
        "https://api.example.org%2eevil.test/",
        "https://\u{ff41}pi.example.org/",
        "https://api\u{3002}example.org/",
        "https://api.example.org:80a/",
        "https://api.example.org:99999/",
        "https://127.1/",
        "https://0x7f000001/",
        "https://2130706433/",
        "https://0177.0.0.1/",
        "https://127.0.0.1./",
        "https://api.example.org./",
        "https://./",
        "FILE://localhost/etc/passwd",
        "https://[::ffff:10.0.0.7]/",
        "https://[10.0.0.7]/",
        "https://[::1/",
        "1https://api.example.org/",
    ];
    for url in urls {
        let args = json!({ "url": url });
        let failed = "urlHost(args.url): `urlHost` cannot read the value";
        check_all(&args, &[("urlHost(args.url)", failed)]);
    }
}

#[test]
fn texts_have_the_functions_of_the_table() {
    let args = json!({"email": "Ann@Sub.Example.ORG", "note": "grüße"});
    check_all(
        &args,
        &[
            ("args.note.size()", "5"),
            ("size('') == 0", "true"),
            ("args.email.startsWith('Ann') && args.email.endsWith('ORG')", "true"),
            ("args.email.contains('@Sub')", "true"),
            ("args.email.lowerAscii()", "'ann@sub.example.org'"),
            ("emailDomain(args.email)", "'sub.example.org'"),
            (
                "emailDomain('a@b@c.org')",
                "emailDomain('a@b@c.org'): `emailDomain` cannot read the value",
            ),
            ("urlHost('https://API.Example.org:8443/v1?u=https://evil.test')", "'api.example.org'"),
            (
                "urlHost('http://[2001:DB8::1]:80') + urlHost('ftp://10.0.0.7')",
                "'2001:db8::110.0.0.7'",
            ),
            ("urlHost('https://api.example.org')", "'api.example.org'"),
            ("args.email.matches('^[A-Z][a-z]+@')", "true"),
            ("args.email.matches(args.note)", "refused: `.matches` takes a literal pattern"),
            (
                "args.email.matches('(?=a)')",
                "refused: expected a regular expression without look-around and back-references, within the size limit",
            ),
            ("glob(call.tool, 'pay.*') && !glob(call.tool, '*.delete')", "true"),
            ("'B' < 'a' && 'a' < 'ab'", "true"),
            (r#"r'\d' == '\\d' && "\u00fc" == 'ü' && '\x41\101' == 'AA'"#, "true"),
            ("'''it's''' == \"it's\"", "true"),
            ("'a' + 'b'", "'ab'"),
            ("string(1) + string(true) + string(decimal('1.50'))", "'1true1.5'"),
            ("int('42') + int(2.9) + int(-2.9)", "42"),
            ("int('4x')", "int('4x'): `int` cannot read the value"),
        ],
    );
}

#[test]
fn lists_and_loops_follow_cel() {
    let args = json!({"items": [{"p": 5}, {"p": 50}, {"q": 1}], "mixed": [1, "a", 1.0]});
    check_all(
        &args,
        &[
            ("args.items.exists(i, i.p > 10)", "true"),
            ("args.items.exists(i, i.p > 100)", "i.p: no such field `p`"),
            ("args.items.exists(i, has(i.p) && i.p > 100)", "false"),
            ("args.items.all(i, i.p < 10)", "false"),
            ("args.items.all(i, i.p < 100)", "i.p: no such field `p`"),
            ("args.items.exists_one(i, has(i.q))", "true"),
            ("args.items.exists_one(i, i.p > 1)", "i.p: no such field `p`"),
            ("[].all(i, i > 1) && ![].exists(i, i > 1)", "true"),
            ("[1, 2].exists(a, [2, 3].exists(b, a == b))", "true"),
            ("args.mixed[1] + 'b'", "'ab'"),
            ("args.mixed[9]", "args.mixed[9]: no such index in the list"),
            ("args.mixed[-1]", "args.mixed[-1]: no such index in the list"),
            ("1.0 in args.mixed && !('b' in args.mixed)", "true"),
            ("[1, 'a', 1.0] == args.mixed", "true"),
            ("[args.items[0].p, 7] + [8]", "[5, 7, 8]"),
            ("size(args.items) == args.items.size()", "true"),
            ("agent.labels.exists(name, name == 'team')", "true"),
            (
                "[1].all(x, [1].all(y, [1].all(z, true)))",
                "refused: expected at most 2 loops inside each other",
            ),
            (
                "[1].all(x, [1].all(x, true))",
                "refused: `x` is already used; give the loop variable another name",
            ),
        ],
    );
}

#[test]
fn elements_are_of_the_kinds_that_their_list_was_put_together_from() {
    let args = json!({"ip": "10.1.2.3", "l": [1], "s": "x"});
    check_all(
        &args,
        &[
            ("[timestamp('2026-01-01T00:00:00Z')].exists(t, t < now)", "true"),
            ("[now][0] > timestamp('2026-01-01T00:00:00Z')", "true"),
            ("[ip('10.1.2.3')].exists(a, a == ip(args.ip))", "true"),
            ("[cidr('10.0.0.0/8')].exists(range, range.containsIP(args.ip))", "true"),
            ("([now] + [now]).all(t, t <= now)", "true"),
            ("(args.s == 'x' ? [now] : []).exists(t, t == now)", "true"),
            ("args.?none.orValue([now]).exists(t, t >= now)", "true"),
            ("[[now]].exists(some, some.exists(t, t >= now))", "true"),
            ("[[now]][0][0] == now", "true"),
            ("[args.l[0], now][1] >= now", "true"),
            ("(args.l + [now])[1] >= now", "true"),
            ("['a', 1].exists(x, x == 1)", "true"),
            // What can never work is still refused.
            ("[now].exists(t, t > 1)", "refused: `>` does not take timestamp and int"),
            ("['a'].exists(x, x > 1)", "refused: `>` does not take string and int"),
            ("[now][0] > 1", "refused: `>` does not take timestamp and int"),
        ],
    );
}

#[test]
fn times_spans_and_zones_are_understood() {
    let args = json!({"at": "2026-03-29T01:30:00+01:00", "bad": "2026-03-29 01:30"});
    check_all(
        &args,
        &[
            ("timestamp(args.at)", "2026-03-29T00:30:00Z"),
            ("timestamp(args.bad)", "timestamp(args.bad): `timestamp` cannot read the value"),
            ("now - timestamp('2026-10-01T12:00:00Z') > duration('30m')", "true"),
            ("now + duration('1h30m15.5s')", "2026-10-01T14:01:00.75Z"),
            ("duration('90m') == duration('1h30m')", "true"),
            ("duration('1d')", "duration('1d'): `duration` cannot read the value"),
            ("duration('-1.5h')", "-5400s"),
            ("duration('90m').getHours()", "1"),
            ("now.getHours() == 12 && now.getHours('Europe/Vienna') == 14", "true"),
            ("now.getHours('-02:30')", "10"),
            ("now.getDayOfWeek()", "4"),
            ("now.getMonth() == 9 && now.getDate() == 1 && now.getFullYear() == 2026", "true"),
            (
                "now.getHours('Moon/Base')",
                "now.getHours('Moon/Base'): `time zone` cannot read the value",
            ),
            ("int(timestamp('1969-12-31T23:59:59.5Z'))", "-1"),
            (
                "timestamp('9999-12-30T21:59:59Z') + duration('2s')",
                "timestamp('9999-12-30T21:59:59Z') + duration('2s'): the result is out of range",
            ),
        ],
    );
}

#[test]
fn what_is_left_out_is_refused_by_name() {
    check_all(
        &json!({}),
        &[
            ("1 / 2", "refused: expected another operator; the language has no division"),
            ("5 % 2", "refused: expected another operator; the language has no division"),
            ("1u", "refused: expected an `int`; the language has no unsigned numbers"),
            ("{'a': 1}", "refused: expected a value; the language has no mappings"),
            (
                "args.x = 1",
                "refused: expected an operator or the end, found `=` (equality is `==`)",
            ),
            ("args.x & true", "refused: expected an operator or the end, found `&` (and is `&&`)"),
            (
                "arg.x",
                "refused: `arg` is not a known name (did you mean `args`?); expected `args`, `agent`, `call`, `now` or `constants`",
            ),
            (
                "call.tol",
                "refused: `call` has no `tol` (did you mean `tool`?); it has tool, connector, mode, transport, session, on_behalf_of, livemode, side_effect, intent, tool_changed",
            ),
            ("constants.uu", "refused: the policy has no constant `uu` (did you mean `eu`?)"),
            (
                "args.x.startswith('a')",
                "refused: there is no function `startswith` (did you mean `startsWith`?)",
            ),
            ("startsWith('a')", "refused: `startsWith` is written `….startsWith(…)`"),
            ("has(args)", "refused: expected one field in `has(…)`, such as `has(args.amount)`"),
            ("'abc", "refused: expected ' at the end of the text"),
            ("'\\q'", "refused: expected a known escape after `\\`"),
            ("", "refused: expected a value, found the end"),
            ("1 +", "refused: expected a value, found the end"),
            ("(1", "refused: expected `)`, found the end"),
            ("a\u{0}", "refused: expected an expression, found the character `\u{0}`"),
        ],
    );
}

#[test]
fn size_and_depth_are_bounded_without_a_crash() {
    let deep = format!("{}1{}", "(".repeat(5000), ")".repeat(500));
    let sum = vec!["1"; 1500].join(" + ");
    let nots = format!("{}true", "!".repeat(4000));
    let wide = format!("[{}]", vec!["1"; 600].join(","));
    let long = "a".repeat(5000);
    for text in [&deep, &sum, &nots, &wide, &long] {
        assert!(run(text, &json!({})).starts_with("refused: expected"));
    }
    let conjuncts = vec!["args.x == 1"; 100].join(" && ");
    assert_eq!(run(&conjuncts, &json!({"x": 1})), "true");
}

#[test]
fn work_is_bounded_by_fuel_that_no_or_can_save() {
    let numbers: Vec<i64> = (0..2000).collect();
    let args = json!({ "a": numbers, "long": vec![0; 20_000], "text": "x".repeat(1 << 20) });
    let nested = "args.a.exists(x, args.a.exists(y, x + y < 0))";
    assert!(run(nested, &args).ends_with("the decision takes too much work"));
    let saved = format!("{nested} || true");
    assert!(run(&saved, &args).ends_with("the decision takes too much work"));
    assert!(run("args.long.all(x, x == 0)", &args).ends_with("the list is too long for a loop"));
    let scans = vec!["args.text.contains('y')"; 20].join(" || ");
    assert!(run(&scans, &args).ends_with("the decision takes too much work"));
}

#[test]
fn the_nearest_word_is_suggested_only_when_it_is_near() {
    assert_eq!(nearest("defualt", ["default", "rules"]), Some("default"));
    assert_eq!(nearest("xyz", ["default", "rules"]), None);
}

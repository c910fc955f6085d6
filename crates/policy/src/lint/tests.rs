#![expect(clippy::needless_raw_string_hashes, reason = "`expect!` writes its texts so")]

use std::sync::Arc;

use expect_test::{Expect, expect};
use model::{Role, SideEffect};
use serde_json::{Value, json};

use super::lint;
use crate::{
    Agent, STARTER,
    catalog::{Approver, Catalog, Directory, KnownTool, Unknown},
    parse,
};

struct Tools(Vec<KnownTool>);

impl Catalog for Tools {
    fn tools(&self) -> Vec<KnownTool> {
        self.0.clone()
    }
}

fn tool(name: &str, side_effect: SideEffect, input_schema: Value) -> KnownTool {
    let input_schema = Arc::new(input_schema);
    KnownTool { name: name.to_owned(), input_schema, side_effect: Some(side_effect) }
}

fn shop() -> Tools {
    let refund = json!({
        "type": "object",
        "required": ["amount", "customer", "items"],
        "additionalProperties": false,
        "properties": {
            "amount": { "type": "number" },
            "cents": { "type": "integer" },
            "note": { "type": "string" },
            "ref": { "type": ["string", "integer"] },
            "customer": { "$ref": "#/$defs/customer" },
            "items": { "type": "array", "items": {
                "type": "object", "required": ["price"],
                "properties": { "price": { "type": "integer" }, "gift": { "type": "boolean" } } } },
        },
        "$defs": { "customer": { "type": "object", "required": ["id"],
            "properties": { "id": { "type": "string" }, "age": { "type": "integer" } } } },
    });
    Tools(vec![
        tool("pay.refund", SideEffect::Write, refund),
        tool("crm.read_customer", SideEffect::Read, json!({ "type": "object" })),
        tool("crm.undo", SideEffect::Write, json!({ "type": "object" })),
        tool("crm.delete_customer", SideEffect::Destructive, json!({ "type": "object" })),
    ])
}

fn check(rules: &str, expected: Expect) {
    let document = parse(&format!("schema: 1\ndefault: {{ outcome: deny }}\n{rules}")).unwrap();
    let lines: Vec<String> =
        lint(&document, &shop(), &Unknown).iter().map(ToString::to_string).collect();
    expected.assert_eq(&lines.join("\n"));
}

/// Lints one condition of a rule over the refund tool.
fn check_when(when: &str, expected: &[&str]) {
    let text = serde_json::to_string(when).unwrap();
    let rules = format!("rules:\n- {{ id: a, match: pay.refund, outcome: allow, when: {text} }}");
    let document = parse(&format!("schema: 1\ndefault: {{ outcome: deny }}\n{rules}")).unwrap();
    let found = lint(&document, &shop(), &Unknown);
    let lines: Vec<String> = found
        .iter()
        .map(|finding| {
            let message = finding.message.strip_prefix("for `pay.refund`: ").unwrap();
            format!("{} {}: {message}", finding.severity.as_str(), finding.code.as_str())
        })
        .collect();
    assert_eq!(lines, expected, "{when}");
}

#[test]
fn a_condition_that_may_fail_is_told_with_the_argument_and_the_fix() {
    let missing = |place: &str| {
        format!("error can_error: `{place}` may be missing; write `has({place}) && …` before it")
    };
    check_when("args.amount > 5 && args.customer.id == 'x'", &[]);
    check_when("args.cents > 5", &[&missing("args.cents")]);
    check_when("args.customer.age > 5", &[&missing("args.customer.age")]);
    check_when("args.items.exists(i, i.gift)", &[&missing("i.gift")]);
    check_when("args.items.exists(i, i.price > 5)", &[]);
    check_when("args.note > 5", &["error can_error: `>` does not take string and int"]);
    check_when(
        "has(args.ref) && args.ref > 5",
        &["error can_error: `>` does not take string and int, which the schema allows"],
    );
    check_when(
        "args.amount + 1 > 5",
        &["error can_error: `+` does not take double and int, which the schema allows"],
    );
    check_when(
        "args.items[0].price > 5",
        &[
            "error can_error: the list may have no such index; `exists` and `all` never fail because of it",
        ],
    );
}

#[test]
fn a_guard_in_any_order_takes_the_doubt_away() {
    for when in [
        "has(args.cents) && args.cents > 5",
        "args.cents > 5 && has(args.cents)",
        "!has(args.cents) || args.cents > 5",
        "args.?cents.orValue(0) > 5",
        "has(args.cents) ? args.cents > 5 : false",
        "has(args.customer.age) && (args.customer.age > 5 || args.customer.age < 2)",
        "args.items.exists(i, has(i.gift) && i.gift)",
        "!(has(args.cents) && args.cents > 5)",
        "args.?customer.?age.hasValue() && args.customer.age > 5",
    ] {
        check_when(when, &[]);
    }
}

#[test]
fn unknown_fields_and_comparisons_without_sense_are_told() {
    let unknown = "error unknown_field: the schema has no `args.amout` (did you mean `amount`?)";
    check_when("args.amout > 5", &[unknown]);
    check_when("has(args.amout) && args.amout > 5", &[unknown]);
    check_when(
        "args.customer.id == 5",
        &["warning always_false: always false: string never equals int"],
    );
    check_when("args.amount == decimal('5')", &[]);
    check_when("decimal(args.customer.id) == 5", &[]);
    check_when(
        "decimal(args.customer.id) == 1.5 || args.amount > 5",
        &["warning always_false: always false: decimal never equals double"],
    );
    check_when(
        "double(args.amount) != decimal('1.5') && args.amount > 5",
        &["warning always_true: always true: double never equals decimal"],
    );
}

#[test]
fn a_list_that_is_put_together_is_compared_by_what_it_is_put_together_from() {
    for when in [
        "[ip('10.1.2.3'), ip('10.1.2.4')].exists(a, a == ip(args.customer.id))",
        "[timestamp('2026-01-01T00:00:00Z')].exists(t, t == timestamp(args.customer.id))",
        "[timestamp(args.customer.id)].exists(t, t < now)",
        "[now, timestamp(args.customer.id)].all(t, t != timestamp('2026-01-01T00:00:00Z'))",
        "[[ip(args.customer.id)]].exists(all, all.exists(a, a == ip('10.1.2.3')))",
        "[args.amount, args.customer.id].exists(x, x == 1) && [1, 'x'].exists(x, x == 'x')",
    ] {
        check_when(when, &[]);
    }
    check_when(
        "[ip('10.1.2.3')].exists(a, a == args.customer.id)",
        &["warning always_false: always false: ip never equals string"],
    );
    check_when(
        "[now, 1].exists(t, t > 1)",
        &["error can_error: `>` does not take timestamp and int, which the schema allows"],
    );
}

#[test]
fn a_field_that_no_tool_of_the_pattern_has_is_an_error_where_all_of_them_are_known() {
    let closed = |properties: Value| json!({ "type": "object", "additionalProperties": false, "properties": properties });
    let text = || json!({ "type": "string" });
    let tools = Tools(vec![
        tool("shop.list", SideEffect::Read, closed(json!({ "item": text(), "page": text() }))),
        tool("shop.show", SideEffect::Read, closed(json!({ "item": text() }))),
        tool(
            "shop.ping",
            SideEffect::Read,
            json!({ "type": "object", "additionalProperties": false }),
        ),
        tool(
            "edge.any",
            SideEffect::Read,
            json!({ "type": "object", "properties": { "item": text() } }),
        ),
    ]);
    let when = |globs: &str, field: &str| {
        let rule = format!(
            "schema: 1\ndefault: {{ outcome: deny }}\nrules:\n- {{ id: a, match: {globs}, outcome: allow, when: args.?{field}.orValue('') == 'x' }}"
        );
        let found = lint(&parse(&rule).unwrap(), &tools, &Unknown);
        let fields = found.iter().filter(|finding| finding.code == crate::Code::UnknownField);
        let column = u32::try_from(43 + globs.len()).unwrap();
        let told = fields.map(|finding| {
            assert_eq!((finding.line, finding.column), (4, column), "{finding}");
            finding.severity.as_str()
        });
        told.collect::<Vec<_>>()
    };
    assert_eq!(when("shop.show", "itemm"), ["error"]);
    assert_eq!(when("'shop.*'", "itemm"), ["error"], "none of three has it");
    assert_eq!(when("shop.ping", "item"), ["error"], "no arguments at all");
    assert_eq!(when("[shop.list, shop.show]", "page"), ["warning"], "one of two has it");
    assert_eq!(when("[shop.show, mail.send]", "itemm"), ["warning"], "nobody knows mail");
    assert_eq!(when("'*.show'", "itemm"), ["warning"], "an edge may have another `show`");
    assert_eq!(when("edge.any", "itemm"), ["warning"], "its schema takes more than it names");
    assert_eq!(when("mail.send", "itemm"), [""; 0], "a connector that is not there yet");
    let document = parse("schema: 1\ndefault: { outcome: deny }\nrules: [{ id: a, match: shop.show, outcome: allow, when: args.itemm == 'x' }]").unwrap();
    assert_eq!(lint(&document, &Unknown, &Unknown), [], "no tool is known");
}

#[test]
fn a_misspelt_field_to_show_is_an_error_with_its_place() {
    check(
        "
rules:
  - { id: one, match: pay.refund, outcome: require_approval, approval: { exclude: [], show: [args.amount, args.amout, args.customer.idd] } }
  - { id: two, match: [crm.undo, mail.send], outcome: require_approval, approval: { exclude: [], show: [args.notes] } }
",
        expect![[r#"
            5:107: error unknown_field: `rules[0].approval.show[1]`: for `pay.refund`: the schema has no `args.amout` (did you mean `amount`?)
            5:119: warning unknown_field: `rules[0].approval.show[2]`: for `pay.refund`: the schema has no `args.customer.idd` (did you mean `id`?)
            6:5: warning unknown_tool: `rules[1]`: `mail.send` covers none of the existing tools"#]],
    );
}

#[test]
fn constants_that_nothing_can_read_are_errors_with_their_place() {
    let lines = |when: &str| {
        let text = format!(
            "schema: 1\ndefault: {{ outcome: deny }}\nconstants: {{ since: yesterday }}\nrules:\n- id: a\n  match: crm.undo\n  outcome: allow\n  when: {}",
            serde_json::to_string(when).unwrap()
        );
        let found = lint(&parse(&text).unwrap(), &Unknown, &Unknown);
        let constants =
            found.iter().filter(|finding| finding.code == crate::Code::UnreadableConstant);
        constants
            .map(|finding| {
                assert_eq!((finding.severity, finding.line), (crate::Severity::Error, 8));
                // The condition begins behind `  when: \"`.
                format!("{}: {}", finding.column - 10, finding.message)
            })
            .collect::<Vec<_>>()
    };
    #[rustfmt::skip]
    let table = [
        ("now > timestamp('2026-13-01')", "16: `2026-13-01` is not valid; expected a time such as `2026-10-01T12:00:00Z`"),
        ("now > timestamp(constants.since)", "16: `yesterday` is not valid; expected a time such as `2026-10-01T12:00:00Z`"),
        ("now - timestamp(args.at) > duration('5x')", "36: `5x` is not valid; expected a span such as `1h30m`"),
        ("decimal(args.sum) > decimal('1,5')", "28: `1,5` is not valid; expected digits with at most 18 after a point, such as `1250.00`"),
        ("int(args.n) > int('ten')", "18: `ten` is not valid; expected a whole number such as `12`"),
        ("double(args.n) > double('0,5')", "24: `0,5` is not valid; expected a number such as `0.5`"),
        ("ip(args.from) == ip('10.0.0.300')", "20: `10.0.0.300` is not valid; expected an address such as `10.0.0.7`"),
        ("cidr('10.0.0.1/8').containsIP(args.from)", "5: `10.0.0.1/8` is not valid; expected a range such as `10.0.0.0/8`, with zeros after the prefix"),
        ("cidr(args.net).containsIP('10.0.0')", "26: `10.0.0` is not valid; expected an address such as `10.0.0.7`"),
        ("cidr('10.0.0.0/8').containsIP('::ffff:10.0.0.1')", "30: `::ffff:10.0.0.1` is not valid; expected an address such as `10.0.0.7`"),
        ("now.getHours('Europe/Viena') < 7", "13: `Europe/Viena` is not valid; expected a time zone such as `Europe/Vienna` or `+02:00`"),
        ("timestamp('2026-10-01T00:00:00Z').getDate('+2:00') < 7", "42: `+2:00` is not valid; expected a time zone such as `Europe/Vienna` or `+02:00`"),
        ("emailDomain('example.org') == args.domain", "12: `example.org` is not valid; expected an address such as `ann@example.org`"),
        ("urlHost('api.example.org') == args.host", "8: `api.example.org` is not valid; expected a URL such as `https://api.example.org/v1`"),
        ("args.n > 9223372036854775807 + 1", "9: this can never have a value: the result is out of range"),
        ("has(args.at) && args.at == 'x' || now > timestamp('soon') + duration('1h')", "50: `soon` is not valid; expected a time such as `2026-10-01T12:00:00Z`"),
    ];
    for (when, told) in table {
        assert_eq!(lines(when), [told], "{when}");
    }
    for when in [
        "now - timestamp(args.at) > duration('1h30m') && now.getHours('Europe/Vienna') < 7",
        "cidr('10.0.0.0/8').containsIP('10.1.2.3') && decimal('1250.00') > 5",
        "args.n > -9223372036854775807 - 1 && 'a' + 'b' in args.list",
    ] {
        assert_eq!(lines(when), [""; 0], "{when}");
    }
}

#[test]
fn rules_and_budgets_without_effect_are_told() {
    check(
        "
rules:
  - { id: reads, match: '*.read_*', outcome: allow }
  - { id: all-crm, match: crm.*, outcome: deny }
  - { id: dead, match: [crm.delete_customer, crm.read_customer], outcome: allow }
  - { id: some, match: pay.*, when: args.amount > 5, outcome: deny }
  - { id: again, match: pay.refund, when: args.amount > 5, outcome: allow }
  - { id: typo, match: pay.refnud, outcome: allow }
  - { id: wide, match: pay*, outcome: allow }
budgets:
  - { id: used, match: pay.refund, window: day, count: 1 }
  - { id: idle, match: mail.*, window: day, count: 1 }
",
        expect![[r#"
            7:5: error unreachable: `rules[2]`: can never decide: every call that it covers is already decided by `all-crm` and `reads` above
            9:5: warning shadowed: `rules[4]`: can never decide: every call for which it holds is already decided by `some` above
            10:5: warning unknown_tool: `rules[5]`: `pay.refnud` covers none of the existing tools (did you mean `pay.refund`?)
            11:5: warning pattern_without_dot: `rules[6]`: `pay*` has no dot, so it covers tools of several connectors
            11:5: warning broad_allow: `rules[6]`: allows `pay.refund` without a condition, and that tool writes"#]],
    );
}

#[test]
fn the_starter_policy_is_clean() {
    let found = lint(&parse(STARTER).unwrap(), &shop(), &Unknown);
    let found: Vec<_> = found.iter().map(|it| (it.code.as_str(), it.severity.as_str())).collect();
    // Of the default and of the two rules that ask a person.
    assert_eq!(found, [("excludes_by_reference", "info"); 3]);
}

/// The findings of some codes for rules over the tool `web.get`, whose schema is known, each with its
/// example.
fn loose(rules: &str) -> Vec<String> {
    let schema = json!({
        "type": "object", "additionalProperties": false,
        "properties": {
            "url": { "type": "string", "format": "uri" },
            "host": { "type": "string" },
            "format": { "type": "string" },
            "day": { "type": "string", "format": "date" },
            "lists": { "type": "array", "items": { "type": "array", "items": { "type": "string" } } },
            "code": { "type": "string", "maxLength": 3 },
            "to": { "type": "array", "items": { "type": "string" } },
            "some": { "type": "array", "minItems": 1, "items": { "type": "string" } },
        },
    });
    let tools = Tools(vec![tool("web.get", SideEffect::Write, schema)]);
    let document =
        parse(&format!("schema: 1\ndefault: {{ outcome: deny }}\nrules:\n{rules}")).unwrap();
    let found = lint(&document, &tools, &Unknown);
    let told = found.iter().filter(|finding| {
        let code = finding.code.as_str();
        code.starts_with("open_") || code == "unanchored_match" || code == "all_of_none"
    });
    told.map(|finding| {
        let example =
            finding.example.as_ref().map_or_else(String::new, |call| call.args.to_string());
        format!("{}:{} {} {example}", finding.line, finding.column, finding.code.as_str())
    })
    .collect()
}

/// The same for one condition of a rule that allows.
fn loose_when(when: &str) -> Vec<String> {
    let text = serde_json::to_string(when).unwrap();
    loose(&format!("- {{ id: a, match: web.get, outcome: allow, when: {text} }}"))
}

#[test]
fn a_condition_that_is_read_too_loosely_is_told_with_the_call_that_gets_through() {
    #[rustfmt::skip]
    let table = [
        ("args.url.startsWith('https://api.shop.example')", r#"open_host {"url":"https://api.shop.example.evil.test/"}"#),
        ("args.url.startsWith('https://api.shop.example:8443')", r#"open_host {"url":"https://api.shop.example:8443@evil.test/"}"#),
        ("args.url.lowerAscii().startsWith('https://api.')", r#"open_host {"url":"https://api.evil.test/"}"#),
        ("args.host.endsWith('shop.example')", r#"open_domain {"host":"evilshop.example"}"#),
        ("emailDomain(args.host).endsWith('shop.example')", r#"open_domain {"host":"x@evilshop.example"}"#),
        (r"args.host.matches('api\\.shop\\.example')", r#"unanchored_match {"host":"api.shop.example.evil.test"}"#),
        (r"args.host.matches('^api\\.shop\\.example')", r#"unanchored_match {"host":"api.shop.example.evil.test"}"#),
        (r"args.host.matches('api\\.shop\\.example$')", r#"unanchored_match {"host":"evil-api.shop.example"}"#),
        (r"args.host.matches('(?m)^api\\.shop\\.example$')", r#"unanchored_match {"host":"evil\napi.shop.example\nevil"}"#),
        (r"args.host.matches('^[a-z]+\\.(eu|us)\\d{2}\\.shop\\.example')", r#"unanchored_match {"host":"a.eu11.shop.example.evil.test"}"#),
        ("args.host == 'a.example' || args.host.matches('b')", r#"unanchored_match {"host":"b.evil.test"}"#),
        ("args.to.all(a, emailDomain(a) == 'shop.example')", r#"all_of_none {"to":[]}"#),
        ("args.to.exists(a, a.endsWith('shop.example'))", r#"open_domain {"to":["evilshop.example"]}"#),
        ("args.some.all(a, a.endsWith('shop.example'))", r#"open_domain {"some":["evilshop.example"]}"#),
        ("args.?url.orValue('').startsWith('https://x')", r#"open_host {"url":"https://x.evil.test/"}"#),
        ("urlHost(args.url).endsWith('shop.example')", r#"open_domain {"url":"https://evilshop.example/"}"#),
        (r"urlHost(args.url).matches('^api\\.shop\\.example')", r#"unanchored_match {"url":"https://api.shop.example.evil.test/"}"#),
        ("args.lists.all(l, l.all(x, x == 'a'))", r#"all_of_none {"lists":[]}"#),
        ("args.format.endsWith('shop.example')", r#"open_domain {"format":"evilshop.example"}"#),
    ];
    for (when, expected) in table {
        let found = loose_when(when);
        let [told] = found.as_slice() else { panic!("{when}: {found:?}") };
        let (place, told) = told.split_once(' ').unwrap();
        assert!(place.starts_with("4:"), "{when}: {place}");
        assert_eq!(told, expected, "{when}");
    }
}

#[test]
fn a_condition_that_says_all_of_what_it_means_is_not_told() {
    for when in [
        "args.url.startsWith('https://api.shop.example/')",
        "args.url.startsWith('https://')",
        "urlHost(args.url) == 'api.shop.example'",
        "args.host.endsWith('.shop.example') || args.host == 'shop.example'",
        "args.host.endsWith('@shop.example')",
        "args.host.endsWith('shop')",
        r"args.host.matches('^api\\.shop\\.example$')",
        r"args.host.matches('^(a|b)\\.example$')",
        r"args.host.matches('^api\\..*')",
        "args.host.matches('^[a-z.]+$')",
        "args.code.matches('^[A-Z]{3}$')",
        "size(args.to) > 0 && args.to.all(a, emailDomain(a) == 'shop.example')",
        "args.some.all(a, emailDomain(a) == 'shop.example')",
        "args.to.exists(a, a == 'x')",
        // No date is as long as that.
        "args.day.matches('^2024-')",
        // What holds beside it leaves no such call.
        "args.url.startsWith('https://api.shop.example') && urlHost(args.url) == 'api.shop.example'",
        "args.code.matches('AB') && args.code == 'AB'",
    ] {
        assert_eq!(loose_when(when), [""; 0], "{when}");
    }
}

#[test]
fn a_loose_condition_is_told_where_it_lets_through_and_nowhere_else() {
    let start = "args.url.startsWith('https://shop.example')";
    let rule = |id: &str, outcome: &str, when: &str| {
        format!("- {{ id: {id}, match: web.get, outcome: {outcome}, when: \"{when}\" }}\n")
    };
    let all = |outcome: &str| format!("- {{ id: rest, match: web.get, outcome: {outcome} }}\n");
    let look_alike = r#"open_host {"url":"https://shop.example.evil.test/"}"#;
    let not = format!("!{start}");
    for (rules, told) in [
        // A denial that covers more than it seems lets nothing through, one that covers less does.
        (rule("a", "deny", start) + &all("allow"), None),
        (rule("a", "deny", &not) + &all("allow"), Some(look_alike)),
        (rule("a", "deny", &not) + &all("deny"), None),
        // To ask a person is less than to deny, and more than to allow.
        (rule("a", "require_approval", start) + &all("deny"), Some(look_alike)),
        (rule("a", "require_approval", start) + &all("allow"), None),
        (rule("a", "require_approval", &not) + &all("allow"), Some(look_alike)),
        (rule("a", "allow", start) + &all("require_approval"), Some(look_alike)),
        (
            rule("a", "deny", "!args.to.all(x, x == 'y')") + &all("allow"),
            Some(r#"all_of_none {"to":[]}"#),
        ),
        (
            rule("a", "deny", "!(size(args.to) > 0 && args.to.all(x, x == 'y'))") + &all("allow"),
            None,
        ),
        (rule("a", "allow", start) + &all("allow"), None),
        // A rule above takes the look-alike.
        (rule("b", "deny", "args.url.contains('evil')") + &rule("a", "allow", start), None),
    ] {
        let found = loose(&rules);
        let told_of: Vec<&str> =
            found.iter().filter_map(|line| line.split_once(' ')).map(|(_, told)| told).collect();
        assert_eq!(told_of, told.as_slice(), "{rules}");
    }
}

struct Agents(Vec<Agent>);

impl Directory for Agents {
    fn approvers(&self) -> Option<Vec<Approver>> {
        None
    }

    fn agents(&self) -> Vec<Agent> {
        self.0.clone()
    }
}

#[test]
fn a_label_that_agents_lack_is_told_with_their_names_and_a_call_that_is_refused() {
    let agent = |number: u8, name: &str, labels: &[(&str, &str)]| {
        let id = format!("agt_0000000000000000000000000{number}").parse().unwrap();
        let labels = labels.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned()));
        Agent { name: name.to_owned(), labels: labels.collect(), ..Agent::new(id) }
    };
    let told_of = |(outcome, default): (&str, &str), when: &str, agents: &[Agent]| -> Vec<String> {
        let text = serde_json::to_string(when).unwrap();
        let rules = format!("- {{ id: a, match: fs.read, outcome: {outcome}, when: {text} }}");
        let text = format!("schema: 1\ndefault: {{ outcome: {default} }}\nrules:\n{rules}");
        let document = parse(&text).unwrap();
        let found = lint(&document, &Unknown, &Agents(agents.to_vec()));
        let found = found.iter().filter(|finding| finding.code.as_str() == "missing_label");
        found
            .map(|finding| {
                let example = finding.example.as_ref().unwrap();
                format!("{} {} by {}", finding.message, example.args, example.agent.name)
            })
            .collect()
    };
    let told = |when: &str, agents: &[Agent]| told_of(("require_approval", "allow"), when, agents);
    let labelled = agent(1, "build", &[("env", "test")]);
    let bare = agent(2, "night", &[("team", "ops")]);
    let when = "args.path.startsWith('/etc/') && agent.labels.env != 'test'";
    assert_eq!(
        told(when, &[labelled.clone(), bare.clone()]),
        [
            "`night` has no label `env`, and calls for which the condition reads it are refused: set the label, or \
          write `(!has(agent.labels.env) || …)` around the expression that reads it {\"path\":\"/etc/x\"} by night"
        ]
    );
    // Where the rule allows, an agent without it is to be left to the rules below.
    let [message] =
        told_of(("allow", "deny"), when, std::slice::from_ref(&bare)).try_into().unwrap();
    let guard = "write `has(agent.labels.env) && …` before the expression that reads it";
    assert!(message.contains(guard), "{message}");
    let [message] =
        told("agent.labels['cost-centre'] == '7'", std::slice::from_ref(&bare)).try_into().unwrap();
    assert!(message.contains("`(!has(agent.labels['cost-centre']) || …)`"), "{message}");
    // Another agent that lacks it is never asked for it.
    let when_named =
        "agent.name != 'a' && args.path.startsWith('/etc/') && agent.labels.env == 'x'";
    let [message] = told(when_named, &[agent(3, "a", &[]), bare.clone()]).try_into().unwrap();
    assert!(message.starts_with("`night` has no label"), "{message}");
    let many: Vec<Agent> = (2..8).map(|number| agent(number, &format!("n{number}"), &[])).collect();
    let [message] = told(when, &many).try_into().unwrap();
    assert!(message.starts_with("`n2`, `n3`, `n4` and 3 more have no label `env`"), "{message}");
    for (when, agents) in [
        (when, vec![labelled.clone()]),
        (when, Vec::new()),
        ("has(agent.labels.env) && agent.labels.env != 'test'", vec![bare.clone()]),
        ("agent.labels.?env.orValue('') != 'test'", vec![bare.clone()]),
        // It is never got to for the agent that lacks it.
        ("agent.name == 'build' && agent.labels.env != 'test'", vec![labelled, bare]),
    ] {
        assert_eq!(told(when, &agents), [""; 0], "{when}");
    }
}

#[test]
fn a_destructive_tool_that_the_link_of_a_mail_lets_run_is_told() {
    let told = |rules: &str| -> Vec<String> {
        let document =
            parse(&format!("schema: 1\ndefault: {{ outcome: deny }}\nrules:\n{rules}")).unwrap();
        let found = lint(&document, &shop(), &Unknown);
        let found = found.iter().filter(|finding| finding.code.as_str() == "weak_assurance");
        found
            .map(|finding| {
                let tool = finding.example.as_ref().map(|call| call.tool.as_str());
                format!("{} {}", finding.rule.as_deref().unwrap(), tool.unwrap())
            })
            .collect()
    };
    let asks = "outcome: require_approval";
    for rules in [
        format!("- {{ id: a, match: crm.delete_customer, {asks} }}"),
        format!("- {{ id: a, match: 'crm.*', {asks}, approval: {{ count: 2 }} }}"),
        format!("- {{ id: a, match: '*', {asks}, when: \"call.side_effect == 'destructive'\" }}"),
        format!("- {{ id: a, match: 'crm.*', {asks}, when: args.sure == true }}"),
    ] {
        assert_eq!(told(&rules), ["a crm.delete_customer"], "{rules}");
    }
    for rules in [
        format!("- {{ id: a, match: 'crm.*', {asks}, approval: {{ assurance: session }} }}"),
        format!("- {{ id: a, match: 'pay.*', {asks} }}"),
        format!("- {{ id: a, match: '*', {asks}, when: call.tool_changed }}"),
        format!("- {{ id: a, match: '*', {asks}, when: \"call.side_effect == 'write'\" }}"),
        format!(
            "- {{ id: d, match: crm.delete_customer, outcome: deny }}\n- {{ id: a, match: 'crm.*', {asks} }}"
        ),
    ] {
        assert_eq!(told(&rules), [""; 0], "{rules}");
    }
}

/// Lints rules with the people that there are and shows the examples.
fn examples(rules: &str, people: &People) -> Vec<String> {
    let document = parse(&format!("schema: 1\ndefault: {{ outcome: deny }}\n{rules}")).unwrap();
    let found = lint(&document, &shop(), people);
    let show = |finding: &crate::Finding| {
        let example = finding.example.as_ref();
        let call =
            example.map_or("no example".to_owned(), |call| format!("{} {}", call.tool, call.args));
        format!("{} {}: {call}", finding.code.as_str(), finding.rule.as_deref().unwrap_or("-"))
    };
    found.iter().map(show).collect()
}

struct People(Vec<Approver>);

impl Directory for People {
    fn approvers(&self) -> Option<Vec<Approver>> {
        Some(self.0.clone())
    }
}

fn people(roles: &[Role]) -> People {
    let person = |(number, role): (usize, &Role)| Approver {
        names: vec![format!("person-{number}@example.org")],
        role: *role,
    };
    People(roles.iter().enumerate().map(person).collect())
}

#[test]
fn what_is_proved_is_shown_with_a_call() {
    let many = people(&[Role::Admin, Role::Admin, Role::Owner]);
    assert_eq!(
        examples(
            "
rules:
  - { id: never, match: pay.refund, when: args.amount > 5 && args.amount < 3, outcome: allow }
  - { id: always, match: pay.refund, when: args.amount > 5 || args.amount <= 5, outcome: deny }
  - { id: late, match: pay.refund, when: args.customer.id == 'x', outcome: allow }
  - { id: fails, match: pay.refund, when: args.cents > 5, outcome: allow }
  - { id: some, match: crm.x, when: \"args.a in ['x', 'y']\", outcome: deny }
  - { id: rest, match: crm.x, when: \"!(args.a in ['x', 'y'])\", outcome: deny }
  - { id: both, match: crm.x, when: \"args.a == 'x' || args.a == 'z'\", outcome: allow }
  - { id: wide, match: 'crm.d*', outcome: allow }
  - { id: doubt, match: mail.send, when: \"args.to.matches('^[a-f]{3}$')\", outcome: allow }
",
            &many
        ),
        [
            r#"always_false never: pay.refund {"amount":5,"customer":{"id":"x"},"items":[]}"#,
            r#"always_true always: pay.refund {"amount":6,"customer":{"id":"x"},"items":[]}"#,
            r#"shadowed late: pay.refund {"amount":1,"customer":{"id":"x"},"items":[]}"#,
            r#"shadowed fails: pay.refund {"amount":1,"cents":6,"customer":{"id":"x"},"items":[]}"#,
            "unknown_tool some: no example",
            "unknown_tool rest: no example",
            "unknown_tool both: no example",
            r#"shadowed both: crm.x {"a":"x"}"#,
            "broad_allow wide: crm.delete_customer {}",
            "unknown_tool doubt: no example",
        ]
    );
}

#[test]
fn budgets_that_refuse_all_or_never_first_are_told() {
    let found = examples(
        "
rules: [ { id: a, match: 'pay.*', outcome: allow } ]
budgets:
  - { id: none, match: pay.refund, window: day, count: 0 }
  - { id: day, match: 'pay.*', window: day, count: 10 }
  - { id: agents, match: pay.refund, per: [agent], window: day, count: 10 }
  - { id: month, match: 'pay.*', window: month, count: 5 }
  - { id: hour, match: 'pay.*', window: hour, count: 5 }
",
        &people(&[Role::Admin]),
    );
    let codes: Vec<&str> = found.iter().map(String::as_str).collect();
    assert_eq!(
        codes,
        [
            "broad_allow a: pay.refund {\"amount\":1,\"customer\":{\"id\":\"x\"},\"items\":[]}",
            "budget_always_first none: no example",
            "budget_always_first day: no example",
            "budget_always_first agents: no example",
        ]
    );
}

#[test]
fn approvals_for_which_there_are_too_few_people_are_told() {
    let rules = "
rules:
  - { id: two, match: 'a.b', outcome: require_approval, approval: { from: [role:admin], count: 2, exclude: [agent_owner] } }
  - { id: one, match: 'a.c', outcome: require_approval, approval: { from: ['member:person-0@example.org'] } }
  - { id: all, match: 'a.d', outcome: require_approval, approval: { count: 2 } }
";
    let told = |people: &People| -> Vec<String> {
        let document = parse(&format!("schema: 1\ndefault: {{ outcome: deny }}\n{rules}")).unwrap();
        let found = lint(&document, &Unknown, people);
        found
            .iter()
            .filter(|finding| finding.code == crate::Code::ApprovalNobody)
            .map(|finding| format!("{} {}", finding.rule.as_deref().unwrap(), finding.message))
            .collect()
    };
    assert_eq!(
        told(&people(&[Role::Viewer, Role::Admin, Role::Admin])),
        [
            "two needs 2 different people; 2 may approve, too few if agent_owner is one of them",
            "one needs 1 different people; 1 may approve, too few if on_behalf_of is one of them",
        ]
    );
    assert_eq!(
        told(&people(&[Role::Owner])),
        [
            "two needs 2 different people, and 1 may approve",
            "one needs 1 different people; 1 may approve, too few if on_behalf_of is one of them",
            "all needs 2 different people, and 1 may approve",
        ]
    );
}

#[test]
fn a_rule_that_excludes_by_what_the_agent_states_says_so() {
    let rules = "
  - { id: unsaid, match: 'a.b', outcome: require_approval }
  - { id: said, match: 'a.c', outcome: require_approval, approval: { exclude: [agent_owner, on_behalf_of] } }
  - { id: others, match: 'a.d', outcome: require_approval, approval: { exclude: [agent_owner, policy_author] } }
  - { id: nobody, match: 'a.e', outcome: require_approval, approval: { exclude: [] } }
  - { id: free, match: 'a.f', outcome: allow }";
    let told = |default: &str| -> Vec<String> {
        let text = format!("schema: 1\ndefault: {{ outcome: {default} }}\nrules:{rules}");
        let found = lint(&parse(&text).unwrap(), &Unknown, &Unknown);
        found.iter().map(ToString::to_string).collect()
    };
    let message = "excludes the person for whom the agent acts, but only if the agent names that \
        person: if it names nobody, or a name that no member has, nobody is excluded";
    let at = |place: &str, path: &str| {
        format!("{place}: info excludes_by_reference: `{path}.approval`: {message}")
    };
    let rules = [at("4:5", "rules[0]"), at("5:5", "rules[1]")];
    assert_eq!(told("deny"), rules);
    let [unsaid, said] = rules;
    assert_eq!(told("require_approval"), [at("1:1", "default"), unsaid, said]);
}

#![expect(clippy::needless_raw_string_hashes, reason = "`expect!` writes its texts so")]

use std::sync::Arc;

use expect_test::{Expect, expect};
use model::{Role, SideEffect};
use serde_json::{Value, json};

use super::lint;
use crate::{
    STARTER,
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
            "error can_error: the list may have no such place; `exists` and `all` never fail on that",
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
    let unknown = "warning unknown_field: the schema has no `args.amout` (did you mean `amount`?)";
    check_when("args.amout > 5", &[unknown]);
    check_when(
        "args.customer.id == 5",
        &["warning always_false: always false: string never equals int"],
    );
    check_when("args.amount == decimal('5')", &[]);
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
            7:5: error unreachable: `rules[2]`: can never decide: `all-crm` and `reads` above left it no call
            9:5: warning shadowed: `rules[4]`: can never decide: `some` above took every call for which it holds
            10:5: warning unknown_tool: `rules[5]`: `pay.refnud` covers none of the tools there are (did you mean `pay.refund`?)
            11:5: warning pattern_without_dot: `rules[6]`: `pay*` has no dot, so it covers tools of several connectors
            11:5: warning broad_allow: `rules[6]`: allows `pay.refund` without a condition, and that tool writes"#]],
    );
}

#[test]
fn the_starter_policy_is_clean() {
    assert_eq!(lint(&parse(STARTER).unwrap(), &shop(), &Unknown), []);
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
            .map(|finding| format!("{} {}", finding.rule.as_deref().unwrap(), finding.message))
            .collect()
    };
    assert_eq!(
        told(&people(&[Role::Viewer, Role::Admin, Role::Admin])),
        [
            "two needs 2 different people; 2 may approve, too few where agent_owner is among them",
            "one needs 1 different people; 1 may approve, too few where on_behalf_of is among them",
        ]
    );
    assert_eq!(
        told(&people(&[Role::Owner])),
        [
            "two needs 2 different people, and 0 may approve",
            "one needs 1 different people; 1 may approve, too few where on_behalf_of is among them",
            "all needs 2 different people, and 1 may approve",
        ]
    );
}

#![expect(clippy::needless_raw_string_hashes, reason = "`expect!` writes its texts so")]

mod bounds;
mod fuzz;
mod globs;
mod numbers;
mod page;
#[cfg_attr(not(feature = "prover"), expect(dead_code, reason = "proofs are tried on conditions"))]
pub(crate) mod random;
mod replay;
mod schema;
mod trace;

use std::collections::BTreeMap;

use expect_test::{Expect, expect};
use model::{
    Assurance, DecisionCode, DecisionOutcome, DecisionSource, Mode, SideEffect, Timestamp,
    Visibility,
};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::{
    Agent, Call, CallFacts, Charge, ChargeKind, Decision, Excluded, Policy, STARTER, Window,
    decide, visibility,
};

pub(crate) fn policy(text: &str) -> Policy {
    Policy::compile(text).unwrap_or_else(|invalid| panic!("{invalid}"))
}

fn agent() -> Agent {
    Agent {
        id: "agt_00000000000000000000000001".parse().unwrap(),
        name: "support".to_owned(),
        labels: BTreeMap::from([("team".to_owned(), "pay".to_owned())]),
    }
}

fn at(text: &str) -> Timestamp {
    Timestamp::parse_rfc3339(text).unwrap()
}

fn call(tool: &str) -> Call {
    Call::new(tool, agent(), at("2026-10-01T12:30:45.250Z"))
}

/// The call with this changed in what is known of it.
fn knowing(mut call: Call, change: impl FnOnce(&mut CallFacts)) -> Call {
    change(&mut call.facts);
    call
}

fn decide_args(text: &str, args: Value) -> Decision {
    decide(&policy(text), &call("pay.refund").with_args(args))
}

fn findings(text: &str, expected: Expect) {
    let invalid = Policy::compile(text).expect_err("the document must be refused");
    let lines: Vec<String> = invalid.findings.iter().map(ToString::to_string).collect();
    expected.assert_eq(&lines.join("\n"));
}

pub(crate) const REFUNDS: &str = "
schema: 1
default: { outcome: deny, reason: 'No rule allows this call.' }
rules:
  - { id: large, match: pay.refund, when: args.amount > 500, outcome: require_approval,
      reason: 'Refunds above 500 need two people.',
      approval: { from: [role:admin, 'member:ann@example.org'], count: 2, expires_in: 2h,
                  exclude: [on_behalf_of, policy_author], show: [args.amount], estimate: true,
                  assurance: session } }
  - { id: small, match: [pay.refund, 'shop.*'], when: args.amount <= 50, outcome: allow }
  - { id: none, match: '*.delete', outcome: deny, reason: 'Nothing is deleted here.' }
approvals: { expires_in: 1h }
";

#[test]
fn the_first_rule_that_covers_and_holds_decides() {
    let small = decide_args(REFUNDS, json!({"amount": 20}));
    assert_eq!(small.outcome, DecisionOutcome::Allow);
    assert_eq!(
        (small.code, small.source, small.rule_id.as_deref()),
        (None, DecisionSource::Rule, Some("small"))
    );
    let delete = decide(&policy(REFUNDS), &call("crm.delete"));
    assert_eq!(
        (delete.outcome, delete.code),
        (DecisionOutcome::Deny, Some(DecisionCode::PolicyDenied))
    );
    assert_eq!(delete.reason.as_deref(), Some("Nothing is deleted here."));
}

#[test]
fn the_default_decides_where_no_rule_does() {
    let decision = decide_args(REFUNDS, json!({"amount": 100}));
    assert_eq!(decision.outcome, DecisionOutcome::Deny);
    assert_eq!(
        (decision.code, decision.source, decision.rule_id),
        (Some(DecisionCode::DefaultDenied), DecisionSource::Default, None)
    );
    assert_eq!(decision.reason.as_deref(), Some("No rule allows this call."));
    let asks = decide_args("{schema: 1, default: {outcome: require_approval}}", json!({}));
    assert_eq!(asks.code, Some(DecisionCode::ApprovalRequired));
    assert_eq!(asks.source, DecisionSource::Default);
    assert!(asks.approval.is_some());
    let allows = decide_args("{schema: 1, default: {outcome: allow}}", json!({}));
    assert_eq!((allows.outcome, allows.code), (DecisionOutcome::Allow, None));
}

#[test]
fn an_approval_carries_its_clause_and_the_policys_time() {
    let decision = decide_args(REFUNDS, json!({"amount": 501}));
    assert_eq!(decision.code, Some(DecisionCode::ApprovalRequired));
    let clause = decision.approval.unwrap();
    assert_eq!(clause.from, ["role:admin", "member:ann@example.org"]);
    assert_eq!((clause.count, clause.estimate), (2, true));
    assert_eq!(clause.expires_in.unwrap().as_secs(), 7200);
    assert_eq!(clause.exclude, [Excluded::OnBehalfOf, Excluded::PolicyAuthor]);
    assert_eq!(clause.assurance, Some(Assurance::Session));
    assert_eq!(clause.show, ["args.amount"]);

    let plain = "{schema: 1, default: {outcome: require_approval}, approvals: {expires_in: 90m}}";
    let clause = decide_args(plain, json!({})).approval.unwrap();
    assert_eq!((clause.count, clause.from.len()), (1, 0));
    assert_eq!(clause.expires_in.unwrap().as_secs(), 5400);
    assert_eq!(clause.exclude, [Excluded::OnBehalfOf]);
}

#[test]
fn an_error_in_a_reached_rule_denies_and_is_never_stepped_over() {
    let decision = decide_args(REFUNDS, json!({"total": 20}));
    assert_eq!(decision.outcome, DecisionOutcome::Deny);
    assert_eq!(decision.code, Some(DecisionCode::PolicyUnavailable));
    assert_eq!(decision.source, DecisionSource::Builtin);
    assert_eq!(decision.rule_id.as_deref(), Some("large"));
    assert_eq!(decision.failure.as_deref(), Some("`args.amount`: no such field `amount`"));
    // Dropping an argument must not step over a denial to an allow below it.
    let guarded = "
schema: 1
default: { outcome: deny }
rules:
  - { id: no, match: '*', when: args.target == 'prod', outcome: deny }
  - { id: yes, match: '*', outcome: allow }
";
    assert_eq!(decide_args(guarded, json!({})).outcome, DecisionOutcome::Deny);
    assert_eq!(decide_args(guarded, json!({"target": "test"})).outcome, DecisionOutcome::Allow);
    // A rule that is not reached cannot fail.
    let other = decide(&policy(REFUNDS), &call("shop.buy").with_args(json!({"amount": 1})));
    assert_eq!(other.outcome, DecisionOutcome::Allow);
}

#[test]
fn a_failure_names_no_value_of_the_call() {
    let text = "{schema: 1, default: {outcome: deny}, rules: [{id: a, match: '*', when: args.secret > 5, outcome: allow}]}";
    let failure = decide_args(text, json!({"secret": "hunter2"})).failure.unwrap();
    assert_eq!(failure, "`args.secret > 5`: `>` does not take a string and an int");
}

#[test]
fn the_starter_policy_lets_reads_run_and_asks_for_the_rest() {
    let starter = policy(STARTER);
    let of =
        |tool: &str, change: fn(&mut CallFacts)| decide(&starter, &knowing(call(tool), change));
    let read = of("crm.get", |facts| facts.side_effect = Some(SideEffect::Read));
    assert_eq!((read.outcome, read.rule_id.as_deref()), (DecisionOutcome::Allow, Some("reads")));
    let write = of("crm.get", |facts| facts.side_effect = Some(SideEffect::Write));
    assert_eq!(
        (write.outcome, write.source),
        (DecisionOutcome::RequireApproval, DecisionSource::Default)
    );
    let unknown = of("crm.get", |_| {});
    assert_eq!(unknown.outcome, DecisionOutcome::RequireApproval);
    let changed = of("crm.get", |facts| facts.tool_changed = true);
    assert_eq!(changed.rule_id.as_deref(), Some("tool-changed"));
    let changed_read = of("crm.get", |facts| {
        (facts.side_effect, facts.tool_changed) = (Some(SideEffect::Read), true);
    });
    assert_eq!(changed_read.outcome, DecisionOutcome::RequireApproval);
    assert_eq!(changed_read.rule_id.as_deref(), Some("tool-changed"));
    let undo = of("crm.undo", |facts| facts.side_effect = Some(SideEffect::Read));
    assert_eq!(undo.reason.as_deref(), Some("Undoing a write needs a person's countersign."));
}

#[test]
fn visibility_reads_the_structure_alone() {
    let policy = policy(REFUNDS);
    assert_eq!(visibility(&policy, "crm.delete"), (Visibility::Hidden, Some("none")));
    assert_eq!(visibility(&policy, "pay.refund"), (Visibility::Visible, Some("large")));
    // `shop.delete` is covered by a rule with a condition before the one that denies.
    assert_eq!(visibility(&policy, "shop.delete"), (Visibility::Visible, Some("small")));
    assert_eq!(visibility(&policy, "crm.read"), (Visibility::Hidden, None));
}

#[test]
fn the_digest_covers_the_data_and_not_its_spelling() {
    let yaml = "
# a comment
default:
  outcome: deny
schema: 1
rules: [ { id: a, match: crm.*, outcome: allow } ]
";
    let json = r#"{"schema":1,"rules":[{"match":"crm.*","id":"a","outcome":"allow"}],"default":{"outcome":"deny"}}"#;
    let other = json.replace("crm.*", "crm.**");
    assert_eq!(policy(yaml).digest(), policy(json).digest());
    assert_ne!(policy(json).digest(), policy(&other).digest());
}

pub(crate) const BUDGETS: &str = "
schema: 1
default: { outcome: allow }
rules: [ { id: no, match: '*.drop', outcome: deny } ]
budgets:
  - { id: day, match: 'pay.*', per: [agent, on_behalf_of], window: day, count: 50 }
  - { id: sum, match: pay.refund, window: month,
      cost: { amount: decimal(args.amount), currency: args.currency, limit: '10000.00', unit: EUR } }
  - { id: other, match: crm.*, window: hour, count: 1 }
";

#[test]
fn every_covering_budget_is_charged() {
    let decision = decide_args(BUDGETS, json!({"amount": "19.99", "currency": "EUR"}));
    let [day, sum] = &decision.charges[..] else { panic!("{:?}", decision.charges) };
    let agent = ("agent".to_owned(), "agt_00000000000000000000000001".to_owned());
    assert_eq!(
        *day,
        Charge {
            budget: "day".to_owned(),
            per: vec![agent, ("on_behalf_of".to_owned(), String::new())],
            window: Window::Day,
            window_start: at("2026-10-01T00:00:00Z"),
            window_end: at("2026-10-02T00:00:00Z"),
            amount: 1.into(),
            limit: 50.into(),
            kind: ChargeKind::Count,
        }
    );
    assert_eq!(sum.amount.to_string(), "19.99");
    assert_eq!(sum.kind, ChargeKind::Cost { unit: "EUR".to_owned() });
    assert_eq!(sum.window_end, at("2026-11-01T00:00:00Z"));
    let denied =
        decide(&policy(BUDGETS), &knowing(call("pay.drop"), |facts| facts.mode = Mode::Proxy));
    assert_eq!((denied.outcome, denied.charges.len()), (DecisionOutcome::Deny, 0));
}

#[test]
fn a_cost_that_cannot_be_told_is_never_free() {
    let cases = [
        (json!({"currency": "EUR"}), "budget `sum`: `args.amount`: no such field `amount`"),
        (
            json!({"amount": "5", "currency": "USD"}),
            "budget `sum`: `args.currency`: the cost is not in `EUR`",
        ),
        (
            json!({"amount": "-5", "currency": "EUR"}),
            "budget `sum`: `decimal(args.amount)`: the cost is negative",
        ),
        (
            json!({"amount": 0.5, "currency": "EUR"}),
            "budget `sum`: `decimal(args.amount)`: `decimal` does not take a double",
        ),
    ];
    for (args, failure) in cases {
        let decision = decide_args(BUDGETS, args);
        assert_eq!(decision.code, Some(DecisionCode::PolicyUnavailable));
        assert_eq!(decision.failure.as_deref(), Some(failure));
        assert!(decision.charges.is_empty());
    }
}

fn window(window: &str, now: &str, zone: &str) -> (String, String) {
    let text = format!(
        "{{schema: 1, default: {{outcome: allow}}, budgets: [{{id: b, match: '*', window: {window}, count: 1}}]}}"
    );
    let call = Call { zone: zone.to_owned(), ..Call::new("a1.b", agent(), at(now)) };
    let decision = decide(&policy(&text), &call);
    let charge = decision.charges.first().unwrap_or_else(|| panic!("{:?}", decision.failure));
    (charge.window_start.to_string(), charge.window_end.to_string())
}

#[test]
fn windows_follow_the_orgs_calendar() {
    let cases = [
        (
            "minute",
            "2026-10-01T12:30:45Z",
            "UTC",
            "2026-10-01T12:30:00.000Z",
            "2026-10-01T12:31:00.000Z",
        ),
        (
            "hour",
            "2026-10-01T12:10:00Z",
            "Asia/Kolkata",
            "2026-10-01T11:30:00.000Z",
            "2026-10-01T12:30:00.000Z",
        ),
        (
            "week",
            "2026-10-04T12:00:00Z",
            "UTC",
            "2026-09-28T00:00:00.000Z",
            "2026-10-05T00:00:00.000Z",
        ),
        (
            "month",
            "2026-12-31T23:30:00Z",
            "Europe/Vienna",
            "2026-12-31T23:00:00.000Z",
            "2027-01-31T23:00:00.000Z",
        ),
        // 23 and 25 hours.
        (
            "day",
            "2026-03-29T12:00:00Z",
            "Europe/Vienna",
            "2026-03-28T23:00:00.000Z",
            "2026-03-29T22:00:00.000Z",
        ),
        (
            "day",
            "2026-10-25T12:00:00Z",
            "Europe/Vienna",
            "2026-10-24T22:00:00.000Z",
            "2026-10-25T23:00:00.000Z",
        ),
        // A day whose midnight does not exist.
        (
            "day",
            "2018-11-04T12:00:00Z",
            "America/Sao_Paulo",
            "2018-11-04T03:00:00.000Z",
            "2018-11-05T02:00:00.000Z",
        ),
    ];
    for (kind, now, zone, start, end) in cases {
        assert_eq!(window(kind, now, zone), (start.to_owned(), end.to_owned()), "{kind} {zone}");
    }
}

#[test]
fn an_unknown_time_zone_fails_closed() {
    let args = json!({"amount": "1", "currency": "EUR"});
    let call = call("pay.refund").with_args(args);
    let decision = decide(&policy(BUDGETS), &Call { zone: "Moon/Base".to_owned(), ..call });
    assert_eq!(decision.code, Some(DecisionCode::PolicyUnavailable));
}

#[test]
fn every_mistake_is_told_with_its_place() {
    findings(
        "\
schema: 2
defualt: { outcome: deny }
rules:
  - id: a
    match: 'crm.*'
    when: args.amount >
    outcome: alow
    colour: red
  - id: a b
    match: []
    outcome: deny
  - { id: c, match: 'crm.{x}', outcome: allow, approval: { count: 6, from: [group:x], expires_in: 1s } }
",
        expect![[r#"
            1:1: error no_default: expected `default`, such as `default: { outcome: deny }`
            1:9: error bad_value: `schema`: expected `1`, the only schema there is
            2:1: error unknown_key: there is no key `defualt` (did you mean `default`?); expected schema, default, constants, rules, budgets, approvals
            6:24: error bad_expression: `rules[0].when`: expected a value, found the end
            7:14: error bad_value: `rules[0].outcome`: expected one of `allow`, `deny`, `require_approval` (did you mean `allow`?)
            8:5: error unknown_key: `rules[0]`: there is no key `colour`; expected id, match, when, outcome, reason, approval
            9:9: error bad_value: `rules[1].id`: expected 1 to 64 characters of `A-Za-z0-9_.-`
            10:12: error bad_pattern: `rules[1].match`: expected at least one pattern
            12:21: error bad_pattern: `rules[2].match`: expected characters of tool names, `A-Za-z0-9_./-`, and `*`
            12:58: error bad_value: `rules[2].approval`: expected no `approval` with this outcome; only `require_approval` accepts one
            12:67: error bad_value: `rules[2].approval.count`: expected a number of people from 1 to 5
            12:77: error bad_value: `rules[2].approval.from[0]`: expected `role:viewer`, `role:admin`, `role:owner` or `member:…`
            12:99: error bad_value: `rules[2].approval.expires_in`: expected a time from `1m` to `168h`, such as `1h30m`"#]],
    );
}

#[test]
fn the_place_inside_an_expression_is_told_in_every_spelling() {
    findings(
        r#"
schema: 1
default: { outcome: deny }
rules:
  - { id: plain, match: a.b, outcome: deny, when: args.a > 1 && arg.b > 2 }
  - { id: single, match: a.b, outcome: deny, when: 'args.a == ''x'' && arg.b > 2' }
  - { id: double, match: a.b, outcome: deny, when: "args.a == \"x\" && arg.b > 2" }
  - id: literal
    match: a.b
    outcome: deny
    when: |
      args.a > 1
      && arg.b > 2
  - id: folded
    match: a.b
    outcome: deny
    when: >-
      args.a > 1
      && arg.b > 2
"#,
        expect![[r#"
            5:65: error unknown_name: `rules[0].when`: `arg` is not a known name (did you mean `args`?); expected `args`, `agent`, `call`, `now` or `constants`
            6:72: error unknown_name: `rules[1].when`: `arg` is not a known name (did you mean `args`?); expected `args`, `agent`, `call`, `now` or `constants`
            7:72: error unknown_name: `rules[2].when`: `arg` is not a known name (did you mean `args`?); expected `args`, `agent`, `call`, `now` or `constants`
            13:10: error unknown_name: `rules[3].when`: `arg` is not a known name (did you mean `args`?); expected `args`, `agent`, `call`, `now` or `constants`
            19:10: error unknown_name: `rules[4].when`: `arg` is not a known name (did you mean `args`?); expected `args`, `agent`, `call`, `now` or `constants`"#]],
    );
}

#[test]
fn parts_of_yaml_that_policies_leave_out_are_refused() {
    let ok = "schema: 1\ndefault: { outcome: deny }\n";
    let refused = |text: &str| Policy::compile(text).unwrap_err().findings[0].to_string();
    let told: Vec<String> = [
        "constants: { a: &x 1 }\n",
        "rules: [ { id: a, match: *.x, outcome: deny } ]\n",
        "constants: { <<: { a: 1 } }\n",
        "constants: { a: !!str 1 }\n",
        "schema: 1\n",
        "---\nschema: 1\n",
        "constants: { a: 9007199254740993 }\n",
        "constants: { a: .inf }\n",
    ]
    .map(|extra| refused(&format!("{ok}{extra}")))
    .into();
    expect![[r#"
        3:20: error syntax: anchors are not allowed in a policy
        3:26: error syntax: aliases are not allowed in a policy; a pattern that starts with `*` needs quotes
        3:14: error syntax: merge keys are not allowed in a policy
        3:23: error syntax: tags are not allowed in a policy; a text that starts with `!` needs quotes
        3:1: error duplicate_key: the key `schema` is already present at line 1
        3:1: error syntax: expected one document, found a second one
        3:17: error bad_value: expected an integer within ±(2^53−1)
        3:17: error bad_value: expected a finite number"#]].assert_eq(&told.join("\n"));
    assert_eq!(refused(""), "1:1: error syntax: expected a policy, found empty text");
    let deep = format!("constants: {}1{}", "[".repeat(40), "]".repeat(40));
    assert!(refused(&format!("{ok}{deep}")).contains("error"));
    assert!(refused(&"#".repeat((1 << 20) + 1)).contains("too_large"));
}

#[test]
fn the_number_of_rules_is_bounded() {
    let rules = "  - { id: a, match: a.b, outcome: deny }\n".repeat(5_001);
    let invalid =
        Policy::compile(&format!("schema: 1\ndefault: {{ outcome: deny }}\nrules:\n{rules}"))
            .unwrap_err();
    assert_eq!(invalid.findings.len(), 1);
    assert!(invalid.findings[0].message.contains("at most 5000 rules, found 5001"));
}

proptest! {
    #[test]
    fn no_text_makes_the_reader_panic(text in "\\PC{0,80}") {
        let _ = Policy::compile(&text);
        let quoted = serde_json::to_string(&text).unwrap();
        let _ = Policy::compile(&format!(
            "{{schema: 1, default: {{outcome: deny}}, rules: [{{id: a, match: '*', when: {quoted}, outcome: deny}}]}}"
        ));
    }
}

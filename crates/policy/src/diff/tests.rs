#![expect(clippy::needless_raw_string_hashes, reason = "`expect!` writes its texts so")]

use expect_test::{Expect, expect};
use model::DecisionOutcome;

use super::{Certainty, ChangeKind, Diff, diff};
use crate::{
    Call, Policy, STARTER,
    catalog::Unknown,
    decide,
    tests::{
        policy,
        random::{Dice, calls, rule},
    },
};

fn show(diff: &Diff) -> String {
    let mut lines = vec![format!("{:?}", diff.certainty)];
    for change in &diff.changes {
        let side = |side: &super::Side| {
            format!("{} by {}", side.outcome.as_str(), side.rule_id.as_deref().unwrap_or("default"))
        };
        lines.push(format!(
            "{}: {} -> {}: {} {}",
            change.kind.as_str(),
            side(&change.before),
            side(&change.after),
            change.example.tool,
            change.example.args
        ));
    }
    lines.join("\n")
}

fn check(before: &str, after: &str, expected: Expect) {
    let head = "schema: 1\ndefault: { outcome: deny }\nrules:\n";
    let (before, after) = (policy(&format!("{head}{before}")), policy(&format!("{head}{after}")));
    expected.assert_eq(&show(&diff(&before, &after, &Unknown)));
}

#[test]
fn a_moved_bound_is_told_with_the_call_between_the_two() {
    check(
        "- { id: big, match: pay.refund, when: args.amount > 500, outcome: require_approval }
- { id: small, match: pay.refund, when: args.amount > 0, outcome: allow }",
        "- { id: big, match: pay.refund, when: args.amount > 900, outcome: require_approval }
- { id: small, match: pay.refund, when: args.amount > 0, outcome: allow }",
        expect![[r#"
            Proven
            without_approval: require_approval by big -> allow by small: pay.refund {"amount":501}"#]],
    );
}

#[test]
fn what_says_the_same_in_other_words_is_no_difference() {
    check(
        "- { id: a, match: pay.refund, when: args.amount > 500, outcome: allow }
- { id: b, match: 'x.*', outcome: allow }",
        "- { id: other, match: pay.refund, when: '500 < args.amount', outcome: allow, reason: New. }
- { id: b, match: 'x.*', outcome: allow }",
        expect!["Proven"],
    );
    check(
        "- { id: a, match: pay.refund, when: args.amount > 500 || args.amount <= 500, outcome: allow }",
        "- { id: a, match: pay.refund, when: args.amount <= 500, outcome: allow }
- { id: b, match: pay.refund, when: args.amount > 500, outcome: allow }",
        expect!["Proven"],
    );
}

#[test]
fn moved_added_and_removed_rules_and_the_default_are_told() {
    check(
        "- { id: none, match: '*.delete', outcome: deny }
- { id: crm, match: 'crm.*', outcome: allow }",
        "- { id: crm, match: 'crm.*', outcome: allow }
- { id: none, match: '*.delete', outcome: deny }
- { id: mail, match: mail.send, when: 'args.to.all(to, emailDomain(to) == \"example.org\")', outcome: require_approval }",
        expect![[r#"
            Proven
            newly_allowed: deny by none -> allow by crm: crm.x.delete {}
            with_approval: deny by default -> require_approval by mail: mail.send {"to":[]}"#]],
    );
    let before = policy("{schema: 1, default: {outcome: require_approval}}");
    let after = policy("{schema: 1, default: {outcome: allow}}");
    expect![[r#"
        Proven
        without_approval: require_approval by default -> allow by default: example.tool {}"#]]
    .assert_eq(&show(&diff(&before, &after, &Unknown)));
    let starter = policy(STARTER);
    assert_eq!(diff(&starter, &starter, &Unknown).changes, []);
}

#[test]
fn an_example_can_be_charged_where_budgets_need_it() {
    let head =
        "{schema: 1, default: {outcome: deny}, budgets: [{id: sum, match: pay.refund, window: day,
        cost: {amount: decimal(args.amount), currency: args.currency, limit: 10, unit: EUR}}],";
    let before = policy(&format!("{head} rules: []}}"));
    let after = policy(&format!("{head} rules: [{{id: a, match: pay.refund, outcome: allow}}]}}"));
    let found = diff(&before, &after, &Unknown);
    let [change] = &found.changes[..] else { panic!("{found:?}") };
    assert_eq!(decide(&after, &change.example).outcome, DecisionOutcome::Allow);
    assert_eq!(decide(&before, &change.example).outcome, DecisionOutcome::Deny);
}

#[test]
fn no_random_call_differs_where_a_comparison_proved_that_none_does() {
    let mut dice = Dice(0x1234_5678_9abc_def1);
    let calls = calls(&mut dice, 4_000);
    let (mut proven, mut told) = (0, 0);
    for _ in 0..60 {
        let mut rules: Vec<String> = (0..5).map(|number| rule(&mut dice, number)).collect();
        let before = of(&rules);
        match dice.roll(4) {
            0 => rules.swap(0, 3),
            1 => rules[2] = rule(&mut dice, 9),
            2 => drop(rules.remove(1)),
            _ => rules.insert(2, rule(&mut dice, 9)),
        }
        let after = of(&rules);
        let found = diff(&before, &after, &Unknown);
        told += found.changes.len();
        for change in &found.changes {
            let kind = kind_of(&before, &after, &change.example);
            assert_eq!(kind, Some(change.kind), "{}", show(&found));
        }
        if found.certainty == Certainty::Proven {
            proven += 1;
            for call in &calls {
                let Some(kind) = kind_of(&before, &after, call) else { continue };
                let is_told = found.changes.iter().any(|change| change.kind == kind);
                assert!(is_told, "{kind:?} {:?} {}\n{}", call.args, call.tool, rules.join("\n"));
            }
        }
    }
    assert!(proven > 20 && told > 40, "{proven} proven, {told} told");
}

fn of(rules: &[String]) -> Policy {
    policy(&format!("{{schema: 1, default: {{outcome: allow}}, rules: [{}]}}", rules.join(",\n")))
}

fn kind_of(before: &Policy, after: &Policy, sample: &Call) -> Option<ChangeKind> {
    let outcome = |policy| decide(policy, sample).outcome;
    ChangeKind::between(outcome(before), outcome(after))
}

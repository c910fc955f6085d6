use super::read::read_suite;
use crate::tests::{BUDGETS, REFUNDS, policy};

#[test]
fn cases_run_as_a_matrix_and_tell_what_differs() {
    let suite = read_suite(
        "
policy: refunds.yaml
now: 2026-10-01T12:00:00Z
agents: { support: { labels: { team: pay } }, other: { name: other } }
calls:
  small: { tool: pay.refund, args: { amount: 20 } }
  large: { tool: pay.refund, args: { amount: 501 } }
  empty: { tool: pay.refund }
cases:
  - { name: small ones run, agents: [support, other], call: small, expect: { outcome: allow, rule: small } }
  - { name: large ones wait, agent: support, call: large, expect: { outcome: require_approval, approvals: 2 } }
  - { name: wrong, agent: support, calls: [large], expect: { outcome: allow, rule: small, approvals: 1 } }
  - { agent: support, call: empty, expect: { code: policy_unavailable } }
  - { agent: support, call: empty, expect: { outcome: deny } }
",
    )
    .unwrap();
    assert_eq!(suite.policy.as_deref(), Some("refunds.yaml"));
    let report = suite.run(&policy(REFUNDS));
    let told: Vec<String> = report
        .results
        .iter()
        .map(|result| format!("{} | {}", result.name, result.differences.join("; ")))
        .collect();
    assert_eq!(
        told,
        [
            "small ones run: support small | ",
            "small ones run: other small | ",
            "large ones wait: support large | ",
            "wrong: support large | outcome: expected `allow`, found `require_approval`; \
             rule: expected `small`, found `large`; approvals: expected `1`, found `2`",
            "case 4: support empty | ",
            "case 5: support empty | the decision failed: `args.amount`: no such field `amount`",
        ]
    );
    assert_eq!(report.failed(), 2);
    assert_eq!(report.untested, ["none"]);
}

#[test]
fn steps_spend_budgets_until_the_window_ends() {
    let suite = read_suite(
        "
now: 2026-10-01T12:00:00Z
agents: { a: {} }
calls:
  refund: { tool: pay.refund, args: { amount: '199.99', currency: EUR } }
cases:
  - name: fifty a day and ten thousand a month
    agent: a
    call: refund
    steps:
      - { repeat: 50, expect: { outcome: allow } }
      - { expect: { outcome: deny, code: budget_exceeded } }
      - { after: 12h, expect: { code: budget_exceeded } }
      - { after: 744h, expect: { outcome: allow } }
  - name: not so
    agent: a
    call: refund
    steps:
      - { repeat: 60, expect: { outcome: allow } }
",
    )
    .unwrap();
    let report = suite.run(&policy(BUDGETS));
    let differences: Vec<_> = report.results.iter().map(|result| &result.differences[..]).collect();
    let expected = "step 1, call 51: outcome: expected `allow`, found `deny`".to_owned();
    assert_eq!(differences, [&[][..], &[expected][..]]);
}

#[test]
fn mistakes_in_a_file_of_tests_are_told_with_their_place() {
    let invalid = read_suite(
        "now: yesterday
agents: { a: { lables: {} } }
calls: { c: { args: {} } }
cases:
  - { agent: b, call: c, expect: { outcome: maybe } }
  - { agent: a }
",
    )
    .unwrap_err();
    let codes: Vec<_> = invalid
        .findings
        .iter()
        .map(|finding| format!("{}:{} {}", finding.line, finding.column, finding.code.as_str()))
        .collect();
    assert_eq!(
        codes,
        [
            "1:6 bad_value",
            "2:16 unknown_key",
            "3:13 missing_key",
            "5:14 unknown_name",
            "5:23 unknown_name",
            "5:45 bad_value",
            "6:5 missing_key",
            "6:5 missing_key",
        ]
    );
}

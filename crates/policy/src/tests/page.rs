//! The language's page: its policies are read and its tables of calls are decided.

use model::DecisionCode;
use serde_json::Value;

use super::{call, policy};
use crate::{Policy, decide, parse, read_suite};

/// One line of a table of calls in the docs.
fn documented_call(policy: &Policy, line: &str) -> Option<(String, String)> {
    let cells: Vec<&str> =
        line.split(" | ").map(|cell| cell.trim_matches(['|', ' ', '`'])).collect();
    let [tool, args, outcome, by] = cells[..] else { return None };
    let args: Value = serde_json::from_str(args).ok()?;
    let decision = decide(policy, &call(tool).with_args(args));
    let found = match decision.code {
        Some(DecisionCode::PolicyUnavailable) => DecisionCode::PolicyUnavailable.as_str(),
        _ => decision.outcome.as_str(),
    };
    let rule = decision.rule_id.unwrap_or_else(|| "default".into());
    Some((format!("{found} by {rule}"), format!("{outcome} by {by}")))
}

#[test]
fn the_documented_policies_decide_as_the_document_says() {
    let text = include_str!("../../../../docs/policy-language.md");
    let (mut calls, mut policies) = (0, 0);
    for section in text.split("```yaml\n").skip(1) {
        let (document, rest) = section.split_once("```").unwrap();
        let parsed = parse(document).unwrap();
        policies += 1;
        #[cfg(feature = "prover")]
        for finding in crate::lint(&parsed, &crate::Unknown, &crate::Unknown) {
            assert_eq!(finding.severity, crate::Severity::Info, "{finding}\n{document}");
        }
        let policy = Policy::from(parsed);
        for line in rest.lines().take_while(|line| !line.starts_with("## ")) {
            if let Some((found, told)) = documented_call(&policy, line) {
                assert_eq!(found, told, "{line}");
                calls += 1;
            }
        }
    }
    assert_eq!((policies, calls), (10, 47), "every policy and table of calls is read");
}

#[test]
fn the_documented_file_of_tests_passes() {
    let text = include_str!("../../../../docs/policy-language.md");
    let block = |start: &str, of: &str| {
        text.split(start).nth(1).unwrap().split(of).nth(1).unwrap().to_owned()
    };
    let budgets = block("## Budgets", "```yaml\n");
    let policy = policy(budgets.split("```").next().unwrap());
    let suite = block("## Tests of a policy", "```text\n");
    let report = read_suite(suite.split("```").next().unwrap()).unwrap().run(&policy);
    assert_eq!((report.results.len(), report.failed(), report.untested.len()), (2, 0, 0));
}

#[cfg(feature = "prover")]
#[test]
fn the_documented_constants_that_nothing_can_read_are_told_as_the_page_says() {
    let text = include_str!("../../../../docs/policy-language.md");
    let table = text.split("| Written | Lint says |\n|---|---|\n").nth(1).unwrap();
    let rows: Vec<&str> = table.lines().take_while(|line| line.starts_with('|')).collect();
    for row in &rows {
        let (when, told) = row.trim_matches(['|', ' ']).split_once(" | ").unwrap();
        let when = serde_json::to_string(when.trim_matches('`')).unwrap();
        let document = format!(
            "schema: 1\ndefault: {{ outcome: deny }}\nrules: [{{ id: a, match: a.b, outcome: deny, when: {when} }}]"
        );
        let found = crate::lint(&parse(&document).unwrap(), &crate::Unknown, &crate::Unknown);
        let mut constants =
            found.iter().filter(|finding| finding.code == crate::Code::UnreadableConstant);
        assert_eq!(constants.next().unwrap().message, told, "{row}");
    }
    assert_eq!(rows.len(), 12, "every row is read");
}

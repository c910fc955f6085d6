//! `policy lint`, `policy test` and `policy diff`: documents and tests by themselves, without the
//! record.

use std::{path::Path, sync::Arc};

use admin::KnownOrg;
use policy::{CaseResult, Certainty, DocumentError, Finding, KnownTool, Policy, Severity};
use serde_json::{Value, json};

use super::report::{Case, Outcome, Report};
use crate::{
    cli::{DiffPolicies, LintPolicy, TestPolicy},
    exit::{Exit, Failure},
    print,
    verbs::read_text,
};

pub(in crate::verbs) fn lint(what: &LintPolicy, known: &KnownOrg) -> Result<Exit, Failure> {
    let name = what.file.display().to_string();
    let linted = linted(&what.file, known)?;
    let mut lines: Vec<_> =
        linted.findings().iter().map(|finding| in_lines(&name, finding)).collect();
    if let (true, Some(digest)) = (linted.is_valid(), linted.digest()) {
        lines.push(format!("{name}: no errors; digest {digest}"));
    }
    let mut cases: Vec<_> = linted.findings().iter().map(case_of).collect();
    if cases.is_empty() {
        cases.push(Case { name: "no findings".to_owned(), outcome: Outcome::Fine });
    }
    let json = json!({
        "file": name,
        "valid": linted.is_valid(),
        "digest": linted.digest(),
        "lint": linted.findings().iter().map(finding_json).collect::<Vec<_>>(),
    });
    Report { lines, json, name: format!("lint {name}"), cases }.print(what.format);
    Ok(if linted.is_valid() { Exit::Ok } else { Exit::FoundBad })
}

/// A file's document with what is to be said of it.
pub(super) fn linted(file: &Path, known: &KnownOrg) -> Result<admin::Linted, Failure> {
    let linted = admin::lint(read_text(file)?, known, &policy::Effort::unbounded());
    linted.map_err(|error| crate::verbs::accounts::policy_failure(&error))
}

pub(in crate::verbs) fn test(what: &TestPolicy) -> Result<Exit, Failure> {
    let (mut lines, mut files, mut cases, mut failed) = (Vec::new(), Vec::new(), Vec::new(), 0);
    for file in &what.files {
        let name = file.display().to_string();
        let Some(report) = run(file, what.policy.as_deref())? else { return Ok(Exit::FoundBad) };
        failed += report.failed();
        for CaseResult { name: case, differences } in &report.results {
            let outcome = if differences.is_empty() {
                Outcome::Fine
            } else {
                lines.push(format!("FAIL  {name}: {case}: {}", differences.join("; ")));
                Outcome::Failed(differences.join("; "))
            };
            cases.push(Case { name: format!("{name}: {case}"), outcome });
        }
        let passed = report.results.len().saturating_sub(report.failed());
        lines.push(format!("{name}: {passed} passed, {} failed", report.failed()));
        if !report.untested.is_empty() {
            lines.push(format!("{name}: no case reaches {}", report.untested.join(", ")));
        }
        files.push(json!({
            "file": name,
            "passed": passed,
            "failed": report.failed(),
            "results": report.results.iter().map(result_json).collect::<Vec<_>>(),
            "uncovered_rules": report.untested,
        }));
    }
    let json = json!({ "failed": failed, "files": files });
    Report { lines, json, name: "policy tests".to_owned(), cases }.print(what.format);
    Ok(if failed == 0 { Exit::Ok } else { Exit::FoundBad })
}

pub(in crate::verbs) fn diff(what: &DiffPolicies) -> Result<Exit, Failure> {
    let (before, after) = (read_text(&what.before)?, read_text(&what.after)?);
    let tools = tools_in(what.tools.as_deref())?;
    let diff = admin::diff(&before, &after, &tools, &policy::Effort::unbounded());
    let diff = diff.map_err(|error| crate::verbs::accounts::policy_failure(&error))?;
    let mut lines = Vec::new();
    let mut cases = Vec::new();
    for change in &diff.changes {
        let side = |side: &policy::Side| {
            let rule = side.rule_id.as_deref().unwrap_or("the default");
            format!("{} by {rule}", side.outcome)
        };
        let (kind, example) = (change.kind.as_str(), change.example.to_json());
        let told = format!("{}, before {}", side(&change.after), side(&change.before));
        lines.push(format!("{kind}: {told}\n    {example}"));
        cases.push(Case { name: kind.to_owned(), outcome: Outcome::Failed(told) });
    }
    let certainty = match diff.certainty {
        Certainty::Proven => "proven",
        Certainty::NotProven => "not_proven",
    };
    lines.push(match diff.certainty {
        Certainty::Proven => format!("{} differences; there are no others", diff.changes.len()),
        Certainty::NotProven => {
            format!("{} differences; not proven: there may be others", diff.changes.len())
        }
    });
    if cases.is_empty() {
        cases.push(Case { name: "no differences".to_owned(), outcome: Outcome::Fine });
    }
    let changes: Vec<_> = diff
        .changes
        .iter()
        .map(|change| {
            json!({
                "kind": change.kind.as_str(),
                "before": side_json(&change.before),
                "after": side_json(&change.after),
                "example": change.example.to_json(),
            })
        })
        .collect();
    let json = json!({ "certainty": certainty, "changes": changes });
    let name = format!("diff {} {}", what.before.display(), what.after.display());
    Report { lines, json, name, cases }.print(what.format);
    Ok(match diff.certainty {
        Certainty::Proven => Exit::Ok,
        Certainty::NotProven => Exit::Undecidable,
    })
}

/// What comes of a file of tests; nothing when it or its policy cannot be used, which is
/// printed.
fn run(file: &Path, policy: Option<&Path>) -> Result<Option<policy::Report>, Failure> {
    let suite = match policy::read_suite(&read_text(file)?) {
        Ok(suite) => suite,
        Err(invalid) => return Ok(unusable(file, &invalid)),
    };
    let beside = suite.policy.as_ref().map(|policy| file.with_file_name(policy));
    let Some(policy) = policy.map(Path::to_owned).or(beside) else {
        let file = file.display();
        let sentence =
            format!("`{file}` names no `policy`: name one there or with `--policy FILE`");
        return Err(Failure::usage(sentence));
    };
    match Policy::compile(&read_text(&policy)?) {
        Ok(compiled) => Ok(Some(suite.run(&compiled))),
        Err(invalid) => Ok(unusable(&policy, &invalid)),
    }
}

fn unusable<T>(file: &Path, invalid: &DocumentError) -> Option<T> {
    for finding in &invalid.findings {
        print::complaint(format!("{}:{finding}", file.display()));
    }
    None
}

/// The tools of a file are what is known, where there is one.
pub(in crate::verbs) fn known_in(file: Option<&Path>) -> Result<KnownOrg, Failure> {
    Ok(KnownOrg { tools: tools_in(file)?, agents: Vec::new() })
}

/// The tools of a file as `GET /v1/tools` answers them, none without a file.
fn tools_in(file: Option<&Path>) -> Result<Vec<KnownTool>, Failure> {
    let Some(file) = file else { return Ok(Vec::new()) };
    let wrong = || {
        let file = file.display();
        Failure::malformed(format!("`{file}`: expected the response of `GET /v1/tools`, as JSON"))
    };
    let listed: Value = serde_json::from_str(&read_text(file)?).map_err(|_| wrong())?;
    let listed = listed.get("data").and_then(Value::as_array).ok_or_else(wrong)?;
    let tool = |tool: &Value| {
        let effect = tool.get("side_effect").and_then(Value::as_str);
        Some(KnownTool {
            name: tool.get("name")?.as_str()?.to_owned(),
            input_schema: Arc::new(tool.get("input_schema")?.clone()),
            side_effect: effect.and_then(|effect| effect.parse().ok()),
        })
    };
    listed.iter().map(|it| tool(it).ok_or_else(wrong)).collect()
}

/// A finding at its place in the file, and the call that shows it in a line of its own.
pub(super) fn in_lines(file: &str, finding: &Finding) -> String {
    let example = finding.example.as_ref();
    let example = example.map(|call| format!("    for example: {} {}", call.tool, call.args));
    let lines = [Some(format!("{file}:{finding}")), example];
    lines.into_iter().flatten().collect::<Vec<_>>().join("\n")
}

fn case_of(finding: &Finding) -> Case {
    let outcome = match finding.severity {
        Severity::Error => Outcome::Failed(finding.message.clone()),
        Severity::Warning | Severity::Info => Outcome::Fine,
    };
    Case { name: finding.to_string(), outcome }
}

fn finding_json(finding: &Finding) -> Value {
    json!({
        "severity": finding.severity.as_str(),
        "code": finding.code.as_str(),
        "rule": finding.rule,
        "path": finding.path,
        "line": finding.line,
        "column": finding.column,
        "message": finding.message,
        "example": finding.example.as_deref().map(policy::Call::to_json),
    })
}

fn result_json(result: &CaseResult) -> Value {
    let CaseResult { name, differences } = result;
    json!({ "name": name, "passed": differences.is_empty(), "differences": differences })
}

fn side_json(side: &policy::Side) -> Value {
    json!({ "outcome": side.outcome, "code": side.code, "rule_id": side.rule_id.as_deref() })
}

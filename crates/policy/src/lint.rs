//! What a usable document probably does not mean to say, judged against the tools there are.
//!
//! Nothing here is a guess: a finding is only made where the patterns or a tool's schema prove it.

mod conditions;
mod reach;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use model::{DecisionOutcome, SideEffect};
use serde_json::Value;

use crate::{
    document::{Document, Rule},
    error::{Code, Finding, Severity},
    expr::hint,
    glob::Glob,
    tree::Mark,
};

/// The tools that an org has.
pub trait Catalog {
    /// Returns the tools in any order.
    fn tools(&self) -> Vec<KnownTool>;
}

/// What is known of one tool.
#[derive(Debug, Clone)]
pub struct KnownTool {
    /// The tool's whole name.
    pub name: String,
    /// The JSON Schema of its arguments.
    pub input_schema: Arc<Value>,
    /// What it does to the world.
    pub side_effect: Option<SideEffect>,
}

/// Returns what is worth saying of the document, in the order of the text.
///
/// A finding of severity `error` means that the document should not be activated: a rule that can
/// never decide, or a condition that fails for calls that a tool's schema allows.
pub fn lint(document: &Document, catalog: &dyn Catalog) -> Vec<Finding> {
    let mut tools = catalog.tools();
    tools.sort_by(|left, right| left.name.cmp(&right.name));
    let mut findings = Vec::new();
    if document.default.outcome == DecisionOutcome::Allow {
        let message = "every call that no rule covers is allowed";
        findings.push(about(Code::DefaultAllow, Severity::Warning, "default", message));
    }
    for (place, rule) in document.rules.iter().enumerate() {
        let mut report = Report { place, rule, findings: &mut findings };
        patterns(&mut report, &tools);
        if reach::is_reachable(&mut report, document) {
            broad_allow(&mut report, &tools);
            conditions::check(&mut report, document, &tools);
        }
    }
    reach::budgets(document, &mut findings);
    findings.sort_by_key(|finding| (finding.line, finding.column));
    findings
}

/// Findings about one rule.
struct Report<'f> {
    place: usize,
    rule: &'f Rule,
    findings: &'f mut Vec<Finding>,
}

impl Report<'_> {
    fn push(&mut self, code: Code, severity: Severity, message: impl Into<String>) {
        self.push_at(code, severity, (self.rule.at, ""), message);
    }

    fn push_at(
        &mut self,
        code: Code,
        severity: Severity,
        (at, key): (Mark, &str),
        message: impl Into<String>,
    ) {
        self.findings.push(Finding {
            severity,
            code,
            rule: Some(self.rule.id.to_string()),
            path: format!("rules[{}]{key}", self.place),
            line: at.line,
            column: at.column,
            message: message.into(),
        });
    }
}

fn about(code: Code, severity: Severity, path: &str, message: impl Into<String>) -> Finding {
    let (path, message) = (path.to_owned(), message.into());
    Finding { severity, code, rule: None, path, line: 1, column: 1, message }
}

fn patterns(report: &mut Report<'_>, tools: &[KnownTool]) {
    for glob in &report.rule.globs {
        let text = glob.as_str();
        if text != "*" && !text.contains('.') {
            let message = format!("`{glob}` has no dot, so it covers tools of several connectors");
            report.push(Code::PatternWithoutDot, Severity::Warning, message);
        }
        if !tools.is_empty() && !tools.iter().any(|tool| glob.is_match(&tool.name)) {
            let near = hint(text, tools.iter().map(|tool| tool.name.as_str()));
            let message = format!("`{glob}` covers none of the tools there are{near}");
            report.push(Code::UnknownTool, Severity::Warning, message);
        }
    }
}

fn broad_allow(report: &mut Report<'_>, tools: &[KnownTool]) {
    let rule = report.rule;
    if rule.outcome != DecisionOutcome::Allow || rule.when.is_some() {
        return;
    }
    let broad = |glob: &Glob| glob.literal().is_none();
    let writes = tools.iter().find(|tool| {
        tool.side_effect != Some(SideEffect::Read)
            && rule.globs.iter().any(|glob| broad(glob) && glob.is_match(&tool.name))
    });
    if let Some(tool) = writes {
        let message = format!("allows `{}` without a condition, and that tool writes", tool.name);
        report.push(Code::BroadAllow, Severity::Warning, message);
    }
}

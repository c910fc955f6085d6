//! What a usable document probably does not mean to say, judged against the tools and the people
//! there are.
//!
//! Nothing here is a guess: a finding is only made where patterns, a tool's schema or the decision
//! procedure prove it, and an example is only given where the evaluator confirms it.

mod assurance;
mod budgets;
mod conditions;
mod constants;
mod fields;
mod labels;
mod loose;
mod people;
mod reach;
mod schema;

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use model::{DecisionOutcome, SideEffect};

use crate::{
    call::{Agent, Call},
    catalog::{Catalog, Directory, KnownTool},
    document::{Document, Rule},
    effort::{Effort, EffortError},
    error::{Code, Finding, Severity},
    expr::hint,
    glob::Glob,
    policy::Policy,
    prove::{self, First, Prover, Want, first},
    tree::Mark,
};

/// The work that all proofs of one lint may take, in cubes.
const MAX_CUBES: usize = 200_000;

/// Judges the document, and gives what is worth saying in the order of the text.
///
/// A finding of severity `error` means that the document should not be activated: a rule that can
/// never decide, or a condition that fails for calls that a tool's schema allows.
///
/// ```
/// use policy::{Code, Unknown, lint, parse};
///
/// let document = parse(
///     "{ schema: 1, default: { outcome: deny }, rules: [
///        { id: broad, match: 'pay.*', when: args.amount > 10, outcome: deny },
///        { id: large, match: pay.refund, when: args.amount > 500, outcome: require_approval }] }",
/// )?;
/// let findings = lint(&document, &Unknown, &Unknown);
/// // Whatever is above 500 is above 10, so the second rule never decides.
/// assert_eq!((findings[0].code, findings[0].rule.as_deref()), (Code::Shadowed, Some("large")));
/// # Ok::<(), policy::DocumentError>(())
/// ```
pub fn lint(document: &Document, catalog: &dyn Catalog, directory: &dyn Directory) -> Vec<Finding> {
    judged(document, (catalog, directory), &Effort::unbounded())
}

/// Judges the document, where that takes no more than this effort.
pub fn lint_within(
    document: &Document,
    catalog: &dyn Catalog,
    directory: &dyn Directory,
    effort: &Effort,
) -> Result<Vec<Finding>, EffortError> {
    let findings = judged(document, (catalog, directory), effort);
    effort.check().map(|()| findings)
}

/// What was found until the effort ended.
fn judged(
    document: &Document,
    (catalog, directory): (&dyn Catalog, &dyn Directory),
    effort: &Effort,
) -> Vec<Finding> {
    let mut tools = catalog.tools();
    tools.sort_by(|left, right| left.name.cmp(&right.name));
    let mut agents = directory.agents();
    agents.sort_by(|left, right| left.name.cmp(&right.name));
    let policy = Policy::from(document.clone());
    let names: Vec<Option<Glob>> = tools.iter().map(|tool| Glob::parse(&tool.name).ok()).collect();
    let mut prover = Prover::new(&tools, MAX_CUBES, effort);
    let mut findings = Vec::new();
    let mut reached = BTreeSet::new();
    if document.default.outcome == DecisionOutcome::Allow {
        let message = "every call that no rule covers is allowed";
        findings.push(about(Code::DefaultAllow, Severity::Warning, "default", message));
    }
    let facts = Facts { document, policy: &policy, tools: &tools, names: &names, agents: &agents };
    let rules = document.rules.iter().zip(&policy.document.rules).enumerate();
    for (place, (rule, own)) in rules.clone() {
        if prover.is_ended() {
            break;
        }
        let mut report = Report { place, rule, own, facts, findings: &mut findings };
        patterns(&mut report);
        fields::shown(&mut report);
        if reach::is_reachable(&mut report, &mut prover) {
            reached.insert(place);
            broad_allow(&mut report);
            conditions::can_fail(&mut report, &mut prover);
            conditions::always_true(&mut report, &mut prover);
        }
    }
    // What is certainly wrong is proved first: all of this shares one bound of work.
    for (place, (rule, own)) in rules.clone().filter(|(place, _)| reached.contains(place)) {
        let mut report = Report { place, rule, own, facts, findings: &mut findings };
        loose::check(&mut report, &mut prover);
        labels::check(&mut report, &mut prover);
        assurance::check(&mut report, &mut prover);
    }
    let reached: Vec<&Rule> =
        rules.filter(|(place, _)| reached.contains(place)).map(|(_, (rule, _))| rule).collect();
    budgets::check(document, &reached, &mut findings);
    people::check(document, directory, &mut findings);
    constants::check(document, &mut findings);
    findings.sort_by_key(|finding| (finding.line, finding.column));
    findings
}

/// What all findings are judged by.
#[derive(Clone, Copy)]
struct Facts<'k> {
    document: &'k Document,
    /// The document ready to decide.
    policy: &'k Policy,
    tools: &'k [KnownTool],
    /// The tools' names as patterns, in the same order.
    names: &'k [Option<Glob>],
    /// The agents by their names.
    agents: &'k [Agent],
}

/// Findings about one rule.
struct Report<'f, 'k> {
    place: usize,
    rule: &'k Rule,
    /// The same rule in the policy that decides.
    own: &'k Rule,
    facts: Facts<'k>,
    findings: &'f mut Vec<Finding>,
}

impl<'k> Report<'_, 'k> {
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
            example: None,
        });
    }

    /// Adds a call that shows the last finding.
    fn show(&mut self, example: Option<Box<Call>>) {
        if let Some(last) = self.findings.last_mut() {
            last.example = example;
        }
    }

    /// The rules above, as they decide.
    fn above(&self) -> &'k [Rule] {
        self.facts.policy.document.rules.get(..self.place).unwrap_or_default()
    }

    /// What would become of the call without the rule, and without those above it.
    fn below(&self, call: &Call) -> DecisionOutcome {
        let document = &self.facts.policy.document;
        let rest = document.rules.get(self.place + 1..).unwrap_or_default();
        let ends = |rule: &&Rule| rule.covers(&call.tool) && rule.comes_to(call) != Want::False;
        rest.iter().find(ends).map_or(document.default.outcome, |rule| match rule.comes_to(call) {
            Want::Fails => DecisionOutcome::Deny,
            Want::True | Want::False => rule.outcome,
        })
    }

    /// Whether the rule's own condition comes to this for the call, which it covers.
    fn comes_to(&self, sample: &Call, want: Want) -> bool {
        self.own.covers(&sample.tool) && self.own.comes_to(sample) == want
    }
}

/// How much an outcome holds a call up.
const fn strictness(outcome: DecisionOutcome) -> u8 {
    match outcome {
        DecisionOutcome::Allow => 0,
        DecisionOutcome::RequireApproval => 1,
        DecisionOutcome::Deny => 2,
    }
}

fn about(code: Code, severity: Severity, path: &str, message: impl Into<String>) -> Finding {
    let (path, message) = (path.to_owned(), message.into());
    Finding { severity, code, rule: None, path, line: 1, column: 1, message, example: None }
}

fn patterns(report: &mut Report<'_, '_>) {
    let tools = report.facts.tools;
    for glob in &report.rule.globs {
        let text = glob.as_str();
        if text != "*" && !text.contains('.') {
            let message = format!("`{glob}` has no dot, so it covers tools of several connectors");
            report.push(Code::PatternWithoutDot, Severity::Warning, message);
        }
        if !tools.is_empty() && !tools.iter().any(|tool| glob.is_match(&tool.name)) {
            let near = hint(text, tools.iter().map(|tool| tool.name.as_str()));
            let message = format!("`{glob}` covers none of the existing tools{near}");
            report.push(Code::UnknownTool, Severity::Warning, message);
        }
    }
}

fn broad_allow(report: &mut Report<'_, '_>) {
    let rule = report.rule;
    if rule.outcome != DecisionOutcome::Allow || rule.when.is_some() {
        return;
    }
    let broad = |glob: &Glob| glob.literal().is_none();
    let writes = report.facts.tools.iter().find(|tool| {
        tool.side_effect != Some(SideEffect::Read)
            && rule.globs.iter().any(|glob| broad(glob) && glob.is_match(&tool.name))
    });
    if let Some(tool) = writes {
        let message = format!("allows `{}` without a condition, and that tool writes", tool.name);
        report.push(Code::BroadAllow, Severity::Warning, message);
        report.show(prove::plain_call(tool).filter(|sample| {
            matches!(first(report.facts.policy, sample),
                First::Rule(place, _) if place == report.place)
        }));
    }
}

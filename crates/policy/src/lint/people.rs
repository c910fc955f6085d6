//! Who approves what a rule asks for: whether there are people enough, and what excludes some of them.

use model::Role;

use super::about;
use crate::{
    catalog::{Approver, Directory},
    document::{ApprovalClause, Document, Excluded},
    error::{Code, Finding, Severity},
    tree::Mark,
};

/// Tells approvals for which there are too few people, with or without those who are excluded, and
/// those from which people are excluded by what the agent itself states.
pub(super) fn check(document: &Document, directory: &dyn Directory, findings: &mut Vec<Finding>) {
    let people = directory.approvers();
    let rules = document.rules.iter().enumerate().map(|(place, rule)| {
        let path = format!("rules[{place}].approval");
        (rule.asks.as_deref(), (path, Some(rule.id.to_string()), rule.at))
    });
    let start = Mark { line: 1, column: 1, start: 0, end: 0 };
    let default = document.default.asks.as_deref();
    let default = (default, ("default.approval".to_owned(), None, start));
    for (clause, (path, rule, at)) in rules.chain([default]) {
        let Some(clause) = clause else { continue };
        let shortage = people.as_deref().and_then(|people| shortage(clause, people));
        let shortage = shortage.map(|it| about(Code::ApprovalNobody, Severity::Warning, &path, it));
        let stated = clause.exclude.contains(&Excluded::OnBehalfOf);
        let stated =
            stated.then(|| about(Code::ExcludesByReference, Severity::Info, &path, STATED));
        for finding in shortage.into_iter().chain(stated) {
            let rule = rule.clone();
            findings.push(Finding { rule, line: at.line, column: at.column, ..finding });
        }
    }
}

const STATED: &str = "excludes the person for whom the agent acts, but only if the agent names \
    that person: if it names nobody, or a name that no member has, nobody is excluded";

fn shortage(clause: &ApprovalClause, people: &[Approver]) -> Option<String> {
    let named = people.iter().filter(|person| may(person, &clause.from)).count();
    let wanted = usize::from(clause.count);
    if named < wanted {
        return Some(format!("needs {wanted} different people, and {named} may approve"));
    }
    let left = named.saturating_sub(clause.exclude.len());
    let words: Vec<&str> = clause.exclude.iter().map(|excluded| excluded.as_str()).collect();
    (left < wanted).then(|| {
        let words = words.join(" and ");
        format!(
            "needs {wanted} different people; {named} may approve, too few if {words} is one of them"
        )
    })
}

/// An empty list is everyone who may approve at all.
fn may(person: &Approver, from: &[String]) -> bool {
    from.is_empty()
        || from.iter().any(|entry| match entry.split_once(':') {
            Some(("role", role)) => {
                role.parse::<Role>().is_ok_and(|role| person.role.is_at_least(role))
            }
            Some(("member", name)) => person.names.iter().any(|known| known == name),
            _ => false,
        })
}

//! What a person is shown of a call that waits for a yes, frozen when the call came in.
//!
//! The snapshot is bounded and says itself what it leaves out. Its digest is what a person
//! countersigns, and the action's deed commits to it.

use serde_json::{Map, Value, json};
use tool::Estimate;

use super::decide::Verdict;
use crate::case::Case;

/// What a snapshot is made of.
pub(super) struct Shown<'a> {
    pub(super) case: &'a Case,
    /// The action that will wait.
    pub(super) action: &'a ledger::record::Action,
    pub(super) verdict: &'a Verdict,
    /// Nothing when the rule asks for none.
    pub(super) estimate: Option<&'a Estimate>,
}

/// The largest part of a snapshot that an estimate may take.
const ESTIMATE_SHARE: usize = 4;
/// What the members that are added last weigh without the arguments: their names, the warnings.
const FRAME: usize = 512;
/// What the naming of one argument that is not shown costs beside its name.
const NAMING: usize = 64;

/// The snapshot, at most `limit` bytes of canonical JSON.
pub(super) fn context(shown: &Shown<'_>, limit: usize) -> Value {
    let estimate = estimate(shown.estimate, limit / ESTIMATE_SHARE);
    let mut snapshot = facts(shown);
    let given = estimate.get("status").is_some_and(|status| status == "given");
    let absent = shown.estimate.is_some() && !given;
    insert(&mut snapshot, "estimate", estimate);
    let taken = size(&Value::Object(snapshot.clone())) + FRAME;
    let room = limit.saturating_sub(taken);
    let clause = shown.verdict.approval.as_ref();
    let picked = clause.map(|clause| clause.show.as_slice()).unwrap_or_default();
    let args = Args::of(shown.case.args().value(), picked, room);
    let warnings = warnings(shown, &args, absent);
    insert(&mut snapshot, "args_shown", Value::Object(args.shown));
    insert(&mut snapshot, "args_not_shown", Value::Array(args.left_out));
    insert(&mut snapshot, "args_not_named", json!(args.not_named));
    insert(&mut snapshot, "warnings", json!(warnings));
    Value::Object(snapshot)
}

fn facts(shown: &Shown<'_>) -> Map<String, Value> {
    let Shown { case, action, verdict, estimate: _ } = shown;
    let (call, resolved, agent) = (case.call(), case.resolved(), &action.agent);
    let decision = &verdict.decision;
    let mut facts = Map::new();
    for (name, value) in [
        ("tool", json!(call.tool)),
        ("tool_digest", json!(resolved.digest())),
        ("connector", json!(resolved.connector().map(|connector| &connector.name))),
        ("mode", json!(call.facts.mode)),
        ("side_effect", json!(resolved.side_effect())),
        ("max_rows_changed", json!(resolved.footprint().map(|footprint| footprint.max_rows))),
        ("agent", json!({ "id": agent.id, "name": agent.name })),
        ("on_behalf_of", json!(call.facts.on_behalf_of)),
        ("session", json!(call.facts.session)),
        ("request_digest", json!(action.request_digest)),
        ("rule_id", json!(decision.rule_id)),
        ("reason", json!(decision.message)),
        ("policy_version", json!(decision.policy_version)),
        ("cost", json!(verdict.cost)),
    ] {
        insert(&mut facts, name, value);
    }
    facts
}

fn insert(into: &mut Map<String, Value>, name: &str, value: Value) {
    into.insert(name.to_owned(), value);
}

fn size(value: &Value) -> usize {
    crypto::json::canonical(value).len()
}

/// What the connector said, or why it says nothing.
fn estimate(estimate: Option<&Estimate>, limit: usize) -> Value {
    let absent = |why: &str| json!({ "status": "absent", "why": why });
    match estimate {
        None => absent("not_asked"),
        Some(Estimate::Given(value)) if size(value) <= limit => {
            json!({ "status": "given", "rows": value })
        }
        Some(Estimate::Given(_)) => absent("too_large"),
        Some(Estimate::NotOffered) => absent("not_offered"),
        Some(Estimate::Late) => absent("late"),
        Some(Estimate::Failed) => absent("failed"),
    }
}

/// The arguments as far as they are shown.
struct Args {
    shown: Map<String, Value>,
    /// Which arguments are not, and why.
    left_out: Vec<Value>,
    /// How many more are not, for whose names there is no room.
    not_named: usize,
}

impl Args {
    /// Picks the fields that the rule names, or else every argument, as far as there is room.
    fn of(args: &Value, picked: &[String], room: usize) -> Self {
        let mut all = Self { shown: Map::new(), left_out: Vec::new(), not_named: 0 };
        let mut room = room;
        let members = args.as_object().into_iter().flatten();
        let members: Vec<(String, Option<&Value>)> = if picked.is_empty() {
            members.map(|(name, value)| (format!("args.{name}"), Some(value))).collect()
        } else {
            let named = picked.iter().map(|path| (path.clone(), at(args, path)));
            let rest = members
                .map(|(name, _)| format!("args.{name}"))
                .filter(|member| !picked.iter().any(|path| path == member || within(path, member)));
            named.chain(rest.map(|member| (member, None))).collect()
        };
        for (path, value) in members {
            let wanted = picked.is_empty() || picked.contains(&path);
            let bytes = value.map_or(0, size);
            let name = size(&json!(path)) + NAMING;
            match value {
                Some(value) if bytes + name <= room => {
                    room -= bytes + name;
                    all.shown.insert(path, value.clone());
                }
                // A field that a rule names and the call lacks is no argument.
                None if wanted => {}
                Some(_) | None if name <= room => {
                    room -= name;
                    let why = if wanted { "too_large" } else { "not_picked" };
                    all.left_out.push(json!({ "path": path, "why": why }));
                }
                Some(_) | None => all.not_named += 1,
            }
        }
        all
    }

    fn is_whole(&self) -> bool {
        self.left_out.is_empty() && self.not_named == 0
    }
}

/// The value at a path such as `args.customer.id`.
fn at<'v>(args: &'v Value, path: &str) -> Option<&'v Value> {
    let path = path.strip_prefix("args.")?;
    path.split('.').try_fold(args, |value, name| value.get(name))
}

/// Whether the path lies inside this member.
fn within(path: &str, member: &str) -> bool {
    path.strip_prefix(member).is_some_and(|rest| rest.starts_with('.'))
}

/// What a person should know before a yes, as words of a closed list.
fn warnings(shown: &Shown<'_>, args: &Args, estimate_absent: bool) -> Vec<&'static str> {
    let resolved = shown.case.resolved();
    let destructive = resolved.side_effect() == Some(model::SideEffect::Destructive);
    let undeclared =
        resolved.side_effect() != Some(model::SideEffect::Read) && resolved.footprint().is_none();
    [
        ("args_not_whole", !args.is_whole()),
        ("destructive", destructive),
        ("effect_undeclared", undeclared),
        ("estimate_absent", estimate_absent),
        ("runs_at_the_edge", shown.case.call().facts.mode == model::Mode::Proxy),
        ("tool_changed", shown.action.inputs.tool_changed),
    ]
    .into_iter()
    .filter_map(|(word, holds)| holds.then_some(word))
    .collect()
}

#[cfg(test)]
mod tests;

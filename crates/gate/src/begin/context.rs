//! What a person is shown of a call that waits for a yes, frozen when the call came in.
//!
//! The snapshot is bounded and says itself what it leaves out. Its digest is what a person
//! countersigns, and the action's deed commits to it.

use serde_json::{Map, Value, json};
use tool::Estimate;

use super::estimate::{Foreseen, size};
use crate::{case::Case, decide::Verdict, practice::Practice};

/// What a snapshot is made of.
pub(super) struct Shown<'a> {
    pub(super) case: &'a Case,
    /// The action that will wait.
    pub(super) action: &'a ledger::record::Action,
    pub(super) verdict: &'a Verdict,
    /// Nothing when the rule asks for none.
    pub(super) estimate: Option<&'a Estimate>,
    /// What was done before.
    pub(super) practice: &'a Practice,
    /// Whether the question excludes whom the agent acts for, and the agent names no member.
    pub(super) excludes_nobody: bool,
}

/// The largest part of a snapshot that an estimate may take.
const ESTIMATE_SHARE: usize = 4;
/// What the members that are added last weigh without the arguments: their names, the warnings.
const FRAME: usize = 512;
/// What the naming of one argument that is not shown costs beside its name.
const NAMING: usize = 64;

/// The snapshot, at most `limit` bytes of canonical JSON.
pub(super) fn context(shown: &Shown<'_>, limit: usize) -> Value {
    let footprint = shown.case.resolved().footprint();
    let mut foreseen = Foreseen::of(shown.estimate, footprint, limit / ESTIMATE_SHARE);
    let mut snapshot = facts(shown);
    insert(&mut snapshot, "estimate", foreseen.shown.take());
    let taken = size(&Value::Object(snapshot.clone())) + FRAME;
    let room = limit.saturating_sub(taken);
    let clause = shown.verdict.approval.as_ref();
    let picked = clause.map(|clause| clause.show.as_slice()).unwrap_or_default();
    let args = Args::of(shown.case.args().value(), picked, room);
    let warnings = warnings(shown, &args, &foreseen);
    insert(&mut snapshot, "args_shown", Value::Object(args.shown));
    insert(&mut snapshot, "args_not_shown", Value::Array(args.left_out));
    insert(&mut snapshot, "args_not_named", json!(args.not_named));
    insert(&mut snapshot, "warnings", json!(warnings));
    Value::Object(snapshot)
}

fn facts(shown: &Shown<'_>) -> Map<String, Value> {
    let Shown { case, action, verdict, .. } = shown;
    let (call, resolved, agent) = (case.call(), case.resolved(), &action.agent);
    let decision = &verdict.decision;
    let mut facts = Map::new();
    for (name, value) in [
        ("tool", json!(call.tool)),
        ("tool_digest", json!(resolved.digest())),
        ("connector", json!(resolved.connector().map(|connector| &connector.name))),
        ("target", json!(resolved.target())),
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
        for (path, value) in parts(args, picked) {
            let bytes = value.map_or(0, size);
            let name = size(&json!(path)) + NAMING;
            match value {
                Some(value) if bytes + name <= room => {
                    room -= bytes + name;
                    all.shown.insert(path, value.clone());
                }
                Some(_) | None if name <= room => {
                    room -= name;
                    let why = if value.is_some() { "too_large" } else { "not_picked" };
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

/// A part of the arguments: its place and, unless the rule passes it over, what stands there.
type Part<'v> = (String, Option<&'v Value>);

/// Every argument. Where the rule picks fields, those that the call has, and all that is in none of
/// them: a field that the call lacks shows nothing, so it covers nothing.
fn parts<'v>(args: &'v Value, picked: &[String]) -> Vec<Part<'v>> {
    if picked.is_empty() {
        let members = args.as_object().into_iter().flatten();
        return members.map(|(name, value)| (format!("args.{name}"), Some(value))).collect();
    }
    let (mut parts, mut fields) = (Vec::new(), Vec::new());
    for path in picked {
        let field: Vec<&str> = path.split('.').skip(1).collect();
        if let Some(value) = at(args, &field) {
            parts.push((path.clone(), Some(value)));
            fields.push(field);
        }
    }
    let fields: Vec<&[&str]> = fields.iter().map(Vec::as_slice).collect();
    pass_over("args", args, &fields, &mut parts);
    parts
}

/// Adds the members that lie in no field. A member that a field leads into is walked, so that what
/// stands beside the field is told by itself; the name of a member is one step, whatever dots it has.
fn pass_over(place: &str, value: &Value, fields: &[&[&str]], parts: &mut Vec<Part<'_>>) {
    for (name, member) in value.as_object().into_iter().flatten() {
        let place = format!("{place}.{name}");
        let inside = fields.iter().filter_map(|field| match field.split_first() {
            Some((first, rest)) if *first == name.as_str() => Some(rest),
            Some(_) | None => None,
        });
        let inside: Vec<&[&str]> = inside.collect();
        if inside.is_empty() {
            parts.push((place, None));
        } else if inside.iter().all(|rest| !rest.is_empty()) {
            pass_over(&place, member, &inside, parts);
        }
    }
}

/// The value at a field, such as that of `customer` and `id`.
fn at<'v>(args: &'v Value, field: &[&str]) -> Option<&'v Value> {
    field.iter().try_fold(args, |value, name| value.get(*name))
}

/// What a person should know before a yes, as words of a closed list.
fn warnings(shown: &Shown<'_>, args: &Args, foreseen: &Foreseen) -> Vec<&'static str> {
    let (resolved, practice) = (shown.case.resolved(), shown.practice);
    let destructive = resolved.side_effect() == Some(model::SideEffect::Destructive);
    // Of a tool at an edge nobody here knows that it only reads.
    let writes = resolved.side_effect() != Some(model::SideEffect::Read);
    [
        ("args_not_whole", !args.is_whole()),
        ("budget_near", shown.verdict.budget_near),
        ("destructive", destructive),
        ("effect_undeclared", writes && resolved.footprint().is_none()),
        ("estimate_absent", foreseen.is_absent),
        ("estimate_large", foreseen.is_large),
        ("excludes_nobody", shown.excludes_nobody),
        ("first_use", !practice.agent_ran_it),
        ("off_hours", writes && practice.is_off_hours(shown.action.created_at)),
        ("runs_at_the_edge", shown.case.call().facts.mode == model::Mode::Proxy),
        ("tool_changed", shown.action.inputs.tool_changed),
        ("tool_new", !practice.org_ran_it),
    ]
    .into_iter()
    .filter_map(|(word, holds)| holds.then_some(word))
    .collect()
}

#[cfg(test)]
mod tests;

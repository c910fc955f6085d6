use std::{collections::BTreeMap, sync::Arc};

use model::{SideEffect, Timestamp};
use proptest::{prelude::*, sample::select};
use serde_json::{Value, json};

use super::GENERATION;
use crate::{
    Agent, Call, Document, Policy, decide, document,
    expr::{Machine, Scope},
};

/// What the first rule says when every rule is asked in turn, without guards and numbered paths.
fn plainly(document: &Document, call: &Call) -> String {
    let scope = Scope::new(call);
    let mut machine = Machine::new(&scope);
    for rule in document.rules.iter().filter(|rule| rule.covers(&call.tool)) {
        match rule.when.as_ref().map(|when| machine.holds(when.expr())) {
            None | Some(Ok(true)) => return format!("{} {:?}", rule.id, None::<String>),
            Some(Ok(false)) => {}
            Some(Err(failure)) => {
                let when = rule.when.as_ref().unwrap();
                return format!("{} {:?}", rule.id, Some(when.in_words(&failure)));
            }
        }
    }
    format!("default {:?}", None::<String>)
}

fn indexed(policy: &Policy, call: &Call) -> String {
    let decision = decide(policy, call);
    let rule = decision.rule_id.unwrap_or_else(|| "default".into());
    format!("{rule} {:?}", decision.failure)
}

/// Parts of conditions: some can be guards, some can fail, some are neither.
const PARTS: [&str; 33] = [
    "args.a == 1",
    "args.a == 2.0",
    "1.0 == args.a",
    "args.a == 'x'",
    "args.a in [1, 'x', null]",
    "args.a in ['y', 'y', 2]",
    "args.b.c == 'x'",
    "args.b.c == true",
    "args.b.c in ['x', 'y']",
    "args.b.c != 'x'",
    "args.b.d > 1",
    "args.n == null",
    "agent.name == 'ann'",
    "agent.name == 'bob'",
    "agent.labels.team == 'pay'",
    "agent.labels.team in ['ops', 'pay']",
    "call.side_effect == 'write'",
    "call.session == null",
    "(args.a == 1 && args.b.c == 'x')",
    "(args.a == 1 || args.b.c == 'x')",
    "(args.a == 1 || args.a.startsWith('x') || agent.name == 'ann')",
    "(args.a == 'x' || args.a > 1)",
    "(args.n == null || args.n == 'y' || args.b.c.endsWith('y'))",
    "args.a.startsWith('x')",
    "args.a.startsWith('xy')",
    "args.a.endsWith('y')",
    "args.b.c.startsWith('')",
    "args.b.c.endsWith('xy')",
    "glob(args.b.c, 'x*y')",
    "glob(args.a, 'xy')",
    "agent.labels.team.startsWith('p')",
    "!(args.a == 1)",
    "has(args.a)",
];

fn document_of(rules: &[(Vec<&str>, &str)]) -> String {
    let rules: Vec<String> = rules
        .iter()
        .enumerate()
        .map(|(place, (parts, glob))| {
            let when = serde_json::to_string(&parts.join(" && ")).unwrap();
            format!("{{id: r{place}, match: '{glob}', when: {when}, outcome: deny}}")
        })
        .collect();
    format!("{{schema: 1, default: {{outcome: allow}}, rules: [{}]}}", rules.join(",\n"))
}

fn scalar() -> impl Strategy<Value = Value> {
    select(vec![
        json!(1),
        json!(2),
        json!(1.0),
        json!(1.5),
        json!("x"),
        json!("y"),
        json!("xy"),
        json!("äxy"),
        json!(null),
        json!(true),
        json!([1]),
        json!({}),
    ])
}

prop_compose! {
    fn arguments()(a in scalar(), c in scalar(), n in scalar(), kept in 0_u8..8) -> Value {
        let mut args = serde_json::Map::new();
        if kept & 1 == 0 { args.insert("a".to_owned(), a); }
        if kept & 2 == 0 { args.insert("b".to_owned(), json!({ "c": c })); }
        if kept & 4 == 0 { args.insert("n".to_owned(), n); }
        Value::Object(args)
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn the_index_decides_as_the_plain_loop_does(
        rules in prop::collection::vec(
            (prop::collection::vec(select(PARTS.to_vec()), 1..4), select(vec!["*", "a1.*", "*.b", "a1.b", "zz.*"])),
            1..60,
        ),
        calls in prop::collection::vec((arguments(), select(vec!["ann", "eve"]), select(vec!["pay", "x", ""])), 1..12),
    ) {
        let text = document_of(&rules);
        let document = document::read::parse(&text).unwrap();
        let policy = Policy::from(document.clone());
        // The first calls go without an index, the last ones with it.
        for (args, name, team) in calls.iter().cycle().take(calls.len().max(8)) {
            let labels = if team.is_empty() { BTreeMap::new() } else { BTreeMap::from([("team".to_owned(), (*team).to_owned())]) };
            let agent = Agent { id: "agt_00000000000000000000000001".parse().unwrap(), name: (*name).to_owned(), labels };
            let mut call = Call::new("a1.b", agent, Timestamp::EPOCH).with_args(args.clone());
            call.facts.side_effect = Some(SideEffect::Write);
            prop_assert_eq!(indexed(&policy, &call), plainly(&document, &call));
        }
    }
}

#[test]
fn names_chosen_by_agents_do_not_pile_up() {
    let policy = Policy::compile("{schema: 1, default: {outcome: deny}}").unwrap();
    let document = &policy.document;
    let kept = policy.tools.candidates(document, "kept.tool");
    for number in 0..3 * GENERATION {
        let _ = policy.tools.candidates(document, &format!("tool.t{number}"));
        let _ = policy.tools.candidates(document, "kept.tool");
    }
    let recent = policy.tools.recent.read().unwrap();
    assert!(recent.young.len() + recent.old.len() <= 2 * GENERATION);
    drop(recent);
    assert!(Arc::ptr_eq(&kept, &policy.tools.candidates(document, "kept.tool")));
}

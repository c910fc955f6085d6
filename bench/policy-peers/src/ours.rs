//! This engine, and what only it does.

use std::{collections::BTreeMap, sync::Arc};

use model::{DecisionOutcome, SideEffect, Timestamp};
use policy::{
    Agent, Call, Catalog, KnownTool, Policy, Record, Recorded, Unknown, decide,
    lint, parse, replay, visibility,
};
use serde_json::json;

use crate::{
    Engine, Size,
    measure::cost,
    table::line,
    workload::{AGENT, Kind, TOOL, Workload},
};

struct Ours {
    policy: Policy,
    call: Call,
}

impl Engine for Ours {
    fn decide(&mut self) -> Option<usize> {
        let decision = decide(&self.policy, &self.call);
        decision.rule_id.as_deref().and_then(|id| id.strip_prefix('r')?.parse().ok())
    }
}

pub(crate) fn whole(workload: &Workload) -> Box<dyn Engine> {
    let policy = Policy::compile(&workload.document()).expect("the workload is a policy");
    Box::new(Ours { policy, call: call(workload) })
}

fn call(workload: &Workload) -> Call {
    Call::new(TOOL, agent(), Timestamp::EPOCH).with_args(workload.args.clone())
}

fn agent() -> Agent {
    Agent {
        id: "agt_00000000000000000000000001".parse().expect("an id"),
        name: AGENT.to_owned(),
        labels: BTreeMap::from([("team".to_owned(), "pay".to_owned())]),
    }
}

/// The tools that the full lint is judged against.
struct Tools;

impl Catalog for Tools {
    fn tools(&self) -> Vec<KnownTool> {
        let schema = json!({ "type": "object",
            "required": ["amount", "currency", "table", "count", "customer"],
            "properties": {
                "amount": { "type": "integer" }, "currency": { "type": "string" },
                "table": { "type": "string" }, "count": { "type": "integer" },
                "customer": { "type": "object", "required": ["email"],
                    "properties": { "email": { "type": "string" } } } } });
        let schema = Arc::new(schema);
        let names = (0..50).map(|number| format!("pg-main.orders_{number}"));
        names
            .chain([TOOL.to_owned()])
            .map(|name| KnownTool {
                name,
                input_schema: Arc::clone(&schema),
                side_effect: Some(SideEffect::Write),
            })
            .collect()
    }
}

/// Prints what loading, lint, lists of tools and replays cost.
pub(crate) fn print_the_rest(size: &Size) {
    let rules = size.largest;
    println!("\n| what | found | aim |\n|---|---|---|");
    let text = Workload::new(Kind::Mixed, rules).document();
    let compile = cost(|| Policy::compile(&text).map(drop));
    line(&format!("read and compile {rules} rules"), &millis(compile.nanos), "30 ms");
    for kind in [Kind::Mixed, Kind::Dense, Kind::Hostile] {
        let text = Workload::new(kind, rules).document();
        let document = parse(&text).expect("a policy");
        let mut found = 0;
        let linted = cost(|| found = lint(&document, &Tools, &Unknown).len());
        let what = format!("full lint of {rules} rules, {kind:?}, 51 tools ({found} findings)");
        line(&what, &millis(linted.nanos), "2 s");
    }
    let policy = Policy::compile(&text).expect("a policy");
    let names: Vec<String> = (0..500).map(|number| format!("pg-main.orders_{number}")).collect();
    let resolved = cost(|| names.iter().map(|name| visibility(&policy, name)).count());
    line("resolve 500 tools", &format!("{:.0} µs", resolved.nanos / 1e3), "50 µs");
    let records = records(size.records);
    let replayed = cost(|| replay(&policy, &records).differences());
    let rate = 1e9 / (replayed.nanos / size.records as f64);
    line("replay", &format!("{rate:.0} decisions/s"), "150,000");
    let mut kept = None;
    let memory = allocation_counter::measure(|| kept = Policy::compile(&text).ok());
    let kept_bytes = memory.bytes_current as f64 / 1024.0 / 1024.0;
    line(&format!("memory of {rules} rules compiled"), &format!("{kept_bytes:.1} MiB"), "");
    drop(kept);
}

fn records(count: usize) -> Vec<Record> {
    let call = call(&Workload::new(Kind::Mixed, 1));
    (0..count)
        .map(|number| {
            Record::Decided(Box::new(Recorded {
                action: format!("act_{number}"),
                call: Ok(call.clone()),
                outcome: DecisionOutcome::Allow,
                code: None,
            }))
        })
        .collect()
}

fn millis(nanos: f64) -> String {
    format!("{:.1} ms", nanos / 1e6)
}

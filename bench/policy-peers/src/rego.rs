//! regorus: a partial set of the numbers of the rules that hold, and the least of them.

use std::sync::Arc;

use regorus::{
    Engine as Rego, Value as RegoValue,
    languages::rego::compiler::Compiler,
    rvm::{program::Program, vm::RegoVM},
};
use serde_json::{Value, json};

use crate::{
    Engine,
    workload::{AGENT, Rule, TOOL, Test, Workload},
};

const ENTRY: &str = "data.p.first";
/// More than any workload needs; the default ends the larger ones.
const INSTRUCTIONS: usize = 100_000_000;

fn module(workload: &Workload) -> String {
    let mut text = "package p\nimport rego.v1\nfirst := min(holds)\n".to_owned();
    for (number, rule) in workload.rules.iter().enumerate() {
        text += &format!("holds contains {number} if {{\n{}}}\n", body(rule));
    }
    text
}

fn body(rule: &Rule) -> String {
    let mut lines = vec![pattern(&rule.pattern)];
    lines.extend(rule.tests.iter().map(|test| match test {
        Test::AmountAbove(bound) => format!("input.args.amount > {bound}"),
        Test::Currency(word) => format!("input.args.currency == \"{word}\""),
        Test::EmailEnds(end) => format!("endswith(input.args.customer.email, \"{end}\")"),
        Test::TableIn(tables) => format!("input.args.table in {{\"{}\"}}", tables.join("\", \"")),
        Test::Agent(name) => format!("input.agent.name == \"{name}\""),
        Test::ItemsAbove(count) => format!("input.args.count > {count}"),
    }));
    lines.into_iter().map(|line| format!("  {line}\n")).collect()
}

/// Asks for the start, the end or a part where that says the same: `glob.match` costs many times as
/// much.
fn pattern(pattern: &str) -> String {
    let plain = pattern.trim_matches('*');
    match (pattern.starts_with('*'), pattern.ends_with('*')) {
        _ if plain.contains('*') => format!("glob.match(\"{pattern}\", [], input.tool)"),
        (true, true) => format!("contains(input.tool, \"{plain}\")"),
        (true, false) => format!("endswith(input.tool, \"{plain}\")"),
        (false, true) => format!("startswith(input.tool, \"{plain}\")"),
        (false, false) => format!("input.tool == \"{plain}\""),
    }
}

fn input(args: &Value) -> Value {
    json!({ "tool": TOOL, "agent": { "name": AGENT }, "args": args })
}

fn engine(workload: &Workload) -> Rego {
    let mut engine = Rego::new();
    engine.add_policy("p.rego".to_owned(), module(workload)).expect("the workload is Rego");
    engine
}

fn number(value: RegoValue) -> Option<usize> {
    value.as_u64().ok().and_then(|number| usize::try_from(number).ok())
}

struct Interpreted {
    engine: Rego,
    input: Value,
    ready: Option<RegoValue>,
}

impl Engine for Interpreted {
    fn decide(&mut self) -> Option<usize> {
        let input = match &self.ready {
            Some(input) => input.clone(),
            None => RegoValue::from(self.input.clone()),
        };
        self.engine.set_input(input);
        number(self.engine.eval_rule(ENTRY.to_owned()).ok()?)
    }
}

pub(crate) fn interpreted(workload: &Workload) -> Box<dyn Engine> {
    let input = input(&workload.args);
    Box::new(Interpreted { engine: engine(workload), input, ready: None })
}

pub(crate) fn interpreted_evaluation(workload: &Workload) -> Box<dyn Engine> {
    let input = input(&workload.args);
    let ready = Some(RegoValue::from(input.clone()));
    Box::new(Interpreted { engine: engine(workload), input, ready })
}

struct Compiled {
    machine: RegoVM,
    program: Arc<Program>,
    input: Value,
    ready: Option<RegoValue>,
}

impl Engine for Compiled {
    fn decide(&mut self) -> Option<usize> {
        let input = match &self.ready {
            Some(input) => input.clone(),
            None => RegoValue::from(self.input.clone()),
        };
        self.machine.load_program(Arc::clone(&self.program));
        self.machine.set_input(input);
        number(self.machine.execute().ok()?)
    }
}

fn compile(workload: &Workload) -> Compiled {
    let mut engine = engine(workload);
    let policy = engine.compile_with_entrypoint(&ENTRY.into()).expect("it compiles");
    let program = Compiler::compile_from_policy(&policy, &[ENTRY]).expect("it compiles");
    let mut machine = RegoVM::new();
    machine.set_max_instructions(INSTRUCTIONS);
    Compiled { machine, program, input: input(&workload.args), ready: None }
}

pub(crate) fn compiled(workload: &Workload) -> Box<dyn Engine> {
    Box::new(compile(workload))
}

pub(crate) fn compiled_evaluation(workload: &Workload) -> Box<dyn Engine> {
    let compiled = compile(workload);
    let ready = Some(RegoValue::from(compiled.input.clone()));
    Box::new(Compiled { ready, ..compiled })
}

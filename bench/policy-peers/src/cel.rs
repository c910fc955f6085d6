//! The `cel` crate: one program per rule, asked in order; patterns are matched by hand.

use std::sync::Arc;

use cel::{Context, Env, Program, Value as Cel};
use serde_json::{Value, json};

use crate::{
    Engine,
    workload::{AGENT, Rule, TOOL, Workload},
};

struct Programs {
    rules: Vec<(Rule, Program)>,
    env: Arc<Env>,
    args: Value,
    agent: Value,
}

impl Programs {
    fn new(workload: &Workload) -> Self {
        let env = Arc::new(Env::stdlib());
        let rules = workload.rules.iter().map(|rule| {
            let program = env.compile(&rule.cel()).expect("the rule is CEL");
            (rule.clone(), program)
        });
        let rules = rules.collect();
        Self { rules, env, args: workload.args.clone(), agent: json!({ "name": AGENT }) }
    }

    fn context(&self) -> Context<'static, 'static> {
        let mut context = Context::with_env(Arc::clone(&self.env));
        context.add_variable("args", self.args.clone()).expect("args convert");
        context.add_variable("agent", self.agent.clone()).expect("the agent converts");
        context
    }

    fn first(&self, context: &Context<'_, '_>) -> Option<usize> {
        self.rules.iter().position(|(rule, program)| {
            rule.covers(TOOL) && matches!(program.execute(context), Ok(Cel::Bool(true)))
        })
    }
}

struct Whole(Programs);

impl Engine for Whole {
    fn decide(&mut self) -> Option<usize> {
        self.0.first(&self.0.context())
    }
}

struct Evaluation(Programs, Context<'static, 'static>);

impl Engine for Evaluation {
    fn decide(&mut self) -> Option<usize> {
        self.0.first(&self.1)
    }
}

pub(crate) fn whole(workload: &Workload) -> Box<dyn Engine> {
    Box::new(Whole(Programs::new(workload)))
}

pub(crate) fn evaluation(workload: &Workload) -> Box<dyn Engine> {
    let programs = Programs::new(workload);
    let context = programs.context();
    Box::new(Evaluation(programs, context))
}

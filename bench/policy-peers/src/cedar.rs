//! Cedar: one policy per rule. It has no order, so all policies run, and the lowest number of those
//! that hold is taken.

use std::str::FromStr;

use cedar_policy::{
    Authorizer, Context, Entities, EntityUid, Policy, PolicyId, PolicySet, Request, Response,
};
use serde_json::{Value, json};

use crate::{
    Engine,
    workload::{AGENT, Rule, TOOL, Test, Workload},
};

struct Cedar {
    authorizer: Authorizer,
    policies: PolicySet,
    entities: Entities,
    context: Value,
    ready: Option<Request>,
}

impl Engine for Cedar {
    fn decide(&mut self) -> Option<usize> {
        let response = match &self.ready {
            Some(request) => self.ask(request),
            None => self.ask(&request(&self.context)),
        };
        let holding = response.diagnostics().reason();
        holding.filter_map(|id| id.to_string().parse().ok()).min()
    }
}

impl Cedar {
    fn ask(&self, request: &Request) -> Response {
        self.authorizer.is_authorized(request, &self.policies, &self.entities)
    }
}

fn text(rule: &Rule) -> String {
    let mut tests = vec![format!("context.tool like \"{}\"", rule.pattern)];
    tests.extend(rule.tests.iter().map(|test| match test {
        Test::AmountAbove(bound) => format!("context.args.amount > {bound}"),
        Test::Currency(word) => format!("context.args.currency == \"{word}\""),
        Test::EmailEnds(end) => format!("context.args.customer.email like \"*{end}\""),
        Test::TableIn(tables) => {
            format!("[\"{}\"].contains(context.args.table)", tables.join("\", \""))
        }
        Test::Agent(name) => format!("context.agent.name == \"{name}\""),
        Test::ItemsAbove(count) => format!("context.args.count > {count}"),
    }));
    format!("permit(principal, action, resource) when {{ {} }};", tests.join(" && "))
}

fn request(context: &Value) -> Request {
    let uid = |text: &str| EntityUid::from_str(text).expect("an entity");
    let context = Context::from_json_value(context.clone(), None).expect("the context converts");
    let (agent, action, tool) =
        (uid("Agent::\"support\""), uid("Action::\"call\""), uid("Tool::\"tool\""));
    Request::new(agent, action, tool, context, None).expect("a request")
}

fn read(workload: &Workload) -> Cedar {
    let mut policies = PolicySet::new();
    for (number, rule) in workload.rules.iter().enumerate() {
        let policy = Policy::parse(Some(PolicyId::new(number.to_string())), text(rule));
        policies.add(policy.expect("the rule is Cedar")).expect("ids differ");
    }
    Cedar {
        authorizer: Authorizer::new(),
        policies,
        entities: Entities::empty(),
        context: json!({ "tool": TOOL, "agent": { "name": AGENT }, "args": workload.args }),
        ready: None,
    }
}

pub(crate) fn whole(workload: &Workload) -> Box<dyn Engine> {
    Box::new(read(workload))
}

pub(crate) fn evaluation(workload: &Workload) -> Box<dyn Engine> {
    let cedar = read(workload);
    let ready = Some(request(&cedar.context));
    Box::new(Cedar { ready, ..cedar })
}

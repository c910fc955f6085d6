//! Calls that lie in a cube, as far as that can be told without the evaluator.

use std::{collections::BTreeMap, rc::Rc, sync::Arc};

use model::{AgentId, Mode, SideEffect, Timestamp};
use serde_json::{Map, Value as Json};

use super::{
    cube::Cube,
    domain::{Domain, Limit, Presence, Scalar},
    term::{At, Term},
    values,
};
use crate::{
    call::{Agent, Call},
    catalog::KnownTool,
    expr::{Expr, Fact, Kind, Machine, Scope, Sort, Value},
};

/// How many different calls are tried for a cube of which not everything is understood.
const VARIANTS: usize = 9;
/// How far around a moment a better one is looked for: two weeks of hours.
const HOURS: i64 = 24 * 14;
/// How deep a value that a schema asks for is made.
const MOST_LEVELS: usize = 6;
/// The id of an agent in an example that must be another one.
const SOMEBODY: &str = "agt_00000000000000000000000001";
/// A Thursday at noon: the moment of every example that does not ask for another one.
const NOON: i64 = 1_790_856_000_000;

/// An agent of which nothing is known.
pub(super) fn nobody() -> Option<Agent> {
    let id = "agt_00000000000000000000000000".parse().ok()?;
    Some(Agent { id, name: "agent".to_owned(), labels: BTreeMap::new() })
}

/// A call of which nothing is known.
pub(crate) fn any_call() -> Option<Call> {
    Some(Call::new("", nobody()?, Timestamp::from_unix_millis(NOON)))
}

/// A call of the tool with no more in its arguments than its schema asks for.
pub(crate) fn plain_call(tool: &KnownTool) -> Option<Box<Call>> {
    let now = Timestamp::from_unix_millis(NOON);
    let mut sample = Call::new(tool.name.as_str(), nobody()?, now);
    sample.facts.side_effect = tool.side_effect;
    let cube = Cube::default();
    Maker { cube: &cube, tools: &[], variant: 0 }
        .complete(&tool.input_schema, Arc::make_mut(&mut sample.args));
    Some(Box::new(sample))
}

/// Calls that may lie in the cube.
pub(super) fn samples<'c, 'p>(
    cube: &'c Cube<'p>,
    tools: &'c [KnownTool],
) -> impl Iterator<Item = Call> + use<'c, 'p> {
    let variants = if cube.is_vague() { VARIANTS } else { 1 };
    (0..variants).filter_map(move |variant| Maker { cube, tools, variant }.sample())
}

struct Maker<'c, 'p> {
    cube: &'c Cube<'p>,
    tools: &'c [KnownTool],
    variant: usize,
}

/// What would make something that is worked out come to a value, by the field it is made from.
type Wishes = BTreeMap<Rc<str>, Vec<Scalar>>;

impl<'p> Maker<'_, 'p> {
    fn sample(&self) -> Option<Call> {
        let wishes = self.wishes();
        let text = |fact: Fact| -> Option<Option<String>> {
            match self.fact(fact) {
                None | Some(Value::Null) => Some(None),
                Some(Value::Text(text)) => Some(Some(text.into_owned())),
                Some(_) => None,
            }
        };
        let tool = self.tool()?;
        let known = self.tools.iter().find(|known| known.name == tool);
        let mut sample = Call::new(tool, self.agent(&wishes)?, self.moment()?);
        if self.cube.terms.contains_key(Fact::CallConnector.name()) {
            sample.facts.connector = text(Fact::CallConnector)?;
        }
        let args = Term { key: "args".into(), at: At::Args, elements: [None; 2] };
        sample.args = Arc::new(self.value(&args, &wishes)?);
        sample.facts.transport = text(Fact::CallTransport)?;
        sample.facts.session = text(Fact::CallSession)?;
        sample.facts.on_behalf_of = text(Fact::CallOnBehalfOf)?;
        sample.facts.intent = text(Fact::CallIntent)?;
        if let Some(mode) = text(Fact::CallMode)? {
            sample.facts.mode = *Mode::ALL.iter().find(|word| word.as_str() == mode)?;
        }
        sample.facts.side_effect = match text(Fact::CallSideEffect)? {
            Some(word) => SideEffect::ALL.iter().find(|effect| effect.as_str() == word).copied(),
            None => None,
        };
        if !self.cube.terms.contains_key(Fact::CallSideEffect.name()) {
            sample.facts.side_effect = known.and_then(|known| known.side_effect);
        }
        sample.facts.livemode =
            self.fact(Fact::CallLivemode).is_none_or(|value| value.equals(&Value::Bool(true)));
        sample.facts.tool_changed =
            self.fact(Fact::CallToolChanged).is_some_and(|value| value.equals(&Value::Bool(true)));
        if let Some(known) = known {
            self.complete(&known.input_schema, Arc::make_mut(&mut sample.args));
        }
        Some(self.at_a_fitting_time(sample))
    }

    /// Puts in what the tool's schema asks for and the cube leaves open.
    fn complete(&self, schema: &Json, args: &mut Json) {
        let (Some(names), Some(args)) =
            (schema.get("required").and_then(Json::as_array), args.as_object_mut())
        else {
            return;
        };
        for name in names.iter().filter_map(Json::as_str) {
            let is_open = !self.cube.terms.contains_key(&*format!("args.{name:?}"));
            let property = schema.get("properties").and_then(|all| all.get(name));
            if is_open && !args.contains_key(name) {
                let value = property.map(|part| plain_value(schema, part, MOST_LEVELS));
                args.insert(name.to_owned(), value.unwrap_or(Json::from("x")));
            }
        }
    }

    fn agent(&self, wishes: &Wishes) -> Option<Agent> {
        let mut agent = nobody()?;
        if let Some((_, domain)) = self.cube.terms.get(Fact::AgentId.name()) {
            let known = [agent.id.to_string().into(), SOMEBODY.into()].map(Value::Text);
            match values::admitted(domain, &known).into_iter().next()? {
                Value::Text(id) => agent.id = id.parse::<AgentId>().ok()?,
                _ => return None,
            }
        }
        if let Some(Value::Text(name)) = self.fact(Fact::AgentName) {
            agent.name = name.into_owned();
        }
        for (term, domain) in self.cube.terms.values() {
            let is_label =
                term.parent().is_some_and(|of| matches!(of.at, At::Fact(Fact::AgentLabels)));
            if let (At::Field(_, name), true, Presence::Present) =
                (term.at, is_label, domain.presence)
                && let Value::Text(text) = self.pick(term, domain, wishes)?
            {
                agent.labels.insert(name.to_owned(), text.into_owned());
            }
            if matches!(term.at, At::Fact(Fact::AgentLabels)) {
                let names = domain.includes.iter().filter_map(|name| match name {
                    Value::Text(name) => Some((name.to_string(), "x".to_owned())),
                    _ => None,
                });
                for (name, text) in names {
                    agent.labels.entry(name).or_insert(text);
                }
            }
        }
        Some(agent)
    }

    /// The value that the fact must have; nothing where it may be anything.
    fn fact(&self, fact: Fact) -> Option<Scalar> {
        let (term, domain) = self.cube.terms.get(fact.name())?;
        // What a call need not have is left out where it may be.
        if domain.admits(&Value::Null) {
            return Some(Value::Null);
        }
        self.pick(term, domain, &Wishes::new())
    }

    fn tool(&self) -> Option<String> {
        let known = self.tools.iter().map(|tool| tool.name.as_str());
        let Some((_, domain)) = self.cube.terms.get(Fact::CallTool.name()) else {
            return Some(known.into_iter().next().unwrap_or("example.tool").to_owned());
        };
        let mut known = known.filter(|name| domain.admits(&Value::text(name)));
        if let Some(name) = known.next() {
            return Some(name.to_owned());
        }
        let mut domain = domain.clone();
        let is_whole =
            |text: &str| text.contains('.') && !text.starts_with('.') && !text.ends_with('.');
        let all = values::admitted(&domain, &[Value::text("example.tool")]);
        let mut texts = all.into_iter().filter_map(|value| match value {
            Value::Text(text) => Some(text.into_owned()),
            _ => None,
        });
        let first = texts.next()?;
        if is_whole(&first) {
            return Some(first);
        }
        // A name without a dot is no tool's; one with a connector's name before it may fit too.
        domain.limit(Limit::NoneOf(vec![Value::Text(first.clone().into())]));
        let longer = format!("example.{}", first.trim_matches('.'));
        let fits = domain.admits(&Value::text(&longer));
        texts.find(|text| is_whole(text)).or(fits.then_some(longer)).or(Some(first))
    }

    fn moment(&self) -> Option<Timestamp> {
        match self.cube.terms.get(Fact::Now.name()) {
            None => Some(Timestamp::from_unix_millis(NOON)),
            Some((_, domain)) => {
                let noon = jiff::Timestamp::from_millisecond(NOON).ok()?;
                match values::admitted(domain, &[Value::Time(noon)]).first()? {
                    Value::Time(at) => Some(Timestamp::from_unix_millis(at.as_millisecond())),
                    _ => None,
                }
            }
        }
    }

    /// Moves the call to the first hour nearby at which everything that is worked out from the
    /// moment alone comes to what it must.
    fn at_a_fitting_time(&self, mut sample: Call) -> Call {
        let timely: Vec<(&'p Expr, &Domain)> = self
            .cube
            .terms
            .values()
            .filter_map(|(term, domain)| match term.at {
                At::Worked(expr) if reads_now(expr) => Some((expr, domain)),
                _ => None,
            })
            .collect();
        if timely.is_empty() {
            return sample;
        }
        let now = self.cube.terms.get(Fact::Now.name()).map(|(_, domain)| domain);
        let start = sample.now;
        for hour in (0..HOURS).flat_map(|hour| [hour, -hour]) {
            sample.now = Timestamp::from_unix_millis(start.unix_millis() + hour * 3_600_000);
            let moment = crate::expr::instant(sample.now);
            let scope = Scope::new(&sample);
            let mut machine = Machine::new(&scope);
            let fits = now.is_none_or(|now| now.admits(&Value::Time(moment)))
                && timely.iter().all(|(expr, domain)| {
                    machine.value(expr).is_ok_and(|value| domain.admits(&value))
                });
            if fits {
                return sample;
            }
        }
        sample.now = start;
        sample
    }

    fn wishes(&self) -> Wishes {
        let mut wishes = Wishes::new();
        for (term, domain) in self.cube.terms.values() {
            let At::Worked(expr) = term.at else { continue };
            if domain.presence != Presence::Present {
                continue;
            }
            for value in values::admitted(domain, &[]) {
                if let Some((field, inputs)) = values::invert(expr, &value) {
                    let key = Term::of(field, term.elements).key;
                    wishes.entry(key).or_default().extend(inputs);
                }
            }
        }
        wishes
    }

    /// The value of a field, made of its own fields where some must be there.
    fn value(&self, term: &Term<'p>, wishes: &Wishes) -> Option<Json> {
        let fields = self.cube.terms.values().filter_map(|(field, domain)| {
            let At::Field(_, name) = field.at else { return None };
            let is_own = field.parent().is_some_and(|parent| parent.key == term.key);
            (is_own && domain.presence == Presence::Present).then_some((field, name))
        });
        let mut map = Map::new();
        for (field, name) in fields {
            map.insert(name.to_owned(), self.value(field, wishes)?);
        }
        let domain = self.cube.terms.get(&term.key).map(|(_, domain)| domain);
        if !map.is_empty() || matches!(term.at, At::Args) {
            return Some(Json::Object(map));
        }
        let elements = self.cube.lists.iter().enumerate();
        let elements: Option<Vec<Json>> = elements
            .filter(|(_, list)| list.key == term.key)
            .map(|(number, _)| self.value(&Term::element(number), wishes))
            .collect();
        let elements = elements?;
        let Some(domain) = domain else { return Some(Json::from(1)) };
        if !elements.is_empty() {
            let included = domain.includes.iter().filter_map(|value| values::to_json(value));
            return Some(Json::Array(elements.into_iter().chain(included).collect()));
        }
        match self.pick(term, domain, wishes) {
            Some(value) => values::to_json(&value),
            None if domain.sorts.has(Sort::Map) => Some(Json::Object(Map::new())),
            None => None,
        }
    }

    fn pick(&self, term: &Term<'p>, domain: &Domain, wishes: &Wishes) -> Option<Scalar> {
        let mut wanted = wishes.get(&term.key).cloned().unwrap_or_default();
        wanted.extend(values::hints(&self.cube.hints, &domain.passes));
        let found = values::admitted(domain, &wanted);
        // Each term turns through its values at its own pace, so that two come to differ.
        let place = self.cube.terms.keys().position(|key| *key == term.key).unwrap_or_default();
        let turn = if place % 2 == 0 { self.variant } else { self.variant / 3 };
        let choices = found.len().min(3);
        found.into_iter().nth(turn.checked_rem(choices)?)
    }
}

/// A simple value that fits a part of a schema, as far as kind, choices and what must be
/// there go; parts deeper than this are left empty.
fn plain_value(root: &Json, schema: &Json, depth: usize) -> Json {
    if let Some(reference) = schema.get("$ref").and_then(Json::as_str) {
        let part = reference.strip_prefix('#').and_then(|place| root.pointer(place));
        let part = part.filter(|_| depth > 0);
        return part.map_or(Json::from("x"), |part| plain_value(root, part, depth - 1));
    }
    if let Some(value) = schema.get("const").or_else(|| schema.get("enum")?.get(0)) {
        return value.clone();
    }
    let kind = schema.get("type");
    let kind = kind.and_then(|kind| kind.as_str().or_else(|| kind.get(0)?.as_str()));
    match kind {
        Some("integer" | "number") => schema.get("minimum").cloned().unwrap_or(Json::from(1)),
        Some("boolean") => Json::Bool(true),
        Some("array") => Json::Array(Vec::new()),
        Some("object") => {
            let names = schema.get("required").and_then(Json::as_array);
            let names = names.into_iter().flatten().filter_map(Json::as_str).filter(|_| depth > 0);
            let value = |name: &str| {
                let part = schema.get("properties").and_then(|all| all.get(name));
                part.map_or(Json::from("x"), |part| plain_value(root, part, depth - 1))
            };
            names.map(|name| (name.to_owned(), value(name))).collect()
        }
        Some("null") => Json::Null,
        _ => Json::from("x"),
    }
}

/// Whether the expression reads the moment and nothing else.
fn reads_now(expr: &Expr) -> bool {
    fn reads(expr: &Expr) -> (bool, bool) {
        match &expr.kind {
            Kind::Fact(Fact::Now) => (true, false),
            Kind::Args
            | Kind::Path { .. }
            | Kind::Fact(_)
            | Kind::HasFact(_)
            | Kind::Variable { .. } => (false, true),
            _ => expr
                .parts()
                .into_iter()
                .map(reads)
                .fold((false, false), |all, one| (all.0 || one.0, all.1 || one.1)),
        }
    }
    reads(expr) == (true, false)
}

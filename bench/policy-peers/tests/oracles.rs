//! The evaluator beside two other implementations of CEL, over random conditions of the language
//! that all three share, and random arguments.
//!
//! A difference from one of the two is that one's own reading where the other agrees with us. A
//! difference from both is a failure.

use std::sync::Arc;

use cel::{Context, Env, Value as Cel, objects::Key};
use cel_core::{CelType, Env as CoreEnv, MapActivation, Value as Core, ValueMap};
use model::Timestamp;
use policy::{Agent, Call, Policy, decide};
use serde_json::{Map, Value, json};

/// What a condition comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Truth {
    True,
    False,
    Fails,
}

struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % sides as u64) as usize
    }

    fn pick<'t>(&mut self, of: &[&'t str]) -> &'t str {
        of[self.roll(of.len())]
    }
}

const VALUES: [&str; 22] = [
    "args.a", "args.b", "args.m.x", "args.m.y", "args.l[0]", "args.s", "args.t", "1", "2", "0", "-1",
    "1.5", "'x'", "'abc'", "true", "null", "size(args.s)", "size(args.l)", "args.a + 1",
    "args.a * 2", "args.s + 'x'", "args.l",
];

const CONDITIONS: [&str; 22] = [
    "has(args.a)", "has(args.m.x)", "args.s.startsWith('a')", "args.s.endsWith('c')",
    "args.s.contains('b')", "args.s.matches('^a.c$')", "args.l.exists(i, i == 1)",
    "args.l.all(i, i == 1)", "args.l.exists_one(i, i == 'x')", "args.l.exists(i, i > 1)",
    "args.l.all(i, i < 3)", "1 in args.l", "'x' in args.l", "'x' in args.m", "args.f", "!args.f",
    "args.a in [1, 2, 3]", "args.s in ['abc', 'x']", "int(args.s) == 1", "string(args.a) == '1'",
    "double(args.a) < 1.5", "timestamp(args.t) < timestamp('2026-01-01T00:00:00Z')",
];

const SIGNS: [&str; 6] = ["==", "!=", "<", "<=", ">", ">="];

fn condition(dice: &mut Dice, depth: usize) -> String {
    if depth == 0 || dice.roll(3) == 0 {
        return if dice.roll(2) == 0 {
            dice.pick(&CONDITIONS).to_owned()
        } else {
            format!("{} {} {}", dice.pick(&VALUES), dice.pick(&SIGNS), dice.pick(&VALUES))
        };
    }
    let one = condition(dice, depth - 1);
    let other = condition(dice, depth - 1);
    match dice.roll(6) {
        0..=1 => format!("({one} && {other})"),
        2..=3 => format!("({one} || {other})"),
        4 => format!("!({one})"),
        _ => format!("({} ? {one} : {other})", dice.pick(&CONDITIONS)),
    }
}

fn arguments(dice: &mut Dice) -> Value {
    let scalars = [
        json!(0), json!(1), json!(2), json!(3), json!(-1), json!(1.0), json!(1.5), json!("x"),
        json!("abc"), json!("1"), json!(""), json!(null), json!(true), json!(false),
    ];
    let scalar = |dice: &mut Dice| scalars[dice.roll(scalars.len())].clone();
    let mut args = Map::new();
    for name in ["a", "b", "s", "f"] {
        if dice.roll(6) != 0 {
            let value = match (name, dice.roll(3)) {
                ("s", 0..=1) => json!(dice.pick(&["abc", "x", "1", "", "a.c"])),
                ("f", 0..=1) => Value::Bool(dice.roll(2) == 0),
                _ => scalar(dice),
            };
            args.insert(name.to_owned(), value);
        }
    }
    if dice.roll(6) != 0 {
        args.insert("l".to_owned(), (0..dice.roll(4)).map(|_| scalar(dice)).collect());
    }
    if dice.roll(6) != 0 {
        let fields = ["x", "y"].into_iter().filter(|_| dice.roll(3) != 0).collect::<Vec<_>>();
        let fields = fields.into_iter().map(|name| (name.to_owned(), scalar(dice)));
        args.insert("m".to_owned(), Value::Object(fields.collect()));
    }
    let times = ["2025-06-01T00:00:00Z", "2026-06-01T00:00:00+02:00", "no time"];
    args.insert("t".to_owned(), json!(dice.pick(&times)));
    Value::Object(args)
}

/// What the condition comes to here; nothing where it is refused before any call.
fn ours(policy: &Policy, args: &Value) -> Truth {
    let agent = Agent::new("agt_00000000000000000000000001".parse().unwrap());
    let call = Call::new("a.b", agent, Timestamp::EPOCH).with_args(args.clone());
    let decision = decide(policy, &call);
    match (decision.failure, decision.rule_id) {
        (Some(_), _) => Truth::Fails,
        (None, Some(_)) => Truth::True,
        (None, None) => Truth::False,
    }
}

fn compile(when: &str) -> Option<Policy> {
    let when = serde_json::to_string(when).unwrap();
    let rule = format!("{{id: a, match: '*', when: {when}, outcome: deny}}");
    Policy::compile(&format!("{{schema: 1, default: {{outcome: allow}}, rules: [{rule}]}}")).ok()
}

fn to_cel(value: &Value) -> Cel {
    match value {
        Value::Null => Cel::Null,
        Value::Bool(value) => Cel::Bool(*value),
        Value::Number(number) => match number.as_i64() {
            Some(int) => Cel::Int(int),
            None => Cel::Float(number.as_f64().unwrap()),
        },
        Value::String(text) => Cel::String(Arc::new(text.clone())),
        Value::Array(items) => Cel::List(Arc::new(items.iter().map(to_cel).collect())),
        Value::Object(fields) => {
            let fields: std::collections::HashMap<Key, Cel> = fields
                .iter()
                .map(|(name, value)| (Key::String(Arc::new(name.clone())), to_cel(value)))
                .collect();
            Cel::Map(cel::objects::Map { map: Arc::new(fields) })
        }
    }
}

fn to_core(value: &Value) -> Core {
    match value {
        Value::Null => Core::Null,
        Value::Bool(value) => Core::Bool(*value),
        Value::Number(number) => match number.as_i64() {
            Some(int) => Core::Int(int),
            None => Core::Double(number.as_f64().unwrap()),
        },
        Value::String(text) => Core::from(text.clone()),
        Value::Array(items) => Core::from(items.iter().map(to_core).collect::<Vec<_>>()),
        Value::Object(fields) => {
            let entries =
                fields.iter().map(|(name, value)| (name.as_str().into(), to_core(value)));
            Core::Map(Arc::new(ValueMap::from_entries(entries)))
        }
    }
}

#[test]
fn every_answer_is_shared_by_another_implementation() {
    let mut dice = Dice(0x51_7cc1_b727_220a);
    let env = Arc::new(Env::stdlib());
    let core = CoreEnv::with_standard_library().with_variable("args", CelType::Dyn);
    let (mut asked, mut refused, mut cel_alone, mut core_alone) = (0, 0, 0, 0);
    let mut failures = Vec::new();
    for _ in 0..4_000 {
        let when = condition(&mut dice, 2);
        let Some(policy) = compile(&when) else {
            refused += 1;
            continue;
        };
        let cel_program = env.compile(&when).ok();
        let core_program =
            core.parse_only(&when).ok().and_then(|ast| core.program(&ast).ok());
        for _ in 0..5 {
            let args = arguments(&mut dice);
            let found = ours(&policy, &args);
            let from_cel = cel_program.as_ref().map(|program| {
                let mut context = Context::with_env(Arc::clone(&env));
                context.add_variable_from_value("args", to_cel(&args));
                match program.execute(&context) {
                    Ok(Cel::Bool(true)) => Truth::True,
                    Ok(Cel::Bool(false)) => Truth::False,
                    Ok(_) | Err(_) => Truth::Fails,
                }
            });
            let from_core = core_program.as_ref().map(|program| {
                let mut activation = MapActivation::new();
                activation.insert("args", to_core(&args));
                match program.eval(&activation) {
                    Core::Bool(true) => Truth::True,
                    Core::Bool(false) => Truth::False,
                    _ => Truth::Fails,
                }
            });
            asked += 1;
            cel_alone += usize::from(from_cel != Some(found));
            core_alone += usize::from(from_core != Some(found));
            if from_cel != Some(found) && from_core != Some(found) {
                failures.push(format!("{when} over {args}: {found:?}, cel {from_cel:?}, cel-core {from_core:?}"));
            }
        }
    }
    println!("{asked} asked, {refused} conditions refused; cel alone {cel_alone}, cel-core alone {core_alone}");
    failures.sort_by_key(String::len);
    failures.truncate(30);
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    assert!(asked > 5_000, "{asked}");
}

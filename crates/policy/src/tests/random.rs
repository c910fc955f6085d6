//! Random conditions, rules and calls over a small world, so that they meet.

use std::collections::BTreeMap;

use model::{Mode, SideEffect, Timestamp};
use serde_json::{Map, Value, json};

use crate::{Agent, Call};

/// A small generator with a fixed seed, so that a failure is the same everywhere.
pub(crate) struct Dice(pub(crate) u64);

impl Dice {
    pub(crate) fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % u64::try_from(sides.max(1)).unwrap()).unwrap()
    }

    pub(crate) fn pick<'t, T: ?Sized>(&mut self, of: &[&'t T]) -> &'t T {
        of[self.roll(of.len())]
    }
}

const ATOMS: [&str; 58] = [
    "args.a == 1",
    "args.a == 1.0",
    "args.a != 2",
    "args.a > 1",
    "args.a >= 1",
    "args.a < 2",
    "args.a <= 0.5",
    "2 > args.a",
    "args.a in [1, 'x', null]",
    "args.a == 'x'",
    "args.a == null",
    "args.a == true",
    "args.a == decimal('1')",
    "args.a > decimal('1.5')",
    "args.b == args.a",
    "args.a < args.b",
    "args.b <= args.a",
    "args.b.c == 'x'",
    "args.b.c in ['x', 'y']",
    "args.b.c > 1",
    "args.b.c.startsWith('x')",
    "args.b.c.endsWith('y')",
    "args.b.c.contains('y')",
    "glob(args.b.c, 'x*')",
    "args.b.c.matches('^x')",
    "args.b.c < 'xy'",
    "has(args.a)",
    "has(args.b)",
    "has(args.b.c)",
    "args.?a.orValue(1) == 1",
    "args.?a.orValue(1) > 1",
    "args.?b.c.orValue('x') == 'x'",
    "args.b.?c.orValue(false)",
    "args.?b.?c.orValue(true)",
    "args.?b.?c.hasValue()",
    "size(args.l) > 1",
    "size(args.l) == 0",
    "size(args.b.c) <= 1",
    "args.l.exists(i, i == 1)",
    "args.l.exists(i, i > 1)",
    "args.l.all(i, i == 'x')",
    "args.l.all(i, i < 2)",
    "args.l.exists_one(i, i == 1)",
    "1 in args.l",
    "'x' in args.l",
    "'c' in args.b",
    "args.l[0] == 1",
    "args.a + 1 > 2",
    "double(args.a) < 1.5",
    "decimal(args.a) > 1",
    "args.f",
    "agent.name == 'ann'",
    "agent.labels.team == 'pay'",
    "has(agent.labels.team)",
    "agent.labels.?team.orValue('x') == 'x'",
    "call.mode == 'proxy'",
    "has(call.session)",
    "call.side_effect != 'read'",
];

/// A condition of at most so many levels.
pub(crate) fn condition(dice: &mut Dice, depth: usize) -> String {
    if depth == 0 || dice.roll(4) == 0 {
        return (*dice.pick(&ATOMS)).to_owned();
    }
    let one = condition(dice, depth - 1);
    let other = condition(dice, depth - 1);
    match dice.roll(8) {
        0..=3 => format!("({one} && {other})"),
        4..=5 => format!("({one} || {other})"),
        6 => format!("!({one})"),
        _ => format!("({one} ? {other} : {})", dice.pick(&ATOMS)),
    }
}

/// A rule of this number.
pub(crate) fn rule(dice: &mut Dice, number: usize) -> String {
    let glob = dice.pick(&["'*'", "'a.*'", "'a.b'", "['a.b', 'c.*']", "'*.b'"]);
    let outcome = dice.pick(&["allow", "deny", "require_approval"]);
    if dice.roll(8) == 0 {
        return format!("{{id: r{number}, match: {glob}, outcome: {outcome}}}");
    }
    let when = serde_json::to_string(&condition(dice, 1)).unwrap();
    format!("{{id: r{number}, match: {glob}, when: {when}, outcome: {outcome}}}")
}

/// So many random calls.
pub(crate) fn calls(dice: &mut Dice, count: usize) -> Vec<Call> {
    (0..count).map(|_| call(dice)).collect()
}

fn call(dice: &mut Dice) -> Call {
    let name = (*dice.pick(&["ann", "eve"])).to_owned();
    let id = "agt_00000000000000000000000000".parse().unwrap();
    let mut agent = Agent { id, name, labels: BTreeMap::new() };
    if dice.roll(2) == 0 {
        let team = dice.pick(&["pay", "x"]);
        agent.labels.insert("team".to_owned(), (*team).to_owned());
    }
    let tool = *dice.pick(&[&"a.b", &"a.x", &"c.d", &"e.b"]);
    let mut sample = Call::new(tool, agent, Timestamp::EPOCH);
    sample.facts.mode = *dice.pick(&[&Mode::Gateway, &Mode::Proxy]);
    sample.facts.session = (dice.roll(2) == 0).then(|| "s".to_owned());
    sample.facts.side_effect =
        *dice.pick(&[&None, &Some(SideEffect::Read), &Some(SideEffect::Write)]);
    let mut args = Map::new();
    for name in ["a", "b", "l", "f"] {
        if dice.roll(5) != 0 {
            args.insert(name.to_owned(), value(dice, name));
        }
    }
    sample.with_args(Value::Object(args))
}

fn value(dice: &mut Dice, name: &str) -> Value {
    match (name, dice.roll(4)) {
        ("b", 0..=2) => json!({ "c": scalar(dice) }),
        ("l", 0..=2) => (0..dice.roll(4)).map(|_| scalar(dice)).collect(),
        ("f", 0..=2) => Value::Bool(dice.roll(2) == 0),
        _ => scalar(dice),
    }
}

fn scalar(dice: &mut Dice) -> Value {
    let all = [
        json!(0),
        json!(1),
        json!(2),
        json!(3),
        json!(1.0),
        json!(0.5),
        json!(1.5),
        json!("x"),
        json!("y"),
        json!("xy"),
        json!("1"),
        json!("1.75"),
        json!(""),
        json!(null),
        json!(true),
        json!([]),
        json!({}),
        json!(i64::MAX),
        json!(1e300),
    ];
    all[dice.roll(all.len())].clone()
}

//! Throws damaged documents and expressions at the reader and the evaluator.

use serde_json::{Value, json};

use super::{agent, at};
use crate::{Call, Policy, STARTER, decide};

/// A small generator with a fixed seed, so that a failure is the same everywhere.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % u64::try_from(sides.max(1)).unwrap()).unwrap()
    }

    fn pick<'t, T: ?Sized>(&mut self, of: &[&'t T]) -> &'t T {
        of[self.roll(of.len())]
    }
}

const PIECES: [&str; 40] = [
    "args.a",
    "args.b.c",
    "args['x']",
    "agent.labels.team",
    "now",
    "call.tool",
    "1",
    "0.5",
    "'x'",
    "null",
    "true",
    "[1, 'a']",
    "&&",
    "||",
    "==",
    "<",
    ">=",
    "in",
    "+",
    "-",
    "*",
    "!",
    "?",
    ":",
    "(",
    ")",
    "[",
    "]",
    ".",
    ",",
    ".?c",
    ".orValue(1)",
    "has(args.a)",
    "size(",
    ".exists(i, i",
    ".matches('a+')",
    "timestamp(",
    "decimal('1.5')",
    "'",
    "\\",
];

fn damaged(text: &str, dice: &mut Dice) -> String {
    let mut bytes = text.as_bytes().to_vec();
    for _ in 0..=dice.roll(6) {
        let place = dice.roll(bytes.len());
        match dice.roll(4) {
            0 => drop(bytes.drain(place..(place + dice.roll(9)).min(bytes.len()))),
            1 => bytes.insert(place, b"{}[]:-,'\"&*!|>#\n \t%@\0"[dice.roll(21)]),
            2 => drop(bytes.splice(place..place, dice.pick(&PIECES).bytes())),
            _ => {
                let end = (place + dice.roll(40)).min(bytes.len());
                let copy = bytes[place..end].to_vec();
                drop(bytes.splice(place..place, copy));
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn expression(dice: &mut Dice) -> String {
    (0..=dice.roll(14)).map(|_| dice.pick(&PIECES)).collect::<Vec<_>>().join(" ")
}

fn arguments(dice: &mut Dice) -> Value {
    let values =
        [json!(1), json!("x"), json!(null), json!([1, [2]]), json!({"c": 0.5}), json!(i64::MAX)];
    let mut value = || values[dice.roll(values.len())].clone();
    json!({ "a": value(), "b": value(), "x": value() })
}

fn try_out(text: &str, dice: &mut Dice) -> bool {
    let Ok(policy) = Policy::compile(text) else { return false };
    let args = std::sync::Arc::new(arguments(dice));
    for tool in ["crm.undo", "pay.refund", "a.b"] {
        let call = Call::new(tool, agent(), at("2026-10-01T12:00:00Z")).with_args(args.clone());
        let decision = decide(&policy, &call);
        let unavailable = decision.code == Some(model::DecisionCode::PolicyUnavailable);
        assert_eq!(unavailable, decision.failure.is_some(), "{text}");
    }
    true
}

#[test]
fn damaged_documents_and_expressions_never_panic() {
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
    let documents = [STARTER, super::REFUNDS, super::BUDGETS];
    let (mut read, mut refused) = (0, 0);
    for _ in 0..4_000 {
        let text = if dice.roll(2) == 0 {
            let document = dice.pick(&documents);
            damaged(document, &mut dice)
        } else {
            let when = serde_json::to_string(&expression(&mut dice)).unwrap();
            format!(
                "{{schema: 1, default: {{outcome: allow}}, rules: [{{id: a, match: '*', when: {when}, outcome: deny}}]}}"
            )
        };
        if try_out(&text, &mut dice) { read += 1 } else { refused += 1 }
    }
    // Both ways must be tried, or the damage is too great or too small to show anything.
    assert!(read > 100 && refused > 100, "{read} read, {refused} refused");
}

#[test]
fn documents_made_to_be_slow_are_read_and_decided_anyway() {
    let head = "schema: 1\ndefault: { outcome: deny }\n";
    let keys = (0..90_000).map(|number| format!(" k{number}: 1\n")).collect::<Vec<_>>().concat();
    assert!(Policy::compile(&format!("{head}constants:\n{keys}")).is_ok());
    let invalid = Policy::compile(&format!("{head}approvals:\n{keys}")).unwrap_err();
    assert!(invalid.findings.len() <= 100);
    // One long list that every rule looks into.
    let list = (0..50_000).map(|number| number.to_string()).collect::<Vec<_>>().join(",");
    let rule = |number| {
        format!("- {{ id: r{number}, match: '*', when: args.a in constants.l, outcome: deny }}\n")
    };
    let rules = (0..5_000).map(rule).collect::<Vec<_>>().concat();
    let text = format!("{head}constants: {{ l: [{list}] }}\nrules:\n{rules}");
    assert!(try_out(&text, &mut Dice(7)));
}

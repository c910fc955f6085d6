//! Decides calls by a document and counts its budgets in memory. Run it with
//! `cargo run -p chancery --example decide`.

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use chancery::policy::{Agent, Call, Counters, Policy, Timestamp, decide, json};

const DOCUMENT: &str = r#"
schema: 1
default: { outcome: deny, reason: "No rule allows this call." }
rules:
  - { id: small, match: pay.refund, when: args.amount <= 50, outcome: allow }
  - { id: large, match: pay.refund, outcome: require_approval }
budgets:
  - { id: day, match: pay.refund, per: [agent], window: day, count: 2 }
"#;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let policy = Policy::compile(DOCUMENT)?;
    let agent = Agent::new("agt_00000000000000000000000001".parse()?);
    let now: Timestamp = "2026-11-22T09:00:00.000Z".parse()?;
    let mut counters = Counters::default();
    for (tool, args) in [
        ("pay.refund", json!({ "amount": 20 })),
        ("pay.refund", json!({ "amount": 900 })),
        ("pay.refund", json!({ "amount": 5 })),
        ("pay.refund", json!({})),
        ("pay.close", json!({})),
    ] {
        let call = Call::new(tool, agent.clone(), now).with_args(args.clone());
        let decision = counters.admit(decide(&policy, &call));
        let code = decision.code.map(|code| format!(" ({code})")).unwrap_or_default();
        println!("{tool} {args}: {}{code}", decision.outcome);
    }
    Ok(())
}

//! Asks a new version of a policy what it would have said of calls that were decided before. Run it
//! with `cargo run -p chancery --example replay`.

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use chancery::policy::{Agent, Call, Policy, Record, Recorded, Timestamp, decide, json, replay};

const BEFORE: &str = "{ schema: 1, default: { outcome: deny }, rules: [
    { id: refunds, match: pay.refund, when: args.amount <= 100, outcome: allow } ] }";
const AFTER: &str = "{ schema: 1, default: { outcome: deny }, rules: [
    { id: large, match: pay.refund, when: args.amount > 50, outcome: require_approval },
    { id: refunds, match: pay.refund, outcome: allow } ] }";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (before, after) = (Policy::compile(BEFORE)?, Policy::compile(AFTER)?);
    let agent = Agent::new("agt_00000000000000000000000001".parse()?);
    let now: Timestamp = "2026-11-22T09:00:00.000Z".parse()?;
    let recorded = [20, 80, 400].map(|amount| {
        let call = Call::new("pay.refund", agent.clone(), now);
        let call = call.with_args(json!({ "amount": amount }));
        let decision = decide(&before, &call);
        Record::Decided(Box::new(Recorded {
            action: format!("the refund of {amount}"),
            call: Ok(call),
            outcome: decision.outcome,
            code: decision.code,
        }))
    });
    let replayed = replay(&after, &recorded);
    for (action, answer) in &replayed.results {
        println!("{action}: {}", answer.as_str());
    }
    println!("{} of {} would differ", replayed.differences(), replayed.coverage.replayed);
    Ok(())
}

//! A Gate in memory: calls are decided, run, witnessed and sealed, and the log is checked with
//! nothing but its public keys. Run it with `cargo run -p chancery --example gate_in_memory`.

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use chancery::{
    deed::verify::{Trust, verify},
    memory::{FnTool, Office},
    model::SideEffect,
};
use serde_json::json;

const POLICY: &str = r#"
schema: 1
default: { outcome: deny, reason: "No rule allows this." }
rules:
  - { id: large, match: shop.refund, when: "args.amount > 100", outcome: require_approval }
  - { id: small, match: shop.refund, outcome: allow }
"#;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let refund = FnTool::new("shop.refund", SideEffect::Write, |args| {
        let order = args.get("order").ok_or("expected `order`")?;
        Ok(json!({ "refunded": order }))
    })?;
    let office = Office::open(POLICY, vec![refund]).await?;
    let agent = office.agent("support").await?;

    for args in [json!({ "order": 1, "amount": 25 }), json!({ "order": 2, "amount": 2_500 })] {
        let called = office.call(&agent, "shop.refund", args.clone()).await?;
        println!("shop.refund {args}: {}", called.action.status);
    }
    let deleted = office.call(&agent, "shop.delete", json!({ "order": 1 })).await?;
    println!("shop.delete: {}", deleted.action.status);

    let (log, kept) = (office.log()?, office.checkpoint().await?);
    let trust = Trust { known_checkpoint: Some(kept), ..office.trust() };
    let verified = verify(&log, &trust)?;
    let deeds = log.split_inclusive(|byte| *byte == b'\n').count();
    println!("the log of {deeds} deeds is {}", verified.report());
    Ok(())
}

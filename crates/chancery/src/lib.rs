//! Chancery for programs that embed it.
//!
//! | Take | when you want to |
//! |---|---|
//! | [`policy`] | decide calls of tools by a document that people can review |
//! | [`deed`] | seal statements into a log that anyone can check offline, and check them |
//! | [`gate`], [`ledger`] | decide, run, witness and seal calls over a store of your own |
//! | [`memory`] | have all of that over a store in memory, in a test or in one process |
//! | [`model`] | name ids, times, digests and the closed lists of words that they share |
//!
//! The pure crates do no IO. A Gate asks for what it needs from outside: a store
//! ([`ledger::LedgerStore`], [`gate::ActionStore`]), tools ([`gate::Toolbox`]), a clock
//! ([`model::Clock`]), randomness ([`model::Entropy`]) and tasks ([`ledger::Spawn`]).
//!
//! ```
//! use chancery::memory::{FnTool, Office};
//! use chancery::model::SideEffect;
//! use serde_json::json;
//!
//! # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
//! const POLICY: &str = r#"
//! schema: 1
//! default: { outcome: deny, reason: "No rule allows this." }
//! rules:
//!   - { id: small, match: shop.refund, when: "args.amount <= 100", outcome: allow }
//! "#;
//! let refund = FnTool::new("shop.refund", SideEffect::Write, |args| {
//!     Ok(json!({ "refunded": args["amount"] }))
//! })?;
//! let office = Office::open(POLICY, vec![refund]).await?;
//! let agent = office.agent("support").await?;
//!
//! let done = office.call(&agent, "shop.refund", json!({ "amount": 25 })).await?;
//! assert_eq!(done.result, Some(json!({ "refunded": 25 })));
//! let refused = office.call(&agent, "shop.refund", json!({ "amount": 2_500 })).await?;
//! assert_eq!(refused.action.status.as_str(), "denied");
//!
//! // Both ended as deeds, which anybody checks with the public keys alone.
//! let verified = chancery::deed::verify::verify(&office.log()?, &office.trust())?;
//! assert_eq!(verified.report().to_string(), "valid");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # }).unwrap();
//! ```

pub mod memory;

pub use crypto;
pub use deed;
pub use gate;
pub use ledger;
pub use model;
pub use policy;
pub use store_memory;
pub use tool;

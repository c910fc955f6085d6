//! Numbers of a document and what its digest covers of them.

use serde_json::{Value, json};

use super::{at, call, policy};
use crate::{Policy, decide};

#[test]
fn numbers_of_one_digest_decide_alike_however_they_are_written() {
    let with = |cap: &str| {
        format!(
            "schema: 1
default: {{ outcome: deny }}
constants: {{ cap: {cap} }}
rules: [{{ id: a, match: pay.refund, when: args.amount + constants.cap > 1, outcome: allow }}]"
        )
    };
    let decided = |cap: &str| {
        let policy = policy(&with(cap));
        let of = |args: Value| decide(&policy, &call("pay.refund").with_args(args)).failure;
        (policy.digest(), of(json!({ "amount": 1 })), of(json!({ "amount": 1.5 })))
    };
    let spellings: [(&str, &[&str]); 6] = [
        ("1", &["1.0", "1e0", "1.", "0.1e1", "+1.0", "1.0000000000000000001"]),
        ("100", &["1e2", "1E+2", "100.0"]),
        ("0", &["0.0", "-0.0", "-0", "0e5"]),
        ("-9007199254740991", &["-9007199254740991.0", "-9.007199254740991e15"]),
        ("9007199254740992.0", &["9007199254740993.0", "9.007199254740992e15"]),
        ("1e21", &["1000000000000000000000.0"]),
    ];
    for (plain, others) in spellings {
        for other in others {
            assert_eq!(decided(plain), decided(other), "{plain} and {other}");
        }
    }
    assert_ne!(decided("1").0, decided("1.5").0);
    let whole = policy(
        "{ schema: 1.0, default: { outcome: deny }, budgets: [{ id: a, match: a.b, window: day, count: 50.0 }] }",
    );
    assert_eq!(whole.budgets(at("2026-10-01T12:00:00Z"), "UTC").len(), 1);
    // The form that the digest covers is no other number where only one spelling is taken.
    assert!(Policy::compile(&with("9007199254740992")).is_err());
}

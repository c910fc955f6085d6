//! A decision allocates nothing: counted by an allocator, over policies small and large.

#[cfg(test)]
mod decisions {
    use std::collections::BTreeMap;

    use model::{DecisionOutcome, Timestamp};
    use policy::{Agent, Call, Decision, Policy, decide};
    use serde_json::{Value, json};

    const CONDITIONS: [&str; 8] = [
        "args.amount > 500 && args.currency == 'EUR'",
        "args.customer.email.endsWith('@example.org') || agent.labels.?team.orValue('') == 'ops'",
        "decimal(args.total) > decimal('1000.00') && decimal(args.total) < 5000",
        "args.items.exists(item, item.price > 100 && item.kind in ['gift', 'card'])",
        "args.to.all(address, address.matches('^[a-z]+@example[.]org$'))",
        "now.getHours('UTC') < 7 && has(call.session)",
        "cidr('10.0.0.0/8').containsIP(args.from_ip) && glob(call.tool, 'pay.*')",
        "size(args.items) > 3 && args.?note.hasValue() && timestamp(args.at) > now",
    ];

    fn policy(rules: usize) -> Policy {
        let rule = |number: usize| {
            // The number keeps the conditions apart and none of them true.
            let when =
                format!("({}) && args.number == {number}", CONDITIONS[number % CONDITIONS.len()]);
            let when = serde_json::to_string(&when).unwrap();
            format!(
                "- {{ id: r{number}, match: 'pay.*', when: {when}, outcome: deny, reason: No. }}\n"
            )
        };
        let rules: String = (0..rules).map(rule).collect();
        let last =
            "- { id: last, match: 'pay.*', when: args.amount < 100, outcome: require_approval,
      reason: A person looks at it., approval: { from: [role:admin], show: [args.amount] } }";
        Policy::compile(&format!("schema: 1\ndefault: {{ outcome: deny }}\nrules:\n{rules}{last}"))
            .unwrap()
    }

    fn count(policy: &Policy, args: &Value) -> (Decision, u64) {
        let agent = Agent {
            id: "agt_00000000000000000000000001".parse().unwrap(),
            name: "support".to_owned(),
            labels: BTreeMap::from([("team".to_owned(), "pay".to_owned())]),
        };
        let mut call = Call::new("pay.refund", agent, Timestamp::EPOCH).with_args(args.clone());
        call.facts.session = Some("s".to_owned());
        // The first calls of a tool find its rules and build their index.
        for _ in 0..8 {
            let _ = decide(policy, &call);
        }
        let mut decision = None;
        let info = allocation_counter::measure(|| decision = Some(decide(policy, &call)));
        (decision.unwrap(), info.count_total)
    }

    #[test]
    fn a_decision_without_budgets_allocates_nothing() {
        let args = json!({
            "amount": 20, "currency": "EUR", "total": "1250.00", "number": -1,
            "customer": { "email": "ann@example.org" }, "from_ip": "10.1.2.3",
            "items": [{ "price": 120, "kind": "gift" }, { "price": 1, "kind": "other" }],
            "to": ["ann@example.org", "bob@example.org"], "at": "2026-10-01T12:00:00Z", "note": "x",
        });
        for rules in [1, 8, 20, 200, 2_000] {
            let (decision, allocations) = count(&policy(rules), &args);
            assert_eq!(decision.outcome, DecisionOutcome::RequireApproval);
            assert_eq!(decision.rule_id.as_deref(), Some("last"));
            assert_eq!(allocations, 0, "{rules} rules");
        }
    }
}

//! Replays of a version over recorded decisions.

use std::collections::BTreeMap;

use model::{DecisionOutcome, Timestamp};
use serde_json::json;

use super::{BUDGETS, agent, at, policy};
use crate::{
    Call, Coverage, NotReplayable, Policy, Record, Recorded, ReplayAnswer,
    counters::Counters,
    decide, replay,
    tests::random::{Dice, calls},
};

/// Decides the calls one after the other, as the Gate does, and writes down what came of them; every
/// third action that may run gives back what it took.
fn record(policy: &Policy, samples: Vec<Call>) -> Vec<Record> {
    let mut counters = Counters::default();
    let mut records = Vec::new();
    for (number, sample) in samples.into_iter().enumerate() {
        let decision = counters.admit(decide(policy, &sample));
        let action = format!("act_{number}");
        let recorded = Recorded {
            action: action.clone(),
            call: Ok(sample),
            outcome: decision.outcome,
            code: decision.code,
        };
        records.push(Record::Decided(Box::new(recorded)));
        if number % 3 == 0 && !decision.charges.is_empty() {
            counters.release(&decision.charges);
            records.push(Record::Released { action });
        }
    }
    records
}

fn refunds() -> Vec<Call> {
    let start = at("2026-10-01T12:00:00Z").unix_millis();
    let sample = |number: i64| {
        let now = Timestamp::from_unix_millis(start + number * 60_000);
        let currency = if number % 7 == 0 { "USD" } else { "EUR" };
        let args = json!({ "amount": (number * 3 % 80).to_string(), "currency": currency });
        Call::new("pay.refund", agent(), now).with_args(args)
    };
    (0..400).map(sample).collect()
}

#[test]
fn a_version_over_its_own_decisions_shows_no_difference() {
    let mut dice = Dice(0xabc_def1);
    for (text, samples) in
        [(BUDGETS, refunds()), (super::REFUNDS, refunds()), (crate::STARTER, calls(&mut dice, 500))]
    {
        let policy = policy(text);
        let records = record(&policy, samples);
        let found = replay(&policy, &records);
        assert_eq!(found.differences(), 0, "{:?}", found.counts);
        assert!(found.coverage.replayed >= 400);
    }
}

#[test]
fn another_version_shows_what_it_would_have_said() {
    let before = policy(super::REFUNDS);
    let sample = |amount: i64| {
        Call::new("pay.refund", agent(), at("2026-10-01T12:00:00Z"))
            .with_args(json!({ "amount": amount }))
    };
    let mut records = record(&before, [20, 100, 501].map(sample).to_vec());
    for reason in NotReplayable::ALL {
        let recorded = Recorded {
            action: format!("act_{}", reason.as_str()),
            call: Err(reason),
            outcome: DecisionOutcome::Deny,
            code: None,
        };
        records.push(Record::Decided(Box::new(recorded)));
    }
    let after = policy(
        "{schema: 1, default: {outcome: require_approval}, rules: [
           {id: a, match: pay.refund, when: args.amount > 400, outcome: allow},
           {id: b, match: pay.refund, when: args.amount < 50, outcome: deny}]}",
    );
    let found = replay(&after, &records);
    let answers: Vec<ReplayAnswer> = found.results.iter().map(|(_, answer)| *answer).collect();
    assert_eq!(
        answers[..3],
        [ReplayAnswer::WouldDeny, ReplayAnswer::WouldRequireApproval, ReplayAnswer::WouldAllow]
    );
    let not_replayable = BTreeMap::from(NotReplayable::ALL.map(|reason| (reason, 1)));
    assert_eq!(found.coverage, Coverage { replayed: 3, not_replayable });
    assert_eq!(found.differences(), 3);
}

//! Tests of what tests stand on.

use std::time::Duration;

use model::{Clock, Entropy, Timestamp};

use crate::{Draft, ManualClock, Scribe, SeededEntropy};

#[test]
fn a_manual_clock_moves_only_when_it_is_told_to() {
    let clock = ManualClock::at(Timestamp::EPOCH);
    assert_eq!(clock.now(), Timestamp::EPOCH);
    clock.pass(Duration::from_secs(3));
    assert_eq!(clock.now(), Timestamp::from_unix_millis(3_000));
    clock.set(Timestamp::EPOCH);
    assert_eq!((clock.now(), clock.elapsed()), (Timestamp::EPOCH, Duration::from_secs(3)));
}

#[test]
fn one_seed_gives_one_sequence_and_another_gives_another() {
    let bytes = |seed| {
        let mut bytes = [0; 37];
        SeededEntropy::new(seed).fill(&mut bytes);
        bytes
    };
    assert_eq!(bytes(1), bytes(1));
    assert_ne!(bytes(1), bytes(2));
}

#[test]
fn a_scribe_numbers_versions_deeds_and_events_without_gaps() {
    let mut scribe = Scribe::new(1, Timestamp::EPOCH);
    for version in 1..=3_u64 {
        let deeds = vec![scribe.deed(None), scribe.deed(None)];
        let events = vec![scribe.event(None)];
        let turn = scribe.turn(Draft { changes: ledger::Changes::default(), deeds, events });
        assert_eq!(turn.head.version, version);
        assert_eq!(turn.deeds[0].sealed.seq, (version - 1) * 2);
        assert_eq!(turn.events[0].seq, version);
        scribe.went(&turn);
    }
}

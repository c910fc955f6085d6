//! What must hold at the end of every history.

use std::{collections::BTreeMap, time::Duration};

use crate::world::{Ending, REFUSED, World};

const HISTORIES: u64 = 300;
/// How far the processes' counts of time may have run ahead of the store's in one history.
const CLOCKS_RUN_APART: Duration = Duration::from_secs(2);

#[test]
fn no_history_loses_doubles_or_reorders_what_was_answered() {
    let mut totals = BTreeMap::<&str, usize>::new();
    for seed in 0..HISTORIES {
        let world = World::played(seed);
        check(&world, seed);
        for (what, count) in world.counts() {
            *totals.entry(what).or_default() += count;
        }
    }
    // A simulation in which nothing went wrong would prove nothing.
    let faults = ["crashed", "lost_heads", "doubts", "late_commits", "clock_steps", "panics"];
    let turns = ["ahead", "redrafted", "in_order", "taken_away", "turn_locks"];
    for what in ["answered", "unavailable"].iter().chain(&faults).chain(&turns) {
        assert!(totals[what] > 50, "{what}: {totals:?}");
    }
}

fn check(world: &World, seed: u64) {
    let deeds = world.deeds();
    let numbers: Vec<String> = deeds.iter().map(|deed| deed.label.clone()).collect();
    let mut sorted = numbers.clone();
    sorted.sort();
    sorted.dedup();
    assert_eq!(sorted.len(), numbers.len(), "seed {seed}: a request was recorded twice");

    for (place, deed) in deeds.iter().enumerate() {
        assert_eq!(deed.seq, place as u64, "seed {seed}: a gap in the chain");
        assert_eq!(deed.prev, world.prev_of(place), "seed {seed}: a broken link");
    }
    assert!(deeds.is_sorted_by_key(|deed| deed.issued_at), "seed {seed}: time ran backwards");
    let ahead = deeds.iter().find(|deed| deed.issued_at > world.now() + CLOCKS_RUN_APART);
    assert!(ahead.is_none(), "seed {seed}: a deed of a time that has not come");
    assert_eq!(world.counter(), deeds.len() as u64, "seed {seed}: the counter is wrong");

    assert_eq!(world.too_soon(), Vec::<String>::new(), "seed {seed}: told before the commit");
    for (label, ending) in &world.endings() {
        let recorded = numbers.contains(label);
        match ending {
            Ending::Answered(value) => {
                assert!(recorded, "seed {seed}: {label} was answered and is lost");
                let place = numbers.iter().position(|known| known == label).unwrap();
                assert_eq!(*value, place as u64 + 1, "seed {seed}: {label} saw a wrong counter");
            }
            Ending::Unavailable => {
                assert!(!recorded, "seed {seed}: {label} was refused and is recorded");
            }
            // Nobody was told anything, so either is right.
            Ending::InDoubt | Ending::Crashed => {}
        }
    }
    let events = world.events();
    let expected: Vec<u64> = (1..=events.len() as u64).collect();
    assert_eq!(events, expected, "seed {seed}: a gap in the events");
}

#[test]
fn the_same_seed_is_the_same_history() {
    let (once, again) = (World::played(7), World::played(7));
    assert_eq!(once.counts(), again.counts());
    assert_eq!(once.endings(), again.endings());
}

const CLIENTS: usize = 64;
const LIMIT: u64 = 40;

#[test]
fn sixty_four_clients_on_three_processes_never_overspend_a_budget() {
    let (mut full, mut refused, mut hurt) = (0, 0, 0);
    for seed in 0..HISTORIES {
        let world = World::spent(seed, CLIENTS, LIMIT);
        let spent: Vec<String> = world.deeds().into_iter().map(|deed| deed.label).collect();
        assert!(spent.len() as u64 <= LIMIT, "seed {seed}: {} of {LIMIT} were spent", spent.len());
        assert_eq!(world.counter(), spent.len() as u64, "seed {seed}: the counter is wrong");
        for (label, ending) in &world.endings() {
            let is_spent = spent.contains(label);
            match ending {
                Ending::Answered(REFUSED) => {
                    assert!(!is_spent, "seed {seed}: {label} was refused and is spent");
                    refused += 1;
                }
                Ending::Answered(_) => assert!(is_spent, "seed {seed}: {label} is lost"),
                Ending::Unavailable => assert!(!is_spent, "seed {seed}: {label} is recorded"),
                Ending::InDoubt | Ending::Crashed => hurt += 1,
            }
        }
        full += usize::from(spent.len() as u64 == LIMIT);
    }
    // Budgets were used up, clients were refused, and things went wrong meanwhile.
    assert!(full > 100 && refused > 1_000 && hurt > 1_000, "{full} {refused} {hurt}");
}

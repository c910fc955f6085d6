//! A log is never read for more than a quarter of the time.

use crate::{Pace, PaceLimits};

const LIMITS: PaceLimits = PaceLimits { active_ms: 10, idle_ms: 1000, batch: 5000 };

#[test]
fn a_read_is_followed_by_at_least_three_times_as_long_a_rest() {
    for took in [0, 1, 5, 300, 2_000, 60_000] {
        for full in [false, true] {
            for awaited in [false, true] {
                let rest = Pace::new(LIMITS).after(took, full, awaited);
                assert!(rest >= 3 * took, "{took} {full} {awaited}: {rest}");
            }
        }
    }
}

#[test]
fn who_waits_is_served_soon_and_an_idle_log_is_left_alone() {
    let mut pace = Pace::new(LIMITS);
    assert_eq!(pace.after(2, false, true), 10);
    assert_eq!(pace.after(2, false, false), 1000);
    // A read that takes more than a quarter of the time between reads makes it longer.
    assert_eq!(pace.after(251, false, false), 2000);
    assert_eq!(Pace::new(PaceLimits { idle_ms: 4000, ..LIMITS }).after(1500, false, false), 5000);
}

#[test]
fn a_backlog_is_read_in_growing_parts_and_then_in_small_ones_again() {
    let mut pace = Pace::new(LIMITS);
    let mut batches = vec![pace.batch()];
    for _ in 0..5 {
        assert_eq!(pace.after(2, true, false), 6);
        batches.push(pace.batch());
    }
    assert_eq!(batches, [5_000, 10_000, 20_000, 40_000, 80_000, 100_000]);
    pace.after(2, false, false);
    assert_eq!(pace.batch(), 5_000);
}

#[test]
fn a_read_that_failed_is_followed_by_a_smaller_one() {
    let mut pace = Pace::new(LIMITS);
    let batches: Vec<_> = (0..8)
        .map(|_| {
            pace = pace.eased();
            pace.batch()
        })
        .collect();
    assert_eq!(batches, [2_500, 1_250, 625, 312, 156, 100, 100, 100]);
    pace.after(2, true, false);
    assert_eq!(pace.batch(), 200);
    // Fewer than were wished for may be no more than those.
    assert_eq!(Pace::new(PaceLimits { batch: 1, ..LIMITS }).eased().batch(), 1);
}

//! When a worker is well.

use super::*;

struct At(AtomicI64);

impl Clock for At {
    fn now(&self) -> Timestamp {
        Timestamp::from_unix_millis(self.0.load(Relaxed))
    }
}

#[test]
fn a_worker_that_gets_through_no_round_for_a_minute_is_not_well() {
    let (work, clock) = (Work::default(), At(AtomicI64::new(1_000_000)));
    assert!(work.is_well(&clock), "nothing has begun");
    let sweep = work.of(Worker::Reports);
    assert_eq!(sweep.count(&clock, Ok::<_, String>(3)), Ok(3));
    clock.0.fetch_add(60_000, Relaxed);
    assert_eq!(sweep.count(&clock, Err::<(), _>("away")), Err("away"));
    assert!(work.is_well(&clock));
    clock.0.fetch_add(1, Relaxed);
    assert!(!work.is_well(&clock));
    let _ = sweep.count(&clock, Ok::<_, String>(()));
    assert!(work.is_well(&clock));
    assert_eq!((sweep.done.load(Relaxed), sweep.failed.load(Relaxed)), (2, 1));
}

#[test]
fn a_worker_that_never_got_through_a_round_is_not_well_once_it_is_late() {
    let (work, clock) = (Work::default(), At(AtomicI64::new(1_000_000)));
    for _ in 0..2 {
        let _ = work.of(Worker::Renewal).count(&clock, Err::<(), _>("away"));
        assert!(work.is_well(&clock));
        clock.0.fetch_add(60_000, Relaxed);
    }
    assert!(!work.is_well(&clock));
}

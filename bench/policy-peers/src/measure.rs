//! What one call of a function costs: the least of many rounds, since everything else that the
//! machine does can only add to it.

use std::{
    hint::black_box,
    time::{Duration, Instant},
};

const ROUND: Duration = Duration::from_millis(4);
const MOST_ROUNDS: usize = 60;
const LONGEST: Duration = Duration::from_millis(600);

/// Time and allocations of one call.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cost {
    pub(crate) nanos: f64,
    pub(crate) allocations: u64,
}

/// What a call costs once it has been called a few times.
pub(crate) fn cost<T>(mut call: impl FnMut() -> T) -> Cost {
    for _ in 0..8 {
        black_box(call());
    }
    let start = Instant::now();
    black_box(call());
    let once = start.elapsed().max(Duration::from_nanos(20));
    let calls = (ROUND.as_nanos() / once.as_nanos()).clamp(1, 100_000) as u32;
    let begun = Instant::now();
    let mut least = f64::MAX;
    for _ in 0..MOST_ROUNDS {
        let start = Instant::now();
        for _ in 0..calls {
            black_box(call());
        }
        least = least.min(start.elapsed().as_nanos() as f64 / f64::from(calls));
        if begun.elapsed() > LONGEST {
            break;
        }
    }
    let counted = allocation_counter::measure(|| drop(black_box(call())));
    Cost { nanos: least, allocations: counted.count_total }
}

//! How the background thread leaves the processors to others.
//!
//! Its priority alone is not enough: where the system shares the processors between groups of processes,
//! the priority of a thread counts only among those of its group, and a database on the same machine is
//! another group. So the thread looks at how long it waited for a processor. Where it waited for much
//! longer than it ran, others want the processors, and nothing is begun there for many times as long as
//! it ran.

use std::time::Duration;

use self::source::Source;

/// How often the thread looks.
const LOOK_EVERY: Duration = Duration::from_millis(5);
/// Others want the processors where the thread waited for more times as long as it ran. What it causes
/// itself, at a database and at receivers on the same machine, makes it wait for about as long as it runs.
const CROWDED: u32 = 2;
/// How much of what was seen before counts at the next look: one look is often wrong.
const REMEMBERED: (u32, u32) = (7, 8);
/// For how many times as long as it ran it rests: it then takes a twentieth of a processor.
const REST: u32 = 19;
/// The longest rest.
const LONGEST: Duration = Duration::from_millis(100);

/// The pace of one thread.
#[derive(Debug)]
pub(super) struct Pace {
    source: Option<Source>,
    last: Spent,
    /// What was spent until the last look, the recent before the old.
    recent: Spent,
    // As the process counts time.
    looked: Duration,
    rests_until: Duration,
}

/// How long a thread ran, and how long it was ready to run and waited for a processor.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Spent {
    ran: Duration,
    waited: Duration,
}

impl Pace {
    /// The pace of the thread that calls this, now as the process counts time.
    pub(super) fn of_this_thread(now: Duration) -> Self {
        let source = Source::open();
        let last = source.as_ref().and_then(Source::read).unwrap_or_default();
        Self { source, last, recent: Spent::default(), looked: now, rests_until: now }
    }

    /// How long nothing is begun from now on.
    pub(super) fn rest(&mut self, now: Duration) -> Duration {
        let left = self.rests_until.saturating_sub(now);
        if !left.is_zero() {
            return left;
        }
        let Some(source) = &self.source else { return Duration::ZERO };
        if now.saturating_sub(self.looked) < LOOK_EVERY {
            return Duration::ZERO;
        }
        let spent = source.read();
        self.look(spent, now)
    }

    /// Notes what the thread has spent until now.
    fn look(&mut self, spent: Option<Spent>, now: Duration) -> Duration {
        let spent = spent.unwrap_or(self.last);
        let rest = self.recent.rest_after(spent.since(self.last));
        (self.last, self.looked, self.rests_until) = (spent, now + rest, now + rest);
        rest
    }
}

impl Spent {
    fn since(self, before: Self) -> Self {
        Self {
            ran: self.ran.saturating_sub(before.ran),
            waited: self.waited.saturating_sub(before.waited),
        }
    }

    /// Adds what was spent between two looks, and returns how long the thread rests after it.
    fn rest_after(&mut self, spent: Self) -> Duration {
        let (part, of) = REMEMBERED;
        self.ran = self.ran * part / of + spent.ran;
        self.waited = self.waited * part / of + spent.waited;
        let is_crowded = self.waited > self.ran * CROWDED;
        if is_crowded { (spent.ran * REST).min(LONGEST) } else { Duration::ZERO }
    }
}

#[cfg(target_os = "linux")]
mod source {
    use std::{fs::File, os::unix::fs::FileExt, time::Duration};

    use super::Spent;

    /// What Linux counts of the thread that opened it.
    #[derive(Debug)]
    pub(super) struct Source(File);

    impl Source {
        /// Nothing where the system does not count it.
        pub(super) fn open() -> Option<Self> {
            let source = Self(File::open("/proc/thread-self/schedstat").ok()?);
            source.read().is_some_and(|spent| !spent.ran.is_zero()).then_some(source)
        }

        pub(super) fn read(&self) -> Option<Spent> {
            let mut bytes = [0; 64];
            let count = self.0.read_at(&mut bytes, 0).ok()?;
            let text = std::str::from_utf8(bytes.get(..count)?).ok()?;
            let mut numbers = text.split_whitespace().map(|number| number.parse().ok());
            let mut next = || numbers.next().flatten().map(Duration::from_nanos);
            Some(Spent { ran: next()?, waited: next()? })
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod source {
    use super::Spent;

    /// Elsewhere nothing counts it.
    #[derive(Debug)]
    pub(super) enum Source {}

    impl Source {
        pub(super) fn open() -> Option<Self> {
            None
        }

        pub(super) fn read(&self) -> Option<Spent> {
            match *self {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, mpsc};

    use delivery::Aside;
    use model::Clock;

    use super::{super::Background, *};
    use crate::clock::SystemClock;

    fn spent(ran: u64, waited: u64) -> Spent {
        Spent { ran: Duration::from_micros(ran), waited: Duration::from_micros(waited) }
    }

    #[test]
    fn it_rests_while_it_waits_much_longer_than_it_runs() {
        let mut recent = Spent::default();
        let mut rests = |looks: &[(u64, u64)]| {
            let rest = |(ran, waited): &(u64, u64)| recent.rest_after(spent(*ran, *waited));
            looks.iter().map(rest).map(|rest| rest.as_micros()).collect::<Vec<_>>()
        };
        // Alone, or waiting for what it causes itself, it goes on without a rest.
        assert_eq!(rests(&[(5_000, 0), (3_000, 3_000), (2_500, 5_000)]), [0; 3]);
        // One long wait among many short ones is nobody's call.
        assert_eq!(rests(&[(2_000, 10_000)]), [0]);
        let crowded = rests(&[(1_000, 9_000); 8]);
        assert_eq!(crowded.last(), Some(&19_000), "{crowded:?}");
        // A rest has an end, and a thread that did nothing has none.
        assert_eq!(rests(&[(50_000, 900_000), (0, 9_000)]), [100_000, 0]);
        // Once nobody else wants the processors, it rests no more.
        let alone = rests(&[(5_000, 0); 60]);
        assert_eq!(alone.last(), Some(&0), "{alone:?}");
    }

    #[test]
    fn all_that_is_begun_during_a_rest_waits_for_its_end() {
        let began = Duration::from_hours(1);
        let mut pace = Pace::of_this_thread(began);
        let crowded = Spent {
            ran: pace.last.ran + Duration::from_secs(1),
            waited: pace.last.waited + Duration::from_secs(9),
        };
        assert_eq!(pace.look(Some(crowded), began), LONGEST);
        let half = began + LONGEST / 2;
        assert_eq!((pace.rest(half), pace.rest(half)), (LONGEST / 2, LONGEST / 2));
        // What could not be read counts as nothing spent.
        assert_eq!(pace.look(None, began + LONGEST), Duration::ZERO);
    }

    #[test]
    fn a_post_begins_when_the_rest_of_its_thread_is_over() {
        let background = Arc::new(Background::new().unwrap());
        let end = SystemClock.elapsed() + LONGEST;
        let mut pace = Pace::of_this_thread(end);
        pace.rests_until = end;
        *background.pace.lock().unwrap() = Some(pace);
        let (tell, told) = mpsc::channel();
        // However many begin.
        for _ in 0..2 {
            let (aside, tell) = (Arc::clone(&background), tell.clone());
            background.run(Box::pin(async move {
                aside.turn().await;
                tell.send(SystemClock.elapsed()).unwrap();
            }));
        }
        assert!(told.recv().unwrap() >= end && told.recv().unwrap() >= end);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_system_counts_how_long_a_thread_runs() {
        let Some(source) = Source::open() else { return };
        let before = source.read().unwrap();
        let began = SystemClock.elapsed();
        let mut sum = 0_u64;
        while source.read().unwrap().ran == before.ran {
            sum = std::hint::black_box(sum + 1);
            assert!(
                SystemClock.elapsed() < began + Duration::from_mins(1),
                "{before:?} after {sum} rounds"
            );
        }
    }
}

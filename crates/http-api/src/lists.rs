//! Lists, searches and exports: how many of a key and of an org are under way at once, and for how
//! long together they may keep the database busy.

use std::{
    collections::HashMap,
    hash::Hash,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use model::{Clock, OrgId, Uuid};
use web::{ApiError, Place, Slot, Slots};

/// What lists of one holder may take.
#[derive(Debug, Clone, Copy)]
struct Bounds {
    /// Who that is, for whom it reads.
    whose: &'static str,
    /// The most that are under way at once on this instance.
    at_once: usize,
    /// The most time that they may have taken before one more waits.
    credit: Duration,
    /// Time comes back at one part in so many of the time that passes.
    part: u32,
}

const OF_KEY: Bounds = Bounds { whose: "key", at_once: 4, credit: Duration::from_secs(5), part: 4 };
const OF_ORG: Bounds =
    Bounds { whose: "org", at_once: 8, credit: Duration::from_secs(10), part: 2 };
/// What a list may take without its time being counted: a page that an index leads to takes less.
const FREE: Duration = Duration::from_millis(20);
/// The most that is counted of one: a statement may take that long, and a log that is read out goes
/// at its reader's pace.
const MOST: Duration = Duration::from_secs(1);
/// How many holders there may be before those are forgotten who owe nothing any more.
const MANY: usize = 1024;

/// The lists that are under way.
pub(crate) struct Lists {
    clock: Arc<dyn Clock>,
    keys: Arc<Holders<Uuid>>,
    orgs: Arc<Holders<OrgId>>,
}

/// The keys or the orgs.
struct Holders<K> {
    bounds: Bounds,
    slots: Slots<K>,
    spent: Mutex<HashMap<K, Spent>>,
}

/// Time that lists took and that has not come back yet, as it was at that moment.
#[derive(Debug, Clone, Copy)]
struct Spent {
    time: Duration,
    seen: Duration,
}

/// A list that is under way; its time is counted when this is dropped.
struct UnderWay {
    clock: Arc<dyn Clock>,
    begun: Duration,
    key: Entered<Uuid>,
    org: Entered<OrgId>,
}

/// A holder's place for one list.
struct Entered<K: Eq + Hash> {
    holder: K,
    holders: Arc<Holders<K>>,
    _slot: Slot<K>,
}

impl Lists {
    pub(crate) fn new(clock: Arc<dyn Clock>) -> Self {
        let (keys, orgs) = (Arc::new(Holders::new(OF_KEY)), Arc::new(Holders::new(OF_ORG)));
        Self { clock, keys, orgs }
    }

    /// A place for one more, where the key and the org have one left.
    pub(crate) fn take(&self, org: OrgId, key: Uuid) -> Result<Place, ApiError> {
        let begun = self.clock.elapsed();
        let key = self.keys.enter(key, begun)?;
        let org = self.orgs.enter(org, begun)?;
        Ok(Place::of(UnderWay { clock: Arc::clone(&self.clock), begun, key, org }))
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        let now = self.clock.elapsed();
        let took = now.saturating_sub(self.begun).saturating_sub(FREE).min(MOST);
        self.key.holders.spend(self.key.holder, took, now);
        self.org.holders.spend(self.org.holder, took, now);
    }
}

impl<K: Eq + Hash + Copy> Holders<K> {
    fn new(bounds: Bounds) -> Self {
        Self { bounds, slots: Slots::new(bounds.at_once), spent: Mutex::default() }
    }

    fn enter(self: &Arc<Self>, holder: K, now: Duration) -> Result<Entered<K>, ApiError> {
        let Bounds { whose, at_once, credit, part } = self.bounds;
        let spent = self.locked().get(&holder).map(|spent| spent.at(now, part));
        if let Some(over) = spent.and_then(|spent| spent.checked_sub(credit)) {
            let message = format!(
                "lists of this {whose} use too much database time; request less at a time, or less often"
            );
            let seconds = (over * part).as_secs().saturating_add(1);
            return Err(ApiError::rate_limited(message).retry_after(seconds));
        }
        let slot = self.slots.take(holder).ok_or_else(|| {
            ApiError::rate_limited(format!(
                "{at_once} lists of this {whose} are in progress; wait until one of them has ended"
            ))
        })?;
        Ok(Entered { holder, holders: Arc::clone(self), _slot: slot })
    }

    fn spend(&self, holder: K, took: Duration, now: Duration) {
        if took.is_zero() {
            return;
        }
        let mut spent = self.locked();
        if spent.len() >= MANY {
            spent.retain(|_, spent| !spent.at(now, self.bounds.part).is_zero());
        }
        let before = spent.get(&holder).map(|spent| spent.at(now, self.bounds.part));
        let time = before.unwrap_or_default() + took;
        spent.insert(holder, Spent { time, seen: now });
    }

    fn locked(&self) -> MutexGuard<'_, HashMap<K, Spent>> {
        self.spent.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Spent {
    /// What is left of it now.
    fn at(self, now: Duration, part: u32) -> Duration {
        self.time.saturating_sub(now.saturating_sub(self.seen) / part)
    }
}

#[cfg(test)]
mod tests {
    use model::Uuid;
    use testkit::ManualClock;

    use super::*;

    fn org(number: u128) -> OrgId {
        OrgId::from_uuid(Uuid::from_u128(number))
    }

    fn key(number: u128) -> Uuid {
        Uuid::from_u128(number)
    }

    fn lists() -> (Arc<ManualClock>, Lists) {
        let clock = Arc::new(ManualClock::at(testkit::START));
        (Arc::clone(&clock), Lists::new(clock))
    }

    #[test]
    fn a_key_has_four_lists_under_way_and_an_org_eight() {
        let (_, lists) = lists();
        let mut held: Vec<_> = (0..4).map(|_| lists.take(org(1), key(1)).unwrap()).collect();
        assert_eq!(lists.take(org(1), key(1)).unwrap_err().status(), 429);
        held.extend((0..4).map(|_| lists.take(org(1), key(2)).unwrap()));
        assert_eq!(lists.take(org(1), key(3)).unwrap_err().status(), 429);
        lists.take(org(2), key(4)).unwrap();
        held.pop();
        lists.take(org(1), key(3)).unwrap();
    }

    #[test]
    fn who_keeps_the_database_busy_waits_for_a_part_of_that_time_and_others_do_not() {
        let (clock, lists) = lists();
        let search = |key| -> Result<(), ApiError> {
            let place = lists.take(org(1), key)?;
            clock.pass(Duration::from_secs(1));
            drop(place);
            Ok(())
        };
        // Of each second a quarter came back meanwhile.
        let searched = (0..100).take_while(|_| search(key(1)).is_ok()).count();
        assert_eq!(searched, 7);
        assert_eq!(lists.take(org(1), key(1)).unwrap_err().status(), 429);
        lists.take(org(1), key(2)).unwrap();
        clock.pass(Duration::from_secs(2));
        lists.take(org(1), key(1)).unwrap();
        // Of an org it is one second of two in the long run, whoever asks.
        let mut answered = 0;
        for number in 0..400 {
            answered += u32::from(search(key(number % 40)).is_ok());
            clock.pass(Duration::from_millis(100));
        }
        let all_seconds = answered + 400 / 10;
        assert!((all_seconds..all_seconds + 24).contains(&(2 * answered)), "{answered}");
    }

    #[test]
    fn a_log_that_is_read_out_slowly_bars_nobody() {
        let (clock, lists) = lists();
        for _ in 0..4 {
            let place = lists.take(org(1), key(1)).unwrap();
            clock.pass(Duration::from_hours(1));
            drop(place);
        }
        lists.take(org(1), key(1)).unwrap();
    }

    #[test]
    fn short_lists_are_not_counted_and_those_who_owe_nothing_are_forgotten() {
        let (clock, lists) = lists();
        for _ in 0..1_000 {
            let place = lists.take(org(1), key(1)).unwrap();
            clock.pass(FREE);
            drop(place);
        }
        assert!(lists.keys.locked().is_empty());
        for number in 0..3 * MANY as u128 {
            let place = lists.take(org(number), key(number)).unwrap();
            clock.pass(FREE + Duration::from_millis(1));
            drop(place);
        }
        assert!(lists.keys.locked().len() <= MANY);
    }
}

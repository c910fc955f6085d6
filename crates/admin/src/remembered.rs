//! What was read a moment ago and need not be read again.

use std::{
    collections::HashMap,
    fmt,
    hash::Hash,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use model::Timestamp;

/// How long something is remembered.
pub const REMEMBERED_FOR: Duration = Duration::from_secs(1);

/// The most that is remembered of one kind.
const MOST: usize = 10_000;

/// What was read a moment ago, by what it was asked for with.
pub struct Remembered<K, V>(Mutex<HashMap<K, (Timestamp, V)>>);

impl<K, V> Default for Remembered<K, V> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<K, V> fmt::Debug for Remembered<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Remembered").finish_non_exhaustive()
    }
}

impl<K: Eq + Hash, V: Clone> Remembered<K, V> {
    /// What was read for this key, if that was a moment ago.
    pub fn get(&self, key: &K, now: Timestamp) -> Option<V> {
        let known = self.lock();
        known
            .get(key)
            .filter(|(read_at, _)| is_fresh(*read_at, now))
            .map(|(_, value)| value.clone())
    }

    /// Remembers what was asked for at this moment, if there is room.
    pub fn put(&self, key: K, value: V, asked_at: Timestamp) {
        let mut known = self.lock();
        if known.len() >= MOST {
            known.retain(|_, (read_at, _)| is_fresh(*read_at, asked_at));
        }
        if known.len() < MOST {
            known.insert(key, (asked_at, value));
        }
    }

    /// Forgets what this process changed.
    pub fn forget(&self, key: &K) {
        self.lock().remove(key);
    }

    /// Forgets everything.
    pub fn forget_all(&self) {
        self.lock().clear();
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<K, (Timestamp, V)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A clock that was set back must not lengthen a memory.
fn is_fresh(read_at: Timestamp, now: Timestamp) -> bool {
    read_at <= now && now.since(read_at) < REMEMBERED_FOR
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Timestamp = Timestamp::from_unix_millis(1_000_000);

    #[test]
    fn something_is_remembered_for_a_second_and_never_from_the_future() {
        let known = Remembered::default();
        known.put(1, "one", NOW);
        let nearly = Duration::from_millis(999);
        assert_eq!(known.get(&1, NOW + nearly), Some("one"));
        assert_eq!(known.get(&1, NOW + REMEMBERED_FOR), None);
        assert_eq!(known.get(&1, NOW.before(nearly)), None);
        known.forget(&1);
        assert_eq!(known.get(&1, NOW), None);
        known.put(1, "one", NOW);
        known.forget_all();
        assert_eq!(known.get(&1, NOW), None);
    }

    #[test]
    fn no_more_is_remembered_than_there_is_room_for() {
        let known = Remembered::default();
        for number in 0..=MOST {
            known.put(number, (), NOW);
        }
        assert_eq!(known.get(&MOST, NOW), None);
        assert_eq!(known.lock().len(), MOST);
        // What is stale by then makes room.
        let later = NOW + REMEMBERED_FOR;
        known.put(MOST, (), later);
        assert_eq!(known.get(&MOST, later), Some(()));
        assert_eq!(known.lock().len(), 1);
    }
}

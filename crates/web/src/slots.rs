//! Counts what each key holds open, and refuses one too many.

use std::{
    collections::HashMap,
    hash::Hash,
    sync::{Arc, Mutex, PoisonError},
};

/// A bound on how many of a thing each key may hold open at once.
#[derive(Debug)]
pub struct Slots<K> {
    limit: usize,
    // Invariant: no count is zero.
    open: Arc<Mutex<HashMap<K, usize>>>,
}

/// One open thing; dropping it closes it.
#[derive(Debug)]
pub struct Slot<K: Eq + Hash> {
    key: K,
    open: Arc<Mutex<HashMap<K, usize>>>,
}

impl<K: Eq + Hash + Copy> Slots<K> {
    /// Returns slots of which each key may hold this many.
    pub fn new(limit: usize) -> Self {
        Self { limit, open: Arc::default() }
    }

    /// A slot, unless the key holds all of its own.
    pub fn take(&self, key: K) -> Option<Slot<K>> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let count = open.entry(key).or_insert(0);
        if *count >= self.limit {
            return None;
        }
        *count += 1;
        Some(Slot { key, open: Arc::clone(&self.open) })
    }
}

impl<K> Slots<K> {
    /// How many are open, of all keys together.
    pub fn open(&self) -> usize {
        self.open.lock().unwrap_or_else(PoisonError::into_inner).values().sum()
    }
}

impl<K: Eq + Hash> Drop for Slot<K> {
    fn drop(&mut self) {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = open.get_mut(&self.key) {
            *count -= 1;
            if *count == 0 {
                open.remove(&self.key);
            }
        }
    }
}

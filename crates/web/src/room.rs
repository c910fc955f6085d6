//! Room for the bodies of requests: so many bytes in all, and a share of them for each key.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use crate::error::ApiError;

/// A bound on the bytes of bodies that are held in memory.
#[derive(Debug)]
pub struct Room {
    most: usize,
    share: usize,
    held: Mutex<Held>,
}

#[derive(Debug, Default)]
struct Held {
    all: usize,
    // Invariant: no count is zero, and they make up `all`.
    by: HashMap<u128, usize>,
}

/// What one request holds; dropping it gives it back.
#[derive(Debug)]
pub(crate) struct Taken {
    room: Arc<Room>,
    whose: u128,
    bytes: usize,
}

impl Room {
    /// Room for so many bytes in all, and so many of one key.
    pub fn new(most: usize, share: usize) -> Self {
        Self { most, share, held: Mutex::default() }
    }

    /// How many bytes are held.
    pub fn held(&self) -> usize {
        self.lock().all
    }

    /// Nothing yet, for a request of this key.
    pub(crate) fn of(self: &Arc<Self>, whose: u128) -> Taken {
        Taken { room: Arc::clone(self), whose, bytes: 0 }
    }

    fn lock(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Taken {
    /// Holds this many bytes in all, or as many as before and says whose room is full.
    pub(crate) fn grow_to(&mut self, bytes: usize) -> Result<(), ApiError> {
        let more = bytes.saturating_sub(self.bytes);
        let mut held = self.room.lock();
        let own = held.by.get(&self.whose).copied().unwrap_or_default();
        if own.saturating_add(more) > self.room.share {
            let share = self.room.share;
            return Err(ApiError::rate_limited(format!(
                "the requests of this key that are in progress have more than {share} bytes; wait \
                 until one of them has ended"
            ))
            .closing());
        }
        if held.all.saturating_add(more) > self.room.most {
            let message =
                "the server has no memory for the body at the moment; nothing was recorded";
            return Err(ApiError::unavailable(message).closing());
        }
        if more > 0 {
            held.all += more;
            held.by.insert(self.whose, own + more);
            self.bytes += more;
        }
        Ok(())
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        let mut held = self.room.lock();
        held.all -= self.bytes;
        if let Some(own) = held.by.get_mut(&self.whose) {
            *own -= self.bytes;
            if *own == 0 {
                held.by.remove(&self.whose);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_holds_its_share_and_all_together_hold_what_there_is() {
        let room = Arc::new(Room::new(100, 40));
        let mut held: Vec<_> = [1, 1, 2, 3].map(|key| room.of(key)).into();
        for taken in &mut held {
            taken.grow_to(10).unwrap();
            taken.grow_to(20).unwrap();
        }
        assert_eq!(room.held(), 80);
        // A share that is full is told before the room, and refuses nobody else.
        assert_eq!(held[0].grow_to(21).unwrap_err().status(), 429);
        held[3].grow_to(40).unwrap();
        assert_eq!(held[2].grow_to(21).unwrap_err().status(), 503);
        held.remove(3);
        held[1].grow_to(5).unwrap();
        assert_eq!(room.held(), 60);
        drop(held);
        assert_eq!(room.held(), 0);
        assert!(room.lock().by.is_empty());
    }
}

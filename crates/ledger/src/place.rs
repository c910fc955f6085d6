//! Where a deed stands among all deeds of its org. It knows no rows.
//!
//! An org has one log that is open, and as many closed ones as it had recoveries. The places of all
//! of them lie on one line of numbers, each log's on a stretch of its own, so that one number
//! orders deeds across logs and a store needs no more than that in a key.

/// Each log has room for so many deeds, as a power of two.
const ROOM: u32 = 40;
/// The levels of tiles that so many deeds fill, with eight levels of the tree in each.
const TILE_HEIGHT: u32 = 8;

/// Which of an org's logs: the first is 0, and each that replaced another has the next number.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LogNo(u32);

impl LogNo {
    /// The log that an org begins with.
    pub const FIRST: Self = Self(0);

    /// The log of this number.
    pub const fn new(number: u32) -> Self {
        Self(number)
    }

    /// The number.
    pub const fn get(self) -> u32 {
        self.0
    }

    /// The log that replaces this one.
    pub const fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

/// A deed's place among all of its org, as one number. In the first log it is the deed's `seq`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place(u64);

impl Place {
    /// The place that has this `seq` in its log.
    pub fn of(log: LogNo, seq: u64) -> Self {
        let last = (1 << ROOM) - 1;
        Self((u64::from(log.0) << ROOM) + seq.min(last))
    }

    /// The place that is this number.
    pub const fn from_u64(number: u64) -> Self {
        Self(number)
    }

    /// The number.
    pub const fn as_u64(self) -> u64 {
        self.0
    }

    /// The log.
    pub fn log(self) -> LogNo {
        LogNo(u32::try_from(self.0 >> ROOM).unwrap_or(u32::MAX))
    }

    /// The place behind this one.
    pub const fn after(self) -> Self {
        Self(self.0 + 1)
    }

    /// The place in the log.
    pub const fn seq(self) -> u64 {
        self.0 & ((1 << ROOM) - 1)
    }

    /// The number of a stored node of the log's tree among the nodes of its level, nothing
    /// for a level that no log reaches.
    pub fn node(log: LogNo, level: u8, index: u64) -> Option<u64> {
        let room = ROOM.checked_sub(TILE_HEIGHT * u32::from(level))?;
        Some((u64::from(log.0) << room) + index)
    }
}

#[cfg(test)]
mod tests;

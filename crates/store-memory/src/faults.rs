//! Faults that a test orders: lost races, lost answers, a store that cannot be reached.

use ledger::StoreDown;

/// What becomes of a turn whose answer gets lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Doubt {
    /// It was committed.
    Committed,
    /// It was not.
    Dropped,
}

/// What an append meets.
pub(crate) enum Fate {
    Goes,
    Loses,
    AnswerLost(Doubt),
}

#[derive(Default)]
pub(crate) struct Faults {
    lose: u32,
    doubt: Option<Doubt>,
    down: bool,
    failing: Option<(&'static str, u32)>,
}

impl Faults {
    pub(crate) fn lose(&mut self, appends: u32) {
        self.lose = appends;
    }

    pub(crate) fn doubt(&mut self, doubt: Doubt) {
        self.doubt = Some(doubt);
    }

    pub(crate) fn go_down(&mut self) {
        self.down = true;
    }

    pub(crate) fn come_up(&mut self) {
        self.down = false;
    }

    pub(crate) fn fail(&mut self, attempt: &'static str, calls: u32) {
        self.failing = Some((attempt, calls));
    }

    /// An error while the store is down, or this attempt was told to fail.
    pub(crate) fn reachable(&mut self, attempt: &'static str) -> Result<(), StoreDown> {
        if let Some((failing, calls @ 1..)) = &mut self.failing
            && *failing == attempt
        {
            *calls -= 1;
            return Err(fault(attempt, "the store was set to fail"));
        }
        if self.down { Err(fault(attempt, "the store was set to be down")) } else { Ok(()) }
    }

    /// What the next append meets; what was ordered for one append is used up.
    pub(crate) fn next(&mut self) -> Fate {
        if self.lose > 0 {
            self.lose -= 1;
            return Fate::Loses;
        }
        self.doubt.take().map_or(Fate::Goes, Fate::AnswerLost)
    }
}

/// The error of an attempt that failed for this reason.
pub(crate) fn fault(attempt: &'static str, why: impl Into<String>) -> StoreDown {
    StoreDown { attempt, source: why.into().into() }
}

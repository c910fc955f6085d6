//! Requests that decide in one turn, in their order.

use std::time::Duration;

use crate::{queue::Waiting, store::LedgerError};

/// Requests of one org that wait for their answers.
pub(crate) struct Batch {
    pub(crate) requests: Vec<Box<dyn Waiting>>,
    /// When the first of them came.
    pub(crate) came: Duration,
    /// When they lost the head for the first time, if they did.
    pub(crate) lost: Option<Duration>,
}

impl Batch {
    /// Leaves this many requests and returns those behind them.
    pub(crate) fn split_off(&mut self, at: usize) -> Self {
        let at = at.min(self.requests.len());
        Self { requests: self.requests.split_off(at), came: self.came, lost: self.lost }
    }

    /// Puts these requests behind the others.
    pub(crate) fn append(&mut self, mut behind: Self) {
        self.requests.append(&mut behind.requests);
    }

    /// Whether one of the requests closes the org's log and opens another.
    pub(crate) fn opens_log(&self) -> bool {
        self.requests.iter().any(|request| request.opens_log())
    }

    /// Whether all of the requests do so.
    pub(crate) fn only_opens_log(&self) -> bool {
        self.requests.iter().all(|request| request.opens_log())
    }

    /// Tells every caller how the turn ended.
    pub(crate) fn tell(self, outcome: &Result<(), LedgerError>) {
        for request in self.requests {
            request.tell(outcome.clone());
        }
    }
}

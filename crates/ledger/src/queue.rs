//! Requests that wait for their turn.

use model::Mint;
use tokio::sync::oneshot;

use crate::{
    data::Entry, families::Needs, request::Request, snapshot::Snapshot, store::LedgerError,
};

/// A request of any kind, and whoever waits for its answer.
pub(crate) trait Waiting: Send {
    /// Whether it closes the org's log and opens another.
    fn opens_log(&self) -> bool;
    fn needs(&self, snapshot: &Snapshot) -> Needs;
    /// Decides and keeps the answer until it may be told.
    fn decide(&mut self, snapshot: &Snapshot, mint: &Mint<'_>) -> Entry;
    fn tell(self: Box<Self>, outcome: Result<(), LedgerError>);
}

/// What a request says that it opens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Opens {
    Nothing,
    Log,
}

struct Queued<R: Request> {
    request: R,
    opens: Opens,
    answer: Option<R::Answer>,
    caller: oneshot::Sender<Result<R::Answer, LedgerError>>,
}

pub(crate) type Receiver<A> = oneshot::Receiver<Result<A, LedgerError>>;

/// Returns the request as it waits, and where its answer will come.
pub(crate) fn queued<R: Request>(
    request: R,
    opens: Opens,
) -> (Box<dyn Waiting>, Receiver<R::Answer>) {
    let (caller, receiver) = oneshot::channel();
    (Box::new(Queued { request, opens, answer: None, caller }), receiver)
}

impl<R: Request> Waiting for Queued<R> {
    fn opens_log(&self) -> bool {
        self.opens == Opens::Log
    }

    fn needs(&self, snapshot: &Snapshot) -> Needs {
        self.request.needs(snapshot)
    }

    fn decide(&mut self, snapshot: &Snapshot, mint: &Mint<'_>) -> Entry {
        let (entry, answer) = self.request.decide(snapshot, mint);
        self.answer = Some(answer);
        entry
    }

    fn tell(self: Box<Self>, outcome: Result<(), LedgerError>) {
        let Self { answer, caller, .. } = *self;
        let answer = outcome.and_then(|()| answer.ok_or(LedgerError::Fault));
        // A caller that went away needs no answer; what was decided stands all the same.
        let _ = caller.send(answer);
    }
}

//! Tells what a turn committed to those in this process who wait for it.
//!
//! A notice is a hint and may be missed; whoever must not miss anything reads the store.

use std::sync::Arc;

use event::Event;
use model::OrgId;
use tokio::sync::broadcast;

const CAPACITY: usize = 256;

/// One turn that this process committed.
#[derive(Debug)]
pub struct Notice {
    /// The org.
    pub org: OrgId,
    /// What happened, in order.
    pub events: Vec<Event>,
}

/// Where notices are given out.
#[derive(Debug, Clone)]
pub struct Notices(broadcast::Sender<Arc<Notice>>);

impl Notices {
    pub(crate) fn new() -> Self {
        Self(broadcast::Sender::new(CAPACITY))
    }

    /// A receiver of every notice from now on.
    pub fn subscribe(&self) -> broadcast::Receiver<Arc<Notice>> {
        self.0.subscribe()
    }

    pub(crate) fn tell(&self, notice: Notice) {
        // Nobody listening is no fault.
        let _ = self.0.send(Arc::new(notice));
    }
}

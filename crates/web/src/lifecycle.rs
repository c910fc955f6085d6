//! How far the server is on its way down: serving, draining, closing.
//!
//! The owner of the process holds the [`Control`]; listener, health, streams and waits each hold a
//! [`Lifecycle`] and look at it. Nothing here waits for signals.

use std::time::Duration;

use tokio::sync::watch;

/// A step on the way down; steps only go forward.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// Connections are accepted and answered.
    Serving,
    /// Connections are still accepted, but health tells balancers to go elsewhere.
    Draining,
    /// Nothing new is accepted; streams and waits end.
    Closing,
}

/// Moves the server down.
#[derive(Debug)]
pub struct Control(watch::Sender<Phase>);

/// Sees how far the server is.
#[derive(Debug, Clone)]
pub struct Lifecycle(watch::Receiver<Phase>);

impl Control {
    /// The two ends, the phase being `Serving`.
    pub fn new() -> (Self, Lifecycle) {
        let (sender, receiver) = watch::channel(Phase::Serving);
        (Self(sender), Lifecycle(receiver))
    }

    /// Drains for the lame-duck time, so that balancers see it, or until `hurry` is done; then
    /// closes.
    pub async fn drain(&self, lame_duck: Duration, hurry: impl Future<Output = ()>) {
        self.advance(Phase::Draining);
        tokio::select! {
            () = tokio::time::sleep(lame_duck) => {}
            () = hurry => {}
        }
        self.close();
    }

    /// Closes at once.
    pub fn close(&self) {
        self.advance(Phase::Closing);
    }

    fn advance(&self, next: Phase) {
        self.0.send_if_modified(|phase| {
            let moves = *phase < next;
            *phase = next.max(*phase);
            moves
        });
    }
}

impl Lifecycle {
    /// The present phase.
    pub fn phase(&self) -> Phase {
        *self.0.borrow()
    }

    /// Waits until the server closes; a lost [`Control`] counts as closing.
    pub async fn closing(&mut self) {
        // An error says that the control is gone, and with it whoever would keep us open.
        let _ = self.0.wait_for(|phase| *phase == Phase::Closing).await;
    }
}

//! A wait for one action's next step.

use std::sync::Arc;

use event::Event;
use gate::Gate;
use ledger::{StoreDown, record::Action};
use model::{ActionId, AgentId, EventType, KeyId, OrgId, State, Status};
use serde_json::json;
use tokio::{sync::broadcast, time::Instant};
use web::Lifecycle;

use super::feed::{Batch, Feeds, Subscription};
/// A wait that has begun: nothing that is committed from here on is missed.
pub(crate) struct Wait {
    subscription: Subscription,
    org: OrgId,
    action: ActionId,
}

/// Why a wait ended.
pub(crate) enum Ended {
    /// The action is not as it was, or the time is up.
    Action(Option<Arc<Action>>),
    /// The waiting agent, or its org, was stopped.
    Stopped(EventType),
    /// The key that waits was revoked.
    Revoked,
}

impl Wait {
    /// Begins to listen for the action.
    pub(crate) async fn begin(
        feeds: &Feeds,
        org: OrgId,
        action: ActionId,
    ) -> Result<Self, StoreDown> {
        Ok(Self { subscription: feeds.subscribe(org).await?, org, action })
    }

    /// Waits until the action has come further than it was, until the deadline, or until the server
    /// closes. That its evidence is waited for is no step: nobody is told anything new by it.
    pub(crate) async fn change(
        mut self,
        gate: &Gate,
        was: &Action,
        bounds: WaitBounds,
    ) -> Result<Ended, StoreDown> {
        let WaitBounds { deadline, mut lifecycle, waits } = bounds;
        loop {
            let now = gate.action(self.org, self.action).await?;
            let moved = now.as_ref().is_none_or(|now| step(now) != step(was));
            if moved || Instant::now() >= deadline {
                return Ok(Ended::Action(now.map(Arc::new)));
            }
            tokio::select! {
                touched = self.touched(waits) => match touched {
                    Touched::Action => {}
                    Touched::Stop(kind) => return Ok(Ended::Stopped(kind)),
                    Touched::Revoked => return Ok(Ended::Revoked),
                },
                () = tokio::time::sleep_until(deadline) => {}
                () = lifecycle.closing() => return Ok(Ended::Action(now.map(Arc::new))),
            }
        }
    }

    /// Waits for an event that may end the wait.
    async fn touched(&mut self, waits: Waits) -> Touched {
        loop {
            match self.subscription.batches.recv().await {
                Ok(batch) => {
                    if let Some(touched) = touches(&batch, self.action, waits) {
                        return touched;
                    }
                }
                // What was missed may have been about the action: look.
                Err(broadcast::error::RecvError::Lagged(_)) => return Touched::Action,
                // The feed lives as long as its listeners; without it only time ends the wait.
                Err(broadcast::error::RecvError::Closed) => std::future::pending().await,
            }
        }
    }
}

/// How far an action has come, for whoever waits for its next step.
fn step(action: &Action) -> (State, Status) {
    let state = match action.state {
        State::Executing | State::Witnessing => State::Executing,
        State::PendingApproval | State::Cancelled | State::Sealed => action.state,
    };
    (state, action.status)
}

/// What bounds a wait.
pub(crate) struct WaitBounds {
    pub(crate) deadline: Instant,
    pub(crate) lifecycle: Lifecycle,
    pub(crate) waits: Waits,
}

/// Who waits; nobody's end is the end of a wait that is part of sending.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Waits {
    /// The agent, whose Stop ends the wait.
    pub(crate) agent: Option<AgentId>,
    /// The key, whose revocation ends the wait.
    pub(crate) key: Option<KeyId>,
}

enum Touched {
    Action,
    Stop(EventType),
    Revoked,
}

fn touches(batch: &Batch, action: ActionId, waits: Waits) -> Option<Touched> {
    let Waits { agent, key } = waits;
    if key.is_some_and(|key| batch.revokes(key)) {
        return Some(Touched::Revoked);
    }
    let stops = |event: &&Event| {
        let own = agent.is_some_and(|agent| event.object.get("id") == Some(&json!(agent)));
        let org = event.kind == EventType::OrgStopped && agent.is_some();
        org || (event.kind == EventType::AgentStopped && own)
    };
    if let Some(stop) = batch.events.iter().find(stops) {
        return Some(Touched::Stop(stop.kind));
    }
    let about = |event: &Event| event.action == Some(action);
    batch.events.iter().any(about).then_some(Touched::Action)
}

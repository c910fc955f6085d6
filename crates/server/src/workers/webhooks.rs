//! Posts events to webhook endpoints.
//!
//! Each endpoint that has something to do is served by a task of its own, and those that fail have
//! places of their own, so that however many of them hang, the others do not wait. No org has all of
//! the places: endpoints of a few orgs that take their time leave room for those of the others.

use std::{collections::HashMap, sync::Arc, time::Duration};

use delivery::{Courier, Key, Lookout, Worked};
use ledger::StoreDown;
use model::{OrgId, causes};
use tokio::{
    sync::watch,
    task::{Id, JoinSet},
};

use super::Pulse;
use crate::{clock::SystemClock, core::Core, work::Worker};

/// How soon what happened is posted.
const LOOK_EVERY: Duration = Duration::from_millis(200);
const SWEEP_EVERY: Duration = Duration::from_mins(10);
/// How many endpoints an instance serves at once, and how many of those that fail.
const SERVED: usize = 64;
const FAILING: usize = 32;
/// How many of either are of one org.
const OF_ONE_ORG: usize = 8;

/// The endpoints that are being served.
struct Places {
    most: usize,
    tasks: JoinSet<()>,
    orgs: HashMap<Id, OrgId>,
}

impl Places {
    fn new(most: usize) -> Self {
        Self { most, tasks: JoinSet::new(), orgs: HashMap::new() }
    }

    /// How many are free, once those that are done have given theirs back.
    fn free(&mut self) -> usize {
        while let Some(done) = self.tasks.try_join_next_with_id() {
            let id = done.map_or_else(|error| error.id(), |(id, ())| id);
            self.orgs.remove(&id);
        }
        self.most.saturating_sub(self.tasks.len())
    }

    /// Whether one more is free, for an endpoint of this org.
    fn has_room_for(&self, org: OrgId) -> bool {
        let held = self.orgs.values().filter(|held| **held == org).count();
        self.tasks.len() < self.most && held < OF_ONE_ORG
    }

    fn take(&mut self, org: OrgId, serving: impl Future<Output = ()> + Send + 'static) {
        let id = self.tasks.spawn(serving).id();
        self.orgs.insert(id, org);
    }
}

/// Serves the endpoints that have something to do. What is being posted when the service stops is
/// posted to its end, since another instance would post it once more.
pub(super) async fn posting(core: Core, courier: Arc<Courier>, stopped: watch::Receiver<()>) {
    let mut pulse = Pulse::new(LOOK_EVERY, stopped.clone());
    let (mut well, mut failing) = (Places::new(SERVED), Places::new(FAILING));
    let mut lookout = Lookout::default();
    while pulse.next().await.is_some() {
        let found = async {
            if !courier.has_endpoints(&mut lookout).await? {
                return Ok(());
            }
            for (places, fails) in [(&mut well, false), (&mut failing, true)] {
                if places.free() == 0 {
                    continue;
                }
                // More than are free: those of orgs that have all of theirs stand among them.
                for key in courier.waiting(fails, places.most).await? {
                    if places.has_room_for(key.0) {
                        let serving = (core.clone(), Arc::clone(&courier));
                        places.take(key.0, served(serving, key, stopped.clone()));
                    }
                }
            }
            Ok::<_, StoreDown>(())
        };
        if let Err(error) = core.work.of(Worker::Webhooks).count(&SystemClock, found.await) {
            tracing::warn!(
                error = causes(&error),
                "the waiting webhook endpoints could not be read"
            );
        }
    }
    while well.tasks.join_next().await.is_some() {}
    while failing.tasks.join_next().await.is_some() {}
}

async fn served((core, courier): (Core, Arc<Courier>), key: Key, stopped: watch::Receiver<()>) {
    let goes_on = || stopped.has_changed().is_ok();
    let served = async {
        match courier.claim(key).await? {
            Some(claimed) => courier.serve(claimed, &goes_on).await,
            None => Ok(Worked::default()),
        }
    };
    match served.await {
        Ok(worked) => core.work.posted(worked),
        // The claim ends by itself, and whoever comes next goes on from what was noted.
        Err(error) => {
            let (org, webhook) = key;
            tracing::warn!(
                %org, %webhook, error = causes(&error),
                "the deliveries of a webhook endpoint were interrupted"
            );
        }
    }
}

/// Drops what waits for endpoints that are disabled, and forgets old deliveries.
pub(super) async fn sweeping(courier: Arc<Courier>, stopped: watch::Receiver<()>) {
    let mut pulse = Pulse::new(SWEEP_EVERY, stopped);
    while pulse.next().await.is_some() {
        match pulse.round(courier.sweep()).await {
            None => return,
            Some(Ok(_)) => {}
            Some(Err(error)) => {
                tracing::warn!(error = causes(&error), "old deliveries could not be removed");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::oneshot;
    use uuid::Uuid;

    use super::*;

    #[tokio::test]
    async fn an_org_has_no_more_than_its_places_and_gets_them_back() {
        let (one, other) =
            (OrgId::from_uuid(Uuid::from_u128(1)), OrgId::from_uuid(Uuid::from_u128(2)));
        let mut places = Places::new(SERVED);
        let mut ends = Vec::new();
        while places.has_room_for(one) {
            let (end, ended) = oneshot::channel::<()>();
            places.take(one, async move {
                let _ = ended.await;
            });
            ends.push(end);
        }
        assert_eq!((ends.len(), places.free()), (OF_ONE_ORG, SERVED - OF_ONE_ORG));
        assert!(places.has_room_for(other));
        // One ends and another panics: both have given their place back.
        drop(ends.pop());
        places.take(other, async { panic!("as a bug would") });
        while places.free() < SERVED - OF_ONE_ORG + 1 {
            tokio::task::yield_now().await;
        }
        assert!(places.has_room_for(one));
        assert_eq!(places.orgs.len(), OF_ONE_ORG - 1);
    }
}

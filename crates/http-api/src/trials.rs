//! Work on the documents of policies that takes its time: on threads of its own, little of it at
//! once, and no longer than somebody waits for it.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use model::OrgId;
use policy::Effort;
use tokio::sync::{Semaphore, oneshot};
use web::{ApiError, Slots};

/// The most runs of all orgs at once.
const RUNS: usize = 2;
/// How long an org's run waits for those of others.
const TURN: Duration = Duration::from_secs(5);

/// Does a piece of work on a thread where it holds nobody up.
pub type Aside = Arc<dyn Fn(Box<dyn FnOnce() + Send>) + Send + Sync>;

/// The runs that are under way.
pub(crate) struct Trials {
    aside: Aside,
    orgs: Slots<OrgId>,
    places: Arc<Semaphore>,
    steps: Arc<AtomicU64>,
}

/// Ends work when whoever waits for it is gone.
struct Awaited(Effort);

impl Drop for Awaited {
    fn drop(&mut self) {
        self.0.stop();
    }
}

impl Trials {
    pub(crate) fn new(aside: Aside) -> Self {
        let places = Arc::new(Semaphore::new(RUNS));
        Self { aside, orgs: Slots::new(1), places, steps: Arc::default() }
    }

    /// How many runs take a processor now.
    pub(crate) fn running(&self) -> usize {
        RUNS.saturating_sub(self.places.available_permits())
    }

    /// The steps that all runs took so far.
    pub(crate) fn steps(&self) -> u64 {
        self.steps.load(Relaxed)
    }

    /// Does the work on a thread of its own, where the org has no other under way. Both places are
    /// given back by the work itself, so that no more of it is under way than is counted.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        org: OrgId,
        work: impl FnOnce(&Effort) -> T + Send + 'static,
    ) -> Result<T, ApiError> {
        let Some(of_org) = self.orgs.take(org) else {
            let message =
                "this org's policy documents are tested, evaluated or compared one at a time";
            return Err(ApiError::rate_limited(message));
        };
        let place = tokio::time::timeout(TURN, Arc::clone(&self.places).acquire_owned()).await;
        let Ok(Ok(place)) = place else {
            let message = "the tests and comparisons of other orgs take a long time; try again";
            return Err(ApiError::rate_limited(message));
        };
        let effort = admin::bounded_effort();
        let awaited = Awaited(effort.clone());
        let taken = Arc::clone(&self.steps);
        let (tell, told) = oneshot::channel();
        (self.aside)(Box::new(move || {
            let most = effort.steps_left();
            let outcome = work(&effort);
            taken.fetch_add(most - effort.steps_left(), Relaxed);
            // Whoever sees that it has ended finds its org free.
            drop(of_org);
            drop(place);
            // Whoever asked may be gone.
            let _ = tell.send(outcome);
        }));
        let done = told.await;
        drop(awaited);
        done.map_err(|_| {
            tracing::error!("work on a policy panicked");
            ApiError::internal()
        })
    }
}

#[cfg(test)]
mod tests {
    use model::Uuid;

    use super::*;

    const LONG: Duration = Duration::from_mins(1);

    fn org(number: u128) -> OrgId {
        OrgId::from_uuid(Uuid::from_u128(number))
    }

    /// How often `endless` has worked.
    static WORKED: AtomicU64 = AtomicU64::new(0);

    /// Works until nobody waits any more.
    fn endless(effort: &Effort) {
        let policy = policy::Policy::compile(policy::STARTER).unwrap();
        let suite = "{ now: 2026-10-01T12:00:00Z, agents: { bot: {} }, calls: { a: { tool: a.b } }, \
                     cases: [{ agent: bot, call: a, expect: {} }] }";
        let suite = policy::read_suite(suite).unwrap();
        while suite.run_within(&policy, effort).is_ok() {
            WORKED.fetch_add(1, Relaxed);
            std::thread::yield_now();
        }
    }

    fn trials() -> Trials {
        Trials::new(Arc::new(|work| drop(std::thread::spawn(work))))
    }

    async fn until(trials: &Trials, running: usize) {
        let reached = async {
            while trials.running() != running {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        tokio::time::timeout(LONG, reached).await.unwrap();
    }

    #[tokio::test]
    async fn an_org_has_one_run_and_it_ends_when_nobody_waits_for_it() {
        let trials = Arc::new(trials());
        let start = |number| {
            let trials = Arc::clone(&trials);
            tokio::spawn(async move { trials.run(org(number), endless).await })
        };
        let mine = start(1);
        until(&trials, 1).await;
        // Its thread may begin later than all of what follows.
        while WORKED.load(Relaxed) == 0 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        for _ in 0..99 {
            let refused = trials.run(org(1), |_| ()).await.unwrap_err();
            assert_eq!(
                (refused.status().as_u16(), refused.code()),
                (429, web::codes::RATE_LIMITED)
            );
        }
        trials.run(org(2), |_| ()).await.unwrap();
        mine.abort();
        until(&trials, 0).await;
        let steps = trials.steps();
        assert!(steps > 0);
        trials.run(org(1), |_| ()).await.unwrap();
        assert_eq!(trials.steps(), steps, "what nobody waits for went on");
    }

    #[tokio::test(start_paused = true)]
    async fn a_third_org_waits_for_its_turn_and_is_told_when_there_is_none() {
        let trials = trials();
        let held = Arc::clone(&trials.places).acquire_many_owned(2).await.unwrap();
        let refused = trials.run(org(3), |_| ()).await.unwrap_err();
        assert_eq!(refused.status(), 429);
        drop(held);
        trials.run(org(3), |_| ()).await.unwrap();
    }
}

//! The numbers of overviews that were counted lately.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use model::{AgentId, OrgId, Timestamp};

use crate::wire::{
    figures::BucketView,
    overview::{Back, TodayView, Totals, WindowView},
};

/// How long counted numbers are shown again.
pub(super) const CACHED_FOR: Duration = Duration::from_secs(10);
/// How many entries are kept before those are forgotten that are too old.
const MANY: usize = 1_024;

/// Numbers and when they were counted. The lock is held while they are counted anew, so that of many
/// requests at once one asks the record.
pub(super) type Entry = Arc<tokio::sync::Mutex<Option<(Duration, Arc<Figures>)>>>;

/// The numbers that were counted lately.
#[derive(Default)]
pub(crate) struct Overviews(Mutex<HashMap<(OrgId, Back), Entry>>);

impl Overviews {
    pub(super) fn entry(&self, org: OrgId, back: Back, now: Duration) -> Entry {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= MANY {
            let is_young = |entry: &Entry| match entry.try_lock() {
                Ok(made) => made.as_ref().is_some_and(|(at, _)| now < *at + CACHED_FOR),
                // It is being made.
                Err(_) => true,
            };
            all.retain(|_, entry| is_young(entry));
        }
        Arc::clone(all.entry((org, back)).or_default())
    }
}

/// The numbers of an org that are cached.
#[derive(Debug, Clone)]
pub(super) struct Figures {
    pub(super) window: WindowView,
    pub(super) complete: bool,
    pub(super) totals: Totals,
    pub(super) previous: Totals,
    pub(super) series: Vec<BucketView>,
    pub(super) agents: Vec<Acted>,
}

/// An agent that acted, and its actions of today.
#[derive(Debug, Clone)]
pub(super) struct Acted {
    pub(super) agent: AgentId,
    pub(super) last_action_at: Timestamp,
    pub(super) today: TodayView,
}

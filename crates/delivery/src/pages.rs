//! Pages of events, read once for all lanes of an org that are at the same place.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use event::Event;
use futures_util::lock::Mutex as Turns;
use ledger::{EventStore, StoreDown};
use model::{Clock, OrgId};

use crate::deliveries::body;

/// How many events a page has, and how many pages are kept.
const PAGE: usize = 128;
const KEPT: usize = 32;
/// For how long a page is kept. Lanes side by side come by within moments; a database that was put back
/// may have other events at the same places.
const KEPT_FOR: Duration = Duration::from_secs(5);

/// An event as it is posted.
#[derive(Debug)]
pub(crate) struct Posted {
    pub(crate) event: Event,
    /// `webhook-id`.
    pub(crate) id: String,
    /// The envelope.
    pub(crate) body: String,
}

impl From<Event> for Posted {
    fn from(event: Event) -> Self {
        Self { id: event.id.to_string(), body: body(&event), event }
    }
}

/// Events behind one another.
#[derive(Debug, Default)]
pub(crate) struct Page {
    events: Vec<Posted>,
}

impl Page {
    /// Those behind this place.
    pub(crate) fn after(&self, seq: u64) -> &[Posted] {
        let read = self.events.partition_point(|it| it.event.seq <= seq);
        self.events.get(read..).unwrap_or_default()
    }

    /// Whether everything up to this place was posted, and nothing was behind it when the page was read.
    pub(crate) fn ends_at(&self, seq: u64) -> bool {
        self.events.len() < PAGE && self.after(seq).is_empty()
    }
}

/// The page that begins behind this place of an org.
type Key = (OrgId, u64);

/// A page that was read, with the process's count of time before that; whoever reads it has the lock.
type Read = Arc<Turns<Option<(Duration, Arc<Page>)>>>;

/// The pages that were read a moment ago.
#[derive(Debug, Default)]
pub(crate) struct Pages {
    // The newest are last.
    kept: Mutex<VecDeque<(Key, Read)>>,
}

impl Pages {
    /// A page with what is behind this place, where there is anything.
    pub(crate) async fn after(
        &self,
        (events, clock): (&dyn EventStore, &dyn Clock),
        (org, seq): (OrgId, u64),
    ) -> Result<Arc<Page>, StoreDown> {
        let begin = seq - seq % PAGE as u64;
        let read = self.place((org, begin));
        let mut read = read.lock().await;
        let now = clock.elapsed();
        if let Some((then, page)) = &*read {
            // The page at the end is read again by whoever had all of it.
            if now.saturating_sub(*then) < KEPT_FOR && !page.after(seq).is_empty() {
                return Ok(Arc::clone(page));
            }
        }
        let found = events.events_after(org, begin, PAGE).await?;
        let page = Arc::new(Page { events: found.into_iter().map(Posted::from).collect() });
        *read = Some((now, Arc::clone(&page)));
        Ok(page)
    }

    fn place(&self, key: Key) -> Read {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, read)) = kept.iter().rev().find(|(known, _)| *known == key) {
            return Arc::clone(read);
        }
        let read = Read::default();
        kept.push_back((key, Arc::clone(&read)));
        if kept.len() > KEPT {
            kept.pop_front();
        }
        read
    }
}

//! Tells an org how the change log of a database of its stands, and that somebody wrote past the service.
//!
//! How it stands is told once for each change. What was told last is in the org's history, where whoever
//! follows the log next finds it. Of what others write is told at once, and then ever more seldom as long as
//! it goes on.

use std::{collections::BTreeMap, time::Duration};

use act::{Act, ActError, By, Record};
use evidence::{Misfits, Of, Tally};
use ledger::{Snapshot, StoreDown};
use model::{EventType, LogGap, causes};
use records::{EntryFilter, Subject, Window};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::{change_logs::Standing, core::Core};

/// How long nothing is told after something could not be.
const REST: Duration = Duration::from_secs(10);
/// How seldom more of what others write is told at first, and at last.
const SELDOM: Duration = Duration::from_mins(1);
const MOST_SELDOM: Duration = Duration::from_hours(1);

/// What is told of one log.
pub(super) struct Teller {
    core: Core,
    of: Of,
    /// What was told last; nothing until the history was asked.
    told: Option<Standing>,
    rests_until: Option<Instant>,
    past: Seldom,
    forged: Seldom,
}

/// What is told seldom: how much of what there was since it was told last.
#[derive(Debug, Default)]
struct Seldom {
    counts: BTreeMap<&'static str, u64>,
    /// When it may be told again, and how long it rests after that.
    next: Option<(Instant, Duration)>,
}

impl Teller {
    pub(super) fn new(core: Core, of: Of) -> Self {
        let (past, forged) = Default::default();
        Self { core, of, told: None, rests_until: None, past, forged }
    }

    /// Counts what a read brought that nobody should have written.
    pub(super) fn note(&mut self, tally: &Tally) {
        self.past.add("unattributed", tally.unattributed);
        self.forged.add("forged", tally.forged);
        self.forged.add("ledger_tampered", tally.tampered);
    }

    /// Counts what is in the ledger or in the log alone.
    pub(super) fn note_misfits(&mut self, misfits: Misfits) {
        self.forged.add("ledger_without_frame", misfits.without_frame);
        self.forged.add("frame_without_ledger", misfits.without_row);
    }

    /// Tells how the log stands, and why where it cannot be read on, if that is news; and what others
    /// wrote, if it is time to.
    pub(super) async fn tell(&mut self, now: Standing, cause: Option<LogGap>) {
        if self.rests_until.is_some_and(|until| Instant::now() < until) {
            return;
        }
        if let Err(error) = self.try_tell(now, cause).await {
            let connector = self.of.connector;
            tracing::warn!(%connector, error, "the state of a change log could not be reported");
            self.rests_until = Some(Instant::now() + REST);
        }
    }

    async fn try_tell(&mut self, now: Standing, cause: Option<LogGap>) -> Result<(), String> {
        let before = match self.told {
            Some(told) => told,
            None => self.told_last().await.map_err(|down| causes(&down))?,
        };
        self.told = Some(before);
        if before != now {
            let cause = (now == Standing::Invalidated).then(|| ("cause", json!(cause)));
            self.enter(event_of(now), self.object(now, cause)).await?;
            self.told = Some(now);
        }
        for kind in [EventType::WitnessUnattributedWrite, EventType::WitnessForgedMarker] {
            if let Some(counts) = self.seldom(kind).due(Instant::now()) {
                let count = counts.values().sum::<u64>();
                let more = [("count", json!(count)), ("found", json!(counts))];
                let object = self.object(now, more);
                if let Err(error) = self.enter(kind, object).await {
                    self.seldom(kind).untold(&counts);
                    return Err(error);
                }
            }
        }
        Ok(())
    }

    /// Forgets what was told last: another instance may tell more from here on.
    pub(super) fn leave(&mut self) {
        self.told = None;
    }

    fn seldom(&mut self, kind: EventType) -> &mut Seldom {
        if kind == EventType::WitnessForgedMarker { &mut self.forged } else { &mut self.past }
    }

    fn object(
        &self,
        now: Standing,
        more: impl IntoIterator<Item = (&'static str, Value)>,
    ) -> Value {
        let connector = json!(self.of.connector);
        let always =
            [("object", json!("connector")), ("id", connector), ("state", json!(now.as_str()))];
        let all = always.into_iter().chain(more).map(|(name, value)| (name.to_owned(), value));
        Value::Object(all.collect())
    }

    /// How the log stood when the org was told last.
    async fn told_last(&self) -> Result<Standing, StoreDown> {
        let filter = EntryFilter {
            types: Some(Standing::ALL.map(event_of).to_vec()),
            subject: Some(Subject::Other(self.of.connector.to_string())),
            ..EntryFilter::default()
        };
        let window = Window { places: (0, u64::MAX), limit: 1 };
        let told = self.core.stores.records.entries(self.of.org, &filter, window).await?;
        let is_told = |standing: &Standing| {
            told.first().is_some_and(|entry| entry.event.kind == event_of(*standing))
        };
        Ok(Standing::ALL.into_iter().find(is_told).unwrap_or(Standing::Streaming))
    }

    async fn enter(&self, kind: EventType, object: Value) -> Result<(), String> {
        let told = Act::new(By::Service, move |_: &Snapshot, record: &mut Record<'_>| {
            record.tell(kind, object.clone());
            Ok::<_, ActError>(())
        });
        let entered = told.enter(&self.core.ledger, self.of.org).await;
        entered.map_err(|error| causes(&error))
    }
}

/// The event that says that a log stands so.
fn event_of(standing: Standing) -> EventType {
    match standing {
        Standing::Streaming => EventType::WitnessSlotRecovered,
        Standing::Lagging => EventType::WitnessSlotLagging,
        Standing::Stalled => EventType::WitnessSlotStalled,
        Standing::Invalidated => EventType::WitnessSlotInvalidated,
    }
}

impl Seldom {
    fn add(&mut self, what: &'static str, count: u64) {
        if count > 0 {
            *self.counts.entry(what).or_default() += count;
        }
    }

    /// What is to be told now, if anything is.
    fn due(&mut self, now: Instant) -> Option<BTreeMap<&'static str, u64>> {
        let rests = match self.next {
            Some((next, _)) if now < next => return None,
            // Nothing came for a whole while.
            Some(_) if self.counts.is_empty() => {
                self.next = None;
                return None;
            }
            Some((_, rests)) => rests,
            None => SELDOM,
        };
        if self.counts.is_empty() {
            return None;
        }
        self.next = Some((now + rests, (rests * 2).min(MOST_SELDOM)));
        Some(std::mem::take(&mut self.counts))
    }

    fn untold(&mut self, counts: &BTreeMap<&'static str, u64>) {
        for (what, count) in counts {
            self.add(what, *count);
        }
        self.next = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_goes_on_is_told_at_once_and_then_ever_more_seldom_and_nothing_is_left_out() {
        let (mut seldom, began) = (Seldom::default(), Instant::now());
        let (mut told, mut sum) = (Vec::new(), 0);
        for second in 0..10_000 {
            seldom.add("forged", 1);
            let now = began + Duration::from_secs(second);
            if let Some(counts) = seldom.due(now) {
                told.push(second);
                sum += counts["forged"];
                assert_eq!(sum, second + 1);
            }
        }
        assert_eq!(told, [0, 60, 180, 420, 900, 1860, 3780, 7380]);
        // After a quiet while it is told at once again.
        let later = |seconds: u64| began + Duration::from_secs(seconds);
        assert!(seldom.due(later(20_000)).is_some());
        assert_eq!(seldom.due(later(30_000)), None);
        seldom.add("forged", 1);
        assert!(seldom.due(later(30_001)).is_some());
    }
}

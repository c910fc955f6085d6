//! The ledger of a governed database beside what its log told. A row that no transaction of the log
//! brought, or a transaction whose row is not there any more, says that somebody wrote past the log.
//!
//! What is new is compared and nothing else: the last pages of the ledger, and the transactions that were
//! kept since. So a look costs the same however old the ledger is, and what came in too fast for it is
//! left out.

use std::collections::BTreeSet;

use model::{ActionId, Lsn};

use crate::{ChangeSource, EvidenceStore, FollowError, Following, LedgerRow, Of, SourceError};

/// So many pages behind the last one are looked at again, since transactions that were under way then
/// may have their rows there.
const OVERLAP: u64 = 64;
/// The most transactions that are looked up in the ledger at once.
const MOST_FRAMES: usize = 1_000;

/// What does not fit, counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Misfits {
    /// Rows of the ledger that no transaction of the log brought.
    pub without_frame: u64,
    /// Transactions of actions whose rows are not in the ledger.
    pub without_row: u64,
}

/// Compares one ledger with its log, from the first look on.
#[derive(Debug)]
pub struct Reconciler {
    of: Of,
    // The first page of the next look; nothing before the first.
    page: Option<u64>,
    // The rows of the last look.
    seen: BTreeSet<ActionId>,
    // New rows, and the place that the log has to be read to before they can be judged.
    open: Option<(Lsn, Vec<LedgerRow>)>,
    // The epoch, and the end of the last of its transactions that was looked up.
    looked_up: Option<(u64, Lsn)>,
    // Transactions without a row: one may be read before others can see what it wrote.
    doubted: BTreeSet<ActionId>,
}

impl Reconciler {
    /// One that has looked at nothing yet.
    pub fn new(of: Of) -> Self {
        let (page, seen, open, looked_up, doubted) = Default::default();
        Self { of, page, seen, open, looked_up, doubted }
    }

    /// Looks at the end of the ledger, unless the last look is not judged yet. What the first one shows
    /// was there before and is not judged.
    pub async fn look(&mut self, source: &dyn ChangeSource) -> Result<(), SourceError> {
        if self.open.is_some() {
            return Ok(());
        }
        let end = source.ledger_from(self.page, OVERLAP).await?;
        // A ledger that became shorter was written anew, with its rows in other places.
        let is_first = self.page.is_none_or(|page| page > end.pages);
        let ids: BTreeSet<_> = end.rows.iter().map(|row| row.action).collect();
        let fresh = end.rows.into_iter().filter(|row| !self.seen.contains(&row.action));
        let fresh: Vec<_> = if is_first { Vec::new() } else { fresh.collect() };
        self.open = Some((end.reached, fresh));
        (self.page, self.seen) = (Some(end.pages.saturating_sub(OVERLAP)), ids);
        Ok(())
    }

    /// Judges what the last look showed, once the log was read so far; nothing before.
    pub async fn judge(
        &mut self,
        (source, store): (&dyn ChangeSource, &dyn EvidenceStore),
        following: &Following,
    ) -> Result<Option<Misfits>, FollowError> {
        let Some((reached, rows)) = &self.open else { return Ok(None) };
        if *reached > following.read_to {
            return Ok(None);
        }
        let without_frame = self.without_frame(store, (rows, following)).await?;
        let without_row = self.without_row((source, store), following).await?;
        self.open = None;
        Ok(Some(Misfits { without_frame, without_row }))
    }

    /// How many of these rows pass for this connector's and came with no transaction of an action.
    async fn without_frame(
        &self,
        store: &dyn EvidenceStore,
        (rows, following): (&[LedgerRow], &Following),
    ) -> Result<u64, FollowError> {
        let org = self.of.org.to_string();
        // What began before the epoch may be in a gap.
        let is_due = |row: &&LedgerRow| row.org == org && row.xid >= following.began.from_xid;
        let ids: BTreeSet<_> = rows.iter().filter(is_due).map(|row| row.action).collect();
        if ids.is_empty() {
            return Ok(0);
        }
        let known = store.known(self.of, &ids).await?;
        let is_odd = |id: &&ActionId| match known.get(*id) {
            None => true,
            Some(action) => action.connector == self.of.connector && !action.framed,
        };
        Ok(count(ids.iter().filter(is_odd)))
    }

    /// How many transactions had no row in the ledger, at this look and at the one before.
    async fn without_row(
        &mut self,
        (source, store): (&dyn ChangeSource, &dyn EvidenceStore),
        following: &Following,
    ) -> Result<u64, FollowError> {
        let epoch = following.began.epoch;
        let behind = match self.looked_up {
            Some((of, end)) if of == epoch => end,
            // What another server or a backup lacks says nothing of the ledger.
            Some(_) => {
                self.doubted.clear();
                Lsn(0)
            }
            None => following.read_to,
        };
        let own = store.own_frames(self.of, epoch, behind, MOST_FRAMES).await?;
        let ids: BTreeSet<_> = own.iter().map(|(_, id)| *id).chain(self.doubted.clone()).collect();
        if !ids.is_empty() {
            let there = source.in_ledger(&ids).await?;
            let missing: BTreeSet<_> = ids.difference(&there).copied().collect();
            let sure = count(missing.intersection(&self.doubted));
            self.doubted = missing.difference(&self.doubted).copied().collect();
            self.looked_up = Some((epoch, own.last().map_or(behind, |(end, _)| *end)));
            return Ok(sure);
        }
        self.looked_up = Some((epoch, behind));
        Ok(0)
    }
}

fn count<T>(all: impl Iterator<Item = T>) -> u64 {
    u64::try_from(all.count()).unwrap_or(u64::MAX)
}

//! The logs of the orgs as they are kept, for whoever reads and proves them.

use std::ops::Range;

use async_trait::async_trait;
use gate::StoredDeed;
use ledger::StoreDown;
use model::{Digest, OrgId, Timestamp};
use records::{DeedRow, LogHead, LogSize, LogStore, Misfit, SignedCheckpoint, Span, Stray};

use crate::{MemoryStore, rows::Rows};

#[async_trait]
impl LogStore for MemoryStore {
    async fn logs(&self) -> Result<Vec<LogSize>, StoreDown> {
        let kept = self.reach("read how long the logs are")?;
        let size = |(org, rows): (&OrgId, &Rows)| {
            let chain = &rows.head.as_ref()?.chain;
            Some(LogSize { org: *org, log: chain.log().clone(), size: chain.size() })
        };
        Ok(kept.orgs.iter().filter_map(size).collect())
    }

    async fn head(&self, org: OrgId) -> Result<Option<LogHead>, StoreDown> {
        let kept = self.reach("read the head of a log")?;
        let head = kept.orgs.get(&org).and_then(|rows| rows.head.as_ref());
        Ok(head.map(|head| LogHead {
            chain: head.chain.clone(),
            event_seq: head.event_seq,
            now: self.clock.now(),
        }))
    }

    async fn hashes(&self, org: OrgId, spans: &[Span]) -> Result<Vec<Vec<Digest>>, StoreDown> {
        let kept = self.reach("read the hashes of a log's tree")?;
        let Some(rows) = kept.orgs.get(&org) else {
            return Ok(spans.iter().map(|_| Vec::new()).collect());
        };
        Ok(spans.iter().map(|span| run(rows, *span)).collect())
    }

    async fn unsealed(&self, org: OrgId) -> Result<(u64, Option<Timestamp>), StoreDown> {
        let kept = self.reach("count what is not sealed")?;
        let actions = kept.orgs.get(&org).into_iter().flat_map(|rows| rows.actions.values());
        let open: Vec<_> = actions
            .filter(|kept| kept.action.deed.is_none())
            .map(|kept| kept.action.created_at)
            .collect();
        Ok((open.len() as u64, open.into_iter().min()))
    }

    async fn rows(&self, org: OrgId, from: u64, limit: usize) -> Result<Vec<DeedRow>, StoreDown> {
        let kept = self.reach("read the deeds of a log")?;
        let deeds = kept.orgs.get(&org).map(|rows| rows.deeds.as_slice()).unwrap_or_default();
        let start = deeds.partition_point(|deed| deed.seq < from);
        let rows = kept.orgs.get(&org);
        let row = |deed| rows.map(|rows| row(rows, deed));
        Ok(deeds.iter().skip(start).take(limit).filter_map(row).collect())
    }

    async fn put_checkpoint(
        &self,
        org: OrgId,
        checkpoint: &SignedCheckpoint,
    ) -> Result<(), StoreDown> {
        let mut kept = self.reach("keep a checkpoint")?;
        let rows = kept.orgs.entry(org).or_default();
        rows.checkpoints.entry(checkpoint.size).or_insert_with(|| checkpoint.clone());
        Ok(())
    }

    async fn checkpoints(
        &self,
        org: OrgId,
        sizes: Range<u64>,
    ) -> Result<Vec<SignedCheckpoint>, StoreDown> {
        let kept = self.reach("read the checkpoints of a log")?;
        let rows = kept.orgs.get(&org).into_iter();
        Ok(rows
            .flat_map(|rows| rows.checkpoints.range(sizes.clone()))
            .map(|(_, it)| it.clone())
            .collect())
    }

    async fn misfit(&self, org: OrgId) -> Result<Option<Misfit>, StoreDown> {
        let kept = self.reach("look for what does not fit a log")?;
        let Some(rows) = kept.orgs.get(&org) else { return Ok(None) };
        // Deeds and nodes come and go with the head here; checkpoints are put beside it.
        let size = rows.head.as_ref().map_or(0, |head| head.chain.size());
        let ahead = rows.checkpoints.range(size + 1..).next();
        let (what, at) = (Stray::Checkpoint, self.clock.now());
        let last = size.saturating_sub(1);
        Ok(ahead.map(|(size, _)| Misfit { what, place: *size, last, at }))
    }

    async fn last_checkpoint(&self, org: OrgId) -> Result<Option<SignedCheckpoint>, StoreDown> {
        let kept = self.reach("read the last checkpoint")?;
        let last = kept.orgs.get(&org).and_then(|rows| rows.checkpoints.values().next_back());
        Ok(last.cloned())
    }
}

/// Returns the hashes of a run, up to the first that is not there.
fn run(rows: &Rows, span: Span) -> Vec<Digest> {
    let hash = |index: u64| match span.level {
        0 => rows.deeds.get(usize::try_from(index).ok()?).map(|deed| deed.digest),
        level => rows.nodes.get(&(level, index)).copied(),
    };
    (span.start..span.start + span.count).map_while(hash).collect()
}

/// Returns a deed as a row.
pub(crate) fn row(rows: &Rows, deed: &StoredDeed) -> DeedRow {
    let about = deed.action.and_then(|action| rows.actions.get(&action));
    DeedRow {
        seq: deed.seq,
        id: deed.id,
        kind: deed.kind.as_str().to_owned(),
        agent: deed.agent,
        action: deed.action,
        acting: about.map(|kept| kept.action.agent.id),
        issued_at: deed.issued_at,
        body: deed.body.clone(),
        digest: deed.digest,
        signature: deed.signature,
        key_id: deed.key_id.clone(),
    }
}

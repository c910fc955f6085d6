//! The logs of the orgs as they are kept, for whoever reads and proves them.

use std::ops::Range;

use async_trait::async_trait;
use gate::StoredDeed;
use ledger::{Head, LogNo, Place, StoreDown};
use model::{Digest, OrgId, Timestamp};
use records::{
    DeedRow, LogHead, LogSize, LogStore, Logs, Misfit, OrgLog, SignedCheckpoint, Span, Standing,
    Stray,
};

use crate::{
    MemoryStore,
    rows::{Rows, place},
};

#[async_trait]
impl LogStore for MemoryStore {
    async fn logs(&self) -> Result<Logs, StoreDown> {
        let kept = self.reach("read how long the logs are")?;
        let now = self.clock.now();
        let sizes = |(org, rows): (&OrgId, &Rows)| {
            let heads = closed(rows, now).into_iter().chain(open(rows, now));
            let size = |head: LogHead| LogSize {
                of: OrgLog { org: *org, no: head.no },
                log: head.chain.log().clone(),
                size: head.chain.size(),
                standing: head.standing,
            };
            heads.map(size).collect::<Vec<_>>()
        };
        let mut sizes: Vec<_> = kept.orgs.iter().flat_map(sizes).collect();
        sizes.sort_by_key(|log| log.of);
        Ok(Logs { sizes, unreached: Vec::new() })
    }

    async fn head(&self, org: OrgId) -> Result<Option<LogHead>, StoreDown> {
        let kept = self.reach("read the head of a log")?;
        Ok(kept.orgs.get(&org).and_then(|rows| open(rows, self.clock.now())))
    }

    async fn closed(&self, org: OrgId) -> Result<Vec<LogHead>, StoreDown> {
        let kept = self.reach("read the heads of closed logs")?;
        Ok(kept.orgs.get(&org).map(|rows| closed(rows, self.clock.now())).unwrap_or_default())
    }

    async fn hashes(&self, log: OrgLog, spans: &[Span]) -> Result<Vec<Vec<Digest>>, StoreDown> {
        let kept = self.reach("read the hashes of a log's tree")?;
        let Some(rows) = kept.orgs.get(&log.org) else {
            return Ok(spans.iter().map(|_| Vec::new()).collect());
        };
        Ok(spans.iter().map(|span| run(rows, log.no, *span)).collect())
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

    async fn rows(&self, log: OrgLog, from: u64, limit: usize) -> Result<Vec<DeedRow>, StoreDown> {
        let kept = self.reach("read the deeds of a log")?;
        let Some(rows) = kept.orgs.get(&log.org) else { return Ok(Vec::new()) };
        let start = rows.deeds.partition_point(|deed| place(deed) < Place::of(log.no, from));
        let mine = rows.deeds.iter().skip(start).take_while(|deed| deed.log_no == log.no);
        Ok(mine.take(limit).map(|deed| row(rows, deed)).collect())
    }

    async fn put_checkpoint(
        &self,
        log: OrgLog,
        checkpoint: &SignedCheckpoint,
    ) -> Result<(), StoreDown> {
        let mut kept = self.reach("keep a checkpoint")?;
        let rows = kept.orgs.entry(log.org).or_default();
        rows.checkpoints.entry((log.no, checkpoint.size)).or_insert_with(|| checkpoint.clone());
        Ok(())
    }

    async fn checkpoints(
        &self,
        log: OrgLog,
        sizes: Range<u64>,
    ) -> Result<Vec<SignedCheckpoint>, StoreDown> {
        let kept = self.reach("read the checkpoints of a log")?;
        let rows = kept.orgs.get(&log.org).into_iter();
        let sizes = (log.no, sizes.start)..(log.no, sizes.end);
        let found = rows.flat_map(|rows| rows.checkpoints.range(sizes.clone()));
        Ok(found.map(|(_, checkpoint)| checkpoint.clone()).collect())
    }

    async fn misfit(&self, log: OrgLog) -> Result<Option<Misfit>, StoreDown> {
        let kept = self.reach("look for what does not fit a log")?;
        let now = self.clock.now();
        let Some(rows) = kept.orgs.get(&log.org) else { return Ok(None) };
        let mut heads = closed(rows, now).into_iter().chain(open(rows, now));
        // Deeds and nodes come and go with the head here; checkpoints are put beside it.
        let size = heads.find(|head| head.no == log.no).map_or(0, |head| head.chain.size());
        let mut ahead = rows.checkpoints.range((log.no, size + 1)..(log.no.next(), 0));
        let (what, last) = (Stray::Checkpoint, size.saturating_sub(1));
        Ok(ahead.next().map(|((_, size), _)| Misfit { what, place: *size, last, at: now }))
    }

    async fn last_checkpoint(&self, log: OrgLog) -> Result<Option<SignedCheckpoint>, StoreDown> {
        let kept = self.reach("read the last checkpoint")?;
        let of_log = (log.no, 0)..(log.no.next(), 0);
        let rows = kept.orgs.get(&log.org);
        let last = rows.and_then(|rows| rows.checkpoints.range(of_log).next_back());
        Ok(last.map(|(_, checkpoint)| checkpoint.clone()))
    }
}

fn open(rows: &Rows, now: Timestamp) -> Option<LogHead> {
    rows.head.as_ref().map(|head| log_head(head, Standing::Open, now))
}

fn closed(rows: &Rows, now: Timestamp) -> Vec<LogHead> {
    let heads = rows.closed.iter();
    heads.map(|(head, at)| log_head(head, Standing::Closed { at: *at }, now)).collect()
}

fn log_head(head: &Head, standing: Standing, now: Timestamp) -> LogHead {
    let Head { log_no, chain, event_seq, .. } = head.clone();
    LogHead { no: log_no, standing, chain, event_seq, now }
}

/// The hashes of a run, up to the first that is not there.
fn run(rows: &Rows, log: LogNo, span: Span) -> Vec<Digest> {
    let start = rows.deeds.partition_point(|deed| deed.log_no < log);
    let deed = |index: usize| rows.deeds.get(start + index).filter(|deed| deed.log_no == log);
    let hash = |index: u64| match span.level {
        0 => deed(usize::try_from(index).ok()?).map(|deed| deed.digest),
        level => rows.nodes.get(&(log, level, index)).copied(),
    };
    (span.start..span.start + span.count).map_while(hash).collect()
}

/// A deed as a row.
pub(crate) fn row(rows: &Rows, deed: &StoredDeed) -> DeedRow {
    let about = deed.action.and_then(|action| rows.actions.get(&action));
    DeedRow {
        log_no: deed.log_no,
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

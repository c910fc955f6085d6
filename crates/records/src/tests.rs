//! Proofs from stored hashes against proofs from the whole tree, and logs against checkpoints.

mod walk;

use std::sync::Mutex;

use async_trait::async_trait;
use deed::{
    ChainHead, Checkpoint, LogOrigin,
    tree::{self, Tree, TreeHead},
};
use ledger::{LogNo, StoreDown};
use model::{Digest, LogId, OrgId, Timestamp};
use uuid::Uuid;

use crate::{
    DeedRow, LogError, LogHead, LogSize, LogStore, Logs, Misfit, OrgLog, ProofError,
    SignedCheckpoint, Span, Standing, compare, consistency, inclusion,
};

const ORG: OrgId = OrgId::from_uuid(Uuid::nil());
const LOG: OrgLog = OrgLog { org: ORG, no: LogNo::FIRST };

/// A log of made-up deeds that counts how many hashes are asked of it.
struct Log {
    digests: Vec<Digest>,
    nodes: Vec<tree::Node>,
    head: ChainHead,
    asked: Mutex<u64>,
}

impl Log {
    fn of(digests: impl IntoIterator<Item = Digest>) -> Self {
        let origin = LogOrigin::new("test.example", LogId::from_uuid(Uuid::nil())).unwrap();
        let mut log = Self {
            digests: digests.into_iter().collect(),
            nodes: Vec::new(),
            head: ChainHead::genesis(origin),
            asked: Mutex::new(0),
        };
        for digest in &log.digests {
            let (head, nodes) = log.head.advance(*digest, Timestamp::EPOCH);
            log.head = head;
            log.nodes.extend(nodes);
        }
        log
    }

    fn first(size: u64) -> Self {
        Self::of((0..size).map(digest))
    }

    fn now(&self) -> LogHead {
        LogHead {
            no: LogNo::FIRST,
            standing: Standing::Open,
            chain: self.head.clone(),
            event_seq: 0,
            now: Timestamp::EPOCH,
        }
    }

    fn tree(&self) -> TreeHead {
        TreeHead { size: self.head.size(), root: self.head.root() }
    }
}

fn digest(number: u64) -> Digest {
    crypto::sha256(number.to_be_bytes())
}

#[async_trait]
impl LogStore for Log {
    async fn logs(&self) -> Result<Logs, StoreDown> {
        let (log, size) = (self.head.log().clone(), self.head.size());
        let sizes = vec![LogSize { of: LOG, log, size, standing: Standing::Open }];
        Ok(Logs { sizes, unreached: Vec::new() })
    }

    async fn head(&self, _: OrgId) -> Result<Option<LogHead>, StoreDown> {
        Ok(Some(self.now()))
    }

    async fn closed(&self, _: OrgId) -> Result<Vec<LogHead>, StoreDown> {
        Ok(Vec::new())
    }

    async fn hashes(&self, _: OrgLog, spans: &[Span]) -> Result<Vec<Vec<Digest>>, StoreDown> {
        *self.asked.lock().unwrap() += spans.iter().map(|span| span.count).sum::<u64>();
        let hash = |level: u8, index: u64| match level {
            0 => self.digests.get(usize::try_from(index).unwrap()).copied(),
            level => {
                let found =
                    self.nodes.iter().find(|node| (node.level, node.index) == (level, index));
                found.map(|node| node.hash)
            }
        };
        let run = |span: &Span| {
            (span.start..span.start + span.count)
                .map_while(|index| hash(span.level, index))
                .collect()
        };
        Ok(spans.iter().map(run).collect())
    }

    async fn unsealed(&self, _: OrgId) -> Result<(u64, Option<Timestamp>), StoreDown> {
        Ok((0, None))
    }

    async fn rows(&self, _: OrgLog, _: u64, _: usize) -> Result<Vec<DeedRow>, StoreDown> {
        Ok(Vec::new())
    }

    async fn put_checkpoint(&self, _: OrgLog, _: &SignedCheckpoint) -> Result<(), StoreDown> {
        Ok(())
    }

    async fn checkpoints(
        &self,
        _: OrgLog,
        _: std::ops::Range<u64>,
    ) -> Result<Vec<SignedCheckpoint>, StoreDown> {
        Ok(Vec::new())
    }

    async fn misfit(&self, _: OrgLog) -> Result<Option<Misfit>, StoreDown> {
        Ok(None)
    }

    async fn last_checkpoint(&self, _: OrgLog) -> Result<Option<SignedCheckpoint>, StoreDown> {
        Ok(None)
    }
}

#[tokio::test]
async fn proofs_of_stored_hashes_are_those_of_the_whole_tree() {
    let log = Log::first(1_000);
    let whole = Tree::of(log.digests.iter().copied());
    for size in [1, 2, 3, 255, 256, 257, 511, 512, 768, 999, 1_000] {
        for index in [0, 1, 254, 255, 256, 511, 600, size - 1] {
            let made = inclusion(&log, LOG, (index, size)).await.ok();
            assert_eq!(made, tree::inclusion(&whole, index, size), "{index} of {size}");
        }
        for old in [1, 2, 100, 255, 256, 257, 512, 700, size] {
            let made = consistency(&log, LOG, (old, size)).await.ok();
            assert_eq!(made, tree::consistency(&whole, old, size), "{old} to {size}");
        }
    }
}

#[tokio::test]
async fn a_proof_reads_few_hashes_of_a_long_log() {
    let log = Log::first(70_000);
    inclusion(&log, LOG, (12_345, 69_999)).await.unwrap();
    consistency(&log, LOG, (12_345, 69_999)).await.unwrap();
    let asked = *log.asked.lock().unwrap();
    assert!(asked < 3_000, "{asked} hashes");
}

#[tokio::test]
async fn a_proof_whose_hashes_are_missing_is_none() {
    let mut log = Log::first(600);
    log.digests.truncate(590);
    assert!(matches!(inclusion(&log, LOG, (595, 600)).await, Err(ProofError::Missing)));
    assert!(matches!(inclusion(&log, LOG, (600, 600)).await, Err(ProofError::NoSuch)));
    assert!(matches!(consistency(&log, LOG, (0, 600)).await, Err(ProofError::NoSuch)));
}

#[tokio::test]
async fn a_log_is_held_against_every_checkpoint_of_its_past() {
    let log = Log::first(700);
    let origin = log.head.log().clone();
    for size in [0, 1, 255, 256, 300, 699, 700] {
        let tree = Log::first(size).tree();
        let mine = Checkpoint { log: origin.clone(), tree };
        assert_eq!(compare(&log, ORG, &log.now(), &mine).await.unwrap(), None, "{size}");
        // The same size of another past, whose last deed alone differs.
        if let Some(last) = size.checked_sub(1) {
            let other = Log::of((0..last).map(digest).chain([digest(9_999)]));
            let other = Checkpoint { log: origin.clone(), tree: other.tree() };
            let found = compare(&log, ORG, &log.now(), &other).await.unwrap();
            assert!(matches!(found, Some(LogError::Differs { signed, .. }) if signed == size));
        }
    }
    let longer = Checkpoint { log: origin, tree: Log::first(701).tree() };
    let found = compare(&log, ORG, &log.now(), &longer).await.unwrap();
    assert!(matches!(found, Some(LogError::Shorter { size: 700, signed: 701, .. })));
}

#[tokio::test]
async fn a_log_whose_rows_do_not_make_its_root_is_not_the_one_that_was_signed_for() {
    let mut log = Log::first(300);
    let signed = Checkpoint { log: log.head.log().clone(), tree: Log::first(299).tree() };
    log.digests[298] = digest(9_999);
    let found = compare(&log, ORG, &log.now(), &signed).await.unwrap();
    assert!(matches!(found, Some(LogError::Differs { .. })), "{found:?}");
}

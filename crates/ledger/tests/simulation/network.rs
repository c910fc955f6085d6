//! The way of the simulated processes to their one store: it delays, loses answers, delivers late,
//! and has one row that can be locked, and a turn lock.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicU64, Ordering},
};

use async_trait::async_trait;
use ledger::{
    AppendError, Base, HeldHead, HeldOrg, LedgerStore, Loaded, Needs, Spawn, StoreDown, Turn,
    TurnLock,
};
use model::{Clock, OrgId, PolicyVersionId, Timestamp};
use store_memory::MemoryStore;
use testkit::{ManualClock, SeededEntropy};

use crate::world::{Tasks, delay, pass};

/// For how long the row stays locked for somebody who says nothing, in milliseconds.
const HELD_FOR: i64 = 60;
/// How often somebody looks who waits for the row.
const LOOKS: usize = 200;

/// How often what happened.
#[derive(Default)]
pub(super) struct Counts {
    lost_heads: AtomicU64,
    doubts: AtomicU64,
    late_commits: AtomicU64,
    taken_away: AtomicU64,
    turn_locks: AtomicU64,
    pub(super) clock_steps: AtomicU64,
    pub(super) panics: AtomicU64,
}

impl Counts {
    pub(super) fn all(&self) -> [(&'static str, usize); 7] {
        [
            ("lost_heads", &self.lost_heads),
            ("doubts", &self.doubts),
            ("late_commits", &self.late_commits),
            ("taken_away", &self.taken_away),
            ("turn_locks", &self.turn_locks),
            ("clock_steps", &self.clock_steps),
            ("panics", &self.panics),
        ]
        .map(|(what, count)| (what, usize::try_from(count.load(Ordering::Relaxed)).unwrap()))
    }
}

/// What is locked while a head is held, or the turn lock is had: by whom, and until when.
#[derive(Default)]
pub(super) struct Row {
    lock: Mutex<Option<(u64, Timestamp)>>,
    locked: AtomicU64,
}

impl Row {
    /// Locks the row for this long if nobody else has it.
    fn try_lock(&self, now: Timestamp, millis: i64) -> Option<u64> {
        let mut lock = self.lock.lock().unwrap();
        if lock.is_some_and(|(_, until)| now < until) {
            return None;
        }
        let name = self.locked.fetch_add(1, Ordering::Relaxed) + 1;
        *lock = Some((name, Timestamp::from_unix_millis(now.unix_millis() + millis)));
        Some(name)
    }

    fn is_held_by(&self, name: u64, now: Timestamp) -> bool {
        self.lock.lock().unwrap().is_some_and(|(held, until)| held == name && now < until)
    }

    fn is_held(&self, now: Timestamp) -> bool {
        self.lock.lock().unwrap().is_some_and(|(_, until)| now < until)
    }

    fn unlock(&self, name: u64) {
        self.lock.lock().unwrap().take_if(|(held, _)| *held == name);
    }
}

/// The one store as one process sees it.
#[derive(Clone)]
pub(super) struct Network {
    pub(super) store: Arc<MemoryStore>,
    pub(super) clock: Arc<ManualClock>,
    pub(super) dice: Arc<SeededEntropy>,
    // Late commits belong to no process: they survive a crash.
    pub(super) wire: Tasks,
    pub(super) counts: Arc<Counts>,
    pub(super) row: Arc<Row>,
    pub(super) turn_lock: Arc<Row>,
    pub(super) is_old: bool,
}

fn down() -> StoreDown {
    StoreDown { attempt: "reach the store", source: "the network is cut".into() }
}

impl Network {
    /// Waits until this is locked, which does not come about every time.
    async fn locked(&self, row: &Row) -> Option<u64> {
        // Now and then a process is too slow.
        let millis = if self.dice.roll(16) == 0 { 1 } else { HELD_FOR };
        for _ in 0..LOOKS {
            if let Some(name) = row.try_lock(self.clock.now(), millis) {
                return Some(name);
            }
            pass().await;
        }
        None
    }

    /// Delivers a turn, or not, and brings its answer back, or not.
    async fn deliver(&self, turn: &Turn) -> Result<Timestamp, AppendError> {
        match self.dice.roll(20) {
            0 => Err(AppendError::Down(down())),
            1 => {
                self.counts.doubts.fetch_add(1, Ordering::Relaxed);
                let _ = self.store.append(turn).await;
                Err(AppendError::InDoubt(down()))
            }
            2 => {
                // The commit is still on its way when its sender gives up.
                self.counts.doubts.fetch_add(1, Ordering::Relaxed);
                self.counts.late_commits.fetch_add(1, Ordering::Relaxed);
                let (late, turn) = (self.clone(), turn.clone());
                self.wire.spawn(Box::pin(async move {
                    delay(&late.dice).await;
                    delay(&late.dice).await;
                    let _ = late.store.append(&turn).await;
                }));
                Err(AppendError::InDoubt(down()))
            }
            _ => {
                let appended = self.store.append(turn).await;
                if matches!(appended, Err(AppendError::Lost)) {
                    self.counts.lost_heads.fetch_add(1, Ordering::Relaxed);
                }
                delay(&self.dice).await;
                appended
            }
        }
    }
}

#[async_trait]
impl LedgerStore for Network {
    async fn base(&self, org: OrgId) -> Result<(Option<Base>, Timestamp), StoreDown> {
        delay(&self.dice).await;
        if self.dice.roll(40) == 0 {
            return Err(down());
        }
        let base = self.store.base(org).await;
        delay(&self.dice).await;
        base
    }

    async fn load(&self, org: OrgId, needs: &Needs) -> Result<Loaded, StoreDown> {
        delay(&self.dice).await;
        self.store.load(org, needs).await
    }

    async fn policy_document(
        &self,
        org: OrgId,
        version: PolicyVersionId,
    ) -> Result<Option<String>, StoreDown> {
        self.store.policy_document(org, version).await
    }

    async fn append(&self, turn: &Turn) -> Result<Timestamp, AppendError> {
        delay(&self.dice).await;
        while self.row.is_held(self.clock.now()) {
            pass().await;
        }
        self.deliver(turn).await
    }

    async fn hold(&self, org: OrgId, needs: &Needs) -> Result<Option<HeldOrg>, StoreDown> {
        if self.is_old {
            return Ok(None);
        }
        let Some(name) = self.locked(&self.row).await else { return Ok(None) };
        let head = Box::new(Held { network: self.clone(), org, name });
        let (base, now) = self.base(org).await?;
        let loaded = self.load(org, needs).await?;
        Ok(Some(HeldOrg { base, now, loaded, head }))
    }

    async fn turn_lock(&self, _: OrgId) -> Result<Option<Box<dyn TurnLock>>, StoreDown> {
        if self.is_old {
            return Ok(None);
        }
        delay(&self.dice).await;
        if self.dice.roll(40) == 0 {
            return Err(down());
        }
        let Some(name) = self.locked(&self.turn_lock).await else { return Ok(None) };
        self.counts.turn_locks.fetch_add(1, Ordering::Relaxed);
        Ok(Some(Box::new(HeldTurnLock { network: self.clone(), name })))
    }

    async fn settle(&self, turn: &Turn) -> Result<bool, StoreDown> {
        delay(&self.dice).await;
        if self.dice.roll(4) == 0 { Err(down()) } else { self.store.settle(turn).await }
    }
}

/// The turn lock, as long as it is locked under this name.
struct HeldTurnLock {
    network: Network,
    name: u64,
}

impl TurnLock for HeldTurnLock {}

impl Drop for HeldTurnLock {
    fn drop(&mut self) {
        if self.network.dice.roll(32) > 0 {
            self.network.turn_lock.unlock(self.name);
        }
    }
}

/// The head, as long as the row is locked under this name.
struct Held {
    network: Network,
    org: OrgId,
    name: u64,
}

#[async_trait]
impl HeldHead for Held {
    async fn load(&self, needs: &Needs) -> Result<Loaded, StoreDown> {
        self.network.load(self.org, needs).await
    }

    async fn append(self: Box<Self>, turn: &Turn) -> Result<Timestamp, AppendError> {
        let Self { network, name, .. } = &*self;
        delay(&network.dice).await;
        if !network.row.is_held_by(*name, network.clock.now()) {
            network.counts.taken_away.fetch_add(1, Ordering::Relaxed);
            return Err(AppendError::Lost);
        }
        network.deliver(turn).await
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        // Of a process that was stopped the row is free only once its time is over.
        if self.network.dice.roll(32) > 0 {
            self.network.row.unlock(self.name);
        }
    }
}

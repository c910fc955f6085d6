//! The simulated world: one store, several processes, an executor that picks what runs next.

#![expect(clippy::cast_possible_truncation, reason = "the numbers of a simulation are small")]

use std::{
    collections::BTreeMap,
    future::Future,
    pin::Pin,
    sync::{
        Arc, Mutex,
        atomic::{AtomicI64, AtomicU64, Ordering},
    },
    task::{Context, Poll, Waker},
    time::Duration,
};

use async_trait::async_trait;
use deed::{Actor, AdminContent, Content, Draft, KeySet, SealKey, SealKeys, Sealer, Subject};
use futures_util::future::BoxFuture;
use model::{Clock, DeedId, Entropy, EventType, Mint, OrgId, PolicyVersionId, Timestamp};
use serde_json::{Map, Value, json};
use store_memory::MemoryStore;

use ledger::{
    AppendError, Base, Changes, DeedEntry, Entry, EventStore, Ledger, LedgerError, LedgerStore,
    Loaded, Needs, Parts, Request, Snapshot, Spawn, StoreDown, Turn,
    record::{BudgetUse, Org, RETENTION_DAYS},
};

const PROCESSES: usize = 3;
const REQUESTS: usize = 24;
const COUNTER: &str = "bumps";
/// What a request is answered for which there was no room.
pub(super) const REFUSED: u64 = 0;

/// How a request ended for the one who asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Ending {
    Answered(u64),
    Unavailable,
    InDoubt,
    Crashed,
}

/// A deed as the checks see it.
pub(super) struct Seen {
    pub(super) label: String,
    pub(super) seq: u64,
    pub(super) prev: String,
    digest: String,
    pub(super) issued_at: Timestamp,
}

/// Numbers that look random and are the same for the same seed.
#[derive(Debug)]
pub(super) struct Dice(pub(super) AtomicU64);

impl Dice {
    fn roll(&self, sides: u64) -> u64 {
        // SplitMix64.
        let mut z = self.0.fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::Relaxed);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % sides
    }

    /// Gives others a chance to run, for a while that the dice choose.
    async fn delay(&self) {
        for _ in 0..self.roll(4) {
            let mut first = true;
            std::future::poll_fn(|_| {
                if std::mem::take(&mut first) { Poll::Pending } else { Poll::Ready(()) }
            })
            .await;
        }
    }
}

impl Entropy for Dice {
    fn fill(&self, buffer: &mut [u8]) {
        for byte in buffer {
            *byte = self.roll(256) as u8;
        }
    }
}

/// A clock that only moves when the world moves it, and whose wall time somebody may step.
pub(super) struct Moved {
    start: i64,
    ran: AtomicI64,
    stepped: AtomicI64,
}

impl Moved {
    pub(super) fn at(start: i64) -> Self {
        Self { start, ran: AtomicI64::new(0), stepped: AtomicI64::new(0) }
    }

    /// Lets this much time pass.
    pub(super) fn pass(&self, span: Duration) {
        self.ran.fetch_add(span.as_millis().try_into().unwrap(), Ordering::Relaxed);
    }
}

impl Clock for Moved {
    fn now(&self) -> Timestamp {
        let since = self.ran.load(Ordering::Relaxed) + self.stepped.load(Ordering::Relaxed);
        Timestamp::from_unix_millis(self.start + since)
    }

    fn elapsed(&self) -> Duration {
        Duration::from_millis(self.ran.load(Ordering::Relaxed).try_into().unwrap())
    }
}

type Task = (usize, BoxFuture<'static, ()>);

#[derive(Clone)]
struct Tasks {
    process: usize,
    all: Arc<Mutex<Vec<Task>>>,
}

impl Spawn for Tasks {
    fn spawn(&self, task: BoxFuture<'static, ()>) {
        self.all.lock().unwrap().push((self.process, task));
    }
}

#[derive(Default)]
struct Counts {
    lost_heads: AtomicU64,
    doubts: AtomicU64,
    late_commits: AtomicU64,
    clock_steps: AtomicU64,
    panics: AtomicU64,
}

/// The one store, seen through a network that delays, loses answers and delivers late.
#[derive(Clone)]
struct Network {
    store: Arc<MemoryStore>,
    dice: Arc<Dice>,
    // Late commits belong to no process: they survive a crash.
    wire: Tasks,
    counts: Arc<Counts>,
}

fn down() -> StoreDown {
    StoreDown { attempt: "reach the store", source: "the network is cut".into() }
}

#[async_trait]
impl LedgerStore for Network {
    async fn base(&self, org: OrgId) -> Result<(Option<Base>, Timestamp), StoreDown> {
        self.dice.delay().await;
        if self.dice.roll(40) == 0 {
            return Err(down());
        }
        let base = self.store.base(org).await;
        self.dice.delay().await;
        base
    }

    async fn load(&self, org: OrgId, needs: &Needs) -> Result<Loaded, StoreDown> {
        self.dice.delay().await;
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
        self.dice.delay().await;
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
                    late.dice.delay().await;
                    late.dice.delay().await;
                    let _ = late.store.append(&turn).await;
                }));
                Err(AppendError::InDoubt(down()))
            }
            _ => {
                let appended = self.store.append(turn).await;
                if matches!(appended, Err(AppendError::Lost)) {
                    self.counts.lost_heads.fetch_add(1, Ordering::Relaxed);
                }
                self.dice.delay().await;
                appended
            }
        }
    }

    async fn settle(&self, turn: &Turn) -> Result<bool, StoreDown> {
        self.dice.delay().await;
        if self.dice.roll(4) == 0 { Err(down()) } else { self.store.settle(turn).await }
    }
}

/// Counts one up and seals a deed that says who did, as long as there is room; one of them has a
/// fault and panics instead.
pub(super) struct Bump {
    pub(super) label: String,
    pub(super) limit: u64,
    pub(super) panics: bool,
}

impl Request for Bump {
    type Answer = u64;

    fn needs(&self, _: &Snapshot) -> Needs {
        let budgets = [(COUNTER.to_owned(), Timestamp::EPOCH)].into();
        Needs { budgets, ..Needs::default() }
    }

    fn decide(&self, snapshot: &Snapshot, mint: &Mint<'_>) -> (Entry, u64) {
        assert!(!self.panics, "a request has a fault");
        let one = policy::Decimal::from(1);
        let used = snapshot.used(COUNTER, Timestamp::EPOCH);
        if used >= policy::Decimal::from(i64::try_from(self.limit).unwrap()) {
            return (Entry::nothing(), REFUSED);
        }
        let used = used.checked_add(one).unwrap();
        let counter = BudgetUse {
            key: COUNTER.to_owned(),
            window_start: Timestamp::EPOCH,
            window_end: Timestamp::EPOCH + Duration::from_hours(1_000_000),
            used,
        };
        let data = Map::from_iter([("label".to_owned(), Value::from(self.label.as_str()))]);
        let draft = Draft {
            id: mint.id(DeedId::from_uuid),
            livemode: true,
            actor: Actor::System(deed::Word::of("operator")),
            subject: Subject::org(snapshot.org_id()),
            content: Content::Admin(AdminContent {
                event: EventType::OrgUpdated.into(),
                before: None,
                after: None,
                reason: None,
                data,
            }),
        };
        let deed = DeedEntry { draft, disclosures: Vec::new(), agent: None, action: None };
        let entry =
            Entry { changes: Changes::from(counter), deeds: vec![deed], ..Entry::default() };
        (entry, used.to_string().parse().unwrap())
    }
}

pub(super) struct Found;

impl Request for Found {
    type Answer = ();

    fn needs(&self, _: &Snapshot) -> Needs {
        Needs::default()
    }

    fn decide(&self, snapshot: &Snapshot, mint: &Mint<'_>) -> (Entry, ()) {
        let org = Org {
            id: snapshot.org_id(),
            name: "simulated".to_owned(),
            time_zone: "UTC".to_owned(),
            pro: true,
            stop: None,
            retention_days: RETENTION_DAYS,
            pruned_to: 0,
            created_at: mint.now(),
        };
        (Entry { changes: Changes::from(org), ..Entry::default() }, ())
    }
}

/// One history.
pub(super) struct World {
    org: OrgId,
    dice: Arc<Dice>,
    store: Arc<MemoryStore>,
    store_clock: Arc<Moved>,
    clocks: Vec<Arc<Moved>>,
    tasks: Arc<Mutex<Vec<Task>>>,
    endings: Arc<Mutex<BTreeMap<String, Ending>>>,
    counts: Arc<Counts>,
    sealer: Arc<Sealer>,
    crashes: usize,
}

impl World {
    /// Plays one history in which every request may count, to its end.
    pub(super) fn played(seed: u64) -> Self {
        Self::play(seed, REQUESTS, u64::from(u32::MAX))
    }

    /// Plays one history of so many clients that want a part of a limited budget.
    pub(super) fn spent(seed: u64, clients: usize, limit: u64) -> Self {
        Self::play(seed, clients, limit)
    }

    fn play(seed: u64, requests: usize, limit: u64) -> Self {
        let mut world = Self::new(seed);
        let first = world.process(PROCESSES);
        world.finish(async move { while first.enter(world_org(), Found).await.is_err() {} });
        let mut ledgers: Vec<_> = (0..PROCESSES).map(|process| world.process(process)).collect();
        for number in 0..requests {
            let process = world.dice.roll(PROCESSES as u64) as usize;
            let label = format!("{seed}-{number}");
            let panics = world.dice.roll(60) == 0;
            world.counts.panics.fetch_add(u64::from(panics), Ordering::Relaxed);
            world.ask(process, &ledgers[process], Bump { label, limit, panics });
            for _ in 0..world.dice.roll(30) {
                world.step();
            }
            if world.dice.roll(12) == 0 {
                ledgers[process] = world.crash(process);
            }
        }
        while world.step() {}
        world
    }

    fn new(seed: u64) -> Self {
        let dice = Arc::new(Dice(AtomicU64::new(seed)));
        let start = Timestamp::parse_rfc3339("2026-10-01T12:00:00Z").unwrap().unix_millis();
        let store_clock = Arc::new(Moved::at(start));
        let skew = |dice: &Dice| i64::try_from(dice.roll(600_000)).unwrap() - 300_000;
        let clocks = (0..=PROCESSES).map(|_| Arc::new(Moved::at(start + skew(&dice)))).collect();
        Self {
            org: world_org(),
            store: Arc::new(MemoryStore::new(Arc::clone(&store_clock) as Arc<dyn Clock>)),
            store_clock,
            clocks,
            tasks: Arc::default(),
            endings: Arc::default(),
            counts: Arc::default(),
            sealer: Arc::new(sealer(&dice)),
            crashes: 0,
            dice,
        }
    }

    fn process(&self, process: usize) -> Ledger {
        let tasks = |process| Tasks { process, all: Arc::clone(&self.tasks) };
        Ledger::new(Parts {
            store: Arc::new(Network {
                store: Arc::clone(&self.store),
                dice: Arc::clone(&self.dice),
                wire: tasks(usize::MAX),
                counts: Arc::clone(&self.counts),
            }),
            sealer: Arc::clone(&self.sealer),
            clock: Arc::clone(&self.clocks[process]) as Arc<dyn Clock>,
            entropy: Arc::clone(&self.dice) as Arc<dyn Entropy>,
            spawn: Arc::new(tasks(process)),
            log_host: "sim.example".to_owned(),
        })
        .unwrap()
    }

    fn ask(&self, process: usize, ledger: &Ledger, bump: Bump) {
        let label = bump.label.clone();
        let (ledger, org, endings) = (ledger.clone(), self.org, Arc::clone(&self.endings));
        // Until it is told otherwise, the one who asked knows nothing.
        endings.lock().unwrap().insert(label.clone(), Ending::Crashed);
        let client = async move {
            let ending = match ledger.enter(org, bump).await {
                Ok(value) => Ending::Answered(value),
                Err(LedgerError::Unavailable | LedgerError::Busy) => Ending::Unavailable,
                Err(LedgerError::InDoubt | LedgerError::Withheld | LedgerError::Fault) => {
                    Ending::InDoubt
                }
            };
            endings.lock().unwrap().insert(label, ending);
        };
        self.tasks.lock().unwrap().push((process, Box::pin(client)));
    }

    /// Ends a process: everything that it was doing stops where it is.
    fn crash(&mut self, process: usize) -> Ledger {
        self.crashes += 1;
        self.tasks.lock().unwrap().retain(|(owner, _)| *owner != process);
        self.process(process)
    }

    /// Lets one task go on, and says whether there was one.
    fn step(&self) -> bool {
        for clock in self.clocks.iter().chain([&self.store_clock]) {
            clock.ran.fetch_add(i64::try_from(self.dice.roll(3)).unwrap(), Ordering::Relaxed);
        }
        self.step_a_clock();
        let (process, mut task) = {
            let mut tasks = self.tasks.lock().unwrap();
            if tasks.is_empty() {
                return false;
            }
            let next = self.dice.roll(tasks.len() as u64) as usize;
            tasks.swap_remove(next)
        };
        if task.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending() {
            self.tasks.lock().unwrap().push((process, task));
        }
        true
    }

    /// Now and then the wall clock of one process jumps, by an hour or a year, there or back.
    fn step_a_clock(&self) {
        const SPANS: [i64; 4] = [3_600_000, -3_600_000, 31_536_000_000, -31_536_000_000];
        if self.dice.roll(40) == 0 {
            let clock = &self.clocks[self.dice.roll(PROCESSES as u64) as usize];
            clock.stepped.store(SPANS[self.dice.roll(4) as usize], Ordering::Relaxed);
            self.counts.clock_steps.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// What the store's clock says.
    pub(super) fn now(&self) -> Timestamp {
        self.store_clock.now()
    }

    fn finish(&self, work: impl Future<Output = ()>) {
        let mut work: Pin<Box<dyn Future<Output = ()>>> = Box::pin(work);
        while work.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending() {
            self.step();
        }
    }

    pub(super) fn deeds(&self) -> Vec<Seen> {
        let seen = |stored: gate::StoredDeed| {
            let body: Value = serde_json::from_str(&stored.body).unwrap();
            Seen {
                label: body["admin"]["data"]["label"].as_str().unwrap().to_owned(),
                seq: stored.seq,
                prev: body["prev"].as_str().unwrap().to_owned(),
                digest: stored.digest.to_string(),
                issued_at: stored.issued_at,
            }
        };
        self.store.deeds(self.org).into_iter().map(seen).collect()
    }

    pub(super) fn prev_of(&self, place: usize) -> String {
        if let Some(before) = place.checked_sub(1) {
            return self.deeds()[before].digest.clone();
        }
        let body = self.store.deeds(self.org)[0].body.clone();
        let body: Value = serde_json::from_str(&body).unwrap();
        let log = body["log"].as_str().unwrap().parse().unwrap();
        deed::genesis_digest(&log).to_string()
    }

    pub(super) fn counter(&self) -> u64 {
        let budgets = [(COUNTER.to_owned(), Timestamp::EPOCH)].into();
        let needs = Needs { budgets, ..Needs::default() };
        let loaded = now(self.store.load(self.org, &needs)).unwrap();
        loaded.budgets.first().map_or(0, |row| row.used.to_string().parse().unwrap())
    }

    pub(super) fn events(&self) -> Vec<u64> {
        let events = now(self.store.events_after(self.org, 0, usize::MAX)).unwrap();
        events.iter().map(|event| event.seq).collect()
    }

    pub(super) fn endings(&self) -> BTreeMap<String, Ending> {
        self.endings.lock().unwrap().clone()
    }

    pub(super) fn counts(&self) -> BTreeMap<&'static str, usize> {
        let ended = |wanted: fn(&Ending) -> bool| {
            self.endings.lock().unwrap().values().filter(|ending| wanted(ending)).count()
        };
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed) as usize;
        BTreeMap::from([
            ("answered", ended(|ending| matches!(ending, Ending::Answered(_)))),
            ("unavailable", ended(|ending| *ending == Ending::Unavailable)),
            ("crashed", self.crashes),
            ("lost_heads", count(&self.counts.lost_heads)),
            ("doubts", count(&self.counts.doubts)),
            ("late_commits", count(&self.counts.late_commits)),
            ("clock_steps", count(&self.counts.clock_steps)),
            ("panics", count(&self.counts.panics)),
        ])
    }
}

pub(super) fn world_org() -> OrgId {
    "org_01h455vb4pex5vsknk084sn02q".parse().unwrap()
}

pub(super) fn sealer(dice: &Dice) -> Sealer {
    let keys = SealKeys::from_pem(SealKeys::generate_pem(dice).expose()).unwrap();
    let registered = keys
        .keys()
        .map(|(purpose, key)| SealKey::new(*key.public(), purpose, Timestamp::EPOCH))
        .collect();
    let registered = KeySet::new(registered).unwrap();
    Sealer::new(keys, registered)
}

/// Runs what never waits.
fn now<T>(work: impl Future<Output = T>) -> T {
    let mut work = Box::pin(work);
    match work.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("{}", json!("the memory store waited")),
    }
}

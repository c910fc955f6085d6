//! The simulated world: one store, several processes, an executor that picks what runs next.

#![expect(clippy::cast_possible_truncation, reason = "the numbers of a simulation are small")]

use std::{
    collections::BTreeMap,
    future::Future,
    pin::Pin,
    sync::{
        Arc, Mutex,
        atomic::Ordering::{self, Relaxed},
    },
    task::{Context, Poll, Waker},
    time::Duration,
};

use deed::{Actor, AdminContent, Content, Draft, Subject};
use futures_util::{FutureExt, future::BoxFuture};
use model::{Clock, DeedId, EventType, Mint, OrgId, Timestamp};
use serde_json::{Map, Value};
use testkit::{Fixture, ManualClock, Rows, SeededEntropy, sample};

use ledger::{
    Changes, DeedEntry, Entry, EventStore, Figures, Ledger, LedgerError, LedgerStore, Needs, Parts,
    Request, Snapshot, Spawn, StoreDown, record::BudgetUse,
};

use crate::network::{Counts, Network, Row};

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

/// Gives others a chance to run, for a while that the dice choose.
pub(super) async fn delay(dice: &SeededEntropy) {
    for _ in 0..dice.roll(4) {
        pass().await;
    }
}

/// Lets somebody else run.
pub(super) async fn pass() {
    let mut first = true;
    std::future::poll_fn(
        |_| {
            if std::mem::take(&mut first) { Poll::Pending } else { Poll::Ready(()) }
        },
    )
    .await;
}

type Task = (usize, BoxFuture<'static, ()>);

#[derive(Clone)]
pub(super) struct Tasks {
    process: usize,
    all: Arc<Mutex<Vec<Task>>>,
}

impl Spawn for Tasks {
    fn spawn(&self, task: BoxFuture<'static, ()>) {
        self.all.lock().unwrap().push((self.process, task));
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

/// The turn that makes the org.
pub(super) fn founding() -> Rows {
    Rows(sample::org(world_org(), testkit::START).into())
}

/// One history.
pub(super) struct World {
    /// The store with its clock, the dice, and the sealer of all processes.
    fixture: Fixture,
    clocks: Vec<Arc<ManualClock>>,
    tasks: Arc<Mutex<Vec<Task>>>,
    endings: Arc<Mutex<BTreeMap<String, Ending>>>,
    counts: Arc<Counts>,
    row: Arc<Row>,
    turn_lock: Arc<Row>,
    ledgers: Vec<Ledger>,
    too_soon: Arc<Mutex<Vec<String>>>,
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
        world.finish(async move { while first.enter(world_org(), founding()).await.is_err() {} });
        let mut ledgers: Vec<_> = (0..PROCESSES).map(|process| world.process(process)).collect();
        for number in 0..requests {
            let process = world.fixture.dice.roll(PROCESSES as u64) as usize;
            let label = format!("{seed}-{number}");
            let panics = world.fixture.dice.roll(60) == 0;
            world.counts.panics.fetch_add(u64::from(panics), Ordering::Relaxed);
            world.ask(process, &ledgers[process], Bump { label, limit, panics });
            for _ in 0..world.fixture.dice.roll(100) {
                world.step();
            }
            if world.fixture.dice.roll(12) == 0 {
                ledgers[process] = world.crash(process);
            }
        }
        while world.step() {}
        world
    }

    fn new(seed: u64) -> Self {
        let fixture = Fixture::new(seed);
        let skewed = || {
            let early = testkit::START.before(Duration::from_mins(5));
            let skew = Duration::from_millis(fixture.dice.roll(600_000));
            Arc::new(ManualClock::at(early + skew))
        };
        Self {
            clocks: (0..=PROCESSES).map(|_| skewed()).collect(),
            tasks: Arc::default(),
            endings: Arc::default(),
            counts: Arc::default(),
            row: Arc::default(),
            turn_lock: Arc::default(),
            ledgers: Vec::new(),
            too_soon: Arc::default(),
            crashes: 0,
            fixture,
        }
    }

    fn process(&mut self, process: usize) -> Ledger {
        let tasks = |process| Tasks { process, all: Arc::clone(&self.tasks) };
        let ledger = Ledger::new(Parts {
            store: Arc::new(Network {
                store: Arc::clone(&self.fixture.store),
                clock: Arc::clone(&self.fixture.clock),
                dice: Arc::clone(&self.fixture.dice),
                wire: tasks(usize::MAX),
                counts: Arc::clone(&self.counts),
                row: Arc::clone(&self.row),
                turn_lock: Arc::clone(&self.turn_lock),
                // The last of them is of a build that asks for no order.
                is_old: process + 1 == PROCESSES,
            }),
            clock: Arc::clone(&self.clocks[process]) as Arc<dyn Clock>,
            spawn: Arc::new(tasks(process)),
            ..self.fixture.parts()
        })
        .unwrap();
        self.ledgers.push(ledger.clone());
        ledger
    }

    fn ask(&self, process: usize, ledger: &Ledger, bump: Bump) {
        let label = bump.label.clone();
        let (ledger, endings) = (ledger.clone(), Arc::clone(&self.endings));
        // Until it is told otherwise, the one who asked knows nothing.
        endings.lock().unwrap().insert(label.clone(), Ending::Crashed);
        let (store, too_soon) = (Arc::clone(&self.fixture.store), Arc::clone(&self.too_soon));
        let client = async move {
            let ending = match ledger.enter(world_org(), bump).await {
                Ok(value) => Ending::Answered(value),
                Err(LedgerError::Unavailable | LedgerError::Busy) => Ending::Unavailable,
                Err(LedgerError::InDoubt | LedgerError::Withheld | LedgerError::Fault) => {
                    Ending::InDoubt
                }
            };
            let said = format!("\"{label}\"");
            let is_recorded =
                || store.deeds(world_org()).iter().any(|deed| deed.body.contains(&said));
            if matches!(ending, Ending::Answered(place) if place != REFUSED) && !is_recorded() {
                too_soon.lock().unwrap().push(label.clone());
            }
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
        let dice = &self.fixture.dice;
        for clock in self.clocks.iter().chain([&self.fixture.clock]) {
            let moves = dice.roll(8) == 0;
            clock.pass(Duration::from_millis(if moves { dice.roll(3) } else { 0 }));
        }
        self.step_a_clock();
        let (process, mut task) = {
            let mut tasks = self.tasks.lock().unwrap();
            if tasks.is_empty() {
                return false;
            }
            let next = dice.roll(tasks.len() as u64) as usize;
            tasks.swap_remove(next)
        };
        if task.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending() {
            self.tasks.lock().unwrap().push((process, task));
        }
        true
    }

    /// Now and then somebody sets the clock of one process by an hour or a year, there or back.
    fn step_a_clock(&self) {
        let dice = &self.fixture.dice;
        if dice.roll(40) == 0 {
            let span = *dice.pick(&[Duration::from_hours(1), Duration::from_hours(24 * 365)]);
            let (ahead, behind) = (self.now() + span, self.now().before(span));
            let clock = &self.clocks[dice.roll(PROCESSES as u64) as usize];
            clock.set(*dice.pick(&[ahead, behind]));
            self.counts.clock_steps.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// What the store's clock says.
    pub(super) fn now(&self) -> Timestamp {
        self.fixture.clock.now()
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
        self.fixture.store.deeds(world_org()).into_iter().map(seen).collect()
    }

    pub(super) fn prev_of(&self, place: usize) -> String {
        if let Some(before) = place.checked_sub(1) {
            return self.deeds()[before].digest.clone();
        }
        let body = self.fixture.bodies(world_org()).swap_remove(0);
        let log = body["log"].as_str().unwrap().parse().unwrap();
        deed::genesis_digest(&log).to_string()
    }

    pub(super) fn counter(&self) -> u64 {
        let budgets = [(COUNTER.to_owned(), Timestamp::EPOCH)].into();
        let needs = Needs { budgets, ..Needs::default() };
        let loaded = now(self.fixture.store.load(world_org(), &needs));
        loaded.budgets.first().map_or(0, |row| row.used.to_string().parse().unwrap())
    }

    pub(super) fn events(&self) -> Vec<u64> {
        let events = now(self.fixture.store.events_after(world_org(), 0, usize::MAX));
        events.iter().map(|event| event.seq).collect()
    }

    /// Those who were answered before what they were told was in the record.
    pub(super) fn too_soon(&self) -> Vec<String> {
        self.too_soon.lock().unwrap().clone()
    }

    pub(super) fn endings(&self) -> BTreeMap<String, Ending> {
        self.endings.lock().unwrap().clone()
    }

    pub(super) fn counts(&self) -> BTreeMap<&'static str, usize> {
        let ended = |wanted: fn(&Ending) -> bool| {
            self.endings.lock().unwrap().values().filter(|ending| wanted(ending)).count()
        };
        let figures = |count: fn(&Figures) -> u64| {
            self.ledgers.iter().map(|ledger| count(ledger.figures())).sum::<u64>() as usize
        };
        let mut counts = BTreeMap::from([
            ("answered", ended(|ending| matches!(ending, Ending::Answered(_)))),
            ("unavailable", ended(|ending| *ending == Ending::Unavailable)),
            ("crashed", self.crashes),
            ("ahead", figures(|figures| figures.ahead.load(Relaxed))),
            ("redrafted", figures(|figures| figures.redrafted.load(Relaxed))),
            ("in_order", figures(|figures| figures.in_order.load(Relaxed))),
        ]);
        counts.extend(self.counts.all());
        counts
    }
}

pub(super) fn world_org() -> OrgId {
    "org_01h455vb4pex5vsknk084sn02q".parse().unwrap()
}

/// What the store answers, which in memory never waits.
fn now<T>(work: impl Future<Output = Result<T, StoreDown>>) -> T {
    work.now_or_never().expect("the memory store does not wait").unwrap()
}

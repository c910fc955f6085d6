//! Single turns, watched from outside: where one ends, and what is decided on top of another.

use std::{
    sync::{
        Arc,
        atomic::{
            AtomicU32,
            Ordering::{self, Relaxed},
        },
    },
    time::Duration,
};

use deed::{Actor, AdminContent, Content, Draft, Path, Subject, commit};
use futures_util::future::{BoxFuture, join_all};
use ledger::{
    Changes, DeedEntry, Entry, Ledger, LedgerError, Needs, Parts, Request, Snapshot, Spawn,
};
use model::{DeedId, EventType, Mint, OrgId, Timestamp};
use serde_json::{Map, Value};
use store_memory::Doubt;
use testkit::{Fixture, ManualClock};

use crate::{
    fronted::Fronted,
    world::{Bump, founding, world_org},
};

/// Runs tasks on the runtime, and counts the work that is done apart from it.
#[derive(Default)]
struct Counting(AtomicU32);

impl Spawn for Counting {
    fn spawn(&self, task: BoxFuture<'static, ()>) {
        tokio::spawn(task);
    }

    fn compute(&self, work: Box<dyn FnOnce() + Send>) {
        self.0.fetch_add(1, Ordering::Relaxed);
        work();
    }
}

struct House {
    store: Arc<Fronted>,
    clock: Arc<ManualClock>,
    spawn: Arc<Counting>,
    ledger: Ledger,
}

impl House {
    async fn new() -> Self {
        let fixture = Fixture::new(1);
        let store = Fronted::new(fixture.store.clone(), 1);
        let spawn = Arc::new(Counting::default());
        let ledger = Ledger::new(Parts {
            store: Arc::clone(&store) as _,
            spawn: spawn.clone(),
            ..fixture.parts()
        })
        .unwrap();
        ledger.enter(world_org(), founding()).await.unwrap();
        store.deeds.lock().unwrap().clear();
        Self { store, clock: fixture.clock, spawn, ledger }
    }

    /// Lets so many turns be appended.
    fn open(&self, turns: usize) {
        self.store.open.add_permits(turns);
    }

    async fn bump(&self, label: &str) -> Result<u64, LedgerError> {
        let bump = Bump { label: label.to_owned(), limit: 1_000, panics: false };
        self.ledger.enter(world_org(), bump).await
    }

    /// Begins two requests, of which the second comes while the first is being committed.
    fn two(&self) -> [tokio::task::JoinHandle<Result<u64, LedgerError>>; 2] {
        ["first", "second"].map(|label| {
            let (ledger, label) = (self.ledger.clone(), label.to_owned());
            tokio::spawn(async move {
                if label == "second" {
                    settle().await;
                }
                let bump = Bump { label, limit: 1_000, panics: false };
                ledger.enter(world_org(), bump).await
            })
        })
    }

    fn turns(&self) -> Vec<usize> {
        self.store.deeds.lock().unwrap().clone()
    }
}

/// Lets every task go as far as it can.
async fn settle() {
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
}

/// A request with a deed of its own that takes its time, is large, or cannot be sealed.
#[derive(Clone)]
struct Odd {
    millis: u64,
    bytes: usize,
    sealable: bool,
    clock: Arc<ManualClock>,
}

impl Request for Odd {
    type Answer = ();

    fn needs(&self, _: &Snapshot) -> Needs {
        self.clock.pass(Duration::from_millis(self.millis));
        Needs::default()
    }

    fn decide(&self, snapshot: &Snapshot, mint: &Mint<'_>) -> (Entry, ()) {
        // A deed's body may have 16 KiB.
        let data = if self.sealable { Value::Null } else { "x".repeat(20_000).into() };
        let (reason, opened) = commit(mint, Path::REASON, &"x".repeat(self.bytes).into());
        let draft = Draft {
            id: mint.id(DeedId::from_uuid),
            livemode: true,
            actor: Actor::System(deed::Word::of("operator")),
            subject: Subject::org(snapshot.org_id()),
            content: Content::Admin(AdminContent {
                event: EventType::OrgUpdated.into(),
                before: None,
                after: None,
                reason: Some(reason),
                data: Map::from_iter([("label".to_owned(), data)]),
            }),
        };
        let deed = DeedEntry { draft, disclosures: vec![opened], agent: None, action: None };
        (Entry { deeds: vec![deed], changes: Changes::default(), ..Entry::default() }, ())
    }
}

async fn enter(house: &House, requests: impl IntoIterator<Item = Odd>) -> Vec<bool> {
    let entered = requests.into_iter().map(|odd| house.ledger.enter(world_org(), odd));
    join_all(entered).await.into_iter().map(|answer| answer.is_ok()).collect()
}

fn odd(house: &House) -> Odd {
    Odd { millis: 0, bytes: 1, sealable: true, clock: Arc::clone(&house.clock) }
}

#[tokio::test]
async fn a_turn_ends_when_its_requests_have_taken_their_time_and_the_rest_is_the_next() {
    let house = House::new().await;
    house.open(10);
    let slow = Odd { millis: 4, ..odd(&house) };
    assert_eq!(enter(&house, vec![slow; 10]).await, [true; 10]);
    assert_eq!(house.turns(), [3, 3, 3, 1]);
    // Who takes that long keeps no task of others waiting from then on.
    assert!(house.spawn.0.load(Ordering::Relaxed) > 0);
    let light = house.spawn.0.load(Ordering::Relaxed) + 2;
    assert_eq!(enter(&house, vec![odd(&house); 2]).await, [true; 2]);
    assert_eq!(enter(&house, vec![odd(&house); 2]).await, [true; 2]);
    assert!(house.spawn.0.load(Ordering::Relaxed) <= light, "light work stays where it is");
}

#[tokio::test]
async fn a_turn_ends_at_four_mebibytes() {
    let house = House::new().await;
    house.open(10);
    let large = Odd { bytes: 1 << 20, ..odd(&house) };
    assert_eq!(enter(&house, vec![large; 10]).await, [true; 10]);
    assert_eq!(house.turns(), [4, 4, 2]);
}

#[tokio::test]
async fn a_deed_that_cannot_be_sealed_fails_alone() {
    let house = House::new().await;
    house.open(10);
    let requests = (0..8).map(|number| Odd { sealable: number != 5, ..odd(&house) });
    let answers = enter(&house, requests).await;
    assert_eq!(answers, [true, true, true, true, true, false, true, true]);
}

#[tokio::test]
async fn everybody_is_answered_of_an_org_that_is_not_there() {
    let house = House::new().await;
    house.open(10);
    let nobody: OrgId = "org_01h455vb4pex5vsknk084sn02r".parse().unwrap();
    let bump = |label: &str| Bump { label: label.to_owned(), limit: 0, panics: false };
    let asked = ["one", "two", "three"].map(|label| house.ledger.enter(nobody, bump(label)));
    for answer in join_all(asked).await {
        assert_eq!(answer.unwrap(), 0);
    }
}

#[tokio::test]
async fn the_next_turn_is_drafted_while_one_is_committed_and_waits_for_it() {
    let house = House::new().await;
    let [first, second] = house.two();
    settle().await;
    settle().await;
    assert_eq!(house.ledger.figures().ahead.load(Relaxed), 1, "the second is drafted");
    assert!(!first.is_finished() && !second.is_finished(), "nobody is answered yet");
    house.open(1);
    assert_eq!(first.await.unwrap().unwrap(), 1);
    settle().await;
    assert!(!second.is_finished(), "the second is not committed");
    house.open(1);
    assert_eq!(second.await.unwrap().unwrap(), 2);
    assert_eq!(house.turns(), [1, 1]);
}

#[tokio::test]
async fn a_turn_that_was_drafted_on_a_lost_or_doubtful_one_is_drafted_anew() {
    for fault in [None, Some(Doubt::Dropped), Some(Doubt::Committed)] {
        let house = House::new().await;
        let [first, second] = house.two();
        settle().await;
        settle().await;
        assert_eq!(house.ledger.figures().ahead.load(Relaxed), 1);
        match fault {
            None => house.store.store.lose_next(1),
            Some(doubt) => house.store.store.doubt_next(doubt),
        }
        house.open(10);
        let (first, second) = (first.await.unwrap().unwrap(), second.await.unwrap().unwrap());
        assert_eq!((first, second), (1, 2), "{fault:?}");
        // A doubt that is settled as committed is a turn to build on.
        let redrafted = u64::from(fault != Some(Doubt::Committed));
        assert_eq!(house.ledger.figures().redrafted.load(Relaxed), redrafted, "{fault:?}");
        assert_eq!(house.store.store.deeds(world_org()).len(), 2);
    }
}

/// A bump that also wants to know of more rows than a process remembers.
struct Wide(Bump);

impl Request for Wide {
    type Answer = u64;

    fn needs(&self, snapshot: &Snapshot) -> Needs {
        let mut needs = self.0.needs(snapshot);
        needs.budgets.extend((0..=20_000).map(|key| (key.to_string(), Timestamp::EPOCH)));
        needs
    }

    fn decide(&self, snapshot: &Snapshot, mint: &Mint<'_>) -> (Entry, u64) {
        self.0.decide(snapshot, mint)
    }
}

#[tokio::test]
async fn what_a_turn_changes_is_not_read_again_before_it_is_committed() {
    let house = House::new().await;
    let first = {
        let ledger = house.ledger.clone();
        let bump = Bump { label: "first".to_owned(), limit: 1_000, panics: false };
        tokio::spawn(async move { ledger.enter(world_org(), Wide(bump)).await })
    };
    settle().await;
    let [second, _] = house.two();
    settle().await;
    assert_eq!(house.ledger.figures().ahead.load(Relaxed), 1);
    house.open(10);
    assert_eq!((first.await.unwrap().unwrap(), second.await.unwrap().unwrap()), (1, 2));
}

#[tokio::test]
async fn a_panic_beside_a_commit_leaves_the_commit_alone() {
    let house = House::new().await;
    let first = {
        let ledger = house.ledger.clone();
        let bump = Bump { label: "first".to_owned(), limit: 1_000, panics: false };
        tokio::spawn(async move { ledger.enter(world_org(), bump).await })
    };
    settle().await;
    let faulty = Bump { label: "faulty".to_owned(), limit: 1_000, panics: true };
    let doubt = house.ledger.enter(world_org(), faulty).await;
    assert!(matches!(doubt, Err(LedgerError::InDoubt)), "{doubt:?}");
    house.open(10);
    assert_eq!(first.await.unwrap().unwrap(), 1);
    assert_eq!(house.bump("after").await.unwrap(), 2);
}

#[tokio::test]
async fn an_org_that_others_keep_changing_is_busy_and_not_away() {
    let house = House::new().await;
    house.open(1_000);
    house.store.store.lose_next(u32::MAX);
    let impatient = Odd { millis: 300, ..odd(&house) };
    let answer = house.ledger.enter(world_org(), impatient).await;
    assert!(matches!(answer, Err(LedgerError::Busy)), "{answer:?}");
    house.store.store.lose_next(0);
    assert_eq!(house.bump("after").await.unwrap(), 1);
}

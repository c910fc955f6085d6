//! One fault, struck again and again at the points of a house's services while they work.

use std::{
    collections::{BTreeMap, VecDeque},
    hash::{DefaultHasher, Hash, Hasher},
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use rustix::process::Signal;
use serde_json::json;

use super::{
    hooks::{Hooks, Posted},
    load::{Line, Load},
    oracle,
    points::{Point, Way},
    watch::{Seen, Watch},
};
use crate::{
    clocks::STEPS,
    house::{Agent, Faketime, House, OwnPostgres, Plan, Request, Service, Site, Start, Wire, call},
    seal_keys::add_new_keys,
};

/// Longer than it takes ordinary work to come by a point.
const COMES_BY_WITHIN: Duration = Duration::from_secs(20);
/// Longer than it takes a lease to run out and a sweep to find that.
const TAKES_OVER_WITHIN: Duration = Duration::from_secs(40);
/// Another service may do what was waited for; then it is tried again so often.
const TRIES: usize = 4;
/// Longer than a lease.
const PAUSED_FOR: Duration = Duration::from_secs(17);
/// How often a fault that itself orphans nothing is struck at the points of recovery.
const RECOVERIES: usize = 3;
/// How many runs are orphaned at a time.
const ORPHANS: usize = 3;
/// How often a house's seal keys are exchanged: each time its key file grows.
const EXCHANGES: usize = 12;
const CLIENTS: usize = 5;
/// For how long a clock is off.
const STEPPED_FOR: Duration = Duration::from_secs(2);
/// Every payload of the org may go at once, so that retention has something to do.
const KEEP_NOTHING: &str =
    "update org set record = jsonb_set(record::jsonb, '{retention_days}', '0')::text";
/// An edge that does not report is given up soon; a run may take its time.
/// The claim of whoever posts runs out within a pause.
const SETTINGS: &str = "gate: { edge_result_timeout: 1s }\nwebhooks: { timeout: 1s }\n";

/// What strikes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The service is killed.
    Service,
    /// PostgreSQL is killed, both databases with it.
    Postgres,
    /// Every connection to both databases is cut.
    Connections,
    /// The service is paused until its leases have run out.
    Pause,
    /// What the service does at the point panics.
    Panic,
    /// The wall clock of the service steps, and some time later back.
    Clock,
}

impl Fault {
    /// Its word in keys.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Service => "kill",
            Self::Postgres => "postgres",
            Self::Connections => "cut",
            Self::Pause => "pause",
            Self::Panic => "panic",
            Self::Clock => "clock",
        }
    }

    /// What it is called in a table.
    pub(crate) fn heading(self) -> &'static str {
        match self {
            Self::Service => "service killed",
            Self::Postgres => "PostgreSQL killed",
            Self::Connections => "connections cut",
            Self::Pause => "service paused",
            Self::Panic => "panic",
            Self::Clock => "clock stepped",
        }
    }

    /// How often it is struck at a point, of so many rounds.
    fn rounds(self, point: &Point, rounds: usize) -> usize {
        match (self, point.way) {
            (Self::Postgres | Self::Connections | Self::Panic | Self::Clock, Way::Orphans) => {
                rounds.min(RECOVERIES)
            }
            (_, Way::Keys) => rounds.min(EXCHANGES),
            (_, _) => rounds,
        }
    }
}

/// What is to be done to a house.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Storm {
    /// What strikes.
    pub(crate) fault: Fault,
    /// How many services work on the house.
    pub(crate) services: usize,
    /// How many of them are struck at a time.
    pub(crate) struck: usize,
    /// Where.
    pub(crate) points: &'static [Point],
    /// How often at each point.
    pub(crate) rounds: usize,
}

/// What was done to a house, and what was found afterwards.
#[derive(Debug)]
pub(crate) struct Tally {
    pub(crate) fault: Fault,
    /// By point, how often it was struck there.
    pub(crate) struck: BTreeMap<&'static str, usize>,
    pub(crate) calls: usize,
    /// What was seen of the log from outside while it was struck.
    pub(crate) seen: Seen,
    /// What was posted to receivers, where there were some.
    pub(crate) posted: Posted,
    pub(crate) violations: Vec<String>,
}

/// A house under one fault.
pub(crate) struct Lane {
    storm: Storm,
    // Dropped before what it stands on.
    house: House,
    agent: Agent,
    wire: Option<Wire>,
    /// Where points lie on the way to receivers.
    hooks: Option<Hooks>,
    /// Steps the clocks of those that are struck.
    faketime: Option<Faketime>,
    postgres: Mutex<Option<OwnPostgres>>,
    queue: Mutex<VecDeque<(&'static Point, usize)>>,
    /// What is struck when one service is left: whoever sweeps first takes every orphan over.
    alone: Vec<&'static Point>,
    struck: Mutex<BTreeMap<&'static str, usize>>,
    /// Where each service is.
    lines: Vec<Line>,
    /// How many services are still to be struck.
    striking: AtomicUsize,
}

/// The items in an order that the seed alone decides.
fn in_order_of<T>(seed: impl Hash, items: impl Iterator<Item = T>) -> Vec<T> {
    let place = |number: usize| {
        let mut hasher = DefaultHasher::new();
        (&seed, number).hash(&mut hasher);
        hasher.finish()
    };
    let mut items: Vec<_> = items.enumerate().collect();
    items.sort_by_key(|(number, _)| place(*number));
    items.into_iter().map(|(_, item)| item).collect()
}

/// Does what the storm says of the house and returns what came of it.
pub(crate) async fn strike(mut lane: Lane) -> Tally {
    let (storm, hooks) = (lane.storm, lane.hooks.take());
    let lane = Arc::new(lane);
    let watch = Watch::start(&lane.house, &lane.lines).await;
    let slots = (0..storm.services).map(|slot| tokio::spawn(Arc::clone(&lane).slot(slot)));
    for slot in slots.collect::<Vec<_>>() {
        slot.await.unwrap();
    }
    lane.strike_alone().await;
    let service = lane.house.serve().await;
    let evidence = oracle::read(&lane.house.folder().join("oracle"));
    let mut violations = evidence.violations(&lane.house, &service.anonymous()).await;
    let (seen, found) = watch.end(&lane.house, &service).await;
    violations.extend(found);
    let mut posted = Posted::default();
    if let Some(hooks) = hooks {
        let (arrived, found) = hooks.end(&lane.house).await;
        posted = arrived;
        violations.extend(found);
    }
    let struck = lane.struck.lock().unwrap().clone();
    Tally { fault: storm.fault, struck, calls: evidence.calls(), seen, posted, violations }
}

impl Lane {
    /// A house for the storm, whose points are struck in the order of this seed; nothing where the run has not what it needs.
    pub(crate) async fn new(storm: Storm, seed: u64) -> Option<Self> {
        let Storm { fault, services, struck, points, rounds } = storm;
        let common = Site::common().await?;
        let own = match fault {
            Fault::Postgres => Some(OwnPostgres::new()?),
            _ => None,
        };
        let wire = match fault {
            Fault::Connections => Some(Wire::before(&common.cluster).await),
            _ => None,
        };
        let site = match (&own, &wire) {
            (Some(own), _) => Site::prepare(own.cluster.clone()).await,
            (None, Some(wire)) => common.reached_at(wire.cluster.clone()),
            (None, None) => common.clone(),
        };
        let house =
            House::build(Plan { control: &site, governed: &site, settings: SETTINGS }).await;
        let faketime = match fault {
            Fault::Clock => Some(Faketime::of(house.folder())?),
            _ => None,
        };
        house.activate("roomy", &crate::house::POLICY.replace("count: 20", "count: 1000000")).await;
        if points.iter().any(|point| point.way == Way::Start) {
            house.control.run(KEEP_NOTHING).await;
        }
        let agent = house.agent("stormy").await;
        let hooks = if points.iter().any(|point| point.way == Way::Posts) {
            Some(Hooks::start(&house, &house.serve().await).await)
        } else {
            None
        };
        let due = |round| points.iter().filter(move |point| round < fault.rounds(point, rounds));
        let struck_at = in_order_of((seed, fault.word()), (0..rounds).flat_map(due));
        let (alone, shared): (Vec<_>, Vec<_>) =
            struck_at.into_iter().partition(|point| point.way == Way::Orphans);
        let queue = shared.into_iter().map(|point| (point, TRIES)).collect();
        let (queue, postgres) = (Mutex::new(queue), Mutex::new(own));
        // Each has a line of its own: a clone of a line is the same line.
        let lines = (0..services).map(|_| Line::default()).collect();
        let striking = AtomicUsize::new(struck);
        let struck = Mutex::default();
        Some(Self {
            storm,
            house,
            agent,
            wire,
            hooks,
            faketime,
            postgres,
            queue,
            alone,
            struck,
            lines,
            striking,
        })
    }

    /// Keeps one service at work, and strikes it if it is one of those, until the queue is empty.
    async fn slot(self: Arc<Self>, slot: usize) {
        let name = format!("{}{slot}", self.storm.fault.word());
        let mut lines = self.lines.clone();
        lines.rotate_left(slot);
        if self.storm.fault == Fault::Pause {
            // Who is paused answers nobody, for long.
            lines.truncate(1);
        }
        let load = Load::start(&self.house, &name, CLIENTS, &lines);
        let line = &lines[0];
        let mut service = self.start(line, self.holdable()).await;
        if slot < self.storm.struck {
            self.strike_all(line, &mut service).await;
            self.striking.fetch_sub(1, Ordering::SeqCst);
        }
        while self.striking.load(Ordering::SeqCst) > 0 {
            assert!(service.runs(), "it ended by itself: {}", service.log());
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        line.label("calm");
        load.end().await;
    }

    /// Strikes one service after the other in one place until the queue is empty.
    async fn strike_all(&self, line: &Line, service: &mut Service) {
        loop {
            let next = self.queue.lock().unwrap().pop_front();
            let Some((point, tries)) = next else { return };
            line.label(&format!("{}|{}", point.name, self.storm.fault.word()));
            if self.at(point, line, service).await {
                self.was_struck(point);
            } else if tries > 1 {
                self.queue.lock().unwrap().push_back((point, tries - 1));
            }
            if !service.runs() {
                *service = self.start(line, self.holdable()).await;
            }
        }
    }

    /// Strikes one service, with no other beside it, where orphaned runs are taken over.
    async fn strike_alone(&self) {
        let line = &self.lines[0];
        let Some(first) = self.alone.first() else { return };
        line.label(&format!("{}|{}", first.name, self.storm.fault.word()));
        let mut service = self.start(line, self.holdable()).await;
        let name = format!("{}-alone", self.storm.fault.word());
        let load = Load::start(&self.house, &name, CLIENTS, &self.lines[..1]);
        for point in &self.alone {
            line.label(&format!("{}|{}", point.name, self.storm.fault.word()));
            if self.at(point, line, &mut service).await {
                self.was_struck(point);
            }
            if !service.runs() {
                service = self.start(line, self.holdable()).await;
            }
        }
        line.label("calm");
        load.end().await;
    }

    fn was_struck(&self, point: &Point) {
        *self.struck.lock().unwrap().entry(point.name).or_default() += 1;
    }

    /// How services are started that can be struck.
    fn holdable(&self) -> Start<'_> {
        self.faketime.as_ref().map_or(Start::Holdable, Start::HoldableStepped)
    }

    async fn start(&self, line: &Line, start: Start<'_>) -> Service {
        let service = self.house.start(start).await;
        line.serves(service.caller(&self.agent.key));
        service
    }

    /// Strikes the service when it comes by the point; false if it did not come.
    async fn at(&self, point: &Point, line: &Line, service: &mut Service) -> bool {
        assert!(service.runs(), "it ended by itself: {}", service.log());
        let mut within = COMES_BY_WITHIN;
        match point.way {
            Way::Calls | Way::Posts => service.arm(point.name),
            Way::Orphans => {
                service.arm(point.name);
                self.orphan_some().await;
                within = TAKES_OVER_WITHIN;
            }
            Way::Stop => {
                service.arm(point.name);
                service.signal(Signal::TERM);
            }
            Way::Start => {
                service.kill();
                *service = self.start(line, Start::Held(point.name)).await;
            }
            Way::Keys => {
                service.arm(point.name);
                add_new_keys(&self.house).await;
            }
        }
        let came = service.is_held(point.name, within).await;
        if came {
            self.hit(point, service).await;
        }
        if point.way == Way::Stop && service.runs() {
            service.ended(Duration::from_mins(1)).await;
        }
        came
    }

    async fn hit(&self, point: &Point, service: &mut Service) {
        match self.storm.fault {
            Fault::Service => service.kill(),
            Fault::Postgres => {
                let with = |act: fn(&mut OwnPostgres)| {
                    tokio::task::block_in_place(|| self.postgres.lock().unwrap().as_mut().map(act));
                };
                with(OwnPostgres::kill);
                service.release(point.name);
                with(OwnPostgres::start);
            }
            Fault::Connections => {
                self.wire.iter().for_each(Wire::cut);
                service.release(point.name);
            }
            Fault::Pause => {
                service.signal(Signal::STOP);
                service.release(point.name);
                // Who is paused alone meets, on waking, somebody who took its work over.
                let _other = match point.way {
                    Way::Orphans => Some(self.house.serve().await),
                    _ => None,
                };
                tokio::time::sleep(PAUSED_FOR).await;
                service.signal(Signal::CONT);
            }
            Fault::Panic => service.panics(point.name),
            Fault::Clock => {
                let step = |offset| self.faketime.iter().for_each(|clock| clock.step(offset));
                let struck = self.struck.lock().unwrap().values().sum::<usize>();
                step(STEPS[struck % STEPS.len()]);
                service.release(point.name);
                tokio::time::sleep(STEPPED_FOR).await;
                step("+0s");
            }
        }
    }

    /// Leaves runs behind whose instance is gone.
    async fn orphan_some(&self) {
        let mut doomed = self.house.serve().await;
        let caller = doomed.caller(&self.agent.key);
        for _ in 0..ORPHANS {
            let mark = crate::house::name();
            let mut body = call("lab.slow-note", json!({ "mark": mark, "milliseconds": 3000 }));
            body["wait"] = json!(0);
            // It need not be answered: it is enough that it may have begun.
            let _ = caller.try_send(Request::post("/v1/actions", &body).keyed(&mark)).await;
        }
        doomed.kill();
    }
}

//! One fault, struck again and again at every point of a house's services while they work.

use std::{
    collections::{BTreeMap, VecDeque},
    sync::{Arc, Mutex},
    time::Duration,
};

use rustix::process::Signal;
use serde_json::json;

use super::{
    load::Load,
    oracle,
    points::{POINTS, Point, Way},
};
use crate::house::{Agent, House, OwnPostgres, Plan, Request, Service, Site, Start, Wire, call};

/// Longer than it takes ordinary work or a lease's end to come by a point.
const COMES_BY_WITHIN: Duration = Duration::from_secs(20);
/// Another service may do what was waited for; then it is tried again so often.
const TRIES: usize = 4;
/// Longer than a lease.
const PAUSED_FOR: Duration = Duration::from_secs(17);
/// How often a fault that itself orphans nothing is struck at the points of recovery.
const RECOVERIES: usize = 3;
const CLIENTS: usize = 5;
/// An edge that does not report is given up soon; a run may take its time.
const SETTINGS: &str = "gate: { edge_result_timeout: 1s }\n";

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
}

impl Fault {
    /// Returns its word in keys.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Service => "kill",
            Self::Postgres => "postgres",
            Self::Connections => "cut",
            Self::Pause => "pause",
        }
    }

    /// Returns how many services of one house it strikes at a time. What strikes a database
    /// strikes every service.
    fn services(self) -> usize {
        match self {
            Self::Service => 2,
            Self::Postgres | Self::Connections => 1,
            Self::Pause => 8,
        }
    }

    /// Returns how often it is struck at a point, of so many rounds.
    fn rounds(self, point: &Point, rounds: usize) -> usize {
        match (self, point.way) {
            (Self::Postgres | Self::Connections, Way::Orphans) => rounds.min(RECOVERIES),
            (_, _) => rounds,
        }
    }
}

/// What was done to a house, and what was found afterwards.
#[derive(Debug)]
pub(crate) struct Tally {
    pub(crate) fault: Fault,
    /// By point, how often it was struck there.
    pub(crate) struck: BTreeMap<&'static str, usize>,
    pub(crate) calls: usize,
    pub(crate) violations: Vec<String>,
}

/// A house under one fault.
struct Lane {
    fault: Fault,
    // Dropped before what it stands on.
    house: House,
    agent: Agent,
    wire: Option<Wire>,
    postgres: Mutex<Option<OwnPostgres>>,
    queue: Mutex<VecDeque<(&'static Point, usize)>>,
    struck: Mutex<BTreeMap<&'static str, usize>>,
}

/// Strikes so many rounds and returns what came of it; nothing where the run has not what it needs.
pub(crate) async fn strike(fault: Fault, rounds: usize) -> Option<Tally> {
    let lane = Arc::new(Lane::new(fault, rounds).await?);
    let slots = (0..fault.services()).map(|slot| tokio::spawn(Arc::clone(&lane).slot(slot)));
    for slot in slots.collect::<Vec<_>>() {
        slot.await.unwrap();
    }
    let service = lane.house.serve().await;
    let evidence = oracle::read(&lane.house.folder().join("oracle"));
    let violations = evidence.violations(&lane.house, &service.anonymous()).await;
    let struck = lane.struck.lock().unwrap().clone();
    Some(Tally { fault, struck, calls: evidence.calls(), violations })
}

impl Lane {
    async fn new(fault: Fault, rounds: usize) -> Option<Self> {
        let common = Site::common().await?;
        let own = match fault {
            Fault::Postgres => Some(OwnPostgres::new()?),
            Fault::Service | Fault::Connections | Fault::Pause => None,
        };
        let wire = match fault {
            Fault::Connections => Some(Wire::before(&common.cluster).await),
            Fault::Service | Fault::Postgres | Fault::Pause => None,
        };
        let site = match (&own, &wire) {
            (Some(own), _) => Site::prepare(own.cluster.clone()).await,
            (None, Some(wire)) => Site { cluster: wire.cluster.clone() },
            (None, None) => Site { cluster: common.cluster.clone() },
        };
        let house =
            House::build(Plan { control: &site, governed: &site, settings: SETTINGS }).await;
        house.activate("roomy", &crate::house::POLICY.replace("count: 20", "count: 1000000")).await;
        let agent = house.agent("stormy").await;
        let mut queue = VecDeque::new();
        for round in 0..rounds {
            let due = POINTS.iter().filter(|point| round < fault.rounds(point, rounds));
            queue.extend(due.map(|point| (point, TRIES)));
        }
        let (queue, struck) = (Mutex::new(queue), Mutex::default());
        Some(Self { fault, house, agent, wire, postgres: Mutex::new(own), queue, struck })
    }

    /// Strikes one service after the other until the queue is empty.
    async fn slot(self: Arc<Self>, slot: usize) {
        let name = format!("{}{slot}", self.fault.word());
        let load = Load::start(&self.house, &name, CLIENTS);
        let mut service = self.start(&load).await;
        loop {
            let next = self.queue.lock().unwrap().pop_front();
            let Some((point, tries)) = next else { break };
            load.label(&format!("{}|{}", point.name, self.fault.word()));
            if self.fault.services() == 1 && point.way == Way::Orphans {
                self.orphan_some().await;
            }
            assert!(service.runs(), "it ended by itself: {}", service.log());
            if self.at(point, &mut service).await {
                *self.struck.lock().unwrap().entry(point.name).or_default() += 1;
            } else if tries > 1 {
                self.queue.lock().unwrap().push_back((point, tries - 1));
            }
            if !service.runs() {
                service = self.start(&load).await;
            }
        }
        load.label("calm");
        load.end().await;
    }

    async fn start(&self, load: &Load) -> Service {
        let service = self.house.start(Start::Holdable).await;
        load.serves(service.caller(&self.agent.key));
        service
    }

    /// Strikes the service when it comes by the point; false if it did not come.
    async fn at(&self, point: &Point, service: &mut Service) -> bool {
        service.arm(point.name);
        if point.way == Way::Stop {
            service.signal(Signal::TERM);
        }
        let came = service.is_held(point.name, COMES_BY_WITHIN).await;
        if came {
            self.hit(point, service).await;
        }
        if point.way == Way::Stop && service.runs() {
            service.ended(Duration::from_mins(1)).await;
        }
        came
    }

    async fn hit(&self, point: &Point, service: &mut Service) {
        match self.fault {
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
                tokio::time::sleep(PAUSED_FOR).await;
                service.signal(Signal::CONT);
            }
        }
    }

    /// Leaves runs behind whose instance is gone, and waits until their leases have run out.
    async fn orphan_some(&self) {
        let mut doomed = self.house.serve().await;
        let caller = doomed.caller(&self.agent.key);
        for _ in 0..3 {
            let mark = crate::house::name();
            let mut body = call("lab.slow-note", json!({ "mark": mark, "milliseconds": 3000 }));
            body["wait"] = json!(0);
            // It need not be answered: it is enough that it may have begun.
            let _ = caller.try_send(Request::post("/v1/actions", &body).keyed(&mark)).await;
        }
        doomed.kill();
        tokio::time::sleep(Duration::from_secs(15)).await;
    }
}

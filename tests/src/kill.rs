//! The points at which a service is killed, what it is doing there, and how its action must end. What
//! was sent, answered and found afterwards is held together by [`Evidence`].

mod client;
mod evidence;
mod scene;

use std::time::Duration;

pub use client::{Load, Running};
pub use evidence::Evidence;
pub use scene::{End, Scene};

use crate::house::{Agent, House, Site, Start, binaries, number};

/// A point at which the service dies, what it was doing, and how its action must end.
#[derive(Debug)]
pub struct Cell {
    /// The failpoint as it is armed.
    pub point: &'static str,
    /// What the service is doing.
    pub scene: Scene,
    /// How the action must end.
    pub end: End,
}

/// Every named point, what the service does there, and how its action must end.
#[rustfmt::skip]
pub const CELLS: &[Cell] = &[
    // Nothing was recorded yet: the client's next try is the first.
    Cell { point: "gate.parsed=kill",             scene: Scene::Write,  end: End::Retried },
    Cell { point: "turn.signed=kill",             scene: Scene::Write,  end: End::Retried },
    Cell { point: "append.unsent=kill",           scene: Scene::Write,  end: End::Retried },
    // It was recorded that it begins, and it did not.
    Cell { point: "append.unanswered=kill",       scene: Scene::Write,  end: End::Failed },
    Cell { point: "gate.permitted=kill",          scene: Scene::Write,  end: End::Failed },
    Cell { point: "connector.before_commit=kill", scene: Scene::Write,  end: End::Failed },
    // It ran, and that was not recorded.
    Cell { point: "connector.committed=kill",     scene: Scene::Write,  end: End::Settled },
    Cell { point: "gate.answered=kill",           scene: Scene::Write,  end: End::Settled },
    Cell { point: "gate.witnessed=kill",          scene: Scene::Write,  end: End::Settled },
    Cell { point: "turn.signed=2*kill",           scene: Scene::Write,  end: End::Settled },
    Cell { point: "append.unsent=2*kill",         scene: Scene::Write,  end: End::Settled },
    // It was sealed, and nobody was told.
    Cell { point: "append.unanswered=2*kill",     scene: Scene::Write,  end: End::Sealed },
    Cell { point: "gate.sealed=kill",             scene: Scene::Write,  end: End::Sealed },
    // An edge's call: authorised unheard, and its report before, in and behind the record.
    Cell { point: "append.unanswered=kill",       scene: Scene::Edge,   end: End::Sealed },
    Cell { point: "edge.report_parsed=kill",      scene: Scene::Edge,   end: End::Sealed },
    Cell { point: "append.unsent=2*kill",         scene: Scene::Edge,   end: End::Sealed },
    Cell { point: "append.unanswered=2*kill",     scene: Scene::Edge,   end: End::Sealed },
    // The deadline of a report passes, and the sweep that ends it dies.
    Cell { point: "edge.report_overdue=kill",     scene: Scene::Lapse,  end: End::Lost },
    Cell { point: "append.unsent=2*kill",         scene: Scene::Lapse,  end: End::Lost },
];

/// Whether the run has a PostgreSQL and a service that dies where it is told to.
pub async fn can_crash() -> bool {
    if Site::common().await.is_none() {
        return false;
    }
    let can = binaries().is_some_and(|binaries| binaries.failpoints.is_some());
    if !can {
        eprintln!("left out: crashes need `CHANCERY_FAILPOINT_BIN`; `cargo xtask test` sets it");
    }
    can
}

/// How often each point is played.
pub fn rounds() -> u32 {
    u32::try_from(number("CHANCERY_CRASH_ROUNDS", 1)).unwrap()
}

/// Lets the service of this house die at the point while the agent calls.
pub async fn die(cell: &Cell, house: &House, agent: &Agent, evidence: &mut Evidence, mark: &str) {
    let Cell { point, scene, .. } = cell;
    let mut service = house.start(Start::Armed(point)).await;
    scene.play(&service.caller(&agent.key), mark, evidence).await;
    let ended = service.ended(Duration::from_secs(20)).await;
    assert!(!ended.success(), "{point}: nothing was armed");
}

/// Starts the service again and does what a client does that got no response. Returns once the action is
/// sealed as it must be.
pub async fn recover(
    cell: &Cell,
    house: &House,
    agent: &Agent,
    evidence: &mut Evidence,
    mark: &str,
) {
    let Cell { point, scene, end } = cell;
    let service = house.serve().await;
    let seen = scene.play_again(&service.caller(&agent.key), mark, evidence).await;
    assert_eq!(End::of(&seen), *end, "{point} {scene:?}: {seen}");
}

//! The service killed at every named point, at any moment under load, and its PostgreSQL with it:
//! afterwards three records are joined, what the clients saw, what the governed database holds and
//! what the control database says, and they must agree.
//!
//! `CHANCERY_CRASH_ROUNDS` says how often each point is played; once without it.

mod answers;
mod client;
mod evidence;
mod scene;

use std::{env, time::Duration};

use crate::house::{House, OwnPostgres, Plan, Site, Start, binaries};
use client::Load;
pub(crate) use evidence::Evidence;
use scene::{End, Scene};

/// A point at which the service dies, what it was doing, and how its action must end.
struct Cell {
    point: &'static str,
    scene: Scene,
    end: End,
}

#[rustfmt::skip]
const CELLS: &[Cell] = &[
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

#[tokio::test]
async fn crash_at_every_named_point_loses_nothing_and_repeats_nothing() {
    if !can_crash().await {
        return;
    }
    let rounds = rounds();
    // Leases run out for all of them at the same time.
    let played: Vec<_> = CELLS.iter().map(|cell| tokio::spawn(play(cell, rounds))).collect();
    for cell in played {
        cell.await.unwrap();
    }
}

/// Whether the run has a PostgreSQL and a service that dies where it is told to.
async fn can_crash() -> bool {
    if Site::common().await.is_none() {
        return false;
    }
    let can = binaries().is_some_and(|binaries| binaries.failpoints.is_some());
    if !can {
        eprintln!("left out: crashes need `CHANCERY_FAILPOINT_BIN`; `cargo xtask test` sets it");
    }
    can
}

fn rounds() -> u32 {
    env::var("CHANCERY_CRASH_ROUNDS").map_or(1, |rounds| rounds.parse().unwrap())
}

async fn play(cell: &'static Cell, rounds: u32) {
    let Cell { point, scene, end } = cell;
    let house = House::new(scene.settings()).await.unwrap();
    let agent = house.agent("crasher").await;
    let mut evidence = Evidence::default();
    for round in 0..rounds {
        let mark = format!("{point} {round}");
        let mut service = house.start(Start::Armed(point)).await;
        scene.play(&service.caller(&agent.key), &mark, &mut evidence).await;
        let ended = service.ended(Duration::from_secs(20)).await;
        assert!(!ended.success(), "{point}: nothing was armed");
        let service = house.serve().await;
        let caller = service.caller(&agent.key);
        let seen = scene.play_again(&caller, &mark, &mut evidence).await;
        assert_eq!(End::of(&seen), *end, "{point} {scene:?}: {seen}");
    }
    let service = house.serve().await;
    let found = evidence.violations(&house, &service.caller(&agent.key)).await;
    println!("{:32} {:8} {rounds} x {end:?}: {} violations", point, scene.word(), found.len());
    assert!(found.is_empty(), "{point} {scene:?}: {found:#?}");
}

#[tokio::test]
async fn crash_at_any_moment_under_load_loses_nothing_and_repeats_nothing() {
    let Some(house) = House::new("").await else { return };
    let agent = house.agent("crasher").await;
    let mut load = Load::default();
    for kill in 0..3 * rounds() {
        let mut service = house.serve().await;
        let running = load.start(&service.caller(&agent.key));
        tokio::time::sleep(Duration::from_millis(400 + 170 * u64::from(kill % 7))).await;
        service.kill();
        running.end(&mut load).await;
    }
    let service = house.serve().await;
    let caller = service.caller(&agent.key);
    let evidence = load.settle(&caller).await;
    let found = evidence.violations(&house, &caller).await;
    println!("killed under load: {} calls, {} violations", evidence.calls(), found.len());
    assert!(found.is_empty(), "{found:#?}");
}

#[tokio::test]
async fn crash_of_postgresql_under_load_loses_nothing_and_repeats_nothing() {
    let (Some(_), Some(mut postgres)) = (Site::common().await, OwnPostgres::new()) else { return };
    let site = Site::prepare(postgres.cluster.clone()).await;
    let plan = Plan { control: &site, governed: &site, settings: "" };
    let house = House::build(plan).await;
    let agent = house.agent("crasher").await;
    let service = house.serve().await;
    let caller = service.caller(&agent.key);
    let mut load = Load::default();
    for _ in 0..2 * rounds() {
        let running = load.start(&caller);
        tokio::time::sleep(Duration::from_millis(700)).await;
        postgres.kill();
        tokio::time::sleep(Duration::from_millis(200)).await;
        postgres.start();
        running.end(&mut load).await;
    }
    let evidence = load.settle(&caller).await;
    let found = evidence.violations(&house, &caller).await;
    println!("PostgreSQL killed: {} calls, {} violations", evidence.calls(), found.len());
    assert!(found.is_empty(), "{found:#?}");
}

#[tokio::test]
async fn the_check_of_a_crash_finds_what_does_not_agree() {
    let Some(house) = House::new("").await else { return };
    let agent = house.agent("honest").await;
    let service = house.serve().await;
    let caller = service.caller(&agent.key);
    let mut evidence = Evidence::default();
    for mark in ["kept", "twice", "gone"] {
        Scene::Write.play(&caller, mark, &mut evidence).await;
    }
    assert_eq!(evidence.violations(&house, &caller).await, Vec::<String>::new());
    let tampered = "insert into lab_notes (mark) values ('twice'), ('unheard of');
                    delete from lab_notes where mark = 'gone';
                    update service.ledger set action_id = 'act_00000000000000000000000000'
                    where action_id = (select min(action_id) from service.ledger)";
    house.governed.run(tampered).await;
    house.control.run("update policy_active set digest = sha256('another')").await;
    evidence.note("kept", Some(serde_json::json!({ "id": "act_other", "deed": "deed_other" })));
    let found = evidence.violations(&house, &caller).await.join("\n");
    for violation in [
        "`twice` ran 2 times",
        "`unheard of` ran without a record",
        "the record breaks \"policy\"",
        "`gone` is (\"executed\", Some(\"succeeded\")) and left 0 rows",
        "`act` of 00000000-0000-0000-0000-000000000000 has no record",
        "`kept` was answered with several actions",
        "`kept`: the acknowledged deed_other is lost",
    ] {
        assert!(found.contains(violation), "not found: {violation}\n{found}");
    }
}

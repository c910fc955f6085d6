//! The service killed at every named point, at any moment under load, and its PostgreSQL with it:
//! afterwards three records are joined, what the clients saw, what the governed database holds and
//! what the control database says, and they must agree.
//!
//! `CHANCERY_CRASH_ROUNDS` says how often each point is played; once without it.

mod answers;
mod witnessing;

use std::{sync::Arc, time::Duration};

use tokio::sync::Semaphore;

use crate::{
    house::{House, OwnPostgres, Plan, Site},
    kill::{CELLS, Cell, Evidence, Load, can_crash, die, recover, rounds},
};

/// So many cells are played at once.
const AT_ONCE: usize = 10;

#[tokio::test]
async fn crash_at_every_named_point_loses_nothing_and_repeats_nothing() {
    if !can_crash().await {
        return;
    }
    let rounds = rounds();
    // Leases run out for many of them at the same time; more services than these starve one another.
    let places = Arc::new(Semaphore::new(AT_ONCE));
    let played = CELLS.iter().map(|cell| {
        let places = Arc::clone(&places);
        tokio::spawn(async move {
            let _place = places.acquire().await.unwrap();
            play(cell, rounds).await;
        })
    });
    let played: Vec<_> = played.collect();
    for cell in played {
        cell.await.unwrap();
    }
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

async fn play(cell: &'static Cell, rounds: u32) {
    let Cell { point, scene, end } = cell;
    let house = House::new(scene.settings()).await.unwrap();
    let agent = house.agent("crasher").await;
    let mut evidence = Evidence::default();
    for round in 0..rounds {
        let mark = format!("{point} {round}");
        die(cell, &house, &agent, &mut evidence, &mark).await;
        recover(cell, &house, &agent, &mut evidence, &mark).await;
    }
    let service = house.serve().await;
    let found = evidence.violations(&house, &service.caller(&agent.key)).await;
    println!("{:32} {:8} {rounds} x {end:?}: {} violations", point, scene.word(), found.len());
    assert!(found.is_empty(), "{point} {scene:?}: {found:#?}");
}

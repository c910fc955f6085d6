//! A ledger beside its log: whatever is in one of them alone is told.

use std::collections::BTreeSet;

use model::Lsn;

use super::world::{World, action, drain, of, row};
use crate::{Misfits, Reconciler};

const NOTHING: Option<Misfits> = Some(Misfits { without_frame: 0, without_row: 0 });

/// What a look comes to once the log was read.
async fn looked(world: &World, reconciler: &mut Reconciler) -> Option<Misfits> {
    reconciler.look(&*world.database).await.unwrap();
    judged(world, reconciler).await
}

async fn judged(world: &World, reconciler: &mut Reconciler) -> Option<Misfits> {
    let following = world.memory.rows().following.clone().unwrap();
    let asked = (&*world.database as _, &*world.memory as _);
    reconciler.judge(asked, &following).await.unwrap()
}

#[tokio::test]
async fn a_row_that_no_transaction_brought_is_told_once() {
    let world = World::new();
    let mut follower = world.followed().await;
    world.commit(1);
    world.database.log().ledger = vec![row(1), row(31)];
    drain(&mut follower).await.unwrap();
    let mut reconciler = Reconciler::new(of());
    // What is there at the first look was there before.
    assert_eq!(looked(&world, &mut reconciler).await, NOTHING);
    world.database.log().ledger.extend([row(32), row(33)]);
    let told = Some(Misfits { without_frame: 2, without_row: 0 });
    assert_eq!(looked(&world, &mut reconciler).await, told);
    assert_eq!(looked(&world, &mut reconciler).await, NOTHING);
}

#[tokio::test]
async fn a_row_whose_transaction_was_not_read_yet_is_judged_once_it_was() {
    let world = World::new();
    let mut follower = world.followed().await;
    let mut reconciler = Reconciler::new(of());
    assert_eq!(looked(&world, &mut reconciler).await, NOTHING);
    world.commit(1);
    world.database.log().ledger = vec![row(1)];
    assert_eq!(looked(&world, &mut reconciler).await, None);
    drain(&mut follower).await.unwrap();
    assert_eq!(judged(&world, &mut reconciler).await, NOTHING);
    assert_eq!(judged(&world, &mut reconciler).await, None);
}

#[tokio::test]
async fn rows_of_others_and_of_before_the_epoch_are_nobodys_here() {
    let world = World::new();
    let _follower = world.followed().await;
    let mut reconciler = Reconciler::new(of());
    assert_eq!(looked(&world, &mut reconciler).await, NOTHING);
    let (mut others, mut early) = (row(31), row(32));
    others.org = "org_01h2xcejqtf2nbrexx3vqjhp49".to_owned();
    early.xid = 0;
    world.database.log().ledger = vec![others, early];
    assert_eq!(looked(&world, &mut reconciler).await, NOTHING);
}

#[tokio::test]
async fn a_transaction_whose_row_was_taken_away_is_told_at_the_second_look() {
    let world = World::new();
    let mut follower = world.followed().await;
    let mut reconciler = Reconciler::new(of());
    assert_eq!(looked(&world, &mut reconciler).await, NOTHING);
    world.commit(1);
    drain(&mut follower).await.unwrap();
    let (ended, ids) = (Lsn(0), BTreeSet::from([action(1)]));
    assert!(world.memory.rows().frames[0].frame.source.end_lsn > ended);
    assert_eq!(world.memory.rows().frames[0].claimed.into_iter().collect::<BTreeSet<_>>(), ids);
    assert_eq!(looked(&world, &mut reconciler).await, NOTHING);
    let told = Some(Misfits { without_frame: 0, without_row: 1 });
    assert_eq!(looked(&world, &mut reconciler).await, told);
    assert_eq!(looked(&world, &mut reconciler).await, NOTHING);
}

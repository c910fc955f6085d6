//! What is told of a run: its transaction, that there is none, or why nobody can say.

use model::{
    Clock as _, Datum, Digest, LogAnswer, LogGap, LogTrace, Lsn, OldRows, RowOp, TableName,
    Timestamp,
};

use super::world::{NEXT_XID, World, action, drain, images, of, system};

fn trace(xid: u64, until: Option<Lsn>) -> LogTrace {
    LogTrace { system: system(), xid: xid.to_string(), until }
}

#[tokio::test]
async fn a_run_is_told_by_its_transaction_without_what_the_service_wrote() {
    let world = World::new();
    let mut follower = world.followed().await;
    world.commit(1);
    drain(&mut follower).await.unwrap();
    let LogAnswer::Committed(frame) = world.told(action(1), None).await else { panic!() };
    let items = TableName::new("public", "items");
    assert_eq!(frame.tables.keys().collect::<Vec<_>>(), [&items]);
    assert_eq!((frame.tables[&items].counts.inserts, frame.change_count), (1, 1));
    assert_eq!(frame.tables[&items].identity, OldRows::Whole);
    let [change] = frame.changes.as_slice() else { panic!("{:?}", frame.changes) };
    assert_eq!((change.op, &change.before), (RowOp::Insert, &None));
    let after = change.after.as_ref().unwrap();
    assert_eq!(after["label"], Datum::Text("one".to_owned()));
    assert_eq!((frame.repeats, frame.foreign_markers, frame.source.epoch), (0, 0, 1));
    assert!(frame.keeps_all());
}

#[tokio::test]
async fn rows_are_kept_encrypted_and_open_beside_their_own_transaction_alone() {
    let world = World::new();
    let mut follower = world.followed().await;
    world.commit(3);
    drain(&mut follower).await.unwrap();
    let kept = world.memory.rows().frames.clone();
    assert!(kept.iter().all(|frame| frame.frame.changes.is_empty()));
    let sealed = kept[0].images.clone().unwrap();
    assert!(!sealed.windows(3).any(|part| part == b"one"));
    assert_eq!(images().open(of(), &kept[0]).changes.len(), 1);
    // Beside another transaction they are no rows, and it is as if none had been kept.
    world.memory.rows().frames[0].images = kept[2].images.clone();
    let LogAnswer::Committed(frame) = world.told(action(1), None).await else { panic!() };
    assert!(frame.changes.is_empty() && !frame.keeps_all());
}

#[tokio::test]
async fn foreign_markers_in_a_runs_transaction_are_counted() {
    let world = World::new();
    let mut follower = world.followed().await;
    world.commit(world.all());
    drain(&mut follower).await.unwrap();
    let LogAnswer::Committed(frame) = world.told(action(15), None).await else { panic!() };
    assert_eq!(frame.foreign_markers, 1);
}

#[tokio::test]
async fn a_run_is_not_there_yet_until_the_log_was_read_past_its_end() {
    let world = World::new();
    assert_eq!(world.told(action(40), None).await, LogAnswer::Untold(LogGap::DecoderOff));
    let mut follower = world.followed().await;
    world.commit(2);
    drain(&mut follower).await.unwrap();
    let read_to = world.read_to();
    let not_yet = LogAnswer::NotYet { read_to: Some(read_to) };
    let beyond = trace(NEXT_XID, Some(Lsn(read_to.0 + 1)));
    assert_eq!(world.told(action(40), Some(beyond)).await, not_yet);
    // Whose end was not seen may still be under way.
    assert_eq!(world.told(action(40), Some(trace(NEXT_XID, None))).await, not_yet);
    assert_eq!(world.told(action(40), None).await, not_yet);
    let past = trace(NEXT_XID, Some(read_to));
    let never = LogAnswer::NeverCommitted { read_to };
    assert_eq!(world.told(action(40), Some(past)).await, never);
}

#[tokio::test]
async fn a_tombstone_in_the_place_of_a_run_says_that_it_was_never_committed() {
    let world = World::new();
    let mut follower = world.followed().await;
    world.commit(2);
    drain(&mut follower).await.unwrap();
    let told = world.told(action(2), None).await;
    assert!(matches!(told, LogAnswer::NeverCommitted { .. }), "{told:?}");
}

#[tokio::test]
async fn of_a_run_that_began_before_the_epoch_nothing_is_said_but_why() {
    let world = World::new();
    let mut follower = world.followed().await;
    world.commit(2);
    drain(&mut follower).await.unwrap();
    let early = trace(NEXT_XID - 1, Some(Lsn(1)));
    let untold = |cause| LogAnswer::Untold(cause);
    assert_eq!(world.told(action(40), Some(early)).await, untold(LogGap::EvidenceGap));

    world.database.log().sight.published = Digest::from_bytes([2; 32]);
    world.database.log().next_xid = 500;
    follower.turn(true).await.unwrap();
    let within_the_first = trace(499, Some(Lsn(1)));
    let told = world.told(action(40), Some(within_the_first)).await;
    assert_eq!(told, untold(LogGap::PublicationFiltered));
    let never = world.told(action(40), Some(trace(500, Some(Lsn(1))))).await;
    assert!(matches!(never, LogAnswer::NeverCommitted { .. }), "{never:?}");
    // What was taken for a run before stays what it was.
    let told = world.told(action(1), Some(trace(499, Some(Lsn(1))))).await;
    assert!(matches!(told, LogAnswer::Committed(_)), "{told:?}");
}

#[tokio::test]
async fn a_run_on_another_server_or_after_the_slot_was_lost_is_never_said_to_be_missing() {
    let world = World::new();
    let mut follower = world.followed().await;
    world.commit(2);
    drain(&mut follower).await.unwrap();
    let elsewhere = LogTrace { system: "1".to_owned(), ..trace(NEXT_XID, Some(Lsn(1))) };
    let told = world.told(action(40), Some(elsewhere)).await;
    assert_eq!(told, LogAnswer::Untold(LogGap::EvidenceGap));
    world.database.log().sight.slot = None;
    follower.turn(true).await.unwrap();
    let read_to = world.read_to();
    for until in [None, Some(Lsn(read_to.0 + 1))] {
        let told = world.told(action(40), Some(trace(NEXT_XID, until))).await;
        assert_eq!(told, LogAnswer::Untold(LogGap::SlotInvalidated));
    }
    assert_eq!(world.told(action(40), None).await, LogAnswer::Untold(LogGap::SlotInvalidated));
    // What was read before it was lost still counts.
    let told = world.told(action(40), Some(trace(NEXT_XID, Some(read_to)))).await;
    assert_eq!(told, LogAnswer::NeverCommitted { read_to });
}

#[tokio::test]
async fn a_run_behind_a_server_that_took_over_without_the_slot_is_not_missed_at_places_of_the_old()
{
    let world = World::new();
    let mut follower = world.followed().await;
    world.commit(2);
    drain(&mut follower).await.unwrap();
    let read_to = world.read_to();
    world.database.log().sight.timeline = 2;
    world.database.log().sight.slot = None;
    follower.turn(true).await.unwrap();
    for until in [read_to, Lsn(read_to.0 - 1), Lsn(read_to.0 + 1)] {
        let told = world.told(action(40), Some(trace(NEXT_XID, Some(until)))).await;
        assert_eq!(told, LogAnswer::Untold(LogGap::EvidenceGap));
    }
}

#[tokio::test]
async fn a_run_that_another_server_lost_is_not_said_to_have_never_been() {
    let world = World::new();
    let mut follower = world.followed().await;
    world.commit(2);
    drain(&mut follower).await.unwrap();
    let begun = world.clock.now();
    // A standby takes over, and gives the number of the run once more.
    world.clock.on(1_000);
    world.database.log().sight.timeline = 2;
    follower.turn(true).await.unwrap();
    world.commit(4);
    drain(&mut follower).await.unwrap();
    let (read_to, untold) = (world.read_to(), LogAnswer::Untold(LogGap::EvidenceGap));
    let run = |until: u64| Some(trace(NEXT_XID, Some(Lsn(until))));
    let told = async |until, after: i64| {
        let at = Timestamp::from_unix_millis(begun.unix_millis() + after);
        world.told_of(action(40), (run(until), at)).await
    };
    let ahead = read_to.0 + 1;
    // So close to the gap the clocks do not say which server it ran on, and its transaction may still come.
    assert_eq!(told(read_to.0, 0).await, untold);
    assert_eq!(told(ahead, 0).await, LogAnswer::NotYet { read_to: Some(read_to) });
    // Clearly before it, nothing is waited for; clearly behind it, nothing is in doubt.
    assert_eq!(told(ahead, -2_000).await, untold);
    assert_eq!(told(read_to.0, 4_000).await, LogAnswer::NeverCommitted { read_to });
}

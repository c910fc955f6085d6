//! No transaction is lost, none is kept twice, and whatever could have hidden one is a gap.

use model::{Digest, LogGap, Lsn, Timestamp};

use super::world::{LEASE_MS, NEXT_XID, World, drain, system};
use crate::{Began, FollowError, Following, Slot, SourceError, Turn};

#[tokio::test]
async fn every_transaction_is_kept_once_with_whose_it_is() {
    let world = World::new();
    let mut follower = world.followed().await;
    world.commit(world.all());
    drain(&mut follower).await.unwrap();
    let words = world.words();
    let count = |word: &str| words.iter().filter(|it| **it == word).count();
    assert_eq!((count("attributed"), count("unattributed")), (4, 1));
    // That of another connector is its own business.
    assert_eq!((count("forged"), count("ledger_tampered")), (9, 3));
    // A beat is read and not kept; it says that the log is read to its end.
    assert!(world.memory.rows().following.as_ref().unwrap().beat_at.is_some());
    let kept = world.kept();
    let mut once = kept.clone();
    once.sort();
    once.dedup();
    assert_eq!(once, kept);
}

#[tokio::test]
async fn what_comes_again_is_not_kept_again() {
    let world = World::new();
    let mut follower = world.followed().await;
    world.commit(5);
    drain(&mut follower).await.unwrap();
    let kept = world.kept();
    // The database crashed, and its slot is where it was long ago.
    let first = world.database.log().frames[0].commit_lsn;
    world.database.log().sight.slot.as_mut().unwrap().confirmed = first;
    drain(&mut follower).await.unwrap();
    assert_eq!(world.kept(), kept);
    world.commit(6);
    drain(&mut follower).await.unwrap();
    assert_eq!(world.kept().len(), kept.len() + 1);
    assert!(world.causes().is_empty());
}

#[tokio::test]
async fn a_write_that_was_not_kept_is_read_again_and_nothing_of_it_is_forgotten() {
    let world = World::new();
    let mut follower = world.followed().await;
    let confirmed = world.database.log().sight.slot.unwrap().confirmed;
    world.commit(3);
    world.clock.on(5_000);
    world.memory.rows().fails = true;
    assert!(follower.turn(true).await.is_err());
    assert!(world.kept().is_empty());
    assert_eq!(world.database.log().sight.slot.unwrap().confirmed, confirmed);
    drain(&mut follower).await.unwrap();
    assert_eq!(world.kept().len(), 3);
    assert!(world.database.log().sight.slot.unwrap().confirmed > confirmed);
}

#[tokio::test]
async fn the_database_is_told_at_most_once_a_second_what_it_may_forget() {
    let world = World::new();
    let mut follower = world.followed().await;
    let confirmed = || world.database.log().sight.slot.unwrap().confirmed;
    world.commit(1);
    drain(&mut follower).await.unwrap();
    let first = confirmed();
    assert_eq!(first, world.database.log().frames[0].end_lsn);
    world.commit(2);
    world.clock.on(999);
    drain(&mut follower).await.unwrap();
    assert_eq!(confirmed(), first);
    world.commit(3);
    world.clock.on(1);
    drain(&mut follower).await.unwrap();
    assert_eq!(confirmed(), world.database.log().frames[2].end_lsn);
}

#[tokio::test]
async fn one_instance_follows_and_another_takes_over_when_it_is_gone() {
    let world = World::new();
    let (mut one, mut two) = (world.followed().await, world.follower("two"));
    world.commit(3);
    drain(&mut one).await.unwrap();
    assert!(matches!(two.turn(true).await.unwrap(), Turn::Elsewhere { .. }));
    // The first one sleeps, and wakes up as somebody who holds nothing any more.
    world.clock.on(LEASE_MS + 1);
    world.commit(5);
    drain(&mut two).await.unwrap();
    assert_eq!(world.kept().len(), 4);
    world.commit(world.all());
    assert!(matches!(one.turn(true).await.unwrap(), Turn::Elsewhere { .. }));
    drain(&mut two).await.unwrap();
    assert_eq!(world.kept().len(), 17);
    assert!(world.causes().is_empty());
}

#[tokio::test]
async fn who_lost_the_lease_within_a_read_keeps_nothing_of_it() {
    let world = World::new();
    let (mut one, mut two) = (world.followed().await, world.follower("two"));
    world.commit(3);
    // The lease is young enough not to be asked for again, and was taken over all the same.
    let lapsed = world.memory.rows().take_lease();
    assert!(lapsed.is_some());
    drain(&mut two).await.unwrap();
    let kept = world.kept();
    world.commit(4);
    assert!(matches!(one.turn(true).await.unwrap(), Turn::Elsewhere { .. }));
    assert_eq!(world.kept(), kept);
}

#[tokio::test]
async fn a_slot_that_somebody_else_moved_ends_the_epoch() {
    let world = World::new();
    let mut follower = world.followed().await;
    world.commit(4);
    let end = world.database.log().frames[1].end_lsn;
    world.database.log().sight.slot.as_mut().unwrap().confirmed = end;
    let turn = follower.turn(true).await.unwrap();
    assert_eq!(turn, Turn::Began { cause: Some(LogGap::SlotMoved) });
    // Nothing of the read counts: what else it may have lacked nobody knows.
    assert!(world.kept().is_empty());
    assert_eq!(world.causes(), [LogGap::SlotMoved]);
    world.commit(6);
    drain(&mut follower).await.unwrap();
    assert_eq!(world.kept().len(), 2);
    assert_eq!(world.memory.rows().following.as_ref().unwrap().began.epoch, 2);
    assert_eq!(world.memory.rows().frames[0].frame.source.epoch, 2);
}

#[tokio::test]
async fn what_is_published_differently_or_comes_from_another_server_ends_the_epoch() {
    let world = World::new();
    let mut follower = world.followed().await;
    world.commit(2);
    world.database.log().sight.published = Digest::from_bytes([2; 32]);
    let turn = follower.turn(true).await.unwrap();
    assert_eq!(turn, Turn::Began { cause: Some(LogGap::PublicationFiltered) });
    world.commit(3);
    world.database.log().sight.timeline = 2;
    let turn = follower.turn(true).await.unwrap();
    assert_eq!(turn, Turn::Began { cause: Some(LogGap::EvidenceGap) });
    assert!(world.kept().is_empty());
    world.commit(5);
    drain(&mut follower).await.unwrap();
    assert_eq!(world.words(), ["forged"]);
    assert_eq!(world.memory.rows().following.as_ref().unwrap().began.epoch, 3);
}

#[tokio::test]
async fn a_log_that_is_shorter_than_what_was_read_of_it_is_another_one() {
    let world = World::new();
    let mut follower = world.followed().await;
    world.commit(4);
    drain(&mut follower).await.unwrap();
    let kept = world.kept();
    // A copy of the server's files is put back, and other transactions come where those were.
    world.commit(1);
    let end = world.database.log().frames[0].end_lsn;
    world.database.log().sight.flushed = end;
    world.database.log().sight.slot.as_mut().unwrap().confirmed = end;
    world.commit(2);
    let turn = follower.turn(true).await.unwrap();
    assert_eq!(turn, Turn::Began { cause: Some(LogGap::EvidenceGap) });
    assert_eq!((world.kept(), world.causes()), (kept.clone(), vec![LogGap::EvidenceGap]));
    world.commit(3);
    drain(&mut follower).await.unwrap();
    assert_eq!(world.kept().len(), kept.len() + 1);
    assert_eq!(world.memory.rows().following.as_ref().unwrap().began.epoch, 2);
}

#[tokio::test]
async fn a_slot_that_is_gone_or_lost_its_log_is_never_made_anew_unasked() {
    for lost in [true, false] {
        let world = World::new();
        let mut follower = world.followed().await;
        world.commit(2);
        drain(&mut follower).await.unwrap();
        if lost {
            world.database.log().sight.slot.as_mut().unwrap().lost = true;
        } else {
            world.database.log().sight.slot = None;
        }
        let broken = Turn::Broken { cause: LogGap::SlotInvalidated };
        assert_eq!(follower.turn(true).await.unwrap(), broken);
        world.commit(4);
        assert_eq!(follower.turn(true).await.unwrap(), broken);
        // Nor by another instance, nor by what was said of an earlier epoch.
        world.clock.on(LEASE_MS + 1);
        let mut two = world.follower("two").anew_behind(Some(0));
        assert_eq!(two.turn(true).await.unwrap(), broken);
        assert_eq!(world.database.log().made, 1);
        let mut two = world.follower("two").anew_behind(Some(1));
        let began = Turn::Began { cause: Some(LogGap::SlotInvalidated) };
        assert_eq!(two.turn(true).await.unwrap(), began);
        assert_eq!(world.database.log().made, 2);
        world.commit(6);
        drain(&mut two).await.unwrap();
        assert_eq!(world.causes(), [LogGap::SlotInvalidated]);
        assert_eq!(world.kept().len(), 4);
    }
}

#[tokio::test]
async fn whoever_lost_the_lease_unseen_removes_no_slot_that_the_next_one_made() {
    for gives_up in [false, true] {
        let world = World::new();
        let mut one = world.followed().await;
        world.database.log().sight.slot.as_mut().unwrap().lost = true;
        let broken = Turn::Broken { cause: LogGap::SlotInvalidated };
        assert_eq!(one.turn(true).await.unwrap(), broken);
        // It is held up, and believes that the lease lasts.
        world.memory.rows().take_lease().unwrap();
        let mut two = world.follower("two").anew_behind(Some(1));
        let began = Turn::Began { cause: Some(LogGap::SlotInvalidated) };
        assert_eq!(two.turn(true).await.unwrap(), began);
        let made = world.database.log().sight.slot.unwrap();
        let mut one = one.anew_behind(Some(1));
        let turn = if gives_up { one.give_up().await } else { one.turn(true).await };
        assert!(matches!(turn.unwrap(), Turn::Elsewhere { .. }));
        assert_eq!(world.database.log().sight.slot, Some(made));
        world.commit(2);
        drain(&mut two).await.unwrap();
        assert_eq!((world.kept().len(), world.database.log().made), (2, 2));
    }
}

#[tokio::test]
async fn only_the_slot_that_was_seen_under_the_lease_is_removed() {
    let world = World::new();
    let mut one = world.followed().await;
    world.commit(2);
    // The lease is lost once it was asked for, and the next instance makes the slot anew.
    let anew = Slot { confirmed: Lsn(4096), lost: false, held_bytes: 0 };
    world.database.log().overtaken = Some(anew);
    let refused = one.give_up().await.unwrap_err();
    assert!(matches!(refused, FollowError::Source(SourceError::Busy)), "{refused}");
    assert_eq!(world.database.log().sight.slot, Some(anew));
    assert!(world.causes().is_empty(), "it does not count as given up");
}

#[tokio::test]
async fn a_long_log_is_read_in_growing_parts_and_none_is_left_out() {
    let world = World::new();
    let mut follower = world.follower_of("one", 1);
    follower.turn(false).await.unwrap();
    world.commit(world.all());
    let mut reads = 0;
    loop {
        reads += 1;
        let before = world.read_to();
        follower.turn(true).await.unwrap();
        if world.read_to() == before || reads > 20 {
            break;
        }
    }
    assert!((3..10).contains(&reads), "{reads}");
    assert_eq!(world.kept().len(), 17);
}

#[tokio::test]
async fn messages_of_no_transaction_hide_none_and_are_read_past() {
    let world = World::new();
    let mut follower = world.follower_of("one", 4);
    follower.turn(false).await.unwrap();
    let (first, second) = {
        let log = world.database.log();
        (log.frames[0].end_lsn, log.frames[1].commit_lsn)
    };
    let noise: Vec<_> = (1..=40).map(|at| Lsn(first.0 + at)).collect();
    assert!(noise.iter().all(|place| *place < second));
    world.database.log().messages = noise.clone();
    world.commit(2);
    // Whatever fills a read, the write behind it has not been read yet.
    follower.turn(true).await.unwrap();
    follower.turn(true).await.unwrap();
    assert!(world.read_to() < second && noise.contains(&world.read_to()));
    assert_eq!(world.kept().len(), 1);
    // What was read of them does not come again, so that no number of them holds the slot.
    assert_eq!(world.database.log().sight.slot.unwrap().confirmed, world.read_to());
    drain(&mut follower).await.unwrap();
    assert_eq!(world.kept().len(), 2);
    assert!(world.causes().is_empty());
}

#[tokio::test]
async fn what_is_kept_is_told_though_the_database_could_not_be_told_to_forget_it() {
    let world = World::new();
    let mut follower = world.followed().await;
    let confirmed = world.database.log().sight.slot.unwrap().confirmed;
    world.commit(3);
    world.database.log().unconfirmed = Some(SourceError::Late);
    let Turn::Read { tally, unconfirmed, .. } = follower.turn(true).await.unwrap() else {
        panic!()
    };
    assert_eq!((tally.changes > 0, unconfirmed), (true, Some(SourceError::Late)));
    assert_eq!(world.kept().len(), 3);
    assert_eq!(world.database.log().sight.slot.unwrap().confirmed, confirmed);
    // It is tried again as seldom as ever, and what comes again by then is not kept again.
    drain(&mut follower).await.unwrap();
    assert_eq!(world.database.log().sight.slot.unwrap().confirmed, confirmed);
    world.clock.on(1_000);
    drain(&mut follower).await.unwrap();
    assert!(world.database.log().sight.slot.unwrap().confirmed > confirmed);
    assert_eq!(world.kept().len(), 3);
}

#[tokio::test]
async fn a_full_read_of_what_was_read_before_is_not_taken_for_a_strangers_move() {
    let world = World::new();
    let mut follower = world.followed().await;
    world.commit(1);
    let first = world.database.log().frames[0].end_lsn;
    world.database.log().messages = (1..=8).map(|at| Lsn(first.0 + at)).collect();
    world.database.log().sight.flushed = Lsn(first.0 + 20);
    drain(&mut follower).await.unwrap();
    assert_eq!(world.read_to(), Lsn(first.0 + 20));
    // It comes again in small parts, each of which the database may forget.
    let mut smaller = world.follower_of("one", 2);
    for _ in 0..3 {
        assert!(matches!(smaller.turn(true).await.unwrap(), Turn::Read { .. }));
    }
    assert!(world.database.log().sight.slot.unwrap().confirmed > first);
    assert_eq!(world.read_to(), Lsn(first.0 + 20));
    assert!(world.causes().is_empty());
}

#[tokio::test]
async fn less_is_asked_for_where_what_came_weighed_too_much() {
    let world = World::new();
    let mut follower = world.followed().await;
    world.commit(world.all());
    world.database.log().heavy = true;
    for _ in 0..3 {
        follower.turn(true).await.unwrap();
    }
    assert!((1..=3).contains(&world.kept().len()));
    world.database.log().heavy = false;
    drain(&mut follower).await.unwrap();
    assert_eq!(world.kept().len(), 17);
    follower.turn(true).await.unwrap();
    assert_eq!(world.database.log().asked, [1_000, 500, 250, 125, 1_000]);
}

#[tokio::test]
async fn a_database_that_does_not_answer_changes_nothing() {
    let world = World::new();
    let mut follower = world.followed().await;
    world.commit(2);
    let (before, writes) = (world.read_to(), world.memory.rows().writes);
    for fault in [SourceError::Busy, SourceError::Late] {
        world.database.log().fault = Some(fault);
        assert!(follower.turn(true).await.is_err());
    }
    assert_eq!((world.read_to(), world.memory.rows().writes), (before, writes));
    drain(&mut follower).await.unwrap();
    assert_eq!(world.database.log().asked, [1_000, 500, 250]);
    assert_eq!(world.kept().len(), 2);
}

#[tokio::test]
async fn a_log_that_was_given_up_keeps_no_slot_and_begins_anew_when_it_is_wanted_again() {
    let world = World::new();
    let mut follower = world.followed().await;
    world.commit(2);
    drain(&mut follower).await.unwrap();
    let off = Turn::Broken { cause: LogGap::DecoderOff };
    assert_eq!(follower.give_up().await.unwrap(), off);
    assert_eq!(world.database.log().sight.slot, None);
    assert_eq!(world.causes(), [LogGap::DecoderOff]);
    // Once more does no more.
    assert_eq!(follower.give_up().await.unwrap(), off);
    assert_eq!(world.causes(), [LogGap::DecoderOff]);
    world.commit(3);
    let began = Turn::Began { cause: Some(LogGap::DecoderOff) };
    assert_eq!(follower.turn(false).await.unwrap(), began);
    assert_eq!(world.memory.rows().following.as_ref().unwrap().began.epoch, 2);
    assert_eq!(world.database.log().made, 2);
}

#[tokio::test]
async fn a_slot_that_was_made_and_never_read_is_removed_all_the_same() {
    let world = World::new();
    let mut follower = world.follower("one");
    world.memory.rows().fails = true;
    assert!(follower.turn(false).await.is_err());
    assert!(world.database.log().sight.slot.is_some());
    let off = Turn::Broken { cause: LogGap::DecoderOff };
    assert_eq!(follower.give_up().await.unwrap(), off);
    assert_eq!(world.database.log().sight.slot, None);
    assert!(world.causes().is_empty());
    // That it was given up is known from then on.
    let broken = world.memory.rows().following.as_ref().unwrap().broken;
    assert_eq!(broken, Some(LogGap::DecoderOff));
    world.commit(3);
    let began = Turn::Began { cause: Some(LogGap::DecoderOff) };
    assert_eq!(follower.turn(false).await.unwrap(), began);
}

#[tokio::test]
async fn a_slot_that_was_made_anew_behind_one_that_was_given_up_is_known_of_before_it_is_read() {
    let world = World::new();
    let mut follower = world.followed().await;
    let off = Turn::Broken { cause: LogGap::DecoderOff };
    let is_given_up = || world.memory.rows().following.as_ref().unwrap().is_given_up();
    for goes_on in [false, true] {
        assert_eq!(follower.give_up().await.unwrap(), off);
        assert!(is_given_up());
        // It is wanted again, and whoever made the slot is gone.
        world.database.log().unanswered = Some(SourceError::Late);
        assert!(follower.turn(false).await.is_err());
        assert!(world.database.log().sight.slot.is_some() && !is_given_up());
        world.clock.on(LEASE_MS + 1);
        follower = world.follower("two");
        if goes_on {
            let began = Turn::Began { cause: Some(LogGap::DecoderOff) };
            assert_eq!(follower.turn(false).await.unwrap(), began);
            assert_eq!(world.memory.rows().following.as_ref().unwrap().began.epoch, 2);
        } else {
            assert_eq!(follower.give_up().await.unwrap(), off);
            assert!(world.database.log().sight.slot.is_none() && is_given_up());
        }
    }
    assert_eq!(world.causes(), [LogGap::DecoderOff], "what was never read ends nothing");
}

#[tokio::test]
async fn whoever_was_held_up_makes_no_slot_of_a_log_that_was_given_up_meanwhile() {
    let off = Turn::Broken { cause: LogGap::DecoderOff };
    for was_read in [false, true] {
        let world = World::new();
        let mut late = world.follower("late");
        let mut other = if was_read { world.followed().await } else { world.follower("other") };
        world.memory.rows().unwanted = true;
        if was_read {
            assert_eq!(other.give_up().await.unwrap(), off);
        }
        world.clock.on(LEASE_MS + 1);
        assert_eq!(late.turn(false).await.unwrap(), off);
        assert_eq!(world.database.log().sight.slot, None);
        assert!(world.memory.rows().following.as_ref().unwrap().is_given_up());
    }
}

#[test]
fn how_far_a_log_was_read_is_told_in_words_that_an_older_instance_knows() {
    let following = Following {
        began: Began {
            epoch: 1,
            system: system(),
            timeline: 1,
            published: Digest::from_bytes([1; 32]),
            from_xid: NEXT_XID,
        },
        read_to: Lsn(7),
        confirmable: Lsn(7),
        broken: Some(LogGap::DecoderOff),
        beat_at: None,
        at: Timestamp::EPOCH,
        makes_slot: false,
    };
    let text = serde_json::to_string(&following).unwrap();
    assert!(!text.contains("makes_slot"), "{text}");
    assert_eq!(serde_json::from_str::<Following>(&text).unwrap(), following);
    let made = Following { makes_slot: true, ..following };
    let text = serde_json::to_string(&made).unwrap();
    assert_eq!(serde_json::from_str::<Following>(&text).unwrap(), made);
}

#[tokio::test]
async fn what_is_let_go_another_instance_follows_at_once() {
    let world = World::new();
    let mut first = world.followed().await;
    let mut second = world.follower("two");
    assert!(matches!(second.turn(false).await.unwrap(), Turn::Elsewhere { .. }));
    first.let_go().await.unwrap();
    assert!(matches!(second.turn(false).await.unwrap(), Turn::Read { .. }));
}

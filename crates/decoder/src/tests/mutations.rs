//! Seeded mutations of the recorded streams: whatever comes in, there is an answer, and what is
//! kept agrees with what is counted.

use proptest::prelude::*;

use crate::{Frame, Message, attribution::Claim};

use super::{STREAMS, assembled, attributing, messages};

/// What holds of every frame.
fn holds(frame: &Frame, max_images: usize) {
    assert!(frame.changes.len() <= max_images);
    let counted: u64 =
        frame.counts.values().map(|counts| counts.inserts + counts.updates + counts.deletes).sum();
    assert_eq!(counted, frame.change_count);
    if let Some(digest) = frame.digest_of_kept() {
        assert_eq!(digest, frame.digest);
    }
    let known = |change: &crate::Change| frame.relations.contains_key(&change.relation.signature());
    assert!(frame.changes.iter().chain(&frame.own_changes).all(known));
    let keys = attributing::keys();
    let _ = Claim::of(frame, &attributing::site(&keys));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_answered(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = Message::parse(&bytes);
    }

    #[test]
    fn a_stream_with_other_bytes_is_answered(
        case in 0..STREAMS.len(),
        edits in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>(), any::<u8>()), 1..6),
        max_images in 0_usize..8,
    ) {
        let mut stream = messages(STREAMS[case].0);
        prop_assume!(!stream.is_empty());
        for (message, place, byte) in edits {
            let message = message.index(stream.len());
            let place = place.index(stream[message].len());
            stream[message][place] = byte;
        }
        if let Ok(frames) = assembled(&stream, max_images) {
            for frame in &frames { holds(frame, max_images); }
        }
    }

    #[test]
    fn a_stream_in_another_order_is_answered(
        case in 0..STREAMS.len(),
        swaps in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>()), 1..4),
    ) {
        let mut stream = messages(STREAMS[case].0);
        prop_assume!(!stream.is_empty());
        for (one, other) in swaps {
            let (one, other) = (one.index(stream.len()), other.index(stream.len()));
            stream.swap(one, other);
        }
        if let Ok(frames) = assembled(&stream, 3) {
            for frame in &frames { holds(frame, 3); }
        }
    }
}

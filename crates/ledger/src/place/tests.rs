//! Places of several logs on one line.

use super::*;

const THIRD: LogNo = LogNo::new(2);

#[test]
fn in_the_first_log_a_place_is_the_deeds_own() {
    for seq in [0, 1, 255, 1 << 30] {
        let place = Place::of(LogNo::FIRST, seq);
        assert_eq!((place.as_u64(), place.log(), place.seq()), (seq, LogNo::FIRST, seq));
    }
    assert_eq!(Place::node(LogNo::FIRST, 3, 77), Some(77));
}

#[test]
fn places_of_a_later_log_lie_behind_and_keep_their_order() {
    let places = [(LogNo::FIRST, 9), (LogNo::FIRST.next(), 0), (THIRD, 0), (THIRD, 1)];
    let places = places.map(|(log, seq)| Place::of(log, seq));
    assert!(places.is_sorted());
    for place in places {
        assert_eq!(Place::of(place.log(), place.seq()), place);
        assert_eq!(Place::from_u64(place.as_u64()), place);
    }
    assert_eq!(places[2].after(), places[3]);
}

#[test]
fn nodes_of_two_logs_never_share_a_number() {
    for level in 1..=5 {
        let nodes = 1_u64 << (ROOM - TILE_HEIGHT * u32::from(level));
        let (last, next) =
            (Place::node(LogNo::FIRST, level, nodes - 1), Place::node(THIRD, level, 0));
        assert!(last < next, "{level}");
        let first = Place::node(LogNo::FIRST.next(), level, 0);
        assert_eq!(first, last.map(|last| last + 1), "{level}");
    }
    assert_eq!(Place::node(THIRD, 6, 0), None, "no log is that high");
}

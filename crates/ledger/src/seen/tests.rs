use super::*;

fn log(last: char) -> LogOrigin {
    let id = format!("log_01h455vb4pex5vsknk084sn02{last}").parse().unwrap();
    LogOrigin::new("seen.example", id).unwrap()
}

fn mark(last: char, no: u32, version: u64, size: u64) -> Mark {
    let log_no = (1..no).fold(LogNo::FIRST, |no, _| no.next());
    Mark { log: log(last), log_no: Some(log_no), version, size }
}

#[test]
fn a_record_with_fewer_deeds_or_turns_is_behind() {
    let seen = mark('q', 1, 10, 5);
    assert!(!seen.is_ahead_of(&mark('q', 1, 10, 5)));
    assert!(!seen.is_ahead_of(&mark('q', 1, 11, 5)));
    assert!(seen.is_ahead_of(&mark('q', 1, 10, 4)));
    assert!(seen.is_ahead_of(&mark('q', 1, 9, 5)));
    assert!(Mark::of_checkpoint(log('q'), 6).is_ahead_of(&mark('q', 1, 10, 5)));
    assert!(!Mark::of_checkpoint(log('q'), 5).is_ahead_of(&mark('q', 1, 10, 5)));
}

#[test]
fn a_later_log_is_ahead_and_another_of_the_same_number_is_not() {
    let seen = mark('q', 2, 10, 5);
    assert!(!seen.is_ahead_of(&mark('r', 3, 11, 1)));
    assert!(seen.is_ahead_of(&mark('r', 2, 11, 9)));
    assert!(seen.is_ahead_of(&mark('r', 1, 11, 9)));
}

#[test]
fn the_stores_time_passes_with_our_count_and_is_asked_for_again() {
    let second = Duration::from_secs(1);
    let start = Timestamp::from_unix_millis(1_790_000_000_000);
    let mut time = StoreTime::default();
    assert_eq!(time.at(second), None);
    time.tell(start, 5 * second);
    assert_eq!(time.at(7 * second), Some(start + 2 * second));
    // A count that seems to run backwards adds nothing.
    assert_eq!(time.at(4 * second), Some(start));
    assert_eq!(time.at(16 * second), None);
}

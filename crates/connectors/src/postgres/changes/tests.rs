//! How long a read may take, and how far one that was cut reaches.

use super::*;

#[test]
fn what_comes_late_is_given_twice_the_time_whatever_else_comes_in_time() {
    let (mut limits, second) = (Limits::new(), Duration::from_secs(1));
    let late = || Err::<(), _>(SourceError::Late);
    for seconds in [20, 40, 80, 160, 300, 300] {
        limits.note(Ask::Confirm, (&late(), second));
        limits.note(Ask::Read, (&Ok(()), second));
        limits.note(Ask::Else, (&Ok(()), second));
        assert_eq!(*limits.of(Ask::Confirm), second * seconds);
        assert_eq!(*limits.of(Ask::Read), READ_LIMIT);
    }
    // What took long once may take as long again.
    limits.note(Ask::Confirm, (&Ok(()), second * 25));
    assert_eq!(*limits.of(Ask::Confirm), second * 50);
    limits.note(Ask::Confirm, (&Err::<(), _>(SourceError::Busy), second));
    assert_eq!(*limits.of(Ask::Confirm), second * 50);
    limits.note(Ask::Confirm, (&Ok(()), second));
    assert_eq!(*limits.of(Ask::Confirm), READ_LIMIT);
}

#[test]
fn a_read_that_was_cut_says_nothing_of_what_stands_behind_its_last_row() {
    let peeked = |rows, bytes| Peeked { last: Lsn(30), rows, bytes, ..Peeked::nothing(Lsn(90)) };
    let read = peeked(2, 0).read(2, 1);
    assert_eq!((read.until, read.full, read.heavy), (Lsn(30), true, false));
    let read = peeked(1, 0).read(2, 1);
    assert_eq!((read.until, read.full, read.heavy), (Lsn(90), false, false));
    let read = peeked(1, MAX_READ_BYTES + 1).read(2, 1);
    assert_eq!((read.until, read.full, read.heavy), (Lsn(30), true, true));
}

//! Transactions from messages that are made here.

use crate::{Assembler, DecodeError, Lsn, MAX_OWN_KEPT, Message, Oid, Value, message::Cell};

use super::{assembled, frames, messages};

const BEGIN: Message<'_> = Message::Begin { final_lsn: Lsn(9), committed_at: 0, xid: 7 };
const COMMIT: Message<'_> =
    Message::Commit { commit_lsn: Lsn(9), end_lsn: Lsn(12), committed_at: 0 };

fn fed(messages: &[Message<'_>]) -> Result<(), DecodeError> {
    let mut assembler = Assembler::new(10);
    for message in messages {
        assembler.take_message(message)?;
    }
    assembler.finish()
}

fn note(content: &[u8]) -> Message<'_> {
    Message::Logical { transactional: true, lsn: Lsn(1), prefix: "service", content }
}

#[test]
fn a_stream_is_whole_transactions() {
    assert_eq!(fed(&[BEGIN, COMMIT, BEGIN, COMMIT]), Ok(()));
    assert_eq!(fed(&[BEGIN]), Err(DecodeError::Unfinished { xid: 7 }));
    assert_eq!(fed(&[BEGIN, BEGIN]), Err(DecodeError::Unfinished { xid: 7 }));
    assert_eq!(fed(&[COMMIT]), Err(DecodeError::OutsideTransaction { message: "commit" }));
    assert_eq!(fed(&[note(b"")]), Err(DecodeError::OutsideTransaction { message: "message" }));
    let ended = Message::Commit { commit_lsn: Lsn(8), end_lsn: Lsn(12), committed_at: 0 };
    assert_eq!(fed(&[BEGIN, ended]), Err(DecodeError::OtherEnd { begun: Lsn(9), ended: Lsn(8) }));
}

#[test]
fn a_message_that_is_not_of_its_transaction_is_nothing() {
    let told =
        Message::Logical { transactional: false, lsn: Lsn(1), prefix: "service", content: b"x" };
    assert_eq!(fed(std::slice::from_ref(&told)), Ok(()));
    let mut assembler = Assembler::new(10);
    assembler.take_message(&BEGIN).unwrap();
    assembler.take_message(&told).unwrap();
    let frame = assembler.take_message(&COMMIT).unwrap().unwrap();
    assert_eq!((frame.messages.len(), frame.message_count), (0, 0));
}

#[test]
fn a_change_needs_its_table() {
    let oid = Oid(5);
    let insert = Message::Insert { relation: oid, new: vec![] };
    assert_eq!(fed(&[BEGIN, insert]), Err(DecodeError::UnknownRelation { oid }));
    let truncate =
        Message::Truncate { relations: vec![oid], cascade: false, restart_identity: false };
    assert_eq!(fed(&[BEGIN, truncate]), Err(DecodeError::UnknownRelation { oid }));
}

#[test]
fn a_row_has_the_columns_of_its_table() {
    let recorded = messages("rows");
    let relation = recorded.iter().find(|message| message[0] == b'R').unwrap();
    let relation = Message::parse(relation).unwrap();
    let Message::Relation(table) = &relation else { unreachable!("an R is a relation") };
    let oid = table.oid;
    let insert = Message::Insert { relation: oid, new: vec![Cell::Null] };
    assert_eq!(
        fed(&[BEGIN, relation, insert]),
        Err(DecodeError::OtherColumns { oid, expected: 3, found: 1 })
    );
}

#[test]
fn rows_are_kept_up_to_the_limit_and_all_are_counted_and_digested() {
    let whole = &frames("rows", 1000)[0];
    for limit in 0..=6 {
        let frame = &frames("rows", limit)[0];
        assert_eq!(frame.changes, whole.changes[..limit.min(5)]);
        assert_eq!(frame.counts, whole.counts);
        assert_eq!(frame.relations, whole.relations);
        assert_eq!((frame.change_count, frame.digest), (5, whole.digest));
        assert_eq!(frame.keeps_all(), limit >= 5);
        assert_eq!(frame.digest_of_kept(), (limit >= 5).then_some(whole.digest));
    }
    let counts = whole.counts_of("public", "items");
    assert_eq!((counts.inserts, counts.updates, counts.deletes, counts.truncates), (2, 2, 1, 0));
}

#[test]
fn rows_are_kept_up_to_a_weight_too_and_none_behind_one_that_was_left_out() {
    let whole = &frames("rows", 1000)[0];
    let all = whole.weight();
    let of_first = all - whole.changes[1..].iter().map(crate::Change::weight).sum::<usize>();
    for (bytes, kept) in [(0, 0), (of_first, 1), (all - 1, 4), (all, 5)] {
        let mut assembler = Assembler::new(1000).within_bytes(bytes);
        let taken = messages("rows").iter().find_map(|message| assembler.take(message).unwrap());
        let frame = taken.unwrap();
        assert_eq!(frame.changes, whole.changes[..kept], "{bytes}");
        assert_eq!((&frame.counts, frame.change_count), (&whole.counts, 5));
        assert_eq!((frame.digest, frame.keeps_all()), (whole.digest, kept == 5));
    }
}

#[test]
fn the_services_own_rows_are_kept_whatever_the_limit() {
    let frame = &frames("governed", 0)[0];
    assert_eq!((frame.changes.len(), frame.own_changes.len()), (0, 1));
    assert!(frame.touches_governed_tables());
    assert!(!frames("governed", 0)[1].touches_governed_tables());
}

#[test]
fn messages_are_kept_up_to_a_limit_and_counted() {
    let mut assembler = Assembler::new(0);
    assembler.take_message(&BEGIN).unwrap();
    for _ in 0..100 {
        assembler.take_message(&note(b"noise")).unwrap();
    }
    let frame = assembler.take_message(&COMMIT).unwrap().unwrap();
    assert_eq!((frame.messages.len(), frame.message_count), (MAX_OWN_KEPT, 100));
}

#[test]
fn another_row_another_digest() {
    let recorded = messages("rows");
    let digest = assembled(&recorded, 10).unwrap()[0].digest;
    let at = recorded.iter().position(|message| message[0] == b'I').unwrap();
    let mut other = recorded.clone();
    *other[at].last_mut().unwrap() ^= 1;
    assert_ne!(assembled(&other, 10).unwrap()[0].digest, digest);
    let mut swapped = recorded.clone();
    swapped.swap(at, at + 1);
    assert_ne!(assembled(&swapped, 10).unwrap()[0].digest, digest);
}

#[test]
fn a_change_knows_whether_it_is_whole() {
    let whole = |name| {
        let frames = frames(name, 10);
        frames[0].changes.iter().map(crate::Change::is_whole).collect::<Vec<_>>()
    };
    assert_eq!(whole("rows"), [true; 5]);
    assert_eq!(whole("toast_full"), [true]);
    assert_eq!(whole("toast_default"), [false]);
    assert_eq!(whole("identity_default"), [false; 3]);
    let change = &frames("toast_default", 10)[0].changes[0];
    assert_eq!(change.after("body"), Some(&Value::Unresolved));
    assert_eq!((change.before("body"), change.after("none")), (None, None));
}

#[test]
fn places_in_the_log_are_printed_as_the_database_does() {
    assert_eq!(Lsn(0x16_B374_D848).to_string(), "16/B374D848");
    assert_eq!("16/B374D848".parse(), Ok(Lsn(0x16_B374_D848)));
    assert_eq!("0/0".parse(), Ok(Lsn(0)));
    for wrong in ["", "/", "1", "1/", "/1", "1/+1", "1/123456789", "1/2/3", "x/1"] {
        assert!(wrong.parse::<Lsn>().is_err(), "{wrong}");
    }
}

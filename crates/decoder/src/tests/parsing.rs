//! Single messages, true and false ones.

use crate::{DecodeError, Message, Oid};

use super::{STREAMS, messages};

fn refused(bytes: &[u8]) -> DecodeError {
    Message::parse(bytes).expect_err("no message")
}

#[test]
fn every_kind_of_message_was_recorded() {
    let mut kinds: Vec<u8> =
        STREAMS.iter().flat_map(|(name, _)| messages(name)).map(|message| message[0]).collect();
    kinds.sort_unstable();
    kinds.dedup();
    assert_eq!(kinds, b"BCDIMORTUY");
}

#[test]
fn a_message_is_all_of_its_bytes_and_no_more() {
    for (name, _) in STREAMS {
        for message in messages(name) {
            assert!(Message::parse(&message).is_ok(), "{name}");
            for end in 0..message.len() {
                assert!(Message::parse(&message[..end]).is_err(), "{name}: {end} bytes");
            }
            let mut longer = message;
            longer.push(0);
            assert_eq!(refused(&longer), DecodeError::Trailing { left: 1 }, "{name}");
        }
    }
}

#[test]
fn messages_of_other_versions_are_named() {
    for tag in *b"SEcAbPKrp" {
        assert_eq!(refused(&[tag]), DecodeError::UnknownMessage { tag });
    }
    let told = refused(b"S").to_string();
    assert!(told.contains("`S`") && told.contains("proto_version"), "{told}");
    assert_eq!(refused(b""), DecodeError::Short { wanted: 1, left: 0 });
}

#[test]
fn a_count_that_lies_takes_no_memory() {
    // Two thousand million relations, and bytes for none.
    let truncate = [b'T', 0x7f, 0xff, 0xff, 0xff, 0];
    assert_eq!(refused(&truncate), DecodeError::Short { wanted: 4, left: 0 });
    let insert = [b'I', 0, 0, 0, 1, b'N', 0x7f, 0xff];
    assert_eq!(refused(&insert), DecodeError::Short { wanted: 1, left: 0 });
    let value = [b'I', 0, 0, 0, 1, b'N', 0, 1, b't', 0x7f, 0xff, 0xff, 0xff];
    assert_eq!(refused(&value), DecodeError::Short { wanted: 0x7fff_ffff, left: 0 });
}

#[test]
fn a_count_is_never_negative() {
    let columns = [b'I', 0, 0, 0, 1, b'N', 0xff, 0xff];
    assert_eq!(refused(&columns), DecodeError::Negative { count: -1 });
    let length = [b'I', 0, 0, 0, 1, b'N', 0, 1, b't', 0xff, 0xff, 0xff, 0xfe];
    assert_eq!(refused(&length), DecodeError::Negative { count: -2 });
    let relations = [b'T', 0xff, 0xff, 0xff, 0xff, 0];
    assert_eq!(refused(&relations), DecodeError::Negative { count: -1 });
}

#[test]
fn parts_that_the_protocol_does_not_have_are_refused() {
    let part = |bytes: &[u8]| match refused(bytes) {
        DecodeError::UnknownPart { what, .. } => what,
        other => panic!("{other}"),
    };
    assert_eq!(part(&[b'I', 0, 0, 0, 1, b'O', 0, 0]), "new row");
    assert_eq!(part(&[b'U', 0, 0, 0, 1, b'X', 0, 0]), "row");
    assert_eq!(part(&[b'U', 0, 0, 0, 1, b'K', 0, 0, b'K', 0, 0]), "new row");
    assert_eq!(part(&[b'D', 0, 0, 0, 1, b'N', 0, 0]), "old row");
    assert_eq!(part(&[b'I', 0, 0, 0, 1, b'N', 0, 1, b'x']), "kind of value");
    assert_eq!(part(&[b'T', 0, 0, 0, 0, 4]), "option of a truncate");
    assert_eq!(part(&[b'R', 0, 0, 0, 1, b'a', 0, b'b', 0, b'x', 0, 0]), "replica identity");
    assert_eq!(part(&[b'R', 0, 0, 0, 1, b'a', 0, b'b', 0, b'd', 0, 1, 2]), "flag of a column");
    assert_eq!(part(&[&[b'C', 1][..], &[0; 24]].concat()), "flag of a commit");
    assert_eq!(part(&[&[b'M', 2][..], &[0; 13]].concat()), "flag of a message");
}

#[test]
fn a_name_is_utf_8_and_an_empty_schema_is_the_catalogs() {
    assert_eq!(refused(&[b'Y', 0, 0, 0, 1, 0xff, 0, b'b', 0]), DecodeError::NotUtf8);
    let of_catalog = Message::Type { oid: Oid(1), schema: "pg_catalog", name: "b" };
    assert_eq!(Message::parse(&[b'Y', 0, 0, 0, 1, 0, b'b', 0]), Ok(of_catalog));
}

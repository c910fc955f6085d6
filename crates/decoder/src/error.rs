//! Why bytes are not the stream that they should be.

use crate::{Lsn, Oid};

/// A message that cannot be read, or that has no place where it stands.
///
/// None of these is skipped over: evidence with a hole in it is none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// The message ends too early.
    #[error("the message ends too early: wanted {wanted} more bytes, {left} are left")]
    Short {
        /// What was to be read.
        wanted: usize,
        /// What there was.
        left: usize,
    },
    /// Something follows the message's end.
    #[error("{left} bytes follow the message's end")]
    Trailing {
        /// How much follows.
        left: usize,
    },
    /// A count or a length below zero.
    #[error("a count is negative: {count}")]
    Negative {
        /// The count.
        count: i32,
    },
    /// A name that is not UTF-8.
    #[error("a name is not UTF-8; read the slot with `client_encoding` UTF8")]
    NotUtf8,
    /// A kind of message that version 1 of the protocol does not have.
    #[error("`{}` is no message of protocol version 1; read with `proto_version '1'`", .tag.escape_ascii())]
    UnknownMessage {
        /// The message's first byte.
        tag: u8,
    },
    /// A part of a message that is none of those it may be.
    #[error("`{}` is no {what}", .tag.escape_ascii())]
    UnknownPart {
        /// What was expected.
        what: &'static str,
        /// What stands there.
        tag: u8,
    },
    /// A message of a transaction outside any.
    #[error("{message} outside a transaction")]
    OutsideTransaction {
        /// The message's name.
        message: &'static str,
    },
    /// A transaction begins before the last one ended, or the stream ends within one.
    #[error("transaction {xid} has no end")]
    Unfinished {
        /// The transaction that was open.
        xid: u32,
    },
    /// A transaction that ends elsewhere than its beginning said.
    #[error("a transaction that was to end at {begun} ends at {ended}")]
    OtherEnd {
        /// Where its beginning said.
        begun: Lsn,
        /// Where it ended.
        ended: Lsn,
    },
    /// A change of a relation that the stream has not described.
    #[error("the relation {oid} was not described before its change")]
    UnknownRelation {
        /// The relation.
        oid: Oid,
    },
    /// A row with more or fewer columns than its relation.
    #[error("a row of relation {oid} has {found} columns instead of {expected}")]
    OtherColumns {
        /// The relation.
        oid: Oid,
        /// The columns of the relation.
        expected: usize,
        /// The columns of the row.
        found: usize,
    },
}

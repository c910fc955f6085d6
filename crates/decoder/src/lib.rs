//! Reads PostgreSQL's logical change stream into transactions, and says whose each one is.
//!
//! Pure: bytes come in, a [`Frame`] per committed transaction comes out. The bytes are what the
//! output plugin `pgoutput` writes in protocol version 1 (`proto_version '1'`, `messages 'true'`,
//! streaming off), by whatever way they were read. [`Message::parse`] reads one message,
//! [`Assembler`] puts transactions together, [`attribution::Claim`] says which governed action a
//! transaction claims to be and [`attribution::Claim::judge`] whether that is so.
//!
//! Nothing here panics, whatever comes in, and nothing is skipped: what cannot be read is a
//! [`DecodeError`], since evidence with a hole in it is none. A count inside a message takes no
//! memory before the bytes for it are there.
//!
//! What the stream does not tell: sequences, large objects, unlogged and temporary tables, tables
//! outside the publication, rows of a `TRUNCATE`, and who did it.

mod assembler;
pub mod attribution;
mod canonical;
mod change;
mod error;
mod frame;
pub mod message;
mod reader;
mod relation;

pub use assembler::Assembler;
pub use change::{Before, Change, Edit, Row, Truncation, Value};
pub use crypto::Secret;
pub use error::DecodeError;
pub use frame::{
    Counts, Frame, LogMessage, MAX_KEPT_BYTES, MAX_MARKER_BYTES, MAX_OWN_KEPT, Origin,
    SERVICE_PREFIX, SERVICE_SCHEMA,
};
pub use message::Message;
pub use model::{ActionId, ConnectorId, Digest, Lsn, LsnError, OrgId, Timestamp};
pub use relation::{Column, Identity, Oid, Relation, Table};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}

#[cfg(test)]
mod tests;

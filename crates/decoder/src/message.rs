//! The messages of `pgoutput`, protocol version 1, as they stand in the stream.

use crate::{DecodeError, Identity, Lsn, Oid, reader::Reader};

/// One message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Message<'a> {
    /// A transaction begins.
    Begin {
        /// Where its commit record is.
        final_lsn: Lsn,
        /// When it was committed: microseconds since 2000-01-01 in UTC.
        committed_at: i64,
        /// Its number, without the epoch.
        xid: u32,
    },
    /// The transaction ends.
    Commit {
        /// Where its commit record is.
        commit_lsn: Lsn,
        /// Where the commit record ends: what the slot may be advanced to.
        end_lsn: Lsn,
        /// When it was committed: microseconds since 2000-01-01 in UTC.
        committed_at: i64,
    },
    /// The transaction came from another server.
    Origin {
        /// Where it was committed there.
        commit_lsn: Lsn,
        /// The server's name.
        name: &'a str,
    },
    /// A message that somebody wrote into the log.
    Logical {
        /// Whether it is there only because its transaction was committed.
        transactional: bool,
        /// Where it stands.
        lsn: Lsn,
        /// What its writer called it.
        prefix: &'a str,
        /// What it says.
        content: &'a [u8],
    },
    /// What a table looks like from here on.
    Relation(RelationMessage<'a>),
    /// A data type that is not built in. A domain is told by the name of the type it is made of.
    Type {
        /// The type.
        oid: Oid,
        /// Its schema.
        schema: &'a str,
        /// Its name.
        name: &'a str,
    },
    /// A row is new.
    Insert {
        /// Its table.
        relation: Oid,
        /// The row.
        new: Tuple<'a>,
    },
    /// A row is another.
    Update {
        /// Its table.
        relation: Oid,
        /// What is told of the row before.
        old: Option<OldTuple<'a>>,
        /// The row after.
        new: Tuple<'a>,
    },
    /// A row is gone.
    Delete {
        /// Its table.
        relation: Oid,
        /// What is told of the row before.
        old: OldTuple<'a>,
    },
    /// Tables are empty.
    Truncate {
        /// The tables.
        relations: Vec<Oid>,
        /// Whether tables that refer to them were emptied too.
        cascade: bool,
        /// Whether their sequences begin anew.
        restart_identity: bool,
    },
}

/// What a table looks like.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RelationMessage<'a> {
    /// The table.
    pub oid: Oid,
    /// Its schema.
    pub schema: &'a str,
    /// Its name.
    pub name: &'a str,
    /// What of an old row is told.
    pub identity: Identity,
    /// The columns in the order of their values; generated ones are among them only if the publication publishes them.
    pub columns: Vec<ColumnMessage<'a>>,
}

/// What a column looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ColumnMessage<'a> {
    /// Whether the column is of the identity. With a full identity every column is.
    pub identifies: bool,
    /// Its name.
    pub name: &'a str,
    /// Its data type.
    pub type_oid: Oid,
    /// What narrows the type, as the catalog has it; -1 for nothing.
    pub type_modifier: i32,
}

/// What is told of a row that was there before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OldTuple<'a> {
    /// The columns of the identity; the others are sent as null, whatever they were.
    Key(Tuple<'a>),
    /// The whole row.
    Full(Tuple<'a>),
}

/// A row's values in the order of the columns.
pub type Tuple<'a> = Vec<Cell<'a>>;

/// A value as it was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cell<'a> {
    /// Null.
    Null,
    /// A large value that the update did not touch, and that is therefore not sent.
    Unchanged,
    /// The type's output function's text.
    Text(&'a [u8]),
    /// The type's send function's bytes.
    Binary(&'a [u8]),
}

impl<'a> Message<'a> {
    /// Reads a message that takes up all of the bytes.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let tag = reader.u8()?;
        let message = match tag {
            b'B' => Self::Begin {
                final_lsn: reader.lsn()?,
                committed_at: reader.i64()?,
                xid: reader.u32()?,
            },
            b'C' => commit(&mut reader)?,
            b'O' => Self::Origin { commit_lsn: reader.lsn()?, name: reader.name()? },
            b'M' => logical(&mut reader)?,
            b'R' => Self::Relation(relation(&mut reader)?),
            b'Y' => Self::Type {
                oid: Oid(reader.u32()?),
                schema: schema(&mut reader)?,
                name: reader.name()?,
            },
            b'I' => {
                let relation = Oid(reader.u32()?);
                new_follows(&mut reader)?;
                Self::Insert { relation, new: tuple(&mut reader)? }
            }
            b'U' => update(&mut reader)?,
            b'D' => {
                let relation = Oid(reader.u32()?);
                let tag = reader.u8()?;
                let old = old_tuple(tag, &mut reader)?
                    .ok_or(DecodeError::UnknownPart { what: "old row", tag })?;
                Self::Delete { relation, old }
            }
            b'T' => truncate(&mut reader)?,
            tag => return Err(DecodeError::UnknownMessage { tag }),
        };
        reader.end()?;
        Ok(message)
    }

    /// What the message is called.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Begin { .. } => "begin",
            Self::Commit { .. } => "commit",
            Self::Origin { .. } => "origin",
            Self::Logical { .. } => "message",
            Self::Relation(_) => "relation",
            Self::Type { .. } => "type",
            Self::Insert { .. } => "insert",
            Self::Update { .. } => "update",
            Self::Delete { .. } => "delete",
            Self::Truncate { .. } => "truncate",
        }
    }
}

fn commit<'a>(reader: &mut Reader<'a>) -> Result<Message<'a>, DecodeError> {
    // The protocol has flags here and knows none yet.
    match reader.u8()? {
        0 => {}
        tag => return Err(DecodeError::UnknownPart { what: "flag of a commit", tag }),
    }
    Ok(Message::Commit {
        commit_lsn: reader.lsn()?,
        end_lsn: reader.lsn()?,
        committed_at: reader.i64()?,
    })
}

fn logical<'a>(reader: &mut Reader<'a>) -> Result<Message<'a>, DecodeError> {
    let transactional = match reader.u8()? {
        0 => false,
        1 => true,
        tag => return Err(DecodeError::UnknownPart { what: "flag of a message", tag }),
    };
    let (lsn, prefix) = (reader.lsn()?, reader.name()?);
    let length = reader.count()?;
    Ok(Message::Logical { transactional, lsn, prefix, content: reader.bytes(length)? })
}

/// A schema's name; the catalog's own is sent as an empty one.
fn schema<'a>(reader: &mut Reader<'a>) -> Result<&'a str, DecodeError> {
    Ok(match reader.name()? {
        "" => "pg_catalog",
        name => name,
    })
}

fn relation<'a>(reader: &mut Reader<'a>) -> Result<RelationMessage<'a>, DecodeError> {
    let (oid, schema, name) = (Oid(reader.u32()?), schema(reader)?, reader.name()?);
    let identity = Identity::from_tag(reader.u8()?)?;
    let count = reader.short_count()?;
    let mut columns = Vec::with_capacity(reader.room(count, 10));
    for _ in 0..count {
        let identifies = match reader.u8()? {
            0 => false,
            1 => true,
            tag => return Err(DecodeError::UnknownPart { what: "flag of a column", tag }),
        };
        columns.push(ColumnMessage {
            identifies,
            name: reader.name()?,
            type_oid: Oid(reader.u32()?),
            type_modifier: reader.i32()?,
        });
    }
    Ok(RelationMessage { oid, schema, name, identity, columns })
}

fn update<'a>(reader: &mut Reader<'a>) -> Result<Message<'a>, DecodeError> {
    let relation = Oid(reader.u32()?);
    let tag = reader.u8()?;
    let old = if tag == b'N' {
        None
    } else {
        let old = old_tuple(tag, reader)?.ok_or(DecodeError::UnknownPart { what: "row", tag })?;
        new_follows(reader)?;
        Some(old)
    };
    Ok(Message::Update { relation, old, new: tuple(reader)? })
}

fn new_follows(reader: &mut Reader<'_>) -> Result<(), DecodeError> {
    match reader.u8()? {
        b'N' => Ok(()),
        tag => Err(DecodeError::UnknownPart { what: "new row", tag }),
    }
}

fn old_tuple<'a>(tag: u8, reader: &mut Reader<'a>) -> Result<Option<OldTuple<'a>>, DecodeError> {
    Ok(match tag {
        b'K' => Some(OldTuple::Key(tuple(reader)?)),
        b'O' => Some(OldTuple::Full(tuple(reader)?)),
        _ => None,
    })
}

fn tuple<'a>(reader: &mut Reader<'a>) -> Result<Tuple<'a>, DecodeError> {
    let count = reader.short_count()?;
    let mut cells = Vec::with_capacity(reader.room(count, 1));
    for _ in 0..count {
        cells.push(match reader.u8()? {
            b'n' => Cell::Null,
            b'u' => Cell::Unchanged,
            b't' => Cell::Text(sized(reader)?),
            b'b' => Cell::Binary(sized(reader)?),
            tag => return Err(DecodeError::UnknownPart { what: "kind of value", tag }),
        });
    }
    Ok(cells)
}

fn sized<'a>(reader: &mut Reader<'a>) -> Result<&'a [u8], DecodeError> {
    let length = reader.count()?;
    reader.bytes(length)
}

fn truncate<'a>(reader: &mut Reader<'a>) -> Result<Message<'a>, DecodeError> {
    let (count, options) = (reader.count()?, reader.u8()?);
    if options & !3 != 0 {
        return Err(DecodeError::UnknownPart { what: "option of a truncate", tag: options });
    }
    let mut relations = Vec::with_capacity(reader.room(count, 4));
    for _ in 0..count {
        relations.push(Oid(reader.u32()?));
    }
    Ok(Message::Truncate {
        relations,
        cascade: options & 1 != 0,
        restart_identity: options & 2 != 0,
    })
}

//! What a table looked like when a row of it was changed.

use std::fmt;

use model::Digest;

use crate::{DecodeError, canonical::Canonical, message::RelationMessage};

/// The number of an object in the database's catalog.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Oid(pub u32);

impl fmt::Display for Oid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// What of an old row a table tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Identity {
    /// The primary key.
    Default,
    /// Nothing.
    Nothing,
    /// Everything.
    Full,
    /// The columns of an index.
    Index,
}

impl Identity {
    pub(crate) fn from_tag(tag: u8) -> Result<Self, DecodeError> {
        match tag {
            b'd' => Ok(Self::Default),
            b'n' => Ok(Self::Nothing),
            b'f' => Ok(Self::Full),
            b'i' => Ok(Self::Index),
            tag => Err(DecodeError::UnknownPart { what: "replica identity", tag }),
        }
    }

    fn tag(self) -> u8 {
        match self {
            Self::Default => b'd',
            Self::Nothing => b'n',
            Self::Full => b'f',
            Self::Index => b'i',
        }
    }

    /// The word of `ALTER TABLE … REPLICA IDENTITY`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::Nothing => "nothing",
            Self::Full => "full",
            Self::Index => "index",
        }
    }
}

/// Which table: its number, and what it was called at the time.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Table {
    /// Its schema.
    pub schema: String,
    /// Its name; of a partitioned table's rows, that of the leaf.
    pub name: String,
    /// Its number.
    pub oid: Oid,
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.schema, self.name)
    }
}

/// A column of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// Its data type.
    pub type_oid: Oid,
    /// Schema and name of a type that is not built in; of a domain, those of the type it is made
    /// of.
    pub type_name: Option<(String, String)>,
    /// What narrows the type, as the catalog has it; -1 for nothing.
    pub type_modifier: i32,
    /// Whether the column is of the identity. With a full identity every column is: the primary
    /// key is then told by the catalog alone.
    pub identifies: bool,
}

/// A table as the stream described it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Relation {
    /// Which table.
    pub table: Table,
    /// What of an old row it tells.
    pub identity: Identity,
    /// Its columns. Generated ones are among them only if the publication publishes them, which it
    /// can since PostgreSQL 18.
    pub columns: Vec<Column>,
    signature: Digest,
}

impl Relation {
    pub(crate) fn new(
        message: &RelationMessage<'_>,
        type_name: impl Fn(Oid) -> Option<(String, String)>,
    ) -> Self {
        let columns: Vec<Column> = message
            .columns
            .iter()
            .map(|column| Column {
                name: column.name.to_owned(),
                type_oid: column.type_oid,
                type_name: type_name(column.type_oid),
                type_modifier: column.type_modifier,
                identifies: column.identifies,
            })
            .collect();
        let (schema, name) = (message.schema.to_owned(), message.name.to_owned());
        let table = Table { schema, name, oid: message.oid };
        let signature = signature(&table, message.identity, &columns);
        Self { table, identity: message.identity, columns, signature }
    }

    /// The digest of all that is known of the table: another one, another shape.
    pub fn signature(&self) -> Digest {
        self.signature
    }

    /// The place of a column among the values of a row.
    pub fn position(&self, column: &str) -> Option<usize> {
        self.columns.iter().position(|known| known.name == column)
    }
}

fn signature(table: &Table, identity: Identity, columns: &[Column]) -> Digest {
    let mut form = Canonical::new(b"relation.v1");
    form.number(table.oid.0.into());
    form.text(&table.schema);
    form.text(&table.name);
    form.byte(identity.tag());
    form.length(columns.len());
    for column in columns {
        form.byte(u8::from(column.identifies));
        form.text(&column.name);
        form.number(column.type_oid.0.into());
        form.signed(column.type_modifier.into());
        match &column.type_name {
            None => form.byte(0),
            Some((schema, name)) => {
                form.byte(1);
                form.text(schema);
                form.text(name);
            }
        }
    }
    crypto::sha256(form.bytes())
}

//! Changes of rows, with what is known of the row before and after.

use std::sync::Arc;

use crate::{
    DecodeError, Relation,
    canonical::Canonical,
    message::{Cell, OldTuple, Tuple},
};

/// A value of a row.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Value {
    /// Null.
    Null,
    /// The type's output function's text, in the encoding of the reading session. What it looks
    /// like hangs on that session's settings, `TimeZone` and `DateStyle` among them: pin them.
    Text(Vec<u8>),
    /// The type's send function's bytes.
    Binary(Vec<u8>),
    /// A large value that the change left as it was, of a table that does not tell old rows whole:
    /// what it was cannot be known. Never to be taken for a value.
    Unresolved,
    /// A column outside the identity of an old row of which only the identity is told.
    NotTold,
}

impl Value {
    /// The value's text, where it is one.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(bytes) => std::str::from_utf8(bytes).ok(),
            Self::Null | Self::Binary(_) | Self::Unresolved | Self::NotTold => None,
        }
    }

    /// About how many bytes it takes.
    fn weight(&self) -> usize {
        let bytes = match self {
            Self::Text(bytes) | Self::Binary(bytes) => bytes.len(),
            Self::Null | Self::Unresolved | Self::NotTold => 0,
        };
        size_of::<Self>().saturating_add(bytes)
    }

    fn write(&self, form: &mut Canonical) {
        match self {
            Self::Null => form.byte(b'n'),
            Self::Text(bytes) => {
                form.byte(b't');
                form.blob(bytes);
            }
            Self::Binary(bytes) => {
                form.byte(b'b');
                form.blob(bytes);
            }
            Self::Unresolved => form.byte(b'u'),
            Self::NotTold => form.byte(b'-'),
        }
    }
}

/// A row, its values in the order of the relation's columns.
pub type Row = Vec<Value>;

/// What is told of a row that was there before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Before {
    /// Nothing: the table's identity told nothing, or the key did not change.
    NotTold,
    /// The identity; every other column is [`Value::NotTold`].
    Key(Row),
    /// The whole row.
    Full(Row),
}

/// What was done to a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Edit {
    /// It is new.
    Insert {
        /// The row.
        after: Row,
    },
    /// It is another.
    Update {
        /// What it was.
        before: Before,
        /// What it is, with the large values that the update left alone filled in from `before`.
        after: Row,
    },
    /// It is gone.
    Delete {
        /// What it was.
        before: Before,
    },
}

/// A change of one row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// Its place among the changes and truncations of its transaction, from 0.
    pub place: u64,
    /// Its table, as it looked then.
    pub relation: Arc<Relation>,
    /// What was done.
    pub edit: Edit,
}

impl Change {
    /// The value of a column after the change.
    pub fn after(&self, column: &str) -> Option<&Value> {
        let row = match &self.edit {
            Edit::Insert { after } | Edit::Update { after, .. } => after,
            Edit::Delete { .. } => return None,
        };
        row.get(self.relation.position(column)?)
    }

    /// The value of a column before the change, as far as it is told.
    pub fn before(&self, column: &str) -> Option<&Value> {
        let (Edit::Update { before, .. } | Edit::Delete { before }) = &self.edit else {
            return None;
        };
        match before {
            Before::NotTold => None,
            Before::Key(row) | Before::Full(row) => row.get(self.relation.position(column)?),
        }
    }

    /// Whether both rows of the change are known whole.
    pub fn is_whole(&self) -> bool {
        let known = |row: &Row| !row.contains(&Value::Unresolved);
        match &self.edit {
            Edit::Insert { after } => known(after),
            Edit::Update { before: Before::Full(before), after } => known(before) && known(after),
            Edit::Delete { before: Before::Full(before) } => known(before),
            Edit::Update { before: Before::NotTold | Before::Key(_), .. }
            | Edit::Delete { before: Before::NotTold | Before::Key(_) } => false,
        }
    }

    /// About how many bytes its rows take.
    pub(crate) fn weight(&self) -> usize {
        let of = |row: &Row| row.iter().map(Value::weight).sum::<usize>();
        let before = match &self.edit {
            Edit::Insert { .. } => 0,
            Edit::Update { before, .. } | Edit::Delete { before } => match before {
                Before::NotTold => 0,
                Before::Key(row) | Before::Full(row) => of(row),
            },
        };
        let after = match &self.edit {
            Edit::Insert { after } | Edit::Update { after, .. } => of(after),
            Edit::Delete { .. } => 0,
        };
        before.saturating_add(after)
    }

    /// The form that is digested.
    pub(crate) fn canonical(&self) -> Canonical {
        let mut form = Canonical::new(b"change.v1");
        form.number(self.place);
        form.blob(self.relation.signature().as_bytes());
        match &self.edit {
            Edit::Insert { after } => {
                form.byte(b'I');
                write_row(&mut form, after);
            }
            Edit::Update { before, after } => {
                form.byte(b'U');
                write_before(&mut form, before);
                write_row(&mut form, after);
            }
            Edit::Delete { before } => {
                form.byte(b'D');
                write_before(&mut form, before);
            }
        }
        form
    }
}

/// Tables that were emptied by one statement. What stood in them is not told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Truncation {
    /// Its place among the changes and truncations of its transaction, from 0.
    pub place: u64,
    /// The tables that are published, as they looked then.
    pub relations: Vec<Arc<Relation>>,
    /// Whether tables that refer to them were emptied too; those stand in `relations`.
    pub cascade: bool,
    /// Whether their sequences begin anew.
    pub restart_identity: bool,
}

impl Truncation {
    /// The form that is digested.
    pub(crate) fn canonical(&self) -> Canonical {
        let mut form = Canonical::new(b"truncation.v1");
        form.number(self.place);
        form.byte(u8::from(self.cascade));
        form.byte(u8::from(self.restart_identity));
        form.length(self.relations.len());
        for relation in &self.relations {
            form.blob(relation.signature().as_bytes());
        }
        form
    }
}

fn write_row(form: &mut Canonical, row: &Row) {
    form.length(row.len());
    for value in row {
        value.write(form);
    }
}

fn write_before(form: &mut Canonical, before: &Before) {
    match before {
        Before::NotTold => form.byte(b'-'),
        Before::Key(row) => {
            form.byte(b'K');
            write_row(form, row);
        }
        Before::Full(row) => {
            form.byte(b'O');
            write_row(form, row);
        }
    }
}

/// The row that was sent.
pub(crate) fn row(relation: &Relation, tuple: &Tuple<'_>) -> Result<Row, DecodeError> {
    if tuple.len() != relation.columns.len() {
        return Err(DecodeError::OtherColumns {
            oid: relation.table.oid,
            expected: relation.columns.len(),
            found: tuple.len(),
        });
    }
    Ok(tuple
        .iter()
        .map(|cell| match cell {
            Cell::Null => Value::Null,
            Cell::Unchanged => Value::Unresolved,
            Cell::Text(bytes) => Value::Text(bytes.to_vec()),
            Cell::Binary(bytes) => Value::Binary(bytes.to_vec()),
        })
        .collect())
}

/// What was sent of the row before.
pub(crate) fn before(
    relation: &Relation,
    old: Option<&OldTuple<'_>>,
) -> Result<Before, DecodeError> {
    Ok(match old {
        None => Before::NotTold,
        Some(OldTuple::Full(tuple)) => Before::Full(row(relation, tuple)?),
        Some(OldTuple::Key(tuple)) => {
            let mut row = row(relation, tuple)?;
            // Null there says nothing of the column.
            for (value, column) in row.iter_mut().zip(&relation.columns) {
                if !column.identifies {
                    *value = Value::NotTold;
                }
            }
            Before::Key(row)
        }
    })
}

/// Puts in what an update left alone, where the row before tells it.
pub(crate) fn fill(after: &mut Row, before: &Before) {
    let (Before::Key(old) | Before::Full(old)) = before else { return };
    for (value, old) in after.iter_mut().zip(old) {
        if *value == Value::Unresolved && *old != Value::NotTold {
            value.clone_from(old);
        }
    }
}

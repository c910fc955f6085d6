//! What a transaction did to each row from its beginning to its end.
//!
//! A report tells of rows, the log of changes: an update by a trigger behind an insert is a second
//! change of one row, and a row that moves between partitions is a removed and a new one. Where the
//! primary key is known and every change was kept whole, changes of one row are put together. The key of a
//! partitioned table holds what it is parted by, so that a row that moves gets another one: it is known by the
//! rest of its key, which it keeps, and because it comes in the very next change.

use std::collections::BTreeMap;

use model::{Datum, Image, LogFrame, RowChange, RowOp, TableName};

use crate::rows::Tables;

/// What was done to one row, from the beginning of its transaction to the end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NetChange {
    /// The table, the partitioned one where it has parts.
    pub(crate) table: TableName,
    /// The part of it that the row is in.
    leaf: TableName,
    pub(crate) op: RowOp,
    pub(crate) before: Option<Image>,
    pub(crate) after: Option<Image>,
}

impl NetChange {
    /// The row as a report would tell it: as it is now, or as it was before it went.
    pub(crate) fn told(&self) -> Option<&Image> {
        self.after.as_ref().or(self.before.as_ref())
    }
}

/// The changes of a frame, those of one row put together. A frame whose changes are not all there
/// gives those that are, since what is missing may belong to any row.
pub(crate) fn of(frame: &LogFrame, tables: Tables<'_>) -> Vec<NetChange> {
    let mut net = Net::default();
    for change in &frame.changes {
        let table = tables.whole(&change.table).clone();
        let key = tables.key(&change.table).unwrap_or_default();
        net.add(table, key, change);
    }
    net.ended()
}

type Key = (TableName, Vec<Datum>);

#[derive(Default)]
struct Net<'f> {
    rows: Vec<Option<NetChange>>,
    // Where the row is that has this key now.
    by_key: BTreeMap<Key, usize>,
    // The change before, and the row that it was of.
    last: Option<(usize, &'f RowChange)>,
}

impl<'f> Net<'f> {
    fn add(&mut self, table: TableName, key: &[String], change: &'f RowChange) {
        let before = change.before.as_ref().and_then(|image| key_of(&table, key, image));
        let after = change.after.as_ref().and_then(|image| key_of(&table, key, image));
        let earlier = match (change.op, &change.before) {
            // An update that tells nothing of the old row left its key alone.
            (RowOp::Insert, _) | (RowOp::Update, None) => after.as_ref(),
            (RowOp::Update | RowOp::Delete, _) => before.as_ref(),
        };
        // A row whose key is not told is a row by itself.
        let at = earlier.and_then(|key| self.by_key.remove(key));
        // A row that went and one that came with the same key are two, unless it moved.
        let goes_on = |known: &NetChange| known.op != RowOp::Delete || known.leaf != change.table;
        let at = at.filter(|at| self.rows.get(*at).and_then(Option::as_ref).is_some_and(goes_on));
        let at = at.or_else(|| self.moved((&table, key), change));
        let known = at.and_then(|at| self.rows.get_mut(at)).and_then(Option::take);
        let now = match known {
            None => Some(NetChange {
                table,
                leaf: change.table.clone(),
                op: change.op,
                before: change.before.clone(),
                after: change.after.clone(),
            }),
            Some(known) => known.followed_by(change),
        };
        // A removed row is remembered by the key that it had, in case it comes back elsewhere.
        if let (Some(key), Some(_)) = (after.or(before), &now) {
            self.by_key.insert(key, at.unwrap_or(self.rows.len()));
        }
        self.last = Some((at.unwrap_or(self.rows.len()), change));
        match at.and_then(|at| self.rows.get_mut(at)) {
            Some(slot) => *slot = now,
            None => self.rows.push(now),
        }
    }

    /// The row that the change before this one took out of another part of the table, where this one puts
    /// it in here under what of its key is not the part's.
    fn moved(
        &mut self,
        (table, key): (&TableName, &[String]),
        change: &RowChange,
    ) -> Option<usize> {
        let (at, gone) = self.last?;
        let row = self.rows.get(at)?.as_ref()?;
        let is_move = (gone.op, change.op) == (RowOp::Delete, RowOp::Insert)
            && row.op == RowOp::Delete
            && row.table == *table
            && gone.table != change.table;
        let (before, after) = (gone.before.as_ref()?, change.after.as_ref()?);
        let keeps = |column: &String| match (before.get(column), after.get(column)) {
            (Some(Datum::Text(old)), Some(Datum::Text(new))) => old == new,
            (_, _) => false,
        };
        if !is_move || !key.iter().any(keeps) {
            return None;
        }
        if let Some(old) = key_of(table, key, before) {
            self.by_key.remove(&old);
        }
        Some(at)
    }

    fn ended(self) -> Vec<NetChange> {
        self.rows.into_iter().flatten().collect()
    }
}

impl NetChange {
    /// Both changes as one; nothing for a row that came and went, which was never there for anybody
    /// else.
    fn followed_by(self, change: &RowChange) -> Option<Self> {
        let op = match (self.op, &change.after) {
            (RowOp::Insert, None) => return None,
            (RowOp::Insert, Some(_)) => RowOp::Insert,
            (RowOp::Update | RowOp::Delete, Some(_)) => RowOp::Update,
            (RowOp::Update | RowOp::Delete, None) => RowOp::Delete,
        };
        Some(Self { op, leaf: change.table.clone(), after: change.after.clone(), ..self })
    }
}

/// The row's key, where every part of it is told.
fn key_of(table: &TableName, key: &[String], image: &Image) -> Option<Key> {
    if key.is_empty() {
        return None;
    }
    let part = |column: &String| match image.get(column) {
        Some(value @ Datum::Text(_)) => Some(value.clone()),
        Some(Datum::Null | Datum::Unresolved) | None => None,
    };
    let parts: Option<Vec<_>> = key.iter().map(part).collect();
    parts.map(|parts| (table.clone(), parts))
}

//! A model of PostgreSQL's transactions: rows, locks, savepoints, and the order of commits.

use std::collections::BTreeMap;

use model::{Datum, Image, RowCounts, RowOp, TableName};

/// How many tables there are.
pub(super) const TABLES: usize = 4;
/// Declared, published, the one that reports are about.
pub(super) const ORDERS: usize = 0;
/// Declared for new rows only, published.
pub(super) const NOTES: usize = 1;
/// Not declared, published.
pub(super) const HIDDEN: usize = 2;
/// Declared, not published.
pub(super) const DARK: usize = 3;

pub(super) fn name(table: usize) -> TableName {
    let name = ["orders", "notes", "hidden", "dark"].get(table).copied().unwrap_or_default();
    TableName::new("public", name)
}

/// Seeded numbers.
#[derive(Debug)]
pub(super) struct Dice(u64);

impl Dice {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// A number below this one.
    pub(super) fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) % end
    }

    /// A place below this one.
    pub(super) fn place(&mut self, end: usize) -> usize {
        usize::try_from(self.below(end as u64)).unwrap_or_default()
    }

    pub(super) fn one_in(&mut self, chances: u64) -> bool {
        self.below(chances) == 0
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Row {
    pub(super) id: u64,
    pub(super) status: u64,
    pub(super) amount: u64,
}

impl Row {
    pub(super) fn image(&self) -> Image {
        let text = |value: u64| Datum::Text(value.to_string());
        [("id", self.id), ("status", self.status), ("amount", self.amount)]
            .map(|(column, value)| (column.to_owned(), text(value)))
            .into()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Version {
    pub(super) row: Row,
    pub(super) xmin: u32,
}

/// A change as the log would tell it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Change {
    pub(super) table: usize,
    // Which row, whatever its key is.
    pub(super) row: u64,
    pub(super) op: RowOp,
    pub(super) before: Option<Row>,
    pub(super) after: Option<Row>,
}

type Place = (usize, u64);

#[derive(Debug, Clone, Default)]
struct Writes {
    overlay: BTreeMap<Place, Option<(Version, u64)>>,
    changes: Vec<Change>,
}

/// An open transaction.
#[derive(Debug, Clone, Default)]
pub(super) struct Tx {
    pub(super) xid: u32,
    sub: Option<u32>,
    writes: Writes,
    saved: Option<Writes>,
    pub(super) counted: [RowCounts; TABLES],
}

impl Tx {
    /// What it did so far.
    pub(super) fn changes(&self) -> &[Change] {
        &self.writes.changes
    }
}

/// The committed rows, and who holds which.
#[derive(Debug, Default)]
pub(super) struct World {
    committed: BTreeMap<Place, (Version, u64)>,
    locks: BTreeMap<Place, u32>,
    next_xid: u32,
    next_row: u64,
    /// Committed transactions in the order of their commits.
    pub(super) log: Vec<(u32, Vec<Change>)>,
}

impl World {
    pub(super) fn begin(&mut self) -> Tx {
        self.next_xid += 1;
        Tx { xid: self.next_xid, ..Tx::default() }
    }

    pub(super) fn read(&self, table: usize, id: u64) -> Option<Version> {
        self.committed.get(&(table, id)).map(|(version, _)| *version)
    }

    fn seen(&self, tx: &Tx, place: Place) -> Option<(Version, u64)> {
        match tx.writes.overlay.get(&place) {
            Some(own) => *own,
            None => self.committed.get(&place).copied(),
        }
    }

    /// Takes the lock, unless somebody else has it.
    fn locked(&mut self, tx: &Tx, place: Place) -> bool {
        *self.locks.entry(place).or_insert(tx.xid) == tx.xid
    }

    /// Does one thing to one row, if it can be done; a transaction that would have to wait does not.
    pub(super) fn write(&mut self, tx: &mut Tx, table: usize, op: RowOp, row: Row) -> bool {
        let place = (table, row.id);
        if !self.locked(tx, place) {
            return false;
        }
        let xmin = tx.sub.unwrap_or(tx.xid);
        let (before, number, after) = match (op, self.seen(tx, place)) {
            (RowOp::Insert, None) => {
                self.next_row += 1;
                (None, self.next_row, Some(row))
            }
            (RowOp::Update, Some((was, number))) => (Some(was.row), number, Some(row)),
            (RowOp::Delete, Some((was, number))) => (Some(was.row), number, None),
            (RowOp::Insert, Some(_)) | (RowOp::Update | RowOp::Delete, None) => return false,
        };
        let now = after.map(|row| (Version { row, xmin }, number));
        tx.writes.overlay.insert(place, now);
        Self::note(tx, Change { table, row: number, op, before, after });
        true
    }

    /// Gives a row another key.
    pub(super) fn rekey(&mut self, tx: &mut Tx, table: usize, from: u64, to: u64) -> bool {
        let (old, new) = ((table, from), (table, to));
        if from == to || !self.locked(tx, old) || !self.locked(tx, new) {
            return false;
        }
        let (Some((was, number)), None) = (self.seen(tx, old), self.seen(tx, new)) else {
            return false;
        };
        let row = Row { id: to, ..was.row };
        let xmin = tx.sub.unwrap_or(tx.xid);
        tx.writes.overlay.insert(old, None);
        tx.writes.overlay.insert(new, Some((Version { row, xmin }, number)));
        let (before, after) = (Some(was.row), Some(row));
        Self::note(tx, Change { table, row: number, op: RowOp::Update, before, after });
        true
    }

    fn note(tx: &mut Tx, change: Change) {
        let Some(counted) = tx.counted.get_mut(change.table) else { return };
        match change.op {
            RowOp::Insert => counted.inserts += 1,
            RowOp::Update => counted.updates += 1,
            RowOp::Delete => counted.deletes += 1,
        }
        tx.writes.changes.push(change);
    }

    pub(super) fn savepoint(&mut self, tx: &mut Tx) {
        self.next_xid += 1;
        tx.sub = Some(self.next_xid);
        tx.saved = Some(tx.writes.clone());
    }

    /// Takes back what was done since the savepoint; the counters keep it.
    pub(super) fn roll_back_to_savepoint(tx: &mut Tx) {
        if let Some(saved) = tx.saved.take() {
            tx.writes = saved;
            tx.sub = None;
        }
    }

    pub(super) fn release(tx: &mut Tx) {
        tx.saved = None;
        tx.sub = None;
    }

    pub(super) fn commit(&mut self, tx: &Tx) {
        for (place, version) in &tx.writes.overlay {
            match version {
                Some(version) => self.committed.insert(*place, *version),
                None => self.committed.remove(place),
            };
        }
        self.log.push((tx.xid, tx.writes.changes.clone()));
        self.unlock(tx);
    }

    pub(super) fn abort(&mut self, tx: &Tx) {
        self.unlock(tx);
    }

    fn unlock(&mut self, tx: &Tx) {
        self.locks.retain(|_, holder| *holder != tx.xid);
    }
}

/// What changes came to in the end, row by row: table, what was there, what is there.
pub(super) fn in_the_end(changes: &[Change]) -> Vec<(usize, Option<Row>, Option<Row>)> {
    let mut rows: BTreeMap<u64, (usize, Option<Row>, Option<Row>)> = BTreeMap::new();
    for change in changes {
        rows.entry(change.row).or_insert((change.table, change.before, None)).2 = change.after;
    }
    rows.into_values().filter(|(_, before, after)| before.is_some() || after.is_some()).collect()
}

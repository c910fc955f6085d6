//! Reported rows beside observed ones, and how the names of both go together.

use std::collections::{BTreeMap, BTreeSet};

use model::{
    Datum, Footprint, Image, Measured, ReportedRows, RowOp, TableName, Teller, Told,
    WitnessReason as Reason,
};

use crate::{finding::Problems, net::NetChange};

/// One row of a report or of the evidence, and how the two agree.
#[derive(Debug, Clone)]
pub(crate) struct RowFinding {
    pub(crate) table: TableName,
    pub(crate) op: Option<RowOp>,
    /// The row as it was reported.
    pub(crate) expected: Option<BTreeMap<String, Told>>,
    /// The row as it was observed: as it is now, or as it was before it went.
    pub(crate) observed: Option<Image>,
    /// The row before it was changed, where the evidence tells of that.
    pub(crate) before: Option<Image>,
    /// The columns of the table's primary key, where it has one that is known.
    pub(crate) key: Vec<String>,
    /// Why it is no better; nothing where both agree.
    pub(crate) reason: Option<Reason>,
    /// The columns that differ or are not told.
    pub(crate) columns: Vec<String>,
}

/// The names of tables, as the connector found them in its own transaction.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tables<'a> {
    pub(crate) measured: Option<&'a Measured>,
}

impl<'a> Tables<'a> {
    /// The partitioned table that this one is a part of, or itself.
    pub(crate) fn whole<'t>(self, table: &'t TableName) -> &'t TableName
    where
        'a: 't,
    {
        let touched = self.measured.and_then(|measured| measured.touched.get(table));
        touched.and_then(|touched| touched.root.as_ref()).unwrap_or(table)
    }

    /// The primary key of a table, where it has one that is known.
    pub(crate) fn key(self, table: &TableName) -> Option<&'a [String]> {
        let measured = self.measured?;
        let touched = measured.touched.get(table).map(|touched| touched.key.as_slice());
        let reported = measured.rows.as_ref().filter(|rows| rows.table == *table);
        touched.or(reported.map(|rows| rows.key.as_slice())).filter(|key| !key.is_empty())
    }

    /// The declared name of a table, if it is declared.
    pub(crate) fn declared<'f>(
        self,
        footprint: &'f Footprint,
        table: &TableName,
    ) -> Option<&'f str> {
        let names = self.measured.map(|measured| &measured.names);
        let is_named = |name: &str| match names.and_then(|names| names.get(name)) {
            Some(known) => known == table,
            None => name == table.name || name == table.to_string(),
        };
        footprint.tables.keys().map(String::as_str).find(|name| is_named(name))
    }
}

/// Finds the reported rows among the changes of a whole frame and says which are left over.
pub(crate) fn compare(
    reported: &ReportedRows,
    changes: &[NetChange],
    problems: &mut Problems,
) -> Vec<RowFinding> {
    let mut left: BTreeSet<usize> = (0..changes.len())
        .filter(|at| changes.get(*at).is_some_and(|one| one.table == reported.table))
        .collect();
    let mut findings = Vec::new();
    for row in &reported.rows {
        let found = left
            .iter()
            .copied()
            .find(|at| changes.get(*at).is_some_and(|change| is_of(reported, row, change)));
        let change = found.and_then(|at| changes.get(at));
        if let Some(at) = found {
            left.remove(&at);
        }
        let (reason, columns) = match change.and_then(NetChange::told) {
            None => (Some(Reason::MissingRows), Vec::new()),
            Some(image) => against(reported.teller, row, image),
        };
        if let Some(reason) = reason {
            problems.add(reason);
        }
        findings.push(RowFinding {
            table: reported.table.clone(),
            op: change.map(|change| change.op).or(reported.op),
            expected: Some(row.clone()),
            observed: change.and_then(NetChange::told).cloned(),
            before: change.and_then(|change| change.before.clone()),
            key: reported.key.clone(),
            reason,
            columns,
        });
    }
    for change in left.into_iter().filter_map(|at| changes.get(at)) {
        problems.add(Reason::ExtraRows);
        findings.push(RowFinding {
            table: change.table.clone(),
            op: Some(change.op),
            expected: None,
            observed: change.told().cloned(),
            before: change.before.clone(),
            key: reported.key.clone(),
            reason: Some(Reason::ExtraRows),
            columns: Vec::new(),
        });
    }
    findings
}

/// Whether this may be the change that the row is reported for: by its key where that is told, by
/// everything that is told otherwise.
fn is_of(reported: &ReportedRows, row: &BTreeMap<String, Told>, change: &NetChange) -> bool {
    if reported.op.is_some_and(|op| op != change.op) {
        return false;
    }
    let Some(image) = change.told() else { return false };
    let agrees = |column: &String, told: &Told| {
        image.get(column).and_then(|seen| told.is(seen)) == Some(true)
    };
    let keyed = !reported.key.is_empty() && reported.key.iter().all(|part| row.contains_key(part));
    if keyed {
        reported.key.iter().all(|part| row.get(part).is_some_and(|told| agrees(part, told)))
    } else {
        row.iter()
            .filter(|(column, _)| image.contains_key(*column))
            .all(|(column, told)| agrees(column, told))
    }
}

/// How a reported row and the row that was observed agree, and in which columns they do not.
pub(crate) fn against(
    teller: Teller,
    row: &BTreeMap<String, Told>,
    image: &Image,
) -> (Option<Reason>, Vec<String>) {
    let (mut differ, mut untold) = (Vec::new(), Vec::new());
    for (column, told) in row {
        match image.get(column) {
            // The log leaves generated columns out, unless the publication has them. What the database
            // itself returned of one follows from the others; what a function says of it does not.
            None if teller == Teller::Database => {}
            None => untold.push(column.clone()),
            Some(seen) => match told.is(seen) {
                Some(true) => {}
                Some(false) => differ.push(column.clone()),
                None => untold.push(column.clone()),
            },
        }
    }
    if !differ.is_empty() {
        (Some(Reason::ValueDiffers), differ)
    } else if untold.is_empty() {
        (None, untold)
    } else {
        (Some(Reason::ToastUnresolved), untold)
    }
}

/// The columns in which two images of one row differ, those with values that are not told apart.
pub(crate) fn changed_columns(before: &Image, after: &Image) -> (Vec<String>, Vec<String>) {
    let (mut changed, mut untold) = (Vec::new(), Vec::new());
    for (column, now) in after {
        match before.get(column) {
            Some(was) if was == now && *was != Datum::Unresolved => {}
            Some(Datum::Unresolved) | None => untold.push(column.clone()),
            Some(_) if *now == Datum::Unresolved => untold.push(column.clone()),
            Some(_) => changed.push(column.clone()),
        }
    }
    (changed, untold)
}

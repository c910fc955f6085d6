//! Seeded histories of the model: no verdict is better than the truth.

use std::collections::{BTreeMap, BTreeSet};

use model::{
    Digest, ExecutionErrorCode, Fault, Footprint, Level, LogAnswer, LogBlind, LogFrame, LogGap,
    LogSource, LogTrace, Lsn, Measured, OldRows, Outcome, ReadBack, ReadRow, Report, ReportedRows,
    RowChange, RowCounts, RowOp, SideEffect, TableInLog, Teller, TextForm, Told, Touched, Verdict,
};
use serde_json::Value;

use super::world::{
    Change, DARK, Dice, HIDDEN, NOTES, ORDERS, Row, TABLES, Tx, World, in_the_end, name,
};
use crate::{Evidence, MAX_DETAIL_BYTES, Reporter, Seen, found, judge};

const HISTORIES: u64 = 100_000;
/// Of so many the whole finding is made.
const WHOLE: u64 = 2_000;
const THREADS: u64 = 4;
const IDS: u64 = 6;

/// The rows that an answer tells, and what was done to all of them.
type Answer = (Vec<Row>, Option<RowOp>);

/// One run in its history, and all that is true of it.
struct History {
    outcome: Outcome,
    /// What the run's transaction did, as far as it was committed.
    committed: Option<Vec<Change>>,
    reported: Vec<Row>,
    op: Option<RowOp>,
    answer: LogAnswer,
    read: ReadBack,
    /// Whether the evidence lacks nothing.
    complete: bool,
    /// Whether rows were changed after the connector had counted.
    late: bool,
}

#[test]
fn a_hundred_thousand_histories_give_no_false_verdict() {
    let part = HISTORIES / THREADS;
    let tallies: Vec<_> = std::thread::scope(|scope| {
        let parts = (0..THREADS).map(|at| scope.spawn(move || tally(at * part..(at + 1) * part)));
        let started: Vec<_> = parts.collect();
        started.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let sum = |of: fn(&Tally) -> u64| tallies.iter().map(of).sum::<u64>();
    // The test says nothing if hardly anything is verified or found out.
    assert!(sum(|tally| tally.by_log) > HISTORIES / 20, "{tallies:?}");
    assert!(sum(|tally| tally.by_reader) > HISTORIES / 100, "{tallies:?}");
    assert!(sum(|tally| tally.found_out) > HISTORIES / 10, "{tallies:?}");
}

/// How often something was verified, and how often a lie was found out.
#[derive(Debug, Default)]
struct Tally {
    by_log: u64,
    by_reader: u64,
    found_out: u64,
}

fn tally(seeds: std::ops::Range<u64>) -> Tally {
    let footprint = footprint();
    let mut tally = Tally::default();
    for seed in seeds {
        let history = History::of(seed);
        let judged = |required_level, seen| {
            let evidence = Evidence {
                outcome: &history.outcome,
                reporter: Reporter::Connector,
                side_effect: Some(SideEffect::Write),
                footprint: Some(&footprint),
                required_level,
                seen,
                max_detail_bytes: MAX_DETAIL_BYTES,
            };
            // The detail takes most of the time and does not change the verdict.
            let problems = found(&evidence).problems;
            let verdict = problems.verdict();
            assert!(seed >= WHOLE || judge(&evidence).verdict == verdict);
            (verdict, problems)
        };
        let by_log = judged(Level::L2, Seen::ChangeLog(&history.answer));
        let truth = history.is_true(&footprint);
        match by_log.0 {
            Verdict::Verified => {
                assert!(truth, "seed {seed}: {by_log:#?}");
                tally.by_log += 1;
            }
            Verdict::Mismatch => {
                assert!(!truth, "seed {seed}: {by_log:#?}");
                tally.found_out += 1;
            }
            Verdict::Unverifiable => {
                assert!(!history.complete, "seed {seed}: {:?} {by_log:#?}", history.answer);
            }
        }
        let by_reader = judged(Level::L1, Seen::ReadBack(&history.read));
        match by_reader.0 {
            Verdict::Verified if history.late => {}
            Verdict::Verified => {
                assert!(history.rows_are_true(), "seed {seed}: {by_reader:#?}");
                tally.by_reader += 1;
            }
            Verdict::Mismatch => assert!(!truth, "seed {seed}: {by_reader:#?}"),
            Verdict::Unverifiable => {}
        }
    }
    tally
}

fn footprint() -> Footprint {
    let all = vec![RowOp::Insert, RowOp::Update, RowOp::Delete];
    let tables = [("orders", all), ("notes", vec![RowOp::Insert]), ("dark", vec![RowOp::Insert])];
    Footprint {
        tables: tables.map(|(name, ops)| (name.to_owned(), ops)).into(),
        max_rows: 4,
        columns: Some([("orders".to_owned(), vec!["id".to_owned(), "status".to_owned()])].into()),
        scope: None,
    }
}

impl History {
    fn of(seed: u64) -> Self {
        let mut dice = Dice::new(seed + 1);
        let mut world = World::default();
        let mut others = Others::default();
        for _ in 0..10 {
            others.step(&mut world, &mut dice);
        }
        let mut run = world.begin();
        let steps = 1 + dice.below(4);
        for _ in 0..steps {
            if dice.one_in(2) {
                others.step(&mut world, &mut dice);
            }
            step_of_run(&mut world, &mut run, &mut dice);
        }
        World::release(&mut run);
        let answered = honest(run.changes());
        // What triggers do behind the statement's back: the connector has deferred ones run before it
        // counts, so that only somebody who gets round that is counted too early.
        let mut trigger = |world: &mut World, run: &mut Tx| {
            let table = [ORDERS, NOTES, HIDDEN][dice.place(3)];
            dice.one_in(12) && world.write(run, table, RowOp::Insert, row(&mut dice))
        };
        trigger(&mut world, &mut run);
        let counted = run.counted;
        let late = trigger(&mut world, &mut run);
        let aborted = dice.one_in(6);
        if aborted {
            world.abort(&run);
        } else {
            world.commit(&run);
        }
        let committed = (!aborted).then(|| changes_of(&world, run.xid));
        for _ in 0..dice.below(6) {
            others.step(&mut world, &mut dice);
        }
        let told = Self::told(&mut dice, (&world, &run, counted), (answered, committed));
        Self { late, ..told }
    }

    /// What is said of the run, truly or not, and what can be seen of it.
    fn told(
        dice: &mut Dice,
        (world, run, counted): (&World, &Tx, [RowCounts; TABLES]),
        ((mut reported, op), committed): (Answer, Option<Vec<Change>>),
    ) -> Self {
        let teller = if dice.one_in(3) { Teller::Database } else { Teller::Function };
        let says_so = if dice.one_in(8) { committed.is_none() } else { committed.is_some() };
        // The database itself does not lie of its rows.
        let lies = teller == Teller::Function && dice.one_in(2);
        if lies {
            lie(&mut reported, dice);
        }
        let count = (reported.len() as u64).saturating_sub(u64::from(lies && dice.one_in(8)));
        let mut complete = true;
        let blind =
            |table: usize| if table == DARK { vec![LogBlind::NotPublished] } else { vec![] };
        let partly = dice.one_in(12);
        let keep = if dice.one_in(12) { 1 } else { usize::MAX };
        let touched: BTreeMap<_, _> = (0..TABLES)
            .filter(|table| counted[*table].rows() > 0)
            .map(|table| {
                let key = vec!["id".to_owned()];
                let touched = Touched {
                    counts: counted[table],
                    key,
                    blind: blind(table),
                    ..Touched::default()
                };
                (name(table), touched)
            })
            .collect();
        let rows = ReportedRows {
            table: name(ORDERS),
            op,
            key: vec!["id".to_owned()],
            teller,
            rows: reported.iter().map(told_row).collect(),
        };
        let names = [("orders", ORDERS), ("notes", NOTES), ("dark", DARK)];
        let measured = Measured {
            trace: trace(run.xid),
            touched,
            names: names.map(|(declared, table)| (declared.to_owned(), name(table))).into(),
            scope: vec![],
            rows: Some(rows),
        };
        let report = Report { rows_changed: Some(count), measured: Some(Box::new(measured)) };
        let outcome = if says_so {
            Outcome::Succeeded { result: Value::Null, report }
        } else {
            Outcome::Failed(Fault::new(ExecutionErrorCode::ToolError, "it failed"))
        };
        let gap = dice.one_in(10);
        let answer = match &committed {
            _ if gap => gap_of(dice),
            None => LogAnswer::NeverCommitted { read_to: Lsn(900) },
            Some(changes) => {
                let frame = frame(changes, (keep, partly), dice);
                complete &= frame.keeps_all() && !(partly && frame.change_count > 0);
                LogAnswer::Committed(Box::new(frame))
            }
        };
        complete &= !gap && is_counted_exactly(counted, committed.as_deref());
        let read = reported.iter().map(|row| read_row(world, row.id)).collect();
        Self {
            outcome,
            committed,
            reported,
            op,
            answer,
            read: ReadBack::Rows(read),
            complete,
            late: false,
        }
    }

    fn claims(&self) -> bool {
        matches!(self.outcome, Outcome::Succeeded { .. })
    }

    fn count(&self) -> u64 {
        match &self.outcome {
            Outcome::Succeeded { report, .. } => report.rows_changed.unwrap_or_default(),
            Outcome::Applied | Outcome::Failed(_) | Outcome::Unknown(_) => 0,
        }
    }

    /// Whether everything that was said and declared is so.
    fn is_true(&self, footprint: &Footprint) -> bool {
        let Some(changes) = &self.committed else { return !self.claims() };
        if !self.claims() {
            return false;
        }
        if let LogAnswer::Committed(frame) = &self.answer
            && frame.repeats > 0
        {
            return false;
        }
        let end = in_the_end(changes);
        let declared = changes.iter().all(|change| match (change.table, change.op) {
            (ORDERS, RowOp::Update) => {
                change.before.zip(change.after).is_some_and(|(was, is)| was.amount == is.amount)
            }
            (ORDERS, _) | (NOTES | DARK, RowOp::Insert) => true,
            _ => false,
        });
        declared && end.len() as u64 <= footprint.max_rows && self.rows_are_true()
    }

    /// Whether the run was committed and the reported rows are those that it changed.
    fn rows_are_true(&self) -> bool {
        let Some(changes) = self.committed.as_ref().filter(|_| self.claims()) else { return false };
        let (mut rows, op) = honest(changes);
        let mut reported = self.reported.clone();
        rows.sort_unstable();
        reported.sort_unstable();
        rows == reported && op == self.op && self.count() == rows.len() as u64
    }
}

/// Everybody else who writes.
#[derive(Default)]
struct Others {
    open: Vec<Tx>,
}

impl Others {
    fn step(&mut self, world: &mut World, dice: &mut Dice) {
        if self.open.is_empty() || self.open.len() < 3 && dice.one_in(4) {
            self.open.push(world.begin());
        }
        let at = dice.place(self.open.len());
        if dice.one_in(4) {
            let tx = self.open.swap_remove(at);
            if dice.one_in(5) {
                world.abort(&tx);
            } else {
                world.commit(&tx);
            }
            return;
        }
        let (op, row) = (any_op(dice), row(dice));
        let table = dice.place(TABLES);
        world.write(&mut self.open[at], table, op, row);
    }
}

/// One thing that the run does, mostly to the table that it declares.
fn step_of_run(world: &mut World, run: &mut Tx, dice: &mut Dice) {
    match dice.below(24) {
        0 => world.savepoint(run),
        1 => World::roll_back_to_savepoint(run),
        2 => World::release(run),
        3 => drop(world.write(run, HIDDEN, RowOp::Insert, row(dice))),
        4 => drop(world.write(run, DARK, RowOp::Insert, row(dice))),
        5 => drop(world.write(run, NOTES, RowOp::Insert, row(dice))),
        6 => drop(world.write(run, NOTES, RowOp::Delete, row(dice))),
        7 => drop(world.rekey(run, ORDERS, dice.below(IDS), dice.below(IDS))),
        8 => drop(world.write(run, ORDERS, any_op(dice), row(dice))),
        _ => {
            let wanted = row(dice);
            // Most updates leave alone what may not be changed.
            let was = world.read(ORDERS, wanted.id).map_or(wanted.amount, |was| was.row.amount);
            world.write(run, ORDERS, any_op(dice), Row { amount: was, ..wanted });
        }
    }
}

fn any_op(dice: &mut Dice) -> RowOp {
    [RowOp::Insert, RowOp::Update, RowOp::Delete][dice.place(3)]
}

fn row(dice: &mut Dice) -> Row {
    Row { id: dice.below(IDS), status: dice.below(4), amount: dice.below(4) }
}

fn changes_of(world: &World, xid: u32) -> Vec<Change> {
    world
        .log
        .iter()
        .find(|(known, _)| *known == xid)
        .map(|(_, changes)| changes.clone())
        .unwrap_or_default()
}

/// The rows of the reported table as the truth tells them, and what was done to all of them.
fn honest(changes: &[Change]) -> Answer {
    let end: Vec<_> =
        in_the_end(changes).into_iter().filter(|(table, _, _)| *table == ORDERS).collect();
    let rows = end.iter().filter_map(|(_, before, after)| after.or(*before)).collect();
    let ops: BTreeSet<_> = end
        .iter()
        .map(|(_, before, after)| match (before, after) {
            (None, _) => RowOp::Insert,
            (Some(_), Some(_)) => RowOp::Update,
            (Some(_), None) => RowOp::Delete,
        })
        .collect();
    let op = ops.first().copied().filter(|_| ops.len() == 1);
    (rows, op)
}

fn lie(reported: &mut Vec<Row>, dice: &mut Dice) {
    let at = dice.place(reported.len().max(1));
    match dice.below(5) {
        0 if !reported.is_empty() => drop(reported.remove(at)),
        1 => reported.push(row(dice)),
        2 => reported.clear(),
        3 => {
            if let Some(row) = reported.get_mut(at) {
                row.status = dice.below(4);
            }
        }
        _ => {
            if let Some(row) = reported.get_mut(at) {
                row.id = dice.below(IDS);
            }
        }
    }
}

fn told_row(row: &Row) -> BTreeMap<String, Told> {
    let told = |value: u64| Told { text: Some(value.to_string()), form: TextForm::Exact };
    [("id", row.id), ("status", row.status), ("amount", row.amount)]
        .map(|(column, value)| (column.to_owned(), told(value)))
        .into()
}

fn trace(xid: u32) -> LogTrace {
    LogTrace { system: "1".to_owned(), xid: xid.to_string(), until: Some(Lsn(500)) }
}

fn read_row(world: &World, id: u64) -> Option<ReadRow> {
    let version = world.read(ORDERS, id)?;
    Some(ReadRow { xmin: version.xmin, image: version.row.image() })
}

fn gap_of(dice: &mut Dice) -> LogAnswer {
    let at = dice.place(LogGap::ALL.len() + 1);
    LogGap::ALL.get(at).map_or(LogAnswer::NotYet { read_to: None }, |gap| LogAnswer::Untold(*gap))
}

/// Whether the counters and the commit tell the same, of published tables alone.
fn is_counted_exactly(counted: [RowCounts; TABLES], committed: Option<&[Change]>) -> bool {
    let Some(changes) = committed else { return true };
    let mut told = [RowCounts::default(); TABLES];
    for change in changes {
        let counts = &mut told[change.table];
        match change.op {
            RowOp::Insert => counts.inserts += 1,
            RowOp::Update => counts.updates += 1,
            RowOp::Delete => counts.deletes += 1,
        }
    }
    told == counted && counted[DARK].rows() == 0
}

fn frame(changes: &[Change], (keep, partly): (usize, bool), dice: &mut Dice) -> LogFrame {
    let published: Vec<_> = changes.iter().filter(|change| change.table != DARK).collect();
    let identity = if partly { OldRows::Partly } else { OldRows::Whole };
    let mut tables: BTreeMap<_, TableInLog> = BTreeMap::new();
    for change in &published {
        let signatures = BTreeSet::from([Digest::from_bytes([0; 32])]);
        let fresh = TableInLog { counts: RowCounts::default(), signatures, identity };
        let counts = &mut tables.entry(name(change.table)).or_insert(fresh).counts;
        match change.op {
            RowOp::Insert => counts.inserts += 1,
            RowOp::Update => counts.updates += 1,
            RowOp::Delete => counts.deletes += 1,
        }
    }
    let whole = |change: &&Change| RowChange {
        table: name(change.table),
        op: change.op,
        before: match (partly, change.op, change.before, change.after) {
            // Without a full identity an update tells no old row unless its key changed.
            (true, RowOp::Update, Some(was), Some(is)) if was.id == is.id => None,
            (_, _, before, _) => before.map(|row| row.image()),
        },
        after: change.after.map(|row| row.image()),
    };
    LogFrame {
        source: LogSource {
            epoch: 1,
            system: "1".to_owned(),
            commit_lsn: Lsn(400),
            end_lsn: Lsn(410),
            digest: Digest::from_bytes([1; 32]),
        },
        changes: published.iter().take(keep).map(whole).collect(),
        change_count: published.len() as u64,
        repeats: u64::from(dice.one_in(50)),
        foreign_markers: 0,
        tables,
    }
}

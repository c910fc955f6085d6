//! Every reason, from the smallest evidence that leads to it.

use std::collections::{BTreeMap, BTreeSet};

use model::{
    Datum, Digest, ExecutionErrorCode, Fault, Field, Footprint, Image, Level, LogAnswer, LogBlind,
    LogFrame, LogGap, LogSource, LogTrace, Lsn, Measured, OldRows, Outcome, ReadBack, ReadBackGap,
    ReadRow, Report, ReportedRows, Resource, RowChange, RowCounts, RowOp, Scoped, SideEffect,
    TableInLog, TableName, Teller, TextForm, Told, Touched, Verdict, WitnessMethod,
    WitnessReason as Reason,
};
use serde_json::{Value, json};

use crate::{Evidence, Finding, MAX_DETAIL_BYTES, Reporter, Seen, judge};

/// A run that cancelled order 1, told honestly, and what was seen of it.
#[derive(Clone)]
struct Case {
    outcome: Outcome,
    measured: Measured,
    rows_changed: Option<u64>,
    footprint: Footprint,
    answer: LogAnswer,
    read: ReadBack,
    max_detail_bytes: usize,
}

fn orders() -> TableName {
    TableName::new("public", "orders")
}

fn image(id: u64, status: &str) -> Image {
    let text = |text: &str| Datum::Text(text.to_owned());
    [("id".to_owned(), text(&id.to_string())), ("status".to_owned(), text(status))].into()
}

fn told(text: &str) -> Told {
    Told { text: Some(text.to_owned()), form: TextForm::Exact }
}

fn row(id: u64, status: &str) -> BTreeMap<String, Told> {
    [("id".to_owned(), told(&id.to_string())), ("status".to_owned(), told(status))].into()
}

fn counts(op: RowOp, rows: u64) -> RowCounts {
    let mut counts = RowCounts::default();
    match op {
        RowOp::Insert => counts.inserts = rows,
        RowOp::Update => counts.updates = rows,
        RowOp::Delete => counts.deletes = rows,
    }
    counts
}

fn in_log(counts: RowCounts) -> TableInLog {
    let signatures = BTreeSet::from([Digest::from_bytes([7; 32])]);
    TableInLog { counts, signatures, identity: OldRows::Whole }
}

fn update(id: u64) -> RowChange {
    RowChange {
        table: orders(),
        op: RowOp::Update,
        before: Some(image(id, "open")),
        after: Some(image(id, "cancelled")),
    }
}

impl Case {
    fn honest() -> Self {
        let frame = LogFrame {
            source: LogSource {
                epoch: 1,
                system: "7".to_owned(),
                commit_lsn: Lsn(100),
                end_lsn: Lsn(120),
                digest: Digest::from_bytes([1; 32]),
            },
            tables: [(orders(), in_log(counts(RowOp::Update, 1)))].into(),
            changes: vec![update(1)],
            change_count: 1,
            repeats: 0,
            foreign_markers: 0,
        };
        let touched = Touched {
            counts: counts(RowOp::Update, 1),
            root: None,
            key: vec!["id".to_owned()],
            ..Touched::default()
        };
        let rows = ReportedRows {
            table: orders(),
            op: Some(RowOp::Update),
            key: vec!["id".to_owned()],
            teller: Teller::Function,
            rows: vec![row(1, "cancelled")],
        };
        let trace = LogTrace {
            system: "7".to_owned(),
            xid: "4294967305".to_owned(),
            until: Some(Lsn(130)),
        };
        Self {
            outcome: Outcome::Succeeded { result: Value::Null, report: Report::default() },
            measured: Measured {
                trace,
                touched: [(orders(), touched)].into(),
                names: [("orders".to_owned(), orders())].into(),
                scope: vec![],
                rows: Some(rows),
            },
            rows_changed: Some(1),
            footprint: Footprint {
                tables: [("orders".to_owned(), vec![RowOp::Update])].into(),
                max_rows: 3,
                columns: Some([("orders".to_owned(), vec!["status".to_owned()])].into()),
                scope: None,
            },
            answer: LogAnswer::Committed(Box::new(frame)),
            read: ReadBack::Rows(vec![Some(ReadRow { xmin: 9, image: image(1, "cancelled") })]),
            max_detail_bytes: MAX_DETAIL_BYTES,
        }
    }

    fn frame(&mut self) -> &mut LogFrame {
        match &mut self.answer {
            LogAnswer::Committed(frame) => frame,
            LogAnswer::NotYet { .. } | LogAnswer::NeverCommitted { .. } | LogAnswer::Untold(_) => {
                panic!("the honest case has a frame")
            }
        }
    }

    /// One more row of the frame, counted in the transaction too.
    fn also(&mut self, change: RowChange) {
        let count = counts(change.op, 1);
        let frame = self.frame();
        let told = frame
            .tables
            .entry(change.table.clone())
            .or_insert_with(|| in_log(RowCounts::default()));
        told.counts = told.counts.plus(&count);
        frame.change_count += 1;
        let table = change.table.clone();
        frame.changes.push(change);
        let touched = self.measured.touched.entry(table).or_default();
        touched.counts = touched.counts.plus(&count);
        touched.key = vec!["id".to_owned()];
    }

    fn rows(&mut self) -> &mut ReportedRows {
        self.measured.rows.as_mut().expect("the honest case tells of rows")
    }

    /// The changed row has another value in this column than before.
    fn changes(&mut self, column: &str) {
        let change = &mut self.frame().changes[0];
        for (image, value) in [(&mut change.before, "1"), (&mut change.after, "2")] {
            let image = image.as_mut().unwrap();
            image.insert(column.to_owned(), Datum::Text(value.to_owned()));
        }
    }

    fn generates(&mut self, column: &str) {
        self.touched().generated.insert(column.to_owned());
    }

    fn touched(&mut self) -> &mut Touched {
        self.measured.touched.get_mut(&orders()).expect("the honest case touches orders")
    }

    fn judged(&self, level: Level) -> Finding {
        let mut outcome = self.outcome.clone();
        if let Outcome::Succeeded { report, .. } = &mut outcome {
            report.rows_changed = self.rows_changed;
            report.measured = Some(Box::new(self.measured.clone()));
        }
        judge(&Evidence {
            outcome: &outcome,
            reporter: Reporter::Connector,
            side_effect: Some(SideEffect::Write),
            footprint: Some(&self.footprint),
            required_level: level,
            seen: match level {
                Level::L0 => Seen::Nothing,
                Level::L1 => Seen::ReadBack(&self.read),
                Level::L2 => Seen::ChangeLog(&self.answer),
            },
            max_detail_bytes: self.max_detail_bytes,
        })
    }
}

fn resource(told: Option<Value>, found: Option<Value>) -> ReadBack {
    let field = Field { place: "/status".to_owned(), told, found };
    ReadBack::Resource(Resource::There(vec![field]))
}

fn failed() -> Outcome {
    Outcome::Failed(Fault::new(ExecutionErrorCode::ToolError, "it failed"))
}

type Change = fn(&mut Case);

/// What is done to the honest case, at which level it is judged, and the reasons that it gives.
#[rustfmt::skip]
const CASES: &[(&str, Level, Change, &[Reason])] = &[
    ("too few are reported", Level::L2, |c| c.also(update(2)), &[Reason::RowCount, Reason::ExtraRows]),
    ("too many are reported", Level::L2, |c| { c.rows().rows.push(row(2, "cancelled")); c.rows_changed = Some(2); }, &[Reason::RowCount, Reason::MissingRows]),
    ("other rows are reported", Level::L2, |c| c.rows().rows = vec![row(2, "cancelled")], &[Reason::MissingRows, Reason::ExtraRows]),
    ("other values are reported", Level::L2, |c| c.rows().rows = vec![row(1, "open")], &[Reason::ValueDiffers]),
    ("another operation is reported", Level::L2, |c| c.rows().op = Some(RowOp::Insert), &[Reason::MissingRows, Reason::ExtraRows]),
    ("report and number differ", Level::L2, |c| c.rows_changed = Some(2), &[Reason::RowCount]),
    ("nothing is reported", Level::L2, |c| { c.measured.rows = None; c.rows_changed = None; }, &[Reason::NothingReported]),
    ("another column is changed", Level::L2, |c| c.changes("total"), &[Reason::UnexpectedColumn]),
    ("an undeclared column is changed with a generated one", Level::L2, |c| { c.generates("gross"); c.changes("gross"); c.changes("total"); }, &[Reason::UnexpectedColumn]),
    ("a number is wrong where an identity is not full", Level::L2, |c| { c.frame().tables.get_mut(&orders()).unwrap().identity = OldRows::Partly; c.rows().rows.push(row(2, "cancelled")); c.rows_changed = Some(2); }, &[Reason::RowCount, Reason::MissingRows, Reason::NoFullIdentity]),
    ("another table is changed", Level::L2, |c| c.also(RowChange { table: TableName::new("public", "users"), ..update(9) }), &[Reason::UnexpectedTable]),
    ("another operation is done", Level::L2, |c| c.footprint.tables = [("orders".to_owned(), vec![RowOp::Insert])].into(), &[Reason::UnexpectedOp]),
    ("more rows than declared", Level::L2, |c| c.footprint.max_rows = 0, &[Reason::RowCountOverLimit]),
    ("a row beside the arguments", Level::L2, |c| c.measured.scope = vec![Scoped { table: orders(), column: "id".to_owned(), told: told("2") }], &[Reason::ScopeExceeded]),
    ("a table is emptied", Level::L2, |c| c.frame().tables.get_mut(&orders()).unwrap().counts.truncates = 1, &[Reason::TruncateSeen]),
    ("nothing was committed", Level::L2, |c| c.answer = LogAnswer::NeverCommitted { read_to: Lsn(130) }, &[Reason::NotCommitted]),
    ("a failure was committed", Level::L2, |c| c.outcome = failed(), &[Reason::ReportedFailedButCommitted, Reason::UnpublishedWrites]),
    ("committed twice", Level::L2, |c| c.frame().repeats = 1, &[Reason::CommittedTwice]),
    ("images are missing", Level::L2, |c| { c.frame().change_count = 2; c.frame().tables.get_mut(&orders()).unwrap().counts.updates = 2; c.touched().counts.updates = 2; }, &[Reason::ImagesTruncated, Reason::CountDivergence]),
    ("images are missing and the number is wrong", Level::L2, |c| { c.frame().change_count = 2; c.rows().rows.push(row(2, "cancelled")); c.rows_changed = Some(2); }, &[Reason::RowCount, Reason::ImagesTruncated]),
    ("an identity is not full", Level::L2, |c| c.frame().tables.get_mut(&orders()).unwrap().identity = OldRows::Partly, &[Reason::NoFullIdentity]),
    ("a value is not told", Level::L2, |c| { c.frame().changes[0].after.as_mut().unwrap().insert("status".to_owned(), Datum::Unresolved); }, &[Reason::ToastUnresolved]),
    ("a table is not published", Level::L2, |c| { c.touched().blind = vec![LogBlind::NotPublished]; c.touched().counts.updates = 2; }, &[Reason::TableNotPublished, Reason::UnpublishedWrites]),
    ("a table is emptied that the log does not tell of", Level::L2, |c| { c.touched().counts.truncates = 1; }, &[Reason::UnpublishedWrites]),
    ("a table is dropped", Level::L2, |c| { let gone = Touched { counts: RowCounts { truncates: 1, ..RowCounts::default() }, ..Touched::default() }; c.measured.touched.insert(TableName::new("pg_dropped", "16432"), gone); }, &[Reason::UnpublishedWrites]),
    ("a table is filtered", Level::L2, |c| c.touched().blind = vec![LogBlind::Filtered], &[Reason::PublicationFiltered]),
    ("a table is unlogged", Level::L2, |c| c.touched().blind = vec![LogBlind::Unlogged], &[Reason::UnloggedTable]),
    ("a savepoint was rolled back", Level::L2, |c| c.touched().counts.updates = 2, &[Reason::CountDivergence]),
    ("a trigger ran at the commit", Level::L2, |c| c.touched().counts.updates = 0, &[Reason::TriggerEffects]),
    ("the log is late", Level::L2, |c| c.answer = LogAnswer::NotYet { read_to: None }, &[Reason::FrameTimeout, Reason::RequiredLevelUnmet]),
    ("nobody reads the log", Level::L2, |c| c.answer = LogAnswer::Untold(LogGap::DecoderOff), &[Reason::DecoderOff, Reason::RequiredLevelUnmet]),
    ("reading is stalled", Level::L2, |c| c.answer = LogAnswer::Untold(LogGap::DecoderStalled), &[Reason::DecoderStalled, Reason::RequiredLevelUnmet]),
    ("the slot is gone", Level::L2, |c| c.answer = LogAnswer::Untold(LogGap::SlotInvalidated), &[Reason::SlotInvalidated, Reason::RequiredLevelUnmet]),
    ("the slot was moved", Level::L2, |c| c.answer = LogAnswer::Untold(LogGap::SlotMoved), &[Reason::SlotMoved, Reason::RequiredLevelUnmet]),
    ("the log has a gap", Level::L2, |c| c.answer = LogAnswer::Untold(LogGap::EvidenceGap), &[Reason::EvidenceGap, Reason::RequiredLevelUnmet]),
    ("no marker", Level::L2, |c| c.answer = LogAnswer::Untold(LogGap::MarkerMissing), &[Reason::MarkerMissing, Reason::RequiredLevelUnmet]),
    ("several markers", Level::L2, |c| c.answer = LogAnswer::Untold(LogGap::MarkerAmbiguous), &[Reason::MarkerAmbiguous, Reason::RequiredLevelUnmet]),
    ("a row of the ledger alone", Level::L2, |c| c.answer = LogAnswer::Untold(LogGap::LedgerWithoutFrame), &[Reason::LedgerWithoutFrame, Reason::RequiredLevelUnmet]),
    ("the report is lost", Level::L2, |c| c.outcome = Outcome::Applied, &[Reason::ReportLost, Reason::UnpublishedWrites]),
    ("nobody knows", Level::L2, |c| c.outcome = Outcome::Unknown(Fault::new(ExecutionErrorCode::ToolTimeout, "")), &[Reason::OutcomeUnknown, Reason::UnpublishedWrites]),
    ("the edge is lost", Level::L0, |c| c.outcome = Outcome::Unknown(Fault::new(ExecutionErrorCode::EdgeLost, "")), &[Reason::EdgeLost]),
    ("read: another value", Level::L1, |c| c.read = ReadBack::Rows(vec![Some(ReadRow { xmin: 9, image: image(1, "open") })]), &[Reason::ValueDiffers]),
    ("read: another writer since", Level::L1, |c| c.read = ReadBack::Rows(vec![Some(ReadRow { xmin: 10, image: image(1, "open") })]), &[Reason::ChangedSince]),
    ("read: the same by another writer", Level::L1, |c| c.read = ReadBack::Rows(vec![Some(ReadRow { xmin: 8, image: image(1, "cancelled") })]), &[Reason::ChangedSince]),
    ("read: gone", Level::L1, |c| c.read = ReadBack::Rows(vec![None]), &[Reason::ChangedSince]),
    ("read: never changed", Level::L1, |c| { c.read = ReadBack::Rows(vec![None]); c.measured.touched.clear(); }, &[Reason::RowCount, Reason::MissingRows]),
    ("read: more was changed", Level::L1, |c| c.touched().counts.updates = 2, &[Reason::CountDivergence]),
    ("read: a table was emptied", Level::L1, |c| c.touched().counts.truncates = 1, &[Reason::CountDivergence]),
    ("read: late", Level::L1, |c| c.read = ReadBack::Unread(ReadBackGap::Timeout), &[Reason::ReadbackTimeout, Reason::RequiredLevelUnmet]),
    ("read: denied", Level::L1, |c| c.read = ReadBack::Unread(ReadBackGap::Denied), &[Reason::ReadbackDenied, Reason::RequiredLevelUnmet]),
    ("read: no key", Level::L1, |c| c.read = ReadBack::Unread(ReadBackGap::NoKey), &[Reason::NoKey, Reason::RequiredLevelUnmet]),
    ("read: none offered", Level::L1, |c| c.read = ReadBack::Unread(ReadBackGap::NotOffered), &[Reason::ReadbackNotOffered, Reason::RequiredLevelUnmet]),
    ("read: in no form", Level::L1, |c| c.read = ReadBack::Unread(ReadBackGap::Unreadable), &[Reason::ReadbackUnreadable, Reason::RequiredLevelUnmet]),
    ("resource: another value", Level::L1, |c| c.read = resource(Some(json!("cancelled")), Some(json!("open"))), &[Reason::ValueDiffers]),
    ("resource: none", Level::L1, |c| c.read = ReadBack::Resource(Resource::NotThere), &[Reason::NotThere]),
    ("resource: a place is not told", Level::L1, |c| c.read = resource(Some(json!("cancelled")), None), &[Reason::ReadbackUnreadable]),
    ("resource: a place is not reported", Level::L1, |c| c.read = resource(None, Some(json!("open"))), &[Reason::NothingReported]),
    ("resource: nothing is compared", Level::L1, |c| c.read = ReadBack::Resource(Resource::There(vec![])), &[Reason::NothingReported]),
    ("resource: the report is lost", Level::L1, |c| { c.read = resource(Some(json!(1)), Some(json!(1))); c.outcome = Outcome::Applied; }, &[Reason::ReportLost, Reason::NothingReported]),
    ("resource: of a failure", Level::L1, |c| { c.read = resource(Some(json!(1)), Some(json!(1))); c.outcome = failed(); }, &[Reason::ReadbackNotOffered]),
    ("read: given up", Level::L1, |c| c.read = ReadBack::Unread(ReadBackGap::GaveUp), &[Reason::WitnessGaveUp, Reason::RequiredLevelUnmet]),
];

#[test]
fn every_case_gives_its_reasons_and_no_other() {
    for (name, level, change, expected) in CASES {
        let mut case = Case::honest();
        change(&mut case);
        let finding = case.judged(*level);
        let found: BTreeSet<_> = finding.reasons.iter().copied().collect();
        let expected: BTreeSet<_> = expected.iter().copied().collect();
        assert_eq!(found, expected, "{name}: {finding:#?}");
        assert_ne!(finding.verdict, Verdict::Verified, "{name}");
    }
}

#[test]
fn every_reason_has_a_case() {
    let mut told: BTreeSet<_> =
        CASES.iter().flat_map(|(_, _, _, reasons)| *reasons).copied().collect();
    // That one is told at L0, where other tests look.
    told.insert(Reason::ReadToolWrote);
    let untold: Vec<_> = Reason::ALL.iter().filter(|reason| !told.contains(reason)).collect();
    assert!(untold.is_empty(), "{untold:?}");
}

#[test]
fn an_honest_run_is_verified_at_every_level() {
    let case = Case::honest();
    for (level, method) in [
        (Level::L0, WitnessMethod::Reported),
        (Level::L1, WitnessMethod::ReadBack),
        (Level::L2, WitnessMethod::ChangeLog),
    ] {
        let finding = case.judged(level);
        assert_eq!((finding.verdict, finding.level), (Verdict::Verified, level), "{finding:#?}");
        assert_eq!(
            (finding.method, finding.sources.len()),
            (method, usize::from(level > Level::L0))
        );
    }
}

#[test]
fn a_generated_column_that_changes_with_a_declared_one_is_no_undeclared_change() {
    let mut case = Case::honest();
    case.generates("gross");
    case.changes("gross");
    let finding = case.judged(Level::L2);
    assert_eq!(finding.verdict, Verdict::Verified, "{finding:#?}");
    // Which columns are generated says the database, and nothing else.
    case.touched().generated.clear();
    assert_eq!(case.judged(Level::L2).reasons, [Reason::UnexpectedColumn]);
}

#[test]
fn a_failure_that_left_nothing_in_the_log_is_verified() {
    let mut case = Case::honest();
    (case.outcome, case.answer) = (failed(), LogAnswer::NeverCommitted { read_to: Lsn(130) });
    let finding = case.judged(Level::L2);
    assert_eq!(finding.verdict, Verdict::Verified);
    assert_eq!(finding.summary, "The call failed, and the database committed nothing of it.");
}

#[test]
fn the_detail_shows_a_row_before_and_after_where_the_log_tells_of_both() {
    let rows = |level| Case::honest().judged(level).detail["rows"][0].clone();
    let logged = rows(Level::L2);
    let [before, after] = ["before", "observed"].map(|name| logged[name]["status"].clone());
    assert!(before.is_string() && after.is_string() && before != after, "{logged}");
    assert_eq!(logged["key"], json!(["id"]));
    assert_eq!(rows(Level::L1).get("before"), None, "a read-back comes too late");
}

#[test]
fn a_trigger_behind_a_new_row_is_no_second_row() {
    let mut case = Case::honest();
    case.also(RowChange {
        before: Some(image(1, "cancelled")),
        after: Some(image(1, "closed")),
        ..update(1)
    });
    case.rows().rows = vec![row(1, "closed")];
    assert_eq!(case.judged(Level::L2).verdict, Verdict::Verified);
    case.rows().rows = vec![row(1, "cancelled")];
    assert_eq!(case.judged(Level::L2).reasons, [Reason::ValueDiffers]);
}

/// Order 1, cancelled by taking a row out of one partition and putting one into another.
fn moved(key: &[&str], gone: Image) -> Finding {
    let mut case = Case::honest();
    let key: Vec<String> = key.iter().map(|column| (*column).to_owned()).collect();
    case.rows().key.clone_from(&key);
    let leaves = ["orders_1", "orders_2"].map(|leaf| TableName::new("public", leaf));
    let [from, to] = leaves.clone();
    let ops = [(from, RowOp::Delete), (to, RowOp::Insert)];
    case.measured.touched.clear();
    case.frame().tables.clear();
    for (leaf, op) in &ops {
        let counts = counts(*op, 1);
        case.frame().tables.insert(leaf.clone(), in_log(counts));
        let (root, key) = (Some(orders()), key.clone());
        let touched = Touched { counts, root, key, ..Touched::default() };
        case.measured.touched.insert(leaf.clone(), touched);
    }
    let change = |at: usize, before, after| RowChange {
        table: ops[at].0.clone(),
        op: ops[at].1,
        before,
        after,
    };
    case.frame().changes =
        vec![change(0, Some(gone), None), change(1, None, Some(image(1, "cancelled")))];
    case.frame().change_count = 2;
    case.judged(Level::L2)
}

#[test]
fn a_row_that_moves_between_partitions_is_one_updated_row() {
    // A key of a partitioned table holds what it is parted by, unless each part has one of its own.
    for key in [&["id"][..], &["id", "status"]] {
        let finding = moved(key, image(1, "open"));
        assert_eq!(finding.verdict, Verdict::Verified, "{key:?}: {finding:#?}");
        // Another row that goes is no move of this one.
        let finding = moved(key, image(2, "open"));
        assert!(finding.reasons.contains(&Reason::UnexpectedOp), "{key:?}: {finding:#?}");
        assert_eq!(finding.verdict, Verdict::Mismatch);
    }
}

#[test]
fn the_detail_tells_each_row_and_leaves_those_that_agree_out_first() {
    let mut case = Case::honest();
    for id in 2..40 {
        case.also(update(id));
        case.rows().rows.push(row(id, "cancelled"));
    }
    case.rows_changed = Some(39);
    case.rows().rows.push(row(99, "cancelled"));
    case.max_detail_bytes = 4_096;
    let finding = case.judged(Level::L2);
    assert_eq!(finding.verdict, Verdict::Mismatch);
    assert!(crypto::json::canonical(&finding.detail).len() <= 4_096);
    let rows = finding.detail["rows"].as_array().unwrap();
    assert_eq!(rows[0]["result"], json!("missing_rows"));
    assert_eq!(rows[0]["expected"], json!({ "id": "99", "status": "cancelled" }));
    assert_eq!(rows[1]["observed"], json!({ "id": "1", "status": "cancelled" }));
    let left_out = finding.detail["rows_left_out"].as_u64().unwrap();
    assert_eq!(rows.len() as u64 + left_out, 40);
}

#[test]
fn a_row_whose_old_columns_do_not_fit_still_says_what_differs() {
    let mut case = Case::honest();
    case.also(RowChange { before: Some(image(2, &"x".repeat(3_000))), ..update(2) });
    case.rows().rows.push(row(2, "another"));
    case.rows_changed = Some(2);
    let first = |case: &Case| case.judged(Level::L2).detail["rows"][0].clone();
    assert_eq!(first(&case)["before"]["status"].as_str().map(str::len), Some(3_000));
    case.max_detail_bytes = 4_096;
    let cut = first(&case);
    assert_eq!((&cut["result"], &cut["columns"]), (&json!("value_differs"), &json!(["status"])));
    assert_eq!(cut.get("before"), None);
    let whole = case.judged(Level::L2).detail;
    assert!(crypto::json::canonical(&whole).len() <= 4_096);
}

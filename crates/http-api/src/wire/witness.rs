//! What a change log tells, as requests ask for it and responses show it.

use std::collections::BTreeMap;

use admin::{Coverage, CoveredTable, Gaps, LogStanding};
use ledger::record::Connector;
use model::{ConnectorId, LogGap, TableGap, Timestamp};
use serde::Serialize;
use serde_json::Value;
use web::{ApiError, Call, Fields};

use super::connectors::CheckView;

/// Whether a connector's change log is to be read.
#[derive(Debug, Serialize)]
pub(crate) struct WitnessView<'a> {
    object: &'static str,
    connector: ConnectorId,
    state: &'static str,
    since: Option<Timestamp>,
    tables: Vec<WishedTable<'a>>,
    slot: Option<SlotView>,
    gaps: Vec<GapView>,
}

/// The slot that a change log is read through.
#[derive(Debug, Serialize)]
struct SlotView {
    state: SlotState,
    /// Why it cannot be read through it.
    cause: Option<LogGap>,
    heartbeat_at: Option<Timestamp>,
    read_at: Option<Timestamp>,
}

/// How a slot stands.
#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case")]
enum SlotState {
    /// It is to be made.
    Setup,
    Streaming,
    /// Somebody has to ask for a new one.
    Invalidated,
}

/// Where a change log was not read.
#[derive(Debug, Serialize)]
struct GapView {
    cause: LogGap,
    at: Timestamp,
}

impl SlotView {
    /// The slot of a log that is to be read and stands so, and behind whose stretch a new one was asked
    /// for.
    fn of(standing: Option<&LogStanding>, anew_behind: Option<u64>) -> Self {
        let broken = standing.and_then(|it| it.broken);
        let is_asked = standing.is_some_and(|it| anew_behind == Some(it.stretch));
        let state = match (standing, broken) {
            (None, _) | (_, Some(LogGap::DecoderOff)) => SlotState::Setup,
            (Some(_), Some(_)) if is_asked => SlotState::Setup,
            (Some(_), Some(_)) => SlotState::Invalidated,
            (Some(_), None) => SlotState::Streaming,
        };
        Self {
            state,
            cause: broken,
            heartbeat_at: standing.and_then(|it| it.beat_at),
            read_at: standing.map(|it| it.read_at),
        }
    }
}

#[derive(Debug, Serialize)]
struct WishedTable<'a> {
    name: &'a str,
    missing: &'a [TableGap],
}

impl<'a> WitnessView<'a> {
    /// What was said of the connector last, and how far its log was read since.
    pub(crate) fn of(connector: &'a Connector, standing: Option<&LogStanding>) -> Self {
        let wish = connector.witness.as_ref();
        let missing = |lacking: &'a BTreeMap<String, Vec<TableGap>>, name: &str| {
            lacking.get(name).map(Vec::as_slice).unwrap_or_default()
        };
        let tables = wish.map(|wish| {
            let table =
                |name: &'a String| WishedTable { name, missing: missing(&wish.lacking, name) };
            wish.tables.iter().map(table).collect()
        });
        Self {
            object: "connector_witness",
            connector: connector.id,
            state: if wish.is_some() { "enabled" } else { "disabled" },
            since: wish.map(|wish| wish.since),
            tables: tables.unwrap_or_default(),
            slot: wish.map(|wish| SlotView::of(standing, wish.anew_behind)),
            gaps: standing.map(gaps_of).unwrap_or_default(),
        }
    }
}

fn gaps_of(standing: &LogStanding) -> Vec<GapView> {
    standing.breaks.iter().map(|it| GapView { cause: it.cause, at: it.at }).collect()
}

/// What a change log tells, and the script by which it tells the rest.
#[derive(Debug, Serialize)]
pub(crate) struct CoverageView<'a> {
    object: &'static str,
    connector: ConnectorId,
    ready: bool,
    publication: &'a str,
    slot: &'a str,
    checks: Vec<CheckView<'a>>,
    tables: Vec<TableView<'a>>,
    script: Option<&'a str>,
}

#[derive(Debug, Serialize)]
struct TableView<'a> {
    name: &'a str,
    asked: &'a str,
    covered: bool,
    missing: &'a [TableGap],
    writes_fail: bool,
    partial_publications: &'a [String],
    row_bytes: Option<u64>,
    changed_rows: u64,
    full_identity_bytes: Option<u64>,
}

impl<'a> CoverageView<'a> {
    /// What was looked at.
    pub(crate) fn of(connector: ConnectorId, coverage: &'a Coverage) -> Self {
        Self {
            object: "witness_setup",
            connector,
            ready: coverage.is_ready(),
            publication: &coverage.publication,
            slot: &coverage.slot,
            checks: coverage.checks.iter().map(CheckView::of).collect(),
            tables: coverage.tables.iter().map(TableView::of).collect(),
            script: coverage.script.as_deref(),
        }
    }
}

impl<'a> TableView<'a> {
    fn of(table: &'a CoveredTable) -> Self {
        Self {
            name: &table.name,
            asked: &table.asked,
            covered: table.missing.is_empty(),
            missing: &table.missing,
            writes_fail: table.writes_fail,
            partial_publications: &table.partial_publications,
            row_bytes: table.row_bytes,
            changed_rows: table.changed_rows,
            full_identity_bytes: table.full_identity_bytes,
        }
    }
}

/// What is wanted of a witness.
#[derive(Debug)]
pub(crate) struct Wish {
    pub(crate) tables: Vec<String>,
    pub(crate) gaps: Gaps,
    pub(crate) reason: String,
}

/// Reads the body of `POST /v1/connectors/{id}/witness/setup`.
pub(crate) fn witness_tables(call: &Call) -> Result<Vec<String>, ApiError> {
    let mut fields = call.fields()?;
    let tables = tables(&mut fields)?;
    fields.finish()?;
    Ok(tables)
}

/// Reads the body of `POST /v1/connectors/{id}/witness/enable`.
pub(crate) fn witness_wish(call: &Call) -> Result<Wish, ApiError> {
    let mut fields = call.fields()?;
    let partial: Option<bool> = fields.optional("partial")?;
    let wish = Wish {
        tables: tables(&mut fields)?,
        gaps: if partial == Some(true) { Gaps::Accepted } else { Gaps::Refused },
        reason: fields.required("reason")?,
    };
    fields.finish()?;
    Ok(wish)
}

fn tables(fields: &mut Fields) -> Result<Vec<String>, ApiError> {
    let values: Vec<Value> = fields.optional("tables")?.unwrap_or_default();
    let text = |value: Value| value.as_str().map(str::to_owned);
    let names: Option<Vec<String>> = values.into_iter().map(text).collect();
    names.ok_or_else(|| fields.error("tables", "expected an array of strings"))
}

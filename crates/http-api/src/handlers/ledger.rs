//! The history of an org: search and export, the head of its log, and checks of it.

use std::{convert::Infallible, sync::Arc};

use act::MayView;
use bytes::Bytes;
use futures_util::{StreamExt, stream};
use http::StatusCode;
use hyper::body::Frame;
use model::{CheckId, Mint, OrgId, Timestamp};
use records::{AskError, EntryFilter};

use super::log::reader;
use crate::{
    access::{Admin, Reader, Viewer},
    app::App,
    call::Call,
    catalogue::Code,
    cursor::List,
    error::ApiError,
    query::Param,
    reply::Reply,
    wire::{
        ExportForm, ListView, chain_check, chain_head, chain_part, entry, entry_filter,
        export_filter, export_form, page_limit,
    },
};

/// The parameters of the list of checks.
pub(crate) const CHECKS: &[Param] = &[Param::One("limit"), Param::One("cursor")];

/// How many places of the history one step of an export looks at.
const STEP: u64 = 2_000;

/// `GET /v1/ledger`
pub(crate) async fn search(app: Arc<App>, caller: Reader, call: Call) -> Result<Reply, ApiError> {
    let (filter, limit) = (entry_filter(&call.query)?, page_limit(&call.query)?);
    let listed = List { name: "ledger", org: caller.org(), agent: caller.only_agent() };
    let before: Option<u64> = app.cursors.read(listed, &call.query)?;
    let entries = app.records.entries(reader(&caller), &filter, (before, limit + 1)).await?;
    let shown: Vec<_> = entries.iter().take(limit).collect();
    let last = shown.last().filter(|_| entries.len() > limit);
    let cursor = last.map(|entry| app.cursors.write(&entry.event.seq, listed, &call.query));
    Reply::ok(&ListView::page(shown.into_iter().map(entry).collect(), cursor))
}

/// `GET /v1/ledger/export`
///
/// The last line has the number of entries before it and the digest of all bytes before it; an
/// answer without it is not whole.
pub(crate) async fn export(app: Arc<App>, caller: Admin, call: Call) -> Result<Reply, ApiError> {
    let org = caller.org();
    let now = app.records.head(org).await?.now;
    let (form, filter) = (export_form(&call.query)?, export_filter(&call.query, now)?);
    let places = app.records.event_places(org, &filter).await?;
    // That it was read out is sealed before the first line leaves.
    app.admin.change(&caller).ledger_exported((filter.from, filter.to)).await?;
    let mut state = Export {
        app: Arc::clone(&app),
        org,
        filter,
        form,
        left: Some(places),
        count: 0,
        sum: crypto::Sha256::new(),
    };
    let head = form.head();
    state.sum.update(head.as_bytes());
    let rest = stream::unfold(state, |mut export| async {
        let line = export.step().await?;
        Some((line, export))
    });
    let head = (!head.is_empty()).then(|| -> Line { Ok(Frame::data(Bytes::from(head))) });
    let lines = stream::iter(head).chain(rest);
    Ok(Reply::stream(form.media_type(), lines))
}

/// `GET /v1/ledger/head`
pub(crate) async fn head(app: Arc<App>, caller: Viewer, _: Call) -> Result<Reply, ApiError> {
    let org = caller.org();
    let head = app.records.head(org).await?;
    let closed = app.records.closed(org).await?;
    let unsealed = app.records.unsealed(org).await?;
    Reply::ok(&chain_head(&head, &closed, unsealed))
}

/// `POST /v1/ledger/chain_checks`
pub(crate) async fn ask_check(app: Arc<App>, caller: Admin, call: Call) -> Result<Reply, ApiError> {
    let part = chain_part(&call)?;
    let id = Mint::new(app.clock.now(), &*app.entropy).id(CheckId::from_uuid);
    let check =
        app.records.ask_check((caller.org(), id), part).await.map_err(|error| match error {
            AskError::Read(error) => error.into(),
            AskError::Busy => ApiError::new(Code::Conflict, error.to_string()),
            AskError::Places { .. } => ApiError::invalid("to_seq", error.to_string()),
        })?;
    Ok(Reply::json(StatusCode::ACCEPTED, &chain_check(&check)))
}

/// `GET /v1/ledger/chain_checks`
pub(crate) async fn checks(app: Arc<App>, caller: Viewer, call: Call) -> Result<Reply, ApiError> {
    let limit = page_limit(&call.query)?;
    let listed = List { name: "chain_checks", org: caller.org(), agent: None };
    let after: Option<(Timestamp, CheckId)> = app.cursors.read(listed, &call.query)?;
    let checks = app.records.checks(caller.org(), after, limit + 1).await?;
    let shown: Vec<_> = checks.iter().take(limit).collect();
    let last = shown.last().filter(|_| checks.len() > limit);
    let cursor =
        last.map(|check| app.cursors.write(&(check.created_at, check.id), listed, &call.query));
    Reply::ok(&ListView::page(shown.into_iter().map(chain_check).collect(), cursor))
}

/// `GET /v1/ledger/chain_checks/{id}`
pub(crate) async fn check(app: Arc<App>, caller: Viewer, call: Call) -> Result<Reply, ApiError> {
    let check = app.records.check(caller.org(), call.param("id")?).await?;
    Reply::ok(&chain_check(&check))
}

/// A part of the answer, which cannot fail to be made.
type Line = Result<Frame<Bytes>, Infallible>;

/// An export on its way.
struct Export {
    app: Arc<App>,
    org: OrgId,
    filter: EntryFilter,
    form: ExportForm,
    /// The places that are still to be looked at; nothing once the last line was written.
    left: Option<(u64, u64)>,
    count: u64,
    sum: crypto::Sha256,
}

impl Export {
    /// Returns the next lines, oldest first; nothing behind the last one, or when the record
    /// cannot be read on.
    async fn step(&mut self) -> Option<Line> {
        let (first, end) = self.left?;
        if first >= end {
            self.left = None;
            let sum = self.sum.clone().finish();
            return Some(Ok(Frame::data(Bytes::from(self.form.last(self.count, sum)))));
        }
        let next = end.min(first + STEP);
        let entries = match self.app.records.stretch(self.org, &self.filter, (first, next)).await {
            Ok(entries) => entries,
            Err(error) => {
                tracing::error!(%error, "an export could not be read to its end");
                return None;
            }
        };
        self.left = Some((next, end));
        self.count += entries.len() as u64;
        let lines: String = entries.iter().map(|it| self.form.line(&entry(it))).collect();
        self.sum.update(lines.as_bytes());
        Some(Ok(Frame::data(Bytes::from(lines))))
    }
}

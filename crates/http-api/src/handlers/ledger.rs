//! The history of an org: search and export, the head of its log, and checks of it.

use std::sync::Arc;

use act::MayView;
use bytes::Bytes;
use futures_util::{StreamExt, stream};
use http::StatusCode;
use model::{CheckId, Mint};
use records::{AskError, EntryFilter};
use web::{ApiError, Call, Credential, List, Param, Reply};

use super::log::reader;
use crate::{
    access::{Admin, Reader, Viewer},
    app::App,
    catalogue::changes,
    refusal::{Answer, IntoApiError},
    wire::{
        export::ExportForm,
        ledger::{
            chain_check, chain_head, chain_part, entry, entry_filter, export_filter, export_form,
        },
    },
};

/// The parameters of the list of checks.
pub(crate) const CHECKS: &[Param] = &[Param::One("limit"), Param::One("cursor")];

/// How many places of the history one step of an export looks at.
const STEP: u64 = 2_000;

/// `GET /v1/ledger`
pub(crate) async fn search(app: Arc<App>, caller: Reader, call: Call) -> Answer {
    let filter = entry_filter(&call.query)?;
    let listed = List { name: "ledger", org: caller.org(), agent: caller.only_agent() };
    let page = app.cursors.page(listed, &call.query)?;
    let bounds = (page.after, page.limit + 1);
    let entries = app.records.entries(reader(&caller), &filter, bounds).await?;
    Ok(Reply::ok(&page.of(&entries, |entry| entry.event.seq, entry)))
}

/// `GET /v1/ledger/export`
///
/// The last line has the number of entries before it and the digest of all bytes before it; an
/// answer without it is not whole.
pub(crate) async fn export(app: Arc<App>, caller: Viewer, call: Call) -> Answer {
    let org = caller.org();
    let now = app.records.head(org).await?.now;
    let (form, filter) = (export_form(&call.query)?, export_filter(&call.query, now)?);
    let places = app.records.event_places(org, &filter).await?;
    // That it was read out is sealed before the first line leaves.
    app.admin.ledger_exported(&caller, (filter.from, filter.to)).await?;
    let mut state = Export {
        app: Arc::clone(&app),
        shown: call.shown,
        caller,
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
    let head = (!head.is_empty()).then(|| Bytes::from(head));
    let lines = stream::iter(head).chain(rest);
    Ok(Reply::stream(form.media_type(), lines))
}

/// `GET /v1/ledger/head`
pub(crate) async fn head(app: Arc<App>, caller: Viewer, _: Call) -> Answer {
    let org = caller.org();
    let head = app.records.head(org).await?;
    let closed = app.records.closed(org).await?;
    let unsealed = app.records.unsealed(org).await?;
    Ok(Reply::ok(&chain_head(&head, &closed, unsealed)))
}

/// `POST /v1/ledger/chain_checks`
pub(crate) async fn ask_check(app: Arc<App>, caller: Admin, call: Call) -> Answer {
    let part = chain_part(&call)?;
    let id = Mint::new(app.clock.now(), &*app.entropy).id(CheckId::from_uuid);
    let check =
        app.records.ask_check((caller.org(), id), part).await.map_err(|error| match error {
            AskError::Read(error) => error.into_api_error(),
            AskError::Busy => ApiError::new(changes::CONFLICT, error.to_string()),
            AskError::Places { .. } => ApiError::invalid("to_seq", error.to_string()),
        })?;
    Ok(Reply::json(StatusCode::ACCEPTED, &chain_check(&check)))
}

/// `GET /v1/ledger/chain_checks`
pub(crate) async fn checks(app: Arc<App>, caller: Viewer, call: Call) -> Answer {
    let listed = List { name: "chain_checks", org: caller.org(), agent: None };
    let page = app.cursors.page(listed, &call.query)?;
    let checks = app.records.checks(caller.org(), page.after, page.limit + 1).await?;
    Ok(Reply::ok(&page.of(&checks, |check| (check.created_at, check.id), chain_check)))
}

/// `GET /v1/ledger/chain_checks/{id}`
pub(crate) async fn check(app: Arc<App>, caller: Viewer, call: Call) -> Answer {
    let check = app.records.check(caller.org(), call.param("id")?).await?;
    Ok(Reply::ok(&chain_check(&check)))
}

/// An export on its way.
struct Export {
    app: Arc<App>,
    caller: Viewer,
    // The credential as it was sent, to be looked up again before each step.
    shown: Option<Credential>,
    filter: EntryFilter,
    form: ExportForm,
    /// The places that are still to be looked at; nothing once the last line was written.
    left: Option<(u64, u64)>,
    count: u64,
    sum: crypto::Sha256,
}

impl Export {
    /// The next lines, oldest first; nothing behind the last one, or when the record
    /// cannot be read on or the credential is not valid any more.
    async fn step(&mut self) -> Option<Bytes> {
        let (first, end) = self.left?;
        if first >= end {
            self.left = None;
            let sum = self.sum.clone().finish();
            return Some(Bytes::from(self.form.last(self.count, sum)));
        }
        if !self.app.still_lets_in(&self.caller, self.shown.as_ref()).await {
            return None;
        }
        let next = end.min(first + STEP);
        let org = self.caller.org();
        let entries = match self.app.records.stretch(org, &self.filter, (first, next)).await {
            Ok(entries) => entries,
            Err(error) => {
                tracing::error!(%error, "an export could not be read completely");
                return None;
            }
        };
        self.left = Some((next, end));
        self.count += entries.len() as u64;
        let lines: String = entries.iter().map(|it| self.form.line(&entry(it))).collect();
        self.sum.update(lines.as_bytes());
        Some(Bytes::from(lines))
    }
}

//! Stops and suspensions as requests ask for them and responses answer.

use gate::UnderWay;
use ledger::record::{Org, Stop};
use model::{ActionId, OrgId, PendingApprovals, Timestamp};
use serde::Serialize;
use web::{ApiError, Call, Word};

/// An org as far as a Stop changes it.
#[derive(Debug, Serialize)]
pub(crate) struct OrgState<'a> {
    object: &'static str,
    id: OrgId,
    name: &'a str,
    stop: Option<&'a Stop>,
}

impl<'a> From<&'a Org> for OrgState<'a> {
    fn from(org: &'a Org) -> Self {
        Self { object: "org", id: org.id, name: &org.name, stop: org.stop.as_ref() }
    }
}

/// What was stopped, with what becomes of calls that wait for a person and how many were under way; null
/// where that could not be read.
#[derive(Debug, Serialize)]
pub(crate) struct Stopped<T> {
    #[serde(flatten)]
    view: T,
    pending_approvals: PendingApprovals,
    in_flight_count: Option<usize>,
}

/// The same with the calls by their ids.
#[derive(Debug, Serialize)]
pub(crate) struct StoppedAgent<T> {
    #[serde(flatten)]
    stopped: Stopped<T>,
    in_flight: Option<Vec<ActionId>>,
}

impl<T> Stopped<T> {
    pub(crate) fn of(
        (view, pending_approvals): (T, PendingApprovals),
        under_way: Option<&UnderWay>,
    ) -> Self {
        let in_flight_count = under_way.map(|found| found.count);
        Self { view, pending_approvals, in_flight_count }
    }
}

impl<T> StoppedAgent<T> {
    pub(crate) fn of(done: (T, PendingApprovals), under_way: Option<UnderWay>) -> Self {
        let stopped = Stopped::of(done, under_way.as_ref());
        Self { stopped, in_flight: under_way.map(|found| found.actions) }
    }
}

/// Reads the body of a Stop: why, and what becomes of approvals that are waited for.
pub(crate) fn stop_wish(call: &Call) -> Result<(String, PendingApprovals), ApiError> {
    let mut fields = call.fields()?;
    let reason = fields.required("reason")?;
    let waiting = fields.optional::<Word<PendingApprovals>>("pending_approvals")?;
    fields.finish()?;
    Ok((reason, waiting.map_or(PendingApprovals::Void, |Word(waiting)| waiting)))
}

/// Reads the body of `POST /v1/agents/{id}/suspend`: why, and until when.
pub(crate) fn suspension(call: &Call) -> Result<(String, Option<Timestamp>), ApiError> {
    let mut fields = call.fields()?;
    let (reason, until) = (fields.required("reason")?, fields.optional("until")?);
    fields.finish()?;
    Ok((reason, until))
}

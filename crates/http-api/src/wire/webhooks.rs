//! Webhook endpoints and deliveries as requests describe and responses show them. A secret is in the
//! answer that made it and in no other; what a receiver said beyond its status is in none.

use std::collections::BTreeMap;

use crypto::Secret;
use delivery::{DeliveryCounts, NewWebhook, Recovered, Shown, ShownDelivery, Try, WebhookEdit};
use gate::Span;
use model::{
    AgentId, DeliveryError, DeliveryId, DeliveryStatus, EventId, EventType, Timestamp, WebhookId,
    WebhookStatus,
};
use serde::Serialize;
use serde_json::Value;
use web::{ApiError, Call, Fields, Param, Query, Word};

use super::{
    figures::{Bucket, cut},
    filter::moment,
};

/// The parameters of the counts of an endpoint's deliveries.
pub(crate) const COUNTS: &[Param] =
    &[Param::One("created_at[gte]"), Param::One("created_at[lt]"), Param::One("bucket")];

/// An endpoint.
#[derive(Debug, Serialize)]
pub(crate) struct EndpointView<'a> {
    object: &'static str,
    id: WebhookId,
    url: &'a str,
    description: &'a str,
    types: &'a [String],
    agent: Option<AgentId>,
    api_version: &'a str,
    status: WebhookStatus,
    disabled_at: Option<Timestamp>,
    disabled_because: Option<&'static str>,
    failing_since: Option<Timestamp>,
    disables_at: Option<Timestamp>,
    last_delivered_at: Option<Timestamp>,
    events_behind: u64,
    secret_readable: bool,
    previous_secret_expires_at: Option<Timestamp>,
    revision: u32,
    created_at: Timestamp,
    deleted_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    secret: Option<&'a str>,
}

impl<'a> EndpointView<'a> {
    /// The endpoint as it stands.
    pub(crate) fn of(shown: &'a Shown) -> Self {
        let (webhook, lane) = (&shown.webhook, &shown.state.lane);
        let because = |failed| if failed { "failing" } else { "request" };
        let is_open = webhook.is_open();
        Self {
            object: "webhook_endpoint",
            id: webhook.id,
            url: &webhook.url,
            description: &webhook.description,
            types: &webhook.types,
            agent: webhook.agent,
            api_version: &webhook.api_version,
            status: shown.status(),
            disabled_at: webhook.disabled.map(|disabled| disabled.at),
            disabled_because: webhook.disabled.map(|disabled| because(disabled.is_failed)),
            failing_since: lane.failing_since,
            disables_at: shown.disables_at,
            last_delivered_at: lane.delivered_at,
            events_behind: if is_open { shown.state.behind } else { 0 },
            secret_readable: shown.is_secret_readable,
            previous_secret_expires_at: shown.previous_expires_at,
            revision: webhook.revision,
            created_at: webhook.created_at,
            deleted_at: webhook.deleted_at,
            secret: None,
        }
    }

    /// The endpoint with the secret that it just got.
    pub(crate) fn with_secret(self, secret: &'a Secret<String>) -> Self {
        Self { secret: Some(secret.expose()), ..self }
    }
}

/// A delivery, with what its last try came to.
#[derive(Debug, Serialize)]
pub(crate) struct DeliveryView<'a> {
    object: &'static str,
    id: DeliveryId,
    webhook_endpoint: WebhookId,
    event: EventId,
    #[serde(rename = "type")]
    kind: EventType,
    subject: Option<&'a str>,
    status: DeliveryStatus,
    attempt: usize,
    attempts_left: usize,
    http_status: Option<u16>,
    error_class: Option<DeliveryError>,
    duration_ms: Option<u64>,
    next_attempt_at: Option<Timestamp>,
    later_attempts_at: &'a [Timestamp],
    attempts: &'a [Try],
    body: Option<String>,
    created_at: Timestamp,
}

impl<'a> DeliveryView<'a> {
    /// The delivery with its last attempt.
    pub(crate) fn of(shown: &'a ShownDelivery) -> Self {
        let delivery = &shown.delivery;
        let last = delivery.tries.last();
        let subject = shown.event.as_ref().and_then(|event| event.object.get("id"));
        Self {
            object: "webhook_delivery",
            id: delivery.id,
            webhook_endpoint: delivery.webhook,
            event: delivery.event,
            kind: delivery.kind,
            subject: subject.and_then(Value::as_str),
            status: delivery.status,
            attempt: delivery.tries.len(),
            attempts_left: shown.attempts_left,
            http_status: last.and_then(|tried| tried.http_status),
            error_class: last.and_then(|tried| tried.error_class),
            duration_ms: last.map(|tried| tried.duration_ms),
            next_attempt_at: delivery.next_at,
            later_attempts_at: &shown.later,
            attempts: &delivery.tries,
            body: shown.body(),
            created_at: delivery.created_at,
        }
    }
}

/// What the counts of an endpoint's deliveries are asked for.
pub(crate) struct DeliveryCountsRequest {
    bucket: Bucket,
    /// The parts of time that are counted.
    pub(crate) span: Span,
}

impl DeliveryCountsRequest {
    pub(crate) fn read(query: &Query, now: Timestamp) -> Result<Self, ApiError> {
        let asked = (moment(query, "created_at[gte]")?, moment(query, "created_at[lt]")?);
        let (bucket, span) = cut(asked, query, now)?;
        Ok(Self { bucket, span })
    }
}

/// The deliveries of an endpoint by time and status.
#[derive(Debug, Serialize)]
pub(crate) struct DeliveryCountsView {
    object: &'static str,
    webhook_endpoint: WebhookId,
    bucket: Bucket,
    from: Timestamp,
    to: Timestamp,
    not_delivered: NotDeliveredView,
    data: Vec<DeliveryBucketView>,
}

/// How many deliveries have each status that says that they were not accepted.
#[derive(Debug, Default, Serialize)]
struct NotDeliveredView {
    pending: u64,
    retrying: u64,
    dead: u64,
    dropped: u64,
}

/// The deliveries that began in one part of time.
#[derive(Debug, Serialize)]
struct DeliveryBucketView {
    at: Timestamp,
    delivered: u64,
    #[serde(flatten)]
    others: NotDeliveredView,
}

impl NotDeliveredView {
    /// Adds deliveries of this status, and returns how many of them were accepted.
    fn add(&mut self, status: DeliveryStatus, count: u64) -> u64 {
        let of_status = match status {
            DeliveryStatus::Pending => &mut self.pending,
            DeliveryStatus::Retrying => &mut self.retrying,
            DeliveryStatus::Dead => &mut self.dead,
            DeliveryStatus::Dropped => &mut self.dropped,
            DeliveryStatus::Delivered => return count,
        };
        *of_status += count;
        0
    }
}

impl DeliveryCountsView {
    /// The counts that were asked for; parts of time without a delivery are included.
    pub(crate) fn new(
        webhook_endpoint: WebhookId,
        asked: &DeliveryCountsRequest,
        counts: &DeliveryCounts,
    ) -> Self {
        let DeliveryCountsRequest { bucket, span } = *asked;
        let empty =
            |at| DeliveryBucketView { at, delivered: 0, others: NotDeliveredView::default() };
        let mut parts: BTreeMap<_, _> = span.parts().map(|at| (at, empty(at))).collect();
        for tally in &counts.tallies {
            if let Some(part) = parts.get_mut(&tally.at) {
                part.delivered += part.others.add(tally.status, tally.count);
            }
        }
        let mut not_delivered = NotDeliveredView::default();
        for (status, count) in &counts.not_delivered {
            not_delivered.add(*status, *count);
        }
        Self {
            object: "webhook_delivery_counts",
            webhook_endpoint,
            bucket,
            from: span.from,
            to: span.to,
            not_delivered,
            data: parts.into_values().collect(),
        }
    }
}

/// How many events are posted again.
#[derive(Debug, Serialize)]
pub(crate) struct RecoveredView {
    object: &'static str,
    webhook_endpoint: WebhookId,
    count: usize,
    retried: usize,
    has_more: bool,
    more_since: Option<Timestamp>,
}

impl RecoveredView {
    /// What a request to recover came to.
    pub(crate) fn of(webhook_endpoint: WebhookId, done: Recovered) -> Self {
        Self {
            object: "webhook_recovery",
            webhook_endpoint,
            count: done.count,
            retried: done.retried,
            has_more: done.rest_since.is_some(),
            more_since: done.rest_since,
        }
    }
}

/// Reads the body of `POST /v1/webhook_endpoints`.
pub(crate) fn endpoint_new(call: &Call) -> Result<NewWebhook, ApiError> {
    let mut fields = call.fields()?;
    let url = fields.required("url")?;
    let description = fields.optional("description")?.unwrap_or_default();
    let types = types(&mut fields)?.unwrap_or_default();
    let agent = fields.optional::<Word<AgentId>>("agent")?.map(|Word(agent)| agent);
    let version: Option<String> = fields.optional("api_version")?;
    if version.is_some_and(|version| version != event::API_VERSION) {
        let expected = format!("expected `{}`", event::API_VERSION);
        return Err(fields.error("api_version", expected));
    }
    fields.finish()?;
    Ok(NewWebhook { url, description, types, agent })
}

/// Reads the body of `POST /v1/webhook_endpoints/{id}`.
pub(crate) fn endpoint_edit(call: &Call) -> Result<WebhookEdit, ApiError> {
    let mut fields = call.fields()?;
    let edit = WebhookEdit {
        url: fields.optional("url")?,
        description: fields.optional("description")?,
        types: types(&mut fields)?,
        expected_revision: fields.optional("expected_revision")?,
    };
    fields.finish()?;
    Ok(edit)
}

fn types(fields: &mut Fields) -> Result<Option<Vec<String>>, ApiError> {
    let Some(items) = fields.optional::<Vec<Value>>("types")? else { return Ok(None) };
    let texts = items.into_iter().map(|item| match item {
        Value::String(text) => Some(text),
        _ => None,
    });
    let texts: Option<Vec<String>> = texts.collect();
    let expected = "expected a list of event types and family wildcards such as `action.*`";
    texts.map(Some).ok_or_else(|| fields.error("types", expected))
}

/// Reads a body that may have a reason, and may be missing.
pub(crate) fn reason_if_any(call: &Call) -> Result<Option<String>, ApiError> {
    if call.body.is_empty() {
        return Ok(None);
    }
    let mut fields = call.fields()?;
    let reason = fields.optional("reason")?;
    fields.finish()?;
    Ok(reason)
}

/// Reads the body of `POST /v1/webhook_endpoints/{id}/recover`: since when, and whether what waits for
/// a retry is tried now.
pub(crate) fn recovery(call: &Call) -> Result<(Timestamp, bool), ApiError> {
    let mut fields = call.fields()?;
    let since = fields.required("since")?;
    let retry = fields.optional("retry")?.unwrap_or_default();
    fields.finish()?;
    Ok((since, retry))
}

/// Reads how the deliveries stand that a list asks for.
pub(crate) fn status_asked(query: &Query) -> Result<Option<DeliveryStatus>, ApiError> {
    query.parse("status")
}

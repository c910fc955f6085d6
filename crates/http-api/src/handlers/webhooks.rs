//! Webhook endpoints and their deliveries as an org's administration reads and changes them.

use std::sync::Arc;

use act::{MayView, Reason};
use delivery::{LaneState, Shown};
use gate::Span;
use http::StatusCode;
use ledger::record::Webhook;
use model::{DeliveryId, WebhookId, causes};
use web::{ApiError, Call, List, ListView, Param, Position, Reply};

use crate::{
    access::{Admin, Viewer},
    app::App,
    refusal::Answer,
    wire::{
        keys::roll_overlap,
        policies::WithDeed,
        webhooks::{
            DeliveryCountsRequest, DeliveryCountsView, DeliveryView, EndpointView, RecoveredView,
            endpoint_edit, endpoint_new, reason_if_any, recovery, status_asked,
        },
    },
};

/// The parameters of the list of an endpoint's deliveries.
pub(crate) const LIST: &[Param] =
    &[Param::One("status"), Param::One("limit"), Param::One("cursor")];

/// The position of a delivery in its endpoint's list.
struct DeliveryPosition {
    webhook: WebhookId,
    id: DeliveryId,
}

impl Position for DeliveryPosition {
    fn to_text(&self) -> String {
        format!("{} {}", self.webhook, self.id)
    }

    fn from_text(text: &str) -> Option<Self> {
        let (webhook, id) = text.split_once(' ')?;
        Some(Self { webhook: webhook.parse().ok()?, id: id.parse().ok()? })
    }
}

/// `GET /v1/webhook_endpoints`
pub(crate) async fn list(app: Arc<App>, caller: Viewer, _: Call) -> Answer {
    let all = app.webhooks.list(&caller).await?;
    Ok(Reply::ok(&ListView::whole(all.iter().map(EndpointView::of).collect())))
}

/// `POST /v1/webhook_endpoints`
pub(crate) async fn create(app: Arc<App>, caller: Admin, call: Call) -> Answer {
    let (made, secret) = app.webhooks.create(&caller, endpoint_new(&call)?).await?;
    let shown = shown_after(&app, &caller, made.object).await;
    let view = EndpointView::of(&shown).with_secret(&secret);
    Ok(Reply::json(StatusCode::CREATED, &WithDeed::of(view, made.deed)))
}

/// `GET /v1/webhook_endpoints/{id}`
pub(crate) async fn show(app: Arc<App>, caller: Viewer, call: Call) -> Answer {
    Ok(Reply::ok(&EndpointView::of(&app.webhooks.show(&caller, call.param("id")?).await?)))
}

/// `POST /v1/webhook_endpoints/{id}`
pub(crate) async fn update(app: Arc<App>, caller: Admin, call: Call) -> Answer {
    let (id, edit) = (call.param("id")?, endpoint_edit(&call)?);
    let made = app.webhooks.update(&caller, id, edit).await?;
    let shown = shown_after(&app, &caller, made.object).await;
    Ok(Reply::ok(&WithDeed::of(EndpointView::of(&shown), made.deed)))
}

/// `DELETE /v1/webhook_endpoints/{id}`
pub(crate) async fn delete(app: Arc<App>, caller: Admin, call: Call) -> Answer {
    let made = app.webhooks.delete(&caller, call.param("id")?).await?;
    let shown = app.webhooks.shown(made.object, LaneState::default());
    Ok(Reply::ok(&WithDeed::of(EndpointView::of(&shown), made.deed)))
}

/// `POST /v1/webhook_endpoints/{id}/enable`
pub(crate) async fn enable(app: Arc<App>, caller: Admin, call: Call) -> Answer {
    let (id, reason) = (call.param("id")?, reason_if_any(&call)?);
    let reason = reason.as_deref().map(Reason::parse).transpose()?;
    let made = app.webhooks.enable(&caller, id, reason).await?;
    let shown = shown_after(&app, &caller, made.object).await;
    Ok(Reply::ok(&WithDeed::of(EndpointView::of(&shown), made.deed)))
}

/// `POST /v1/webhook_endpoints/{id}/disable`
pub(crate) async fn disable(app: Arc<App>, caller: Admin, call: Call) -> Answer {
    let (id, reason) = (call.param("id")?, reason_if_any(&call)?);
    let reason = reason.as_deref().map(Reason::parse).transpose()?;
    let made = app.webhooks.disable(&caller, id, reason).await?;
    let shown = shown_after(&app, &caller, made.object).await;
    Ok(Reply::ok(&WithDeed::of(EndpointView::of(&shown), made.deed)))
}

/// `POST /v1/webhook_endpoints/{id}/secret/roll`
pub(crate) async fn roll(app: Arc<App>, caller: Admin, call: Call) -> Answer {
    let (id, overlap) = (call.param("id")?, roll_overlap(&call)?);
    let (made, secret) = app.webhooks.roll_secret(&caller, id, overlap).await?;
    let shown = shown_after(&app, &caller, made.object).await;
    Ok(Reply::ok(&WithDeed::of(EndpointView::of(&shown).with_secret(&secret), made.deed)))
}

/// `POST /v1/webhook_endpoints/{id}/ping`
pub(crate) async fn ping(app: Arc<App>, caller: Admin, call: Call) -> Answer {
    let sent = app.webhooks.ping(&caller, call.param("id")?).await?;
    Ok(Reply::json(StatusCode::ACCEPTED, &DeliveryView::of(&sent)))
}

/// `GET /v1/webhook_endpoints/{id}/deliveries`
pub(crate) async fn deliveries(app: Arc<App>, caller: Viewer, call: Call) -> Answer {
    let id: WebhookId = call.param("id")?;
    let listed = List { name: "webhook_deliveries", org: caller.org(), agent: None };
    let page = app.cursors.page::<DeliveryPosition>(listed, &call.query)?;
    if page.after.as_ref().is_some_and(|after| after.webhook != id) {
        let message = "expected a cursor of this endpoint's deliveries";
        return Err(ApiError::invalid("cursor", message).into());
    }
    let status = status_asked(&call.query)?;
    let asked = delivery::DeliveryList { status, after: page.after.as_ref().map(|it| it.id) };
    let (found, has_more) = app.webhooks.deliveries(&caller, id, (asked, page.limit)).await?;
    let position = |row: &delivery::ShownDelivery| {
        let delivery::ShownDelivery { delivery, .. } = row;
        DeliveryPosition { webhook: id, id: delivery.id }
    };
    Ok(Reply::ok(&page.of_part((&*found, has_more), position, DeliveryView::of)))
}

/// `GET /v1/webhook_endpoints/{id}/counts`
pub(crate) async fn counts(app: Arc<App>, caller: Viewer, call: Call) -> Answer {
    let id: WebhookId = call.param("id")?;
    let asked = DeliveryCountsRequest::read(&call.query, app.clock.now())?;
    let Span { from, to, step } = asked.span;
    let counts = app.webhooks.delivery_counts(&caller, id, ((from, to), step)).await?;
    Ok(Reply::ok(&DeliveryCountsView::new(id, &asked, &counts)))
}

/// `POST /v1/webhook_endpoints/{id}/recover`
pub(crate) async fn recover(app: Arc<App>, caller: Admin, call: Call) -> Answer {
    let (id, asked) = (call.param("id")?, recovery(&call)?);
    let done = app.webhooks.recover(&caller, id, asked).await?;
    Ok(Reply::json(StatusCode::ACCEPTED, &RecoveredView::of(id, done)))
}

/// The endpoint as a change left it. That is durable, and a secret is shown this once, so what cannot be
/// read of its lane fails nothing any more.
async fn shown_after(app: &App, caller: &Admin, webhook: Webhook) -> Shown {
    let state = match app.webhooks.show(caller, webhook.id).await {
        Ok(shown) => shown.state,
        Err(error) => {
            tracing::warn!(webhook = %webhook.id, error = causes(&error),
                "the delivery status of a changed endpoint could not be read");
            LaneState::default()
        }
    };
    app.webhooks.shown(webhook, state)
}

/// `GET /v1/webhook_deliveries/{id}`
pub(crate) async fn delivery(app: Arc<App>, caller: Viewer, call: Call) -> Answer {
    Ok(Reply::ok(&DeliveryView::of(&app.webhooks.delivery(&caller, call.param("id")?).await?)))
}

/// `POST /v1/webhook_deliveries/{id}/redeliver`
pub(crate) async fn redeliver(app: Arc<App>, caller: Admin, call: Call) -> Answer {
    let again = app.webhooks.redeliver(&caller, call.param("id")?).await?;
    Ok(Reply::json(StatusCode::ACCEPTED, &DeliveryView::of(&again)))
}

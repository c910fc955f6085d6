//! The room of the Console in which webhook endpoints are made, looked at and changed.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use model::EventType;
use serde_json::Value;
use web::{Call, Param};

use super::{
    NO_QUERY, Visit,
    lists::Wanted,
    text,
    views::{WebhookPage, WebhooksPage},
};
use crate::{
    access::{VIEWERS, Visitor},
    app::App,
    handlers::webhooks,
    refusal::Answer,
    wire::webhooks::COUNTS,
};

/// How far back the first hour of the bars begins.
const HOURS: Duration = Duration::from_hours(23);

/// The parameters of an endpoint's page: those of its deliveries, and the one that is read.
pub(crate) const ROOM: &[Param] =
    &[Param::One("status"), Param::One("limit"), Param::One("cursor"), Param::One("delivery")];

/// `GET /app/webhooks`
pub(crate) async fn list(app: Arc<App>, caller: Visitor, call: Call) -> Answer {
    let visit = Visit::new(app, caller, call);
    let list = visit.read((VIEWERS, webhooks::list), &[], NO_QUERY).await?;
    visit.page("webhooks", &WebhooksPage { list, families: families() }).await
}

/// `GET /app/webhooks/{id}`
pub(crate) async fn one(app: Arc<App>, caller: Visitor, call: Call) -> Answer {
    let visit = Visit::new(app, caller, call);
    let id: String = visit.call.param("id")?;
    let params = [("id", &*id)];
    let it = visit.read((VIEWERS, webhooks::show), &params, NO_QUERY).await?;
    // Whole hours, of which the one that has begun is the last.
    let day = format!("created_at[gte]={}&bucket=1h", visit.app.clock.now().before(HOURS));
    let counts = visit.read((VIEWERS, webhooks::counts), &params, (&day, COUNTS)).await?;
    let wanted = Wanted { path: &params, takes: webhooks::LIST, beside: &["delivery"], anyway: "" };
    let found = visit.list((VIEWERS, webhooks::deliveries), wanted).await?;
    let status = visit.asked("status").filter(|_| !found.lacks("status"));
    let asked = visit.asked("delivery");
    let open = match asked {
        Some(delivery) => {
            let of = [("id", delivery)];
            visit.read_if((VIEWERS, webhooks::delivery), &of, NO_QUERY).await?
        }
        None => Value::Null,
    };
    // What another endpoint was sent is on that one's page.
    let is_of_it = text(&open, "webhook_endpoint") == text(&it, "id");
    let shown = WebhookPage {
        it,
        counts,
        list: found.list,
        unread: found.unread,
        status,
        asked,
        open: if is_of_it { open } else { Value::Null },
        families: families(),
    };
    visit.page("webhooks", &shown).await
}

/// Every type of event, by its family.
fn families() -> BTreeMap<&'static str, Vec<&'static str>> {
    let mut families: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for kind in EventType::ALL {
        let family = kind.as_str().split_once('.').map_or(kind.as_str(), |(family, _)| family);
        families.entry(family).or_default().push(kind.as_str());
    }
    families
}

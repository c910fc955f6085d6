//! Webhook endpoints and the deliveries of events to them.

use web::{
    NOTHING,
    Patience::{Short, Waits},
    Table, at, json, optional_json, query,
};

use crate::{
    access::{ADMINS, FRESH_ADMINS, VIEWERS},
    app::App,
    handlers::webhooks as it,
    wire::webhooks::COUNTS,
};

const BODY: usize = 16 * 1024;

/// The routes of this area. Those that take an address look up what it leads to.
#[rustfmt::skip]
pub(super) fn routes() -> Table<App> {
    vec![
        at("GET",    "/v1/webhook_endpoints",                  "listWebhookEndpoints")     .with(VIEWERS,      NOTHING,             Short, it::list),
        at("POST",   "/v1/webhook_endpoints",                  "createWebhookEndpoint")    .with(ADMINS,       json(BODY),          Waits, it::create),
        at("GET",    "/v1/webhook_endpoints/{id}",             "getWebhookEndpoint")       .with(VIEWERS,      NOTHING,             Short, it::show),
        at("POST",   "/v1/webhook_endpoints/{id}",             "updateWebhookEndpoint")    .with(ADMINS,       json(BODY),          Waits, it::update),
        at("DELETE", "/v1/webhook_endpoints/{id}",             "deleteWebhookEndpoint")    .with(ADMINS,       NOTHING,             Short, it::delete),
        at("POST",   "/v1/webhook_endpoints/{id}/enable",      "enableWebhookEndpoint")    .with(ADMINS,       optional_json(BODY), Short, it::enable),
        at("POST",   "/v1/webhook_endpoints/{id}/disable",     "disableWebhookEndpoint")   .with(ADMINS,       optional_json(BODY), Short, it::disable),
        at("POST",   "/v1/webhook_endpoints/{id}/secret/roll", "rollWebhookSecret")        .with(FRESH_ADMINS, json(BODY),          Short, it::roll),
        at("POST",   "/v1/webhook_endpoints/{id}/ping",        "pingWebhookEndpoint")      .with(ADMINS,       NOTHING,             Short, it::ping),
        at("GET",    "/v1/webhook_endpoints/{id}/deliveries",  "listWebhookDeliveries")    .with(VIEWERS,      query(it::LIST),     Short, it::deliveries),
        at("GET",    "/v1/webhook_endpoints/{id}/counts",      "countWebhookDeliveries")   .with(VIEWERS,      query(COUNTS),       Short, it::counts),
        at("POST",   "/v1/webhook_endpoints/{id}/recover",     "recoverWebhookDeliveries") .with(ADMINS,       json(BODY),          Waits, it::recover),
        at("GET",    "/v1/webhook_deliveries/{id}",            "getWebhookDelivery")       .with(VIEWERS,      NOTHING,             Short, it::delivery),
        at("POST",   "/v1/webhook_deliveries/{id}/redeliver",  "redeliverWebhookDelivery") .with(ADMINS,       NOTHING,             Short, it::redeliver),
    ]
}

//! Connectors, their credentials and their tools.

use web::{
    NOTHING,
    Patience::{Lists, Short, Waits},
    Table, at, json, query,
};

use crate::{
    access::{ADMINS, FRESH_ADMINS, VIEWERS},
    app::App,
    handlers::connectors as it,
};

/// Room for the description of a whole system.
const CONFIG: usize = 4 * 1024 * 1024;
/// Room for a credential of as many fields as there may be.
const CREDENTIAL: usize = 256 * 1024;
/// Room for the names of as many tables as there may be.
const TABLES: usize = 64 * 1024;
const BODY: usize = 4 * 1024;

/// The routes of this area. Those that ask the governed system wait for it.
#[rustfmt::skip]
pub(super) fn routes() -> Table<App> {
    vec![
        at("GET",    "/v1/connector_types",                  "listConnectorTypes")       .with(VIEWERS,      NOTHING,          Short, it::types),
        at("GET",    "/v1/connectors",                       "listConnectors")           .with(VIEWERS,      query(it::LIST),  Short, it::list),
        at("POST",   "/v1/connectors",                       "createConnector")          .with(FRESH_ADMINS, json(CONFIG),     Waits, it::create),
        at("GET",    "/v1/connectors/{id}",                  "getConnector")             .with(VIEWERS,      NOTHING,          Short, it::show),
        at("POST",   "/v1/connectors/{id}",                  "updateConnector")          .with(FRESH_ADMINS, json(CONFIG),     Waits, it::update),
        at("DELETE", "/v1/connectors/{id}",                  "archiveConnector")         .with(ADMINS,       json(BODY),       Short, it::archive),
        at("PUT",    "/v1/connectors/{id}/credential",       "setConnectorCredential")   .with(FRESH_ADMINS, json(CREDENTIAL), Waits, it::set_credential),
        at("DELETE", "/v1/connectors/{id}/credential",       "removeConnectorCredential").with(FRESH_ADMINS, NOTHING,          Short, it::remove_credential),
        at("POST",   "/v1/connectors/{id}/test",             "testConnector")            .with(ADMINS,       NOTHING,          Waits, it::test),
        at("GET",    "/v1/connectors/{id}/test",             "getConnectorTest")         .with(VIEWERS,      NOTHING,          Short, it::last_test),
        at("GET",    "/v1/connectors/{id}/setup",            "getConnectorSetup")        .with(VIEWERS,      query(it::SETUP), Short, it::setup),
        at("GET",    "/v1/connectors/{id}/not_served",       "listConnectorNotServed")   .with(VIEWERS,      NOTHING,          Lists, it::not_served),
        at("POST",   "/v1/connectors/{id}/enable",           "enableConnector")          .with(FRESH_ADMINS, json(BODY),       Waits, it::enable),
        at("POST",   "/v1/connectors/{id}/disable",          "disableConnector")         .with(ADMINS,       json(BODY),       Short, it::disable),
        at("GET",    "/v1/connectors/{id}/witness",          "getConnectorWitness")      .with(VIEWERS,      NOTHING,          Short, it::witness),
        at("POST",   "/v1/connectors/{id}/witness/setup",    "setupConnectorWitness")    .with(ADMINS,       json(TABLES),     Waits, it::witness_setup),
        at("POST",   "/v1/connectors/{id}/witness/enable",   "enableConnectorWitness")   .with(ADMINS,       json(TABLES),     Waits, it::enable_witness),
        at("POST",   "/v1/connectors/{id}/witness/disable",  "disableConnectorWitness")  .with(ADMINS,       json(BODY),       Short, it::disable_witness),
        at("POST",   "/v1/connectors/{id}/witness/recreate_slot", "recreateConnectorSlot").with(ADMINS,      json(BODY),       Waits, it::recreate_slot),
        at("GET",    "/v1/connectors/{id}/tools",            "listConnectorTools")       .with(VIEWERS,      NOTHING,          Short, it::tools),
        at("GET",    "/v1/connectors/{id}/tools/{tool}",     "getConnectorTool")         .with(VIEWERS,      NOTHING,          Short, it::tool),
        at("POST",   "/v1/connectors/{id}/tools/refresh",    "refreshConnectorTools")    .with(ADMINS,       NOTHING,          Waits, it::refresh),
        at("POST",   "/v1/connectors/{id}/tools/{tool}",     "updateConnectorTool")      .with(FRESH_ADMINS, json(BODY),       Short, it::update_tool),
        at("POST",   "/v1/connectors/{id}/tools/{tool}/pin", "pinConnectorTool")         .with(FRESH_ADMINS, json(BODY),       Short, it::pin_tool),
    ]
}

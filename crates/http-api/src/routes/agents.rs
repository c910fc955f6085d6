//! Agents and their keys, and what holds an agent or the whole org.

use web::{NOTHING, Patience::Short, Table, at, json, query};

use crate::{
    access::{ADMINS, FRESH_ADMINS, STARTERS, VIEWERS},
    app::App,
    handlers::{agents, keys, stops},
};

/// Room for a description and as many labels as an agent may have.
const BODY: usize = 64 * 1024;

/// The routes of this area.
#[rustfmt::skip]
pub(super) fn routes() -> Table<App> {
    vec![
        at("GET",  "/v1/agents",      "listAgents") .with(VIEWERS, query(agents::LIST), Short, agents::list),
        at("POST", "/v1/agents",      "createAgent").with(ADMINS,  json(BODY),          Short, agents::create),
        at("GET",  "/v1/agents/{id}", "getAgent")   .with(VIEWERS, NOTHING,             Short, agents::show),
        at("POST", "/v1/agents/{id}", "updateAgent").with(FRESH_ADMINS, json(BODY),     Short, agents::update),
        at("DELETE", "/v1/agents/{id}", "archiveAgent").with(ADMINS, json(BODY),        Short, stops::archive),
        at("POST", "/v1/agents/{id}/stop",    "stopAgent")   .with(ADMINS, json(BODY), Short, stops::stop),
        at("POST", "/v1/agents/{id}/start",   "startAgent")  .with(FRESH_ADMINS, json(BODY), Short, stops::start),
        at("POST", "/v1/agents/{id}/suspend", "suspendAgent").with(ADMINS, json(BODY), Short, stops::suspend),
        at("POST", "/v1/agents/{id}/resume",  "resumeAgent") .with(ADMINS, json(BODY), Short, stops::resume),
        at("POST", "/v1/org/stop",            "stopOrg")     .with(ADMINS, json(BODY), Short, stops::stop_org),
        at("POST", "/v1/org/start",           "startOrg")    .with(STARTERS, json(BODY), Short, stops::start_org),
        at("GET",    "/v1/agents/{id}/keys",            "listAgentKeys") .with(VIEWERS, query(keys::LIST), Short, keys::list),
        at("POST",   "/v1/agents/{id}/keys",            "createAgentKey").with(FRESH_ADMINS,  json(BODY),        Short, keys::create),
        at("POST",   "/v1/agents/{id}/keys/{key}/roll", "rollAgentKey")  .with(FRESH_ADMINS,  json(BODY),        Short, keys::roll),
        at("DELETE", "/v1/agents/{id}/keys/{key}",      "revokeAgentKey").with(ADMINS,  NOTHING,           Short, keys::revoke),
    ]
}

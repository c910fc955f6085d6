//! The org itself, and its own keys.

use web::{NOTHING, Patience::Short, Table, at, json, query};

use crate::{
    access::{FRESH_OWNERS, OWNERS, VIEWERS},
    app::App,
    handlers::{org, org_keys},
};

const BODY: usize = 4 * 1024;

/// The routes of this area.
#[rustfmt::skip]
pub(super) fn routes() -> Table<App> {
    vec![
        at("GET",    "/v1/org",                "getOrg")     .with(VIEWERS,      NOTHING,               Short, org::show),
        at("POST",   "/v1/org",                "updateOrg")  .with(FRESH_OWNERS, json(BODY),            Short, org::update),
        at("GET",    "/v1/api_keys",           "listOrgKeys") .with(OWNERS,       query(org_keys::LIST), Short, org_keys::list),
        at("POST",   "/v1/api_keys",           "createOrgKey").with(FRESH_OWNERS, json(BODY),            Short, org_keys::create),
        at("POST",   "/v1/api_keys/{id}/roll", "rollOrgKey")  .with(FRESH_OWNERS, json(BODY),            Short, org_keys::roll),
        at("DELETE", "/v1/api_keys/{id}",      "revokeOrgKey").with(FRESH_OWNERS, NOTHING,               Short, org_keys::revoke),
    ]
}

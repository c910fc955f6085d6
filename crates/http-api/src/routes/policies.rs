//! Policies, their versions and tests, and which of them decides.

use web::{NOTHING, Patience::Short, Table, at, json, query};

use crate::{
    access::{ADMINS, FRESH_ADMINS, FRESH_SESSION_ADMINS, SESSION_ADMINS, VIEWERS},
    app::App,
    handlers::policies,
};

/// Room for a policy document or a file of tests of the largest permitted size, as a JSON string.
const DOCUMENT: usize = 4 * 1024 * 1024;
/// Room for a few short members.
const SMALL: usize = 64 * 1024;

/// The routes of this area.
#[rustfmt::skip]
pub(super) fn routes() -> Table<App> {
    vec![
        at("GET",    "/v1/policies",                   "listPolicies")       .with(VIEWERS, query(policies::LIST),            Short, policies::list),
        at("POST",   "/v1/policies",                   "createPolicy")       .with(ADMINS,  json(SMALL),                      Short, policies::create),
        at("GET",    "/v1/policies/{id}",              "getPolicy")          .with(VIEWERS, NOTHING,                          Short, policies::show),
        at("POST",   "/v1/policies/{id}",              "updatePolicy")       .with(ADMINS,  json(SMALL),                      Short, policies::update),
        at("DELETE", "/v1/policies/{id}",              "archivePolicy")      .with(ADMINS,  NOTHING,                          Short, policies::archive),
        at("GET",    "/v1/policies/{id}/versions",     "listPolicyVersions") .with(VIEWERS, query(policies::versions::PAGE),  Short, policies::versions::list),
        at("POST",   "/v1/policies/{id}/versions",     "createPolicyVersion").with(ADMINS,  json(DOCUMENT),                   Short, policies::versions::create),
        at("GET",    "/v1/policy_versions/{id}",       "getPolicyVersion")   .with(VIEWERS, NOTHING,                          Short, policies::versions::show),
        at("GET",    "/v1/policy_versions/{id}/diff",  "diffPolicyVersions") .with(VIEWERS, query(policies::trial::AGAINST),  Short, policies::trial::diff),
        at("POST",   "/v1/policies/lint",              "lintPolicy")         .with(VIEWERS, json(DOCUMENT),                   Short, policies::trial::lint),
        at("POST",   "/v1/policies/dry_run",           "dryRunPolicy")       .with(VIEWERS, json(DOCUMENT),                   Short, policies::trial::dry_run),
        at("GET",    "/v1/policies/{id}/tests",        "getPolicyTests")     .with(VIEWERS, NOTHING,                          Short, policies::versions::tests),
        at("PUT",    "/v1/policies/{id}/tests",        "putPolicyTests")     .with(ADMINS,  json(DOCUMENT),                   Short, policies::versions::put_tests),
        at("POST",   "/v1/policies/test",              "testPolicy")         .with(VIEWERS, json(2 * DOCUMENT),               Short, policies::trial::test),
        at("POST",   "/v1/policies/{id}/activate",     "activatePolicy")     .with(FRESH_ADMINS,  json(SMALL),                      Short, policies::activation::activate),
        at("POST",   "/v1/policies/shadow/deactivate", "deactivateShadow")   .with(ADMINS,  json(SMALL),                      Short, policies::activation::end_shadow),
        at("GET",    "/v1/policies/active",            "getActivePolicies")  .with(VIEWERS, NOTHING,                          Short, policies::activation::active),
        at("GET",    "/v1/policies/activations",       "listPolicyActivations").with(VIEWERS, query(policies::versions::PAGE), Short, policies::activation::history),
        at("GET",    "/v1/policies/activations/{id}",  "getPolicyProposal")  .with(VIEWERS, NOTHING,                          Short, policies::activation::proposal),
        at("POST",   "/v1/policies/activations/{id}/confirm", "confirmPolicyActivation").with(FRESH_SESSION_ADMINS, json(SMALL), Short, policies::activation::confirm),
        at("POST",   "/v1/policies/activations/{id}/reject",  "rejectPolicyActivation") .with(SESSION_ADMINS,       json(SMALL), Short, policies::activation::reject),
    ]
}

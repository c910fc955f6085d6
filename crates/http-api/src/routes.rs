//! The table of the whole interface: what is served, by whom it may be called and what it reads.
//!
//! The access rule makes the caller that the handler takes, so a row with the wrong rule does not
//! compile. `docs/routes.md` is generated from here, and a test holds the table against the
//! interface description in both directions.

use crate::{
    access::{ACTION_READERS, ADMINS, AGENT_EXECUTE, CANCELLERS, PUBLIC, STREAM_READERS, VIEWERS},
    app::App,
    handlers::{actions, deeds, events, ledger, log, policies, system, tools},
    table::{
        NOTHING,
        Patience::{Short, Waits},
        Route, Table, at, json, query,
    },
    wire::{DEEDS, ENTRIES, EXPORT, LIST},
};

/// Room for `args` of the largest permitted size in their least compact spelling.
const ACTION: usize = 2 * 1024 * 1024;
/// Room for a result of the largest permitted size.
const RESULT: usize = 2 * 1024 * 1024;
/// Room for a policy document or a file of tests of the largest permitted size, as a JSON string.
const DOCUMENT: usize = 4 * 1024 * 1024;
/// Room for a few short members.
const SMALL: usize = 64 * 1024;
/// Room for 500 tools.
const TOOLS: usize = 256 * 1024;

/// Room for what a check of a log is asked for, a checkpoint included.
const CHECK: usize = 16 * 1024;
/// Room for a file of evidence.
const DEEDS_TO_VERIFY: usize = 256 * 1024;

/// Returns every route that is served.
#[rustfmt::skip]
pub fn table() -> Table<App> {
    vec![
        // System
        at("GET",  "/v1/health",                     "getHealth")     .with(PUBLIC,         NOTHING,                Short, system::health),
        at("GET",  "/v1/version",                    "getVersion")    .with(PUBLIC,         NOTHING,                Short, system::version),
        at("GET",  "/api/openapi.yaml",              "getDescription").with(PUBLIC,         NOTHING,                Short, system::description),
        at("GET",  "/api/openapi.json",              "getDescriptionAsJson").with(PUBLIC,   NOTHING,                Short, system::description_json),
        at("GET",  "/docs/errors/{code}",            "getErrorPage")  .with(PUBLIC,         NOTHING,                Short, system::error_page),
        at("GET",  "/.well-known/service/keys.json", "getSealKeys")   .with(PUBLIC,         NOTHING,                Short, system::keys),
        // Gate
        at("POST", "/v1/actions",                    "sendAction")    .with(AGENT_EXECUTE,  json(ACTION),           Waits, actions::send),
        at("GET",  "/v1/actions",                    "listActions")   .with(ACTION_READERS, query(LIST),            Short, actions::list),
        at("GET",  "/v1/actions/{id}",               "getAction")     .with(ACTION_READERS, query(actions::DETAIL), Waits, actions::show),
        at("POST", "/v1/actions/{id}/result",        "reportResult")  .with(AGENT_EXECUTE,  json(RESULT),           Short, actions::report),
        at("POST", "/v1/actions/{id}/cancel",        "cancelAction")  .with(CANCELLERS,     NOTHING,                Short, actions::cancel),
        at("GET",  "/v1/tools",                      "listTools")     .with(AGENT_EXECUTE,  query(tools::LIST),     Short, tools::list),
        at("POST", "/v1/tools/resolve",              "resolveTools")  .with(AGENT_EXECUTE,  json(TOOLS),            Short, tools::resolve),
        // Policies
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
        at("POST",   "/v1/policies/{id}/activate",     "activatePolicy")     .with(ADMINS,  json(SMALL),                      Short, policies::activation::activate),
        at("POST",   "/v1/policies/shadow/deactivate", "deactivateShadow")   .with(ADMINS,  json(SMALL),                      Short, policies::activation::end_shadow),
        at("GET",    "/v1/policies/active",            "getActivePolicies")  .with(VIEWERS, NOTHING,                          Short, policies::activation::active),
        at("GET",    "/v1/policies/activations",       "listPolicyActivations").with(VIEWERS, query(policies::versions::PAGE), Short, policies::activation::history),
        // Ledger and deeds
        at("GET",  "/v1/ledger",                     "searchLedger")  .with(ACTION_READERS, query(ENTRIES),         Short, ledger::search),
        at("GET",  "/v1/ledger/export",              "exportLedger")  .with(ADMINS,         query(EXPORT),          Short, ledger::export),
        at("GET",  "/v1/ledger/head",                "getLedgerHead") .with(VIEWERS,        NOTHING,                Short, ledger::head),
        at("GET",  "/v1/ledger/chain_checks",        "listChainChecks").with(VIEWERS,       query(ledger::CHECKS),  Short, ledger::checks),
        at("POST", "/v1/ledger/chain_checks",        "askChainCheck") .with(ADMINS,         json(CHECK),            Short, ledger::ask_check),
        at("GET",  "/v1/ledger/chain_checks/{id}",   "getChainCheck") .with(VIEWERS,        NOTHING,                Short, ledger::check),
        at("GET",  "/v1/log/checkpoint",             "getCheckpoint") .with(ACTION_READERS, query(log::CHECKPOINT), Short, log::checkpoint),
        at("GET",  "/v1/log/proof",                  "getProof")      .with(ACTION_READERS, query(log::PROOF),      Short, log::proof),
        at("GET",  "/v1/log/consistency",            "getConsistency").with(ACTION_READERS, query(log::CONSISTENCY), Short, log::consistency),
        at("GET",  "/v1/deeds",                      "listDeeds")     .with(ACTION_READERS, query(DEEDS),           Short, deeds::list),
        at("GET",  "/v1/deeds/{id}",                 "getDeed")       .with(ACTION_READERS, NOTHING,                Short, deeds::show),
        at("GET",  "/v1/deeds/{id}/bundle",          "getDeedBundle") .with(ACTION_READERS, query(deeds::BUNDLE),   Short, deeds::bundle),
        at("POST", "/v1/deeds/verify",               "verifyDeeds")   .with(ACTION_READERS, json(DEEDS_TO_VERIFY),  Short, deeds::check),
        // Events
        at("GET",  "/v1/events",                     "streamEvents")  .with(STREAM_READERS, query(events::QUERY),   Short, events::stream),
    ]
}

/// Returns the table of `docs/routes.md`.
pub fn routes_markdown() -> String {
    let mut lines = vec![
        "# Routes\n\nGenerated from `crates/http-api/src/routes.rs`.\n".to_owned(),
        "| Method | Path | Operation | Access | Who |\n|---|---|---|---|---|".to_owned(),
    ];
    lines.extend(table().iter().map(|route| {
        let Route { method, path, operation, access, who, .. } = route;
        format!("| {method} | `{path}` | `{operation}` | `{access}` | {who} |")
    }));
    lines.push(String::new());
    lines.join("\n")
}
